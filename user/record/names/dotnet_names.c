// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See dotnet_names.h. The state of a process: a question is under way, an answer is being read, or
 * the next question waits for its time and for unnamed code.
 */
#include "record/names/dotnet_names.h"

#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/diag.h"
#include "base/log.h"

#define FIRST_WAIT_NS	 (1 * TAPIR_NS_PER_SEC)
#define WAIT_NS		 (10 * TAPIR_NS_PER_SEC)
#define IDLE_WAIT_NS	 (80 * TAPIR_NS_PER_SEC)
#define ANNOUNCE_WAIT_NS (400 * TAPIR_NS_PER_MS) /* for its own events to begin */
#define EVENT_NS	 (1 * TAPIR_NS_PER_SEC)	 /* from the compiler to us */
#define FAILURES_MAX	 3
#define REQUESTED_MAX	 65536u

void tapir_dotnet_names__start(struct tapir_dotnet_names *n, struct tapir_runtime_queries *queries,
			       const struct tapir_runtime_ops *runtime, uint32_t tgid, uint32_t uid,
			       bool will_announce)
{
	uint64_t now_ns = tapir_clock__now_ns();

	if (n->queries)
		return;
	*n = (struct tapir_dotnet_names){
		.queries = queries,
		.runtime = runtime,
		.tgid = tgid,
		.uid = uid,
		.missed_ns = now_ns,
		.announced_since_ns = n->announced_since_ns,
		.is_doubted = n->is_doubted,
		.next_ns = will_announce && !n->announced_since_ns ? now_ns + ANNOUNCE_WAIT_NS : 0,
		.wait_ns = FIRST_WAIT_NS,
		.dumps = TAPIR_DOTNET_DUMPS_UNKNOWN,
	};
}

void tapir_dotnet_names__fini(struct tapir_dotnet_names *n)
{
	tapir_jitdump__close(n->dump);
	tapir_runtime_query__drop(n->question);
	tapir_map__fini(&n->requested);
	*n = (struct tapir_dotnet_names){};
}

void tapir_dotnet_names__reports_methods(struct tapir_dotnet_names *n, uint64_t time_ns)
{
	if (n->announced_since_ns)
		return;
	n->announced_since_ns = time_ns;
	n->next_ns = 0;
	n->missed_ns = time_ns > n->missed_ns ? time_ns : n->missed_ns;
}

/* All of it, since the last snapshot. */
static bool announces_all(const struct tapir_dotnet_names *n)
{
	return n->announced_since_ns && n->last_ns > n->announced_since_ns && !n->is_doubted;
}

/* Returns true if code without a name ran since the last snapshot that justifies another one. */
static bool has_missed(const struct tapir_dotnet_names *n)
{
	return n->missed_ns > n->last_ns ||
	       (!announces_all(n) && n->missed_announced_ns > n->last_ns);
}

static void forget_question(struct tapir_dotnet_names *n)
{
	tapir_runtime_query__drop(n->question);
	n->question = NULL;
}

static void wait_for(struct tapir_dotnet_names *n, uint64_t now_ns, uint64_t max_wait_ns)
{
	n->next_ns = now_ns + n->wait_ns;
	n->wait_ns = n->wait_ns * 2 < max_wait_ns ? n->wait_ns * 2 : max_wait_ns;
}

/* A process that is stopped or starting may answer later; one that has no socket will not. */
static void fail_dotnet_names(struct tapir_dotnet_names *n, int err, uint64_t now_ns)
{
	forget_question(n);
	n->has_ended = err == -EALREADY || err == -ENOENT || err == -EPERM || err == -ESRCH ||
		       ++n->failed_cnt >= FAILURES_MAX;
	if (!n->last_ns || err == -EALREADY)
		n->dumps = TAPIR_DOTNET_DUMPS_THEIRS;
	wait_for(n, now_ns, WAIT_NS);
}

static void take_answer(struct tapir_dotnet_names *n, uint64_t now_ns)
{
	const struct tapir_jitdump_answer *snapshot = tapir_runtime_query__answer(n->question);
	struct tapir_jitdump_opts opts = {.sz = sizeof(opts), .tgid = n->tgid, .uid = n->uid};
	int mark = tapir_diag__cnt();

	if (!snapshot) {
		fail_dotnet_names(n, tapir_runtime_query__error(n->question), now_ns);
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
		fail_dotnet_names(n, -EIO, now_ns);
	}
}

static void finish_dump(struct tapir_dotnet_names *n, uint64_t now_ns)
{
	const struct tapir_jitdump_stats *stats = tapir_jitdump__stats(n->dump);
	uint64_t names = stats->names;

	tapir_debug("process %u: its runtime wrote the names of %" PRIu64 " methods, %" PRIu64
		    " of them new, %" PRIu64 " refused",
		    n->tgid, stats->records, names, stats->refused);

	tapir_jitdump__close(n->dump);
	n->dump = NULL;
	forget_question(n);
	n->last_ns = n->taken_ns;
	n->failed_cnt = 0;
	wait_for(n, now_ns, names ? WAIT_NS : IDLE_WAIT_NS);
}

static void ask_again(struct tapir_dotnet_names *n, uint64_t now_ns, bool is_last)
{
	bool has = has_missed(n) || (is_last && n->missed_announced_ns > n->last_ns);

	if (n->has_ended || !has || (now_ns < n->next_ns && !is_last))
		return;
	n->question = tapir_runtime_queries__ask(n->queries, n->runtime, n->tgid);
}

bool tapir_dotnet_names__read(struct tapir_dotnet_names *n, uint64_t now_ns, bool is_last,
			      size_t max_bytes, struct tapir_jit_table *table)
{
	if (!n->queries || !table)
		return false;
	if (!n->question)
		ask_again(n, now_ns, is_last);
	if (!n->question)
		return false;
	if (!n->dump && tapir_runtime_query__is_answered(n->question))
		take_answer(n, now_ns);
	if (!n->dump)
		return n->question && is_last;
	if (tapir_jitdump__read(n->dump, now_ns, max_bytes, table) > 0)
		return true;
	finish_dump(n, now_ns);
	return false;
}

/* Events of the process that name the code may still be on their way. */
static bool is_fresh(uint64_t time_ns)
{
	return tapir_clock__now_ns() < time_ns + EVENT_NS;
}

/* Returns true if the code ran before the last snapshot, too, which has no name for it. */
static bool is_nameless(struct tapir_dotnet_names *n, uint64_t va, uint64_t time_ns)
{
	bool is_new = true;
	uint64_t *first_ns = n->requested.cnt < REQUESTED_MAX
				     ? tapir_map__put(&n->requested, va, &is_new)
				     : tapir_map__get(&n->requested, va);

	if (first_ns && is_new)
		*first_ns = time_ns;
	return first_ns && *first_ns <= n->last_ns;
}

bool tapir_dotnet_names__miss(struct tapir_dotnet_names *n, uint64_t va, uint64_t time_ns,
			      bool is_announced)
{
	uint64_t *missed_ns = is_announced ? &n->missed_announced_ns : &n->missed_ns;

	if (!n->queries || n->has_ended || (time_ns <= n->last_ns && !n->question))
		return false;
	if (is_nameless(n, va, time_ns))
		return false;
	if (time_ns > *missed_ns)
		*missed_ns = time_ns;
	return n->question || !is_announced || !announces_all(n) || is_fresh(time_ns);
}

bool tapir_dotnet_names__are_known(const struct tapir_dotnet_names *n, uint64_t time_ns)
{
	return time_ns <= n->last_ns || announces_all(n);
}

bool tapir_dotnet_names__poll(const struct tapir_dotnet_names *n, uint64_t until_ns)
{
	return n->question ||
	       (n->queries && !n->has_ended && has_missed(n) && n->next_ns <= until_ns);
}
