// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A thread a stream, which ends with it. At the end a second one asks the runtime to stop, while
 * the first reads on: its answer comes when all was sent.
 */
#include "runtime/dotnet/lanes/dotnet_streams.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/diag.h"
#include "base/file.h"
#include "base/log.h"
#include "runtime/dotnet/lanes/stream_providers.h"
#include "runtime/dotnet/lanes/stream_records.h"
#include "runtime/dotnet/dotnet_assembly.h"
#include "runtime/dotnet/dotnet_stream.h"

#define BUFFER_MB  64u /* of the runtime, for one session; used as it is needed */
#define READ_BYTES (256u << 10)
#define POLL_MS	   50
#define OPEN_NS	   (2 * TAPIR_NS_PER_SEC)
#define STOP_NS	   (2 * TAPIR_NS_PER_SEC)
#define LAST_NS	   (3 * TAPIR_NS_PER_SEC) /* for what a runtime has when it was stopped */

struct stream {
	struct tapir_dotnet_streams *all;
	uint32_t tgid;
	struct tapir_dotnet_stream port;
	struct tapir_stream_records records;
	struct tapir_nettrace_stream *reader;
	pthread_t thread, stopper;
	bool has_stopper;
	bool is_done;	   /* atomic, like: */
	uint64_t until_ns; /* 0: no end yet */
};

struct tapir_dotnet_streams {
	struct tapir_dotnet_streams_opts opts;
	struct tapir_stream_sink sink;
	pthread_mutex_t lock; /* of the list */
	struct stream *list[TAPIR_DOTNET_STREAMS_MAX];
	size_t process_cnt;
	bool has_ended;
};

/* ---- one stream: its thread ------------------------------------------------------------------ */

static bool is_due(const struct stream *s)
{
	uint64_t until_ns = __atomic_load_n(&s->until_ns, __ATOMIC_ACQUIRE);

	return until_ns && tapir_clock__now_ns() >= until_ns;
}

static int feed_stream(struct stream *s, const void *bytes, size_t len)
{
	int err;

	tapir_stream_records__begin(&s->records);
	err = tapir_nettrace_stream__feed(s->reader, bytes, len);
	tapir_stream_records__end(&s->records, tapir_nettrace_stream__malformed_cnt(s->reader));
	return err;
}

/* 0: it has ended. */
static int read_stream(struct stream *s, void *buffer)
{
	struct pollfd fd = {.fd = s->port.fd, .events = POLLIN};

	while (!tapir_nettrace_stream__has_ended(s->reader)) {
		ssize_t n;
		int err;

		if (is_due(s))
			return -ETIMEDOUT;
		if (poll(&fd, 1, POLL_MS) <= 0)
			continue;
		n = read(fd.fd, buffer, READ_BYTES);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n <= 0)
			return n ? -errno : -ECONNRESET;
		err = feed_stream(s, buffer, (size_t)n);
		if (err)
			return err;
	}
	return 0;
}

static void report_end(const struct stream *s, int err)
{
	if (err == -EPROTO || err == -EOPNOTSUPP)
		tapir_warn("process %u: cannot continue reading its event stream: %s", s->tgid,
			   tapir_errno__text(err));
	else if (err == -ETIMEDOUT)
		tapir_warn("process %u: the end of its event stream did not arrive in time",
			   s->tgid);
	else if (err)
		tapir_warn(
			"process %u: its event stream ended early (%s): events that the runtime had not sent are lost, their number is not known",
			s->tgid, tapir_errno__text(err));
}

static void *run_stream(void *arg)
{
	struct stream *s = arg;
	tapir_autofree void *buffer = malloc(READ_BYTES);

	report_end(s, buffer ? read_stream(s, buffer) : -ENOMEM);
	tapir_guard__fd(&s->port.fd);
	tapir_diag__clear();
	__atomic_store_n(&s->is_done, true, __ATOMIC_RELEASE);
	return NULL;
}

static void *stop_one(void *arg)
{
	struct stream *s = arg;
	const struct tapir_dotnet_opts opts = {
		.tgid = s->tgid, .cancel_fd = -1, .timeout_ns = STOP_NS};
	int err = tapir_dotnet_stream__stop(&opts, s->port.session_id);
	uint64_t last_ns = err ? 2 * POLL_MS * TAPIR_NS_PER_MS : LAST_NS;

	__atomic_store_n(&s->until_ns, tapir_clock__now_ns() + last_ns, __ATOMIC_RELEASE);
	tapir_diag__clear();
	return NULL;
}

static void free_stream(struct stream *s)
{
	tapir_stream_records__fini(&s->records);
	tapir_nettrace_stream__free(s->reader);
	tapir_guard__fd(&s->port.fd);
	free(s);
}

/* Takes the port, also on failure. */
static int start_stream(struct tapir_dotnet_streams *all, uint32_t tgid,
			const struct tapir_dotnet_stream *port, struct stream **out)
{
	struct stream *s = calloc(1, sizeof(*s));
	struct tapir_nettrace_sink sink;
	int err;

	if (!s) {
		close(port->fd);
		return -ENOMEM;
	}
	s->all = all;
	s->tgid = tgid;
	s->port = *port;
	tapir_stream_records__init(&s->records, &all->sink, tgid);
	sink = tapir_stream_records__sink(&s->records);
	err = tapir_nettrace_stream__new(&sink, &s->reader);
	if (!err)
		err = -pthread_create(&s->thread, NULL, run_stream, s);
	if (err)
		free_stream(s);
	else
		*out = s;
	return err;
}

/* ---- the list -------------------------------------------------------------------------------- */

/*
 * A free entry, if necessary of a stream that has ended; lock held. NULL: none, or the recording
 * has ended.
 */
static struct stream **find_free_stream(struct tapir_dotnet_streams *all)
{
	for (unsigned i = 0; i < TAPIR_DOTNET_STREAMS_MAX && !all->has_ended; i++) {
		struct stream *s = all->list[i];

		if (s && !__atomic_load_n(&s->is_done, __ATOMIC_ACQUIRE))
			continue;
		if (s) {
			pthread_join(s->thread, NULL);
			free_stream(s);
		}
		all->list[i] = NULL;
		return &all->list[i];
	}
	return NULL;
}

static int ask_for(struct tapir_dotnet_streams *all, uint32_t tgid, int cancel_fd,
		   const struct tapir_stream_providers *providers, struct tapir_dotnet_stream *port)
{
	const struct tapir_dotnet_opts opts = {.tgid = tgid,
					       .cancel_fd = cancel_fd,
					       .timeout_ns = OPEN_NS,
					       .port = all->opts.port};
	const struct tapir_dotnet_session session = {
		.buffer_mb = BUFFER_MB,
		.has_stacks = all->opts.with_stack,
		.providers = providers->all,
		.provider_cnt = providers->cnt,
	};

	if (!providers->cnt)
		return tapir_diag__fail(
			-ENOTSUP,
			"cannot open the event stream of .NET process %u: it requires provider names, and no SPEC names a known one",
			tgid);
	return tapir_dotnet_stream__open(&opts, &session, port);
}

/* The assemblies' definitions are read only where a glob may mean them. */
static int request_stream(struct tapir_dotnet_streams *all, uint32_t tgid, int cancel_fd,
			  struct tapir_dotnet_stream *port)
{
	tapir_autofree struct tapir_stream_providers *providers = calloc(1, sizeof(*providers));
	struct tapir_event_sources sources = {};
	int mark = tapir_diag__cnt(), err;

	if (!providers)
		return -ENOMEM;
	if (tapir_stream_providers__need_names(all->opts.request) &&
	    tapir_dotnet_sources__add_process(&sources, tgid))
		tapir_diag__rewind(mark);
	tapir_stream_providers__fill(providers, all->opts.request, sources.all.data,
				     sources.all.cnt);
	err = ask_for(all, tgid, cancel_fd, providers, port);
	tapir_event_sources__fini(&sources);
	return err;
}

static int fail_full(uint32_t tgid)
{
	return tapir_diag__fail(
		-EUSERS,
		"cannot open the event stream of .NET process %u: the limit of %u streams is reached",
		tgid, TAPIR_DOTNET_STREAMS_MAX);
}

/* Else the runtime would begin a session without a reader. */
static bool has_free_stream(struct tapir_dotnet_streams *all)
{
	bool has;

	pthread_mutex_lock(&all->lock);
	has = find_free_stream(all) != NULL;
	pthread_mutex_unlock(&all->lock);
	return has;
}

int tapir_dotnet_streams__open(struct tapir_dotnet_streams *all, uint32_t tgid, int cancel_fd)
{
	struct tapir_dotnet_stream port = {.fd = -1};
	struct stream **slot;
	int err;

	if (!has_free_stream(all))
		return fail_full(tgid);
	err = request_stream(all, tgid, cancel_fd, &port);
	if (err)
		return err;
	pthread_mutex_lock(&all->lock);
	slot = find_free_stream(all);
	if (slot) {
		err = start_stream(all, tgid, &port, slot);
		all->process_cnt += !err;
	} else {
		close(port.fd);
		err = fail_full(tgid);
	}
	pthread_mutex_unlock(&all->lock);
	return err;
}

/* ---- questions --------------------------------------------------------------------------------- */

size_t tapir_dotnet_streams__process_cnt(struct tapir_dotnet_streams *all)
{
	size_t cnt;

	if (!all)
		return 0;
	pthread_mutex_lock(&all->lock);
	cnt = all->process_cnt;
	pthread_mutex_unlock(&all->lock);
	return cnt;
}

bool tapir_dotnet_streams__spec_matched(struct tapir_dotnet_streams *all, size_t spec_idx)
{
	bool matched;

	if (!all || spec_idx >= all->opts.specs->cnt)
		return false;
	pthread_mutex_lock(&all->sink.lock);
	matched = all->sink.spec_matched[spec_idx];
	pthread_mutex_unlock(&all->sink.lock);
	return matched;
}

void tapir_dotnet_streams__add_seen(struct tapir_dotnet_streams *all, struct tapir_seen_names *out)
{
	if (!all)
		return;
	pthread_mutex_lock(&all->sink.lock);
	tapir_seen_names__add_all(out, &all->sink.seen);
	pthread_mutex_unlock(&all->sink.lock);
}

/* ---- lifecycle --------------------------------------------------------------------------------- */

int tapir_dotnet_streams__new(const struct tapir_dotnet_streams_opts *opts,
			      struct tapir_dotnet_streams **out)
{
	struct tapir_dotnet_streams *all = calloc(1, sizeof(*all));
	int err;

	if (!all)
		return -ENOMEM;
	all->opts = *opts;
	pthread_mutex_init(&all->lock, NULL);
	err = tapir_stream_sink__init(&all->sink, opts->queue, opts->specs, opts->name_spec);
	if (err)
		tapir_dotnet_streams__free(all);
	else
		*out = all;
	return err;
}

void tapir_dotnet_streams__stop(struct tapir_dotnet_streams *all)
{
	if (!all)
		return;
	pthread_mutex_lock(&all->lock);
	all->has_ended = true;
	pthread_mutex_unlock(&all->lock);
	for (unsigned i = 0; i < TAPIR_DOTNET_STREAMS_MAX; i++) {
		struct stream *s = all->list[i];

		if (!s || __atomic_load_n(&s->is_done, __ATOMIC_ACQUIRE))
			continue;
		/*
		 * Each waits for its runtime's answer: all are asked at once, since one that does
		 * not answer takes until its timeout.
		 */
		s->has_stopper = !pthread_create(&s->stopper, NULL, stop_one, s);
		if (!s->has_stopper)
			__atomic_store_n(&s->until_ns, 1, __ATOMIC_RELEASE);
	}
	for (unsigned i = 0; i < TAPIR_DOTNET_STREAMS_MAX; i++) {
		struct stream *s = all->list[i];

		if (!s)
			continue;
		pthread_join(s->thread, NULL);
		if (s->has_stopper)
			pthread_join(s->stopper, NULL);
		free_stream(s);
		all->list[i] = NULL;
	}
}

void tapir_dotnet_streams__free(struct tapir_dotnet_streams *all)
{
	if (!all)
		return;
	tapir_dotnet_streams__stop(all);
	tapir_stream_sink__fini(&all->sink);
	pthread_mutex_destroy(&all->lock);
	free(all);
}
