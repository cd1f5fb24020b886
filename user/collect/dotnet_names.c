// SPDX-License-Identifier: GPL-2.0-or-later
/* See dotnet_names.h. */
#include "collect/dotnet_names.h"

#include <errno.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/diag.h"

#define FIRST_WAIT_NS (1 * TAPIR_NS_PER_SEC)
#define WAIT_NS	      (10 * TAPIR_NS_PER_SEC)
#define IDLE_WAIT_NS  (80 * TAPIR_NS_PER_SEC)
#define FAILURES_MAX  3

void tapir_dotnet_names__start(struct tapir_dotnet_names *n, struct tapir_runtime_asker *asker,
			       uint32_t tgid, uint32_t uid)
{
	if (n->asker)
		return;
	*n = (struct tapir_dotnet_names){
		.asker = asker,
		.tgid = tgid,
		.uid = uid,
		.wait_ns = FIRST_WAIT_NS,
		.dumps = TAPIR_DOTNET_DUMPS_UNKNOWN,
		.question = tapir_runtime_asker__ask(asker, TAPIR_RUNTIME_DOTNET, tgid),
	};
}

void tapir_dotnet_names__fini(struct tapir_dotnet_names *n)
{
	tapir_jitdump__close(n->dump);
	tapir_runtime_question__drop(n->question);
	*n = (struct tapir_dotnet_names){};
}

void tapir_dotnet_names__miss(struct tapir_dotnet_names *n, uint64_t time_ns)
{
	if (time_ns > n->missed_ns)
		n->missed_ns = time_ns;
}

void tapir_dotnet_names__told(struct tapir_dotnet_names *n, uint64_t time_ns)
{
	if (n->is_told || !n->asker)
		return;
	n->is_told = true;
	n->next_ns = 0;
	tapir_dotnet_names__miss(n, time_ns);
}

static void forget_question(struct tapir_dotnet_names *n)
{
	tapir_runtime_question__drop(n->question);
	n->question = NULL;
}

static void wait_for(struct tapir_dotnet_names *n, uint64_t now_ns, uint64_t max_wait_ns)
{
	n->next_ns = now_ns + n->wait_ns;
	n->wait_ns = n->wait_ns * 2 < max_wait_ns ? n->wait_ns * 2 : max_wait_ns;
}

/* One that is stopped or starting may answer later; one that has no socket will not. */
static void fail(struct tapir_dotnet_names *n, int err, uint64_t now_ns)
{
	forget_question(n);
	n->is_over = err == -EALREADY || err == -ENOENT || err == -EPERM || err == -ESRCH ||
		     ++n->failed_cnt >= FAILURES_MAX;
	if (!n->last_ns || err == -EALREADY)
		n->dumps = TAPIR_DOTNET_DUMPS_THEIRS;
	wait_for(n, now_ns, WAIT_NS);
}

static void take_answer(struct tapir_dotnet_names *n, uint64_t now_ns)
{
	const struct tapir_dotnet_snapshot *snapshot =
		tapir_runtime_question__snapshot(n->question);
	struct tapir_jitdump_opts opts = {.sz = sizeof(opts), .tgid = n->tgid, .uid = n->uid};
	int mark = tapir_diag__cnt();

	if (!snapshot) {
		fail(n, tapir_runtime_question__error(n->question), now_ns);
		return;
	}
	n->dumps = TAPIR_DOTNET_DUMPS_OURS;
	opts.fd = snapshot->fd;
	if (snapshot->is_rundown) {
		opts.tgid = 0; /* it is no file of the process */
		opts.uid = geteuid();
	}
	opts.is_picture = true;
	opts.since_ns = n->last_ns;
	opts.at_ns = snapshot->begin_ns;
	n->taken_ns = snapshot->begin_ns;
	if (tapir_jitdump__open(&opts, &n->dump)) {
		tapir_diag__rewind(mark);
		fail(n, -EIO, now_ns);
	}
}

static void finish_dump(struct tapir_dotnet_names *n, uint64_t now_ns)
{
	bool has_news = tapir_jitdump__stats(n->dump)->names;

	tapir_jitdump__close(n->dump);
	n->dump = NULL;
	forget_question(n);
	n->last_ns = n->taken_ns;
	n->failed_cnt = 0;
	wait_for(n, now_ns, has_news ? WAIT_NS : IDLE_WAIT_NS);
}

static void ask_again(struct tapir_dotnet_names *n, uint64_t now_ns, bool is_last)
{
	if (n->is_over || n->missed_ns <= n->last_ns || (now_ns < n->next_ns && !is_last))
		return;
	n->question = tapir_runtime_asker__ask(n->asker, TAPIR_RUNTIME_DOTNET, n->tgid);
}

bool tapir_dotnet_names__read(struct tapir_dotnet_names *n, uint64_t now_ns, bool is_last,
			      size_t max_bytes, struct tapir_jit_table *table)
{
	if (!n->asker || !table)
		return false;
	if (!n->question)
		ask_again(n, now_ns, is_last);
	if (!n->question)
		return false;
	if (!n->dump && tapir_runtime_question__is_answered(n->question))
		take_answer(n, now_ns);
	if (!n->dump)
		return n->question && is_last;
	if (tapir_jitdump__read(n->dump, now_ns, max_bytes, table) > 0)
		return true;
	finish_dump(n, now_ns);
	return false;
}

bool tapir_dotnet_names__may_come(const struct tapir_dotnet_names *n, uint64_t time_ns)
{
	return n->asker && (n->question || (!n->is_over && time_ns > n->last_ns));
}

bool tapir_dotnet_names__come_by(const struct tapir_dotnet_names *n, uint64_t until_ns)
{
	return n->question ||
	       (n->asker && !n->is_over && n->missed_ns > n->last_ns && n->next_ns <= until_ns);
}
