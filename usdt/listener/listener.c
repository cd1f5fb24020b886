/* SPDX-License-Identifier: MIT */
/*
 * listener.c - a listener's rounds: what is in the buffers is copied out, so that they are free
 * again before anything of the consumer's runs, sorted by time, and delivered up to the moment at
 * which the round began. What is younger waits for the next one.
 */
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "../provider/provider_kinds.h"
#include "../ring/ring_sys.h"
#include "listener_buffer.h"
#include "tapir/listener.h"

#define DEFAULT_BYTES 65536u
#define DEFAULT_MS    10u
#define STACK_BYTES   (512ul * 1024) /* the consumer's callback runs on it */
#define BATCH_FIRST   1024u
#define STALL_TRIES   50u
#define STALL_NS      100000

struct item {
	uint64_t time_ns, seq;
	size_t off;
};

struct batch {
	uint8_t *bytes;
	size_t used, cap;
	struct item *items;
	size_t cnt, item_cap;
};

struct tapir_listener {
	struct listener_buffers *buffers;
	tapir_listener_fn fn;
	void *ctx;
	uint32_t session, interval_ms, flags;
	uint32_t is_stopping, is_busy;
	uint32_t pad0;
	pid_t pid;
	pthread_t thread;
	struct batch now, later;
	uint64_t seq;
};

/* ---- a batch ------------------------------------------------------------------------------ */

static int add_to_batch(struct batch *b, const struct listener_record *record, uint64_t seq)
{
	if (!provider_make_room((void **)&b->bytes, &b->cap, b->used + record->size, 1,
				BATCH_FIRST) ||
	    !provider_make_room((void **)&b->items, &b->item_cap, b->cnt + 1, sizeof(*b->items),
				BATCH_FIRST))
		return 0;
	memcpy(b->bytes + b->used, record, record->size);
	b->items[b->cnt++] = (struct item){record->time_ns, seq, b->used};
	b->used += record->size;
	return 1;
}

static int listened_by_time(const void *left, const void *right)
{
	const struct item *a = left, *b = right;

	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	return a->seq < b->seq ? -1 : a->seq > b->seq;
}

static void free_batch(struct batch *b)
{
	free(b->bytes);
	free(b->items);
}

/* ---- a round ------------------------------------------------------------------------------ */

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

/* Without memory what is left stays in its buffer. */
static void collect_shard(struct tapir_listener *l, uint32_t shard, uint64_t until,
			  uint32_t *stalls_left)
{
	const struct timespec moment = {.tv_nsec = STALL_NS};

	for (;;) {
		int waits = 0;
		const struct listener_record *record =
			listener_buffers__next(l->buffers, shard, until, &waits);

		if (!record && waits && *stalls_left) {
			--*stalls_left;
			nanosleep(&moment, NULL);
			continue;
		}
		if (!record || !add_to_batch(&l->now, record, l->seq++))
			return;
		listener_buffers__take(l->buffers, shard, record);
	}
}

static void collect_records(struct tapir_listener *l)
{
	uint64_t heads[LISTENER_SHARDS];
	uint32_t stalls_left = STALL_TRIES;

	for (uint32_t i = 0; i < LISTENER_SHARDS; i++)
		heads[i] = listener_buffers__head(l->buffers, i);
	for (uint32_t i = 0; i < LISTENER_SHARDS; i++)
		collect_shard(l, i, heads[i], &stalls_left);
}

static void deliver_record(struct tapir_listener *l, const struct listener_record *queued)
{
	const uint8_t *at = (const uint8_t *)(queued + 1);
	struct tapir_event_record record = {
		.kind = queued->kind,
		.time_ns = queued->time_ns,
		.payload_bytes = queued->payload_bytes,
		.tid = queued->tid,
	};

	if (queued->ids & LISTENER_ACTIVITY) {
		record.activity = at;
		at += 16;
	}
	if (queued->ids & LISTENER_RELATED) {
		record.related = at;
		at += 16;
	}
	record.payload = at;
	l->fn(&record, l->ctx);
}

static const struct listener_record *record_at(const struct batch *b, size_t i)
{
	return (const struct listener_record *)(const void *)(b->bytes + b->items[i].off);
}

/* Events at or after `until` wait for the next round. The number delivered. */
static int run_round(struct tapir_listener *l, uint64_t until)
{
	struct batch spare;
	size_t i = 0;

	collect_records(l);
	if (!l->now.cnt)
		return 0;
	qsort(l->now.items, l->now.cnt, sizeof(*l->now.items), listened_by_time);
	while (i < l->now.cnt && l->now.items[i].time_ns < until)
		deliver_record(l, record_at(&l->now, i++));
	l->later.used = l->later.cnt = 0;
	for (size_t k = i; k < l->now.cnt; k++)
		if (!add_to_batch(&l->later, record_at(&l->now, k), l->now.items[k].seq))
			deliver_record(l, record_at(&l->now, k)); /* rather early than never */
	spare = l->now;
	l->now = l->later;
	l->later = spare;
	return (int)i;
}

/* ---- the thread --------------------------------------------------------------------------- */

static void *run_listener(void *arg)
{
	struct tapir_listener *l = arg;
	struct timespec time = {.tv_sec = l->interval_ms / 1000,
				.tv_nsec = l->interval_ms % 1000 * 1000000L};

	ring_sys4(SYS_prctl, PR_SET_NAME, "tapir-listener", 0, 0);
	while (!prov_load_acquire(&l->is_stopping)) {
		run_round(l, now_ns());
		ring_sys4(SYS_futex, &l->is_stopping, FUTEX_WAIT_PRIVATE, 0, &time);
	}
	return NULL;
}

static void stop_thread(struct tapir_listener *l)
{
	prov_store_release(&l->is_stopping, 1);
	ring_sys4(SYS_futex, &l->is_stopping, FUTEX_WAKE_PRIVATE, INT_MAX, 0);
	pthread_join(l->thread, NULL);
}

/* ---- open and close ----------------------------------------------------------------------- */

static int read_opts(struct tapir_listener *l, const struct tapir_listener_opts *opts,
		     uint32_t *bytes)
{
	*bytes = DEFAULT_BYTES;
	l->interval_ms = DEFAULT_MS;
	if (!opts)
		return 0;
	if (opts->size < sizeof(*opts) || opts->flags & ~TAPIR_LISTENER_POLLED)
		return -EINVAL;
	l->flags = opts->flags;
	if (opts->buffer_bytes)
		*bytes = opts->buffer_bytes;
	if (opts->interval_ms)
		l->interval_ms = opts->interval_ms;
	return *bytes < 4096 || *bytes > 64u << 20 || (*bytes & (*bytes - 1)) ||
			       l->interval_ms > 10000
		       ? -EINVAL
		       : 0;
}

static void free_listener(struct tapir_listener *l)
{
	free_batch(&l->now);
	free_batch(&l->later);
	listener_buffers__free(l->buffers);
	free(l);
}

static int open_all(struct tapir_listener *l, const struct tapir_selection *selections,
		    uint32_t cnt)
{
	int err = provider_session__open(&listener_ops, l->buffers, TAPIR_SESSION_LISTENER,
					 selections, cnt, &l->session);

	if (err || l->flags & TAPIR_LISTENER_POLLED)
		return err;
	err = provider_thread__start(&l->thread, STACK_BYTES, NULL, run_listener, l);
	if (!err)
		return 0;
	if (!provider_session__close(l->session))
		l->buffers = NULL; /* a thread is inside */
	provider_session__closed(l->session);
	return -EAGAIN;
}

int tapir_listener__open(const struct tapir_selection *selections, uint32_t cnt,
			 tapir_listener_fn fn, void *ctx, const struct tapir_listener_opts *opts,
			 struct tapir_listener **out)
{
	int saved = errno, err = fn && out ? 0 : -EINVAL;
	struct tapir_listener *l = err ? NULL : calloc(1, sizeof(*l));
	uint32_t bytes;

	if (!err)
		err = l ? read_opts(l, opts, &bytes) : -ENOMEM;
	if (!err) {
		l->fn = fn;
		l->ctx = ctx;
		l->pid = getpid();
		l->buffers = listener_buffers__new(bytes);
		err = l->buffers ? open_all(l, selections, cnt) : -ENOMEM;
	}
	if (err && l)
		free_listener(l);
	if (!err)
		*out = l;
	errno = saved;
	return err;
}

int tapir_listener__poll(struct tapir_listener *listener)
{
	int saved = errno, cnt;

	if (!(listener->flags & TAPIR_LISTENER_POLLED))
		return -EINVAL;
	if (__atomic_exchange_n(&listener->is_busy, 1, __ATOMIC_ACQUIRE))
		return -EBUSY;
	order_acquire(&listener->is_busy);
	cnt = listener->pid == getpid() ? run_round(listener, now_ns()) : 0;
	order_release(&listener->is_busy);
	prov_store_release(&listener->is_busy, 0);
	errno = saved;
	return cnt;
}

int tapir_listener__close(struct tapir_listener *listener)
{
	int saved = errno, is_same_process, has_left = 1, is_threaded;
	uint32_t session;

	if (!listener)
		return 0;
	session = listener->session;
	is_same_process = listener->pid == getpid();
	is_threaded = !(listener->flags & TAPIR_LISTENER_POLLED);
	if (is_same_process && (is_threaded ? pthread_equal(listener->thread, pthread_self()) != 0
					    : prov_load(&listener->is_busy) != 0))
		return -EDEADLK;
	if (is_same_process) {
		has_left = provider_session__close(listener->session);
		if (is_threaded)
			stop_thread(listener);
		run_round(listener, UINT64_MAX);
	}
	if (!has_left)
		listener->buffers = NULL; /* a thread is inside: its memory stays */
	free_listener(listener);
	if (is_same_process)
		provider_session__closed(session);
	errno = saved;
	return 0;
}

uint64_t tapir_listener__lost(const struct tapir_listener *listener, const char *provider)
{
	return provider_kinds__sum(listener->buffers->lost, LISTENER_ROWS, provider);
}
