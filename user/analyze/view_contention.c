// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Locks by the time threads waited for them: those whose events identify the lock, and waits inside
 * a lock function without an event. The thread that ended a wait held the lock.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/view.h"
#include "analyze/wait_reason.h"

#define MAX_LOCKS  16384u
#define MAX_WAYS   24 /* of waiting for one lock: stack and who ended it */
#define WAYS_SHOWN 5

struct way {
	uint32_t node, waker_tid, holder_node;
	uint64_t ns, cnt, longest_ns;
	uint64_t holder_ns; /* by how much the holder's stack outweighs all others */
	char waker[TAPIR_COMM_TEXT_BYTES];
	char *holder_in; /* label of the interval it was in; NULL: none */
};

struct lock {
	uint32_t kind; /* TAPIR_NO_KIND: it had no event */
	char *label;
	const char *reason;
	uint64_t cnt, waited_ns, worst_ns, threads_seen;
	uint32_t last_tid;
	unsigned way_cnt;
	struct way ways[MAX_WAYS];
};

struct contention {
	struct tapir_view_asked asked;
	uint64_t cnt, waited_ns, half, more;
	struct tapir_map by_key;
	struct tapir_vec(struct lock *) locks;
	struct tapir_wait_reasons reasons;
	bool failed;
};

static void fini(void *ctx)
{
	struct contention *v = ctx;
	struct lock **lock;

	tapir_vec_for_each (lock, &v->locks) {
		for (unsigned i = 0; i < (*lock)->way_cnt; i++)
			free((*lock)->ways[i].holder_in);
		free((*lock)->label);
		free(*lock);
	}
	tapir_vec__fini(&v->locks);
	tapir_map__fini(&v->by_key);
	tapir_wait_reasons__fini(&v->reasons);
}

static struct lock *make_lock(struct contention *v, uint64_t key, uint32_t kind, const char *label)
{
	struct lock *lock = NULL;
	uint64_t *idx = NULL;

	if (v->locks.cnt == MAX_LOCKS) {
		v->more++;
		return NULL;
	}
	lock = calloc(1, sizeof(*lock));
	if (lock)
		lock->label = label ? strdup(label) : NULL;
	idx = lock ? tapir_map__put(&v->by_key, key, NULL) : NULL;
	if (!idx || (label && !lock->label) || !tapir_vec__push(&v->locks, lock)) {
		if (idx)
			tapir_map__del(&v->by_key, key);
		if (lock)
			free(lock->label);
		free(lock);
		v->failed = true;
		return NULL;
	}
	lock->kind = kind;
	*idx = v->locks.cnt - 1;
	return lock;
}

static struct lock *lock_of(struct contention *v, uint32_t tgid, uint32_t kind, const char *label)
{
	uint64_t key = tapir_hash__mix(tapir_hash__mix(1, tgid), kind);
	const uint64_t *idx;

	key = tapir_hash__bytes(key, label ? label : "", label ? strlen(label) : 0);
	idx = tapir_map__get(&v->by_key, key);
	return idx ? v->locks.data[*idx] : make_lock(v, key, kind, label);
}

/* By the stack of the wait. */
static struct lock *untold_lock(struct contention *v, const struct tapir_wait *w,
				const char *reason)
{
	uint64_t key = tapir_hash__mix(tapir_hash__mix(2, w->thread->tgid), w->node);
	const uint64_t *idx = tapir_map__get(&v->by_key, key);
	struct lock *lock = idx ? v->locks.data[*idx] : make_lock(v, key, TAPIR_NO_KIND, NULL);

	if (lock)
		lock->reason = reason;
	return lock;
}

/*
 * The stack that held up the waiters for most of the time, if any did for more than half: in the
 * longest wait the holder may have been preempted, or have come and gone several times.
 */
static void weigh_holder(struct way *way, uint32_t node, uint64_t ns)
{
	if (node == TAPIR_NO_NODE)
		return;
	if (node == way->holder_node) {
		way->holder_ns += ns;
	} else if (ns > way->holder_ns) {
		way->holder_node = node;
		way->holder_ns = ns - way->holder_ns;
	} else {
		way->holder_ns -= ns;
	}
}

/* node: of the wait, or of its event, whichever is more specific. */
static void count_way(struct contention *v, struct lock *lock, const struct tapir_wait *w,
		      uint32_t node, uint64_t ns)
{
	const struct tapir_tl_thread *holder = tapir_timeline__thread(v->asked.tl, w->waker_tid);
	struct way *way = lock->ways;

	while (way < lock->ways + lock->way_cnt &&
	       (way->node != node || way->waker_tid != w->waker_tid))
		way++;
	if (way == lock->ways + MAX_WAYS)
		way--; /* the last one is all others */
	else if (way == lock->ways + lock->way_cnt) {
		lock->way_cnt++;
		*way = (struct way){
			.node = node, .waker_tid = w->waker_tid, .holder_node = TAPIR_NO_NODE};
		tapir_comm__copy(way->waker,
				 tapir_timeline__comm(v->asked.tl, w->waker_tid, w->wake_ns));
	}
	way->ns += ns;
	way->cnt++;
	if (!(way->cnt & (way->cnt - 1))) /* it may have got its name in the meantime */
		tapir_comm__copy(way->waker,
				 tapir_timeline__comm(v->asked.tl, w->waker_tid, w->wake_ns));
	if (!holder || holder == w->thread)
		return;
	weigh_holder(way, tapir_tl_thread__doing(holder, w->from_ns, w->wake_ns), ns);
	if (ns < way->longest_ns)
		return;
	free(way->holder_in);
	way->holder_in = tapir_tl_thread__within(v->asked.tl, holder, w->wake_ns);
	way->longest_ns = ns;
}

static void on_wait(void *ctx, const struct tapir_wait *w)
{
	struct contention *v = ctx;
	const struct tapir_interval *causing = tapir_tl_thread__causing(w->thread);
	const struct tapir_stack_tree *tree = tapir_timeline__stacks(v->asked.tl);
	bool is_told = causing && causing->cause == TAPIR_CAUSE_LOCK;
	uint64_t ns = w->wake_ns - w->from_ns;
	const char *reason;
	struct lock *lock;

	if (is_told) {
		lock = lock_of(v, causing->tgid, causing->kind, causing->label);
		if (lock)
			count_way(v, lock, w,
				  causing->node != TAPIR_NO_NODE &&
						  !tapir_stack__is_whole(tree, w->node)
					  ? causing->node
					  : w->node,
				  ns);
		return;
	}
	reason = w->state ? tapir_wait_reasons__of(&v->reasons, tree, w->node) : NULL;
	if (!reason || !tapir_wait_reason__is_lock(reason))
		return;
	lock = untold_lock(v, w, reason);
	if (!lock)
		return;
	count_way(v, lock, w, w->node, ns);
	lock->cnt++;
	lock->waited_ns += ns;
	lock->worst_ns = ns > lock->worst_ns ? ns : lock->worst_ns;
	v->cnt++;
	v->waited_ns += ns;
}

/* It began before the recording, or has not ended in it: by its stack, if that is known. */
static void on_cut_wait(void *ctx, const struct tapir_wait *w)
{
	if (w->node != TAPIR_NO_NODE)
		on_wait(ctx, w);
}

static void on_close(void *ctx, struct tapir_interval *i)
{
	struct contention *v = ctx;
	uint64_t took_ns = i->until_ns - i->from_ns;
	struct lock *lock;

	if (i->cause != TAPIR_CAUSE_LOCK)
		return;
	if (i->flags & TAPIR_INTERVAL_UNBEGUN) {
		v->half++;
		return;
	}
	lock = lock_of(v, i->tgid, i->kind, i->label);
	if (!lock)
		return;
	v->half += i->flags & TAPIR_INTERVAL_UNENDED ? 1 : 0;
	v->cnt++;
	v->waited_ns += took_ns;
	lock->cnt++;
	lock->waited_ns += took_ns;
	lock->worst_ns = took_ns > lock->worst_ns ? took_ns : lock->worst_ns;
	if (!lock->way_cnt && i->node != TAPIR_NO_NODE) {
		lock->ways[lock->way_cnt++] = (struct way){
			.node = i->node, .holder_node = TAPIR_NO_NODE, .ns = took_ns, .cnt = 1};
	}
}

/* ---- the result ------------------------------------------------------------------------------ */

static int by_waited(const void *a, const void *b)
{
	const struct lock *x = *(struct lock *const *)a, *y = *(struct lock *const *)b;

	return x->waited_ns < y->waited_ns ? 1 : x->waited_ns > y->waited_ns ? -1 : 0;
}

static int by_ns(const void *a, const void *b)
{
	const struct way *x = a, *y = b;

	return x->ns < y->ns ? 1 : x->ns > y->ns ? -1 : 0;
}

static void add_ways(struct tapir_view_result *result, size_t locks, struct lock *lock)
{
	static const struct tapir_column columns[] = {
		{"ns", ">ASLEEP", TAPIR_CELL_NS},
		{"count", ">TIMES", TAPIR_CELL_COUNT},
		{"let_go_by", "RELEASED BY", TAPIR_CELL_TEXT},
		{"let_go_by_tid", NULL, TAPIR_CELL_ID},
		{"let_go_in", "INSIDE", TAPIR_CELL_TEXT},
		{"stack", "WAITER", TAPIR_CELL_ORIGIN},
		{"holder_stack", "HOLDER STACK", TAPIR_CELL_ORIGIN},
		{}};
	size_t t = tapir_view_result__table_of_row(result, locks, "waiters", NULL, columns);

	qsort(lock->ways, lock->way_cnt, sizeof(*lock->ways), by_ns);
	for (unsigned i = 0; i < lock->way_cnt && (result->top || i < WAYS_SHOWN); i++) {
		tapir_view_result__u64(result, t, lock->ways[i].ns);
		tapir_view_result__u64(result, t, lock->ways[i].cnt);
		tapir_view_result__name(result, t, lock->ways[i].waker, lock->ways[i].waker_tid);
		tapir_view_result__u64(result, t, lock->ways[i].waker_tid);
		tapir_view_result__text(result, t, lock->ways[i].holder_in);
		tapir_view_result__stack(result, t, lock->ways[i].node);
		tapir_view_result__stack(result, t, lock->ways[i].holder_node);
	}
}

static const char *kind_name(const struct contention *v, const struct lock *lock)
{
	const struct tapir_pairs *pairs = tapir_timeline__pairs(v->asked.tl);

	return lock->kind == TAPIR_NO_KIND ? lock->reason : pairs->kinds.data[lock->kind].name;
}

static void add_headline(const struct contention *v, struct tapir_view_result *result)
{
	const struct lock *worst = v->locks.cnt ? v->locks.data[0] : NULL;
	char waited[TAPIR_NS_TEXT_BYTES];
	char times[TAPIR_TIMES_TEXT_BYTES];

	if (!v->cnt || !worst) {
		tapir_view_result__nothing(result, "no thread was seen to wait for a lock");
		return;
	}
	tapir_str__addf(&result->headline, "threads waited %s for locks, %s; %.0f%% for %s%s%s",
			tapir_ns__text(v->waited_ns, waited), tapir_times__text(v->cnt, times),
			v->waited_ns ? 100.0 * (double)worst->waited_ns / (double)v->waited_ns : 0,
			kind_name(v, worst), worst->label && *worst->label ? " " : "",
			worst->label ? worst->label : "");
	if (worst->way_cnt && worst->ways[0].waker_tid)
		tapir_str__addf(&result->headline, ", most often released by %s (%u)",
				*worst->ways[0].waker ? worst->ways[0].waker : "?",
				worst->ways[0].waker_tid);
}

static int finish(void *ctx, struct tapir_view_result *result)
{
	static const struct tapir_column columns[] = {{"ns", ">WAITED", TAPIR_CELL_NS},
						      {"percent", ">SHARE", TAPIR_CELL_PERCENT},
						      {"count", ">TIMES", TAPIR_CELL_COUNT},
						      {"worst_ns", ">WORST", TAPIR_CELL_NS},
						      {"kind", "KIND", TAPIR_CELL_TEXT},
						      {"label", "LOCK", TAPIR_CELL_TEXT},
						      {}};
	struct contention *v = ctx;
	size_t t = tapir_view_result__table(result, "locks", "locks", columns);

	if (v->locks.cnt)
		qsort(v->locks.data, v->locks.cnt, sizeof(*v->locks.data), by_waited);
	for (size_t i = 0; i < v->locks.cnt && i < v->asked.top; i++) {
		struct lock *lock = v->locks.data[i];

		if (!lock->cnt)
			continue;
		tapir_view_result__u64(result, t, lock->waited_ns);
		tapir_view_result__share(result, t, lock->waited_ns, v->waited_ns);
		tapir_view_result__u64(result, t, lock->cnt);
		tapir_view_result__u64(result, t, lock->worst_ns);
		tapir_view_result__text(result, t, kind_name(v, lock));
		tapir_view_result__text(result, t, lock->label);
		add_ways(result, t, lock);
	}
	tapir_view_result__fact(result, "count", NULL, TAPIR_CELL_COUNT, v->cnt);
	tapir_view_result__fact(result, "waited_ns", NULL, TAPIR_CELL_NS, v->waited_ns);
	tapir_view_result__fact(result, "half", NULL, TAPIR_CELL_COUNT, v->half);
	add_headline(v, result);
	if (v->half)
		tapir_view_result__note(
			result, "%llu waits began before the recording or did not end in it",
			(unsigned long long)v->half);
	return v->failed ? -ENOMEM : 0;
}

const struct tapir_view tapir_view_contention = {
	.name = "contention",
	.summary = "locks by the time threads waited for them, with their holders",
	.fns = {.wait = on_wait, .cut_wait = on_cut_wait, .close = on_close},
	.ctx_bytes = sizeof(struct contention),
	.default_top = 10,
	.finish = finish,
	.fini = fini,
};
