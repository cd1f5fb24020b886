// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Locks by the time threads waited for them: those whose events identify the lock, and waits inside
 * a lock function without an event. The thread that ended a wait held the lock, unless events or a
 * snapshot name another owner and it was never seen to want the lock: to suspend its threads, for
 * one, a runtime ends their waits.
 */
#include <stdlib.h>
#include <string.h>

#include "base/keyed.h"
#include "analyze/app_code.h"
#include "analyze/eventless_locks.h"
#include "analyze/view.h"
#include "analyze/wait_reason.h"
#include "decode/dotnet_tables.h"
#include "analyze/monitor_owners.h"
#include "spec/runtime_db/lore.h"

#define MAX_LOCKS	16384u
#define MAX_CALLSITES	24 /* of waiting for one lock: stack and who held it */
#define MAX_WANTING	65536u
#define CALLSITES_SHOWN 5
#define TINY_SHARE	1000 /* a lock with less than that part of the waits is not shown */

struct callsite {
	uint32_t node, holder_tid, holder_node;
	uint64_t ns, cnt, longest_ns;
	uint64_t holder_ns; /* by how much the holder's stack outweighs all others */
	char holder[TAPIR_COMM_TEXT_BYTES];
	char *holder_in; /* label of the interval it was in; NULL: none */
};

struct lock {
	uint32_t kind;	    /* TAPIR_NO_KIND: it had no event */
	char *label, *type; /* type: of the object whose lock it is; NULL: not known */
	const char *reason;
	uint64_t key, cnt, waited_ns, worst_ns;
	unsigned callsite_cnt;
	struct callsite callsites[MAX_CALLSITES];
};

/* A snapshot found a thread in a wait for the lock of such an object. */
struct seen {
	uint64_t at_ns;
	char *type;
};

struct contention {
	struct tapir_view_args args;
	uint64_t cnt, waited_ns, half;
	uint64_t others_ns; /* of waited_ns: in no function of the program's own */
	struct tapir_keyed(struct lock *) locks;
	struct tapir_wait_reasons reasons;
	struct tapir_monitor_owners owners;   /* as processes number them */
	struct tapir_map numbered;	      /* threads whose number is known */
	struct tapir_map wanting;	      /* by lock and thread: it waited for it */
	struct tapir_keyed(struct seen) seen; /* by tid, the last one */
	struct tapir_app_code app_code;
	struct tapir_eventless_locks eventless;
};

static void contention_fini(void *ctx)
{
	struct contention *v = ctx;
	struct lock **lock;
	struct seen *seen;

	tapir_vec_for_each (seen, &v->seen)
		free(seen->type);
	tapir_keyed__fini(&v->seen);
	tapir_app_code__fini(&v->app_code);
	tapir_eventless_locks__fini(&v->eventless);
	tapir_vec_for_each (lock, &v->locks) {
		for (unsigned i = 0; i < (*lock)->callsite_cnt; i++)
			free((*lock)->callsites[i].holder_in);
		free((*lock)->label);
		free((*lock)->type);
		free(*lock);
	}
	tapir_keyed__fini(&v->locks);
	tapir_wait_reasons__fini(&v->reasons);
	tapir_monitor_owners__fini(&v->owners);
	tapir_map__fini(&v->numbered);
	tapir_map__fini(&v->wanting);
}

/* A lock that was not seen before has the kind and the label. NULL: no room, or no memory. */
static struct lock *lock_at(struct contention *v, uint64_t key, uint32_t kind, const char *label)
{
	struct lock **known = tapir_keyed__get(&v->locks, key);
	struct lock *lock = known ? *known : calloc(1, sizeof(*lock));

	if (known || !lock) {
		v->args.failed |= !lock;
		return lock;
	}
	lock->kind = kind;
	lock->key = key;
	lock->label = label ? strdup(label) : NULL;
	v->args.failed |= label && !lock->label;
	if (tapir_keyed__add(&v->locks, key, MAX_LOCKS, lock))
		return lock;
	free(lock->label);
	free(lock);
	return NULL;
}

/* Until now only a snapshot said what it is, as the event does. */
static void name_lock(struct contention *v, struct lock *lock, const struct tapir_interval *i)
{
	free(lock->type);
	lock->type = NULL;
	lock->kind = i->kind;
	lock->label = strdup(i->label ? i->label : "");
	v->args.failed |= !lock->label;
}

static struct lock *lock_of(struct contention *v, const struct tapir_interval *i)
{
	struct lock *lock = lock_at(v, tapir_timeline__lock_key(v->args.tl, i), i->kind, i->label);

	if (lock && lock->kind == TAPIR_NO_KIND)
		name_lock(v, lock, i);
	return lock;
}

/* The type of the object for which a snapshot saw the thread wait within this wait; NULL: none. */
static const char *seen_in(const struct contention *v, const struct tapir_wait *w)
{
	const struct seen *seen = tapir_keyed__get(&v->seen, w->thread->tid);

	return seen && seen->at_ns >= w->from_ns && seen->at_ns <= w->until_ns ? seen->type : NULL;
}

/* A server's: what it is of is known by snapshots alone, if at all; then it is that of events. */
static uint64_t shared_key(const struct contention *v, const struct tapir_wait *w,
			   const char *reason)
{
	const char *seen = seen_in(v, w), *text = seen ? seen : reason;
	uint64_t key = tapir_timeline__lock_owner(v->args.tl, w->thread->tgid, true, w->from_ns);

	return tapir_hash__bytes(key, text, strlen(text));
}

/*
 * The key of the wait's stack: the program's own function, if there is one, or what it called. The
 * kernel's frames differ where another tracer has the tracepoint, too.
 */
static uint64_t stack_key(struct contention *v, const struct tapir_wait *w, const char *reason)
{
	const struct tapir_stack_tree *tree = tapir_timeline__stacks(v->args.tl);
	uint32_t app_function = tapir_app_code__of(&v->app_code, tree, w->node);
	bool has_app_code = app_function != TAPIR_APP_CODE_NONE;
	uint64_t key = tapir_hash__mix(tapir_hash__mix(2 + has_app_code, w->thread->tgid),
				       has_app_code ? app_function
						    : tapir_stack_tree__user_leaf(tree, w->node));

	return tapir_hash__bytes(key, reason, strlen(reason));
}

static struct lock *eventless_lock(struct contention *v, const struct tapir_wait *w,
				   const struct tapir_lore_wait *wait)
{
	uint64_t key =
		wait->is_shared ? shared_key(v, w, wait->reason) : stack_key(v, w, wait->reason);
	struct lock *lock = lock_at(v, key, TAPIR_NO_KIND, NULL);

	if (lock)
		lock->reason = wait->reason;
	return lock;
}

/* ---- who holds it ----------------------------------------------------------------------------- */

static void number_thread(struct contention *v, const struct tapir_tl_thread *t, uint64_t now_ns)
{
	const struct tapir_rec_thread *rec;
	bool is_new = false;

	if (v->numbered.cnt >= MAX_WANTING || !tapir_map__put(&v->numbered, t->tid, &is_new) ||
	    !is_new)
		return;
	rec = tapir_catalog__thread(tapir_timeline__catalog(v->args.tl), t->tid, now_ns);
	v->args.failed |=
		tapir_monitor_owners__number(&v->owners, t->tgid,
					     rec && rec->ns_tid ? rec->ns_tid : t->tid, t->tid) < 0;
}

/* A wait for a monitor of .NET names the owner where it begins. */
static void contention_on_event(void *ctx, struct tapir_tl_thread *t,
				const struct tapir_probe_view *probe,
				const struct tapir_event_view *event)
{
	bool begins = tapir_sv__is(probe->event, "ContentionStart");
	struct contention *v = ctx;
	uint64_t owner = 0;

	if ((!begins && !tapir_sv__is(probe->event, "ContentionStop")) ||
	    !tapir_sv__is(probe->provider, TAPIR_DOTNET_RUNTIME))
		return;
	number_thread(v, t, event->rec->h.time_ns);
	if (begins)
		owner = tapir_event_fields__u64(tapir_timeline__fields(v->args.tl, probe, event),
						"LockOwnerThreadID");
	v->args.failed |= tapir_monitor_owners__set(&v->owners, t->tid, owner) < 0;
}

/* 0: not known. */
static uint32_t owner_of(const struct contention *v, const struct tapir_tl_thread *t)
{
	return tapir_monitor_owners__thread(&v->owners, t->tgid,
					    tapir_monitor_owners__of(&v->owners, t->tid));
}

static uint32_t holder_of(struct contention *v, const struct lock *lock, const struct tapir_wait *w)
{
	uint32_t owner = owner_of(v, w->thread);

	if (v->wanting.cnt < MAX_WANTING)
		tapir_map__put(&v->wanting, tapir_hash__mix(lock->key, w->thread->tid), NULL);
	if (!owner || owner == w->thread->tid ||
	    tapir_map__get(&v->wanting, tapir_hash__mix(lock->key, w->waker_tid)))
		return w->waker_tid;
	return owner;
}

/* A server's lock is what its event says. */
static bool is_named_lock(const struct contention *v, const struct lock *lock)
{
	return lock->kind != TAPIR_NO_KIND &&
	       tapir_timeline__pairs(v->args.tl)->kinds.data[lock->kind].is_postgresql_lock;
}

/* A snapshot may know the type of the object that a thread waits for by its events. */
static void note_type(struct contention *v, uint32_t tid, struct tapir_sv type)
{
	const struct tapir_tl_thread *thread = tapir_timeline__thread(v->args.tl, tid);
	const struct tapir_interval *causing = thread ? tapir_tl_thread__causing(thread) : NULL;
	struct lock *lock =
		causing && causing->cause == TAPIR_CAUSE_LOCK ? lock_of(v, causing) : NULL;

	if (!lock || lock->type || is_named_lock(v, lock))
		return;
	lock->type = strndup(type.data, type.len);
	v->args.failed |= !lock->type;
}

static void on_call(void *ctx, const struct tapir_rec *rec)
{
	struct contention *v = ctx;
	struct tapir_wait_view wait;
	struct seen *seen;

	tapir_wait_view__of(rec, &wait);
	if (!wait.object.len)
		return;
	note_type(v, wait.rec->tid, wait.object);
	seen = tapir_keyed__add(&v->seen, wait.rec->tid, MAX_LOCKS, (struct seen){});
	if (!seen)
		return;
	free(seen->type);
	seen->at_ns = rec->time_ns;
	seen->type = strndup(wait.object.data, wait.object.len);
	v->args.failed |= !seen->type;
}

/* If a snapshot saw the thread within this wait. */
static void find_type(struct contention *v, struct lock *lock, const struct tapir_wait *w)
{
	const char *seen = lock->type || is_named_lock(v, lock) ? NULL : seen_in(v, w);

	if (!seen)
		return;
	lock->type = strdup(seen);
	v->args.failed |= !lock->type;
}

/*
 * The stack that held up the waiters for most of the time, if any did for more than half: in the
 * longest wait the holder may have been preempted, or have come and gone several times.
 */
static void weigh_holder(struct callsite *site, uint32_t node, uint64_t ns)
{
	if (node == TAPIR_NO_NODE)
		return;
	if (node == site->holder_node) {
		site->holder_ns += ns;
	} else if (ns > site->holder_ns) {
		site->holder_node = node;
		site->holder_ns = ns - site->holder_ns;
	} else {
		site->holder_ns -= ns;
	}
}

/* node: of the wait, or of its event, whichever is more specific. */
static void count_way(struct contention *v, struct lock *lock, const struct tapir_wait *w,
		      uint32_t node, uint64_t ns)
{
	uint32_t holder_tid = holder_of(v, lock, w);
	const struct tapir_tl_thread *holder = tapir_timeline__thread(v->args.tl, holder_tid);
	struct callsite *site = lock->callsites;

	find_type(v, lock, w);
	while (site < lock->callsites + lock->callsite_cnt &&
	       (site->node != node || site->holder_tid != holder_tid))
		site++;
	if (site == lock->callsites + MAX_CALLSITES)
		site--; /* the last one is all others */
	else if (site == lock->callsites + lock->callsite_cnt) {
		lock->callsite_cnt++;
		*site = (struct callsite){
			.node = node, .holder_tid = holder_tid, .holder_node = TAPIR_NO_NODE};
		tapir_comm__copy(site->holder,
				 tapir_timeline__comm(v->args.tl, holder_tid, w->wake_ns));
	}
	site->ns += ns;
	site->cnt++;
	if (!(site->cnt & (site->cnt - 1))) /* it may have got its name in the meantime */
		tapir_comm__copy(site->holder,
				 tapir_timeline__comm(v->args.tl, holder_tid, w->wake_ns));
	if (!holder || holder == w->thread)
		return;
	weigh_holder(site, tapir_tl_thread__dominant_stack(holder, w->from_ns, w->wake_ns), ns);
	if (ns < site->longest_ns)
		return;
	free(site->holder_in);
	site->holder_in = tapir_tl_thread__within(v->args.tl, holder, w->wake_ns);
	site->longest_ns = ns;
}

static void count_waits(struct contention *v, struct lock *lock, uint64_t cnt, uint64_t ns,
			uint64_t worst_ns)
{
	lock->cnt += cnt;
	lock->waited_ns += ns;
	lock->worst_ns = worst_ns > lock->worst_ns ? worst_ns : lock->worst_ns;
	v->cnt += cnt;
	v->waited_ns += ns;
}

static void see_wait(struct contention *v, const struct tapir_wait *w, bool is_open)
{
	const struct tapir_interval *causing = tapir_tl_thread__causing(w->thread);
	const struct tapir_stack_tree *tree = tapir_timeline__stacks(v->args.tl);
	bool is_reported = causing && causing->cause == TAPIR_CAUSE_LOCK;
	uint64_t ns = w->wake_ns - w->from_ns;
	const struct tapir_lore_wait *wait;
	struct lock *lock;

	number_thread(v, w->thread, w->from_ns);
	if (is_reported) {
		tapir_eventless_locks__add_wait(&v->eventless, v->args.tl, w, is_open);
		lock = lock_of(v, causing);
		if (lock)
			count_way(v, lock, w,
				  /*
				   * The event of the runtime has the stack above the wait: where
				   * the wait's own ends early, it is the better one.
				   */
				  causing->node != TAPIR_NO_NODE &&
						  !tapir_stack__is_complete(tree, w->node)
					  ? causing->node
					  : w->node,
				  ns);
		return;
	}
	wait = w->state ? tapir_wait_reasons__find(&v->reasons, tree, w->node) : NULL;
	if (!wait || !tapir_wait_reason__is_lock(wait->reason)) {
		tapir_eventless_locks__add_wait(&v->eventless, v->args.tl, w, is_open);
		return;
	}
	lock = eventless_lock(v, w, wait);
	if (!lock)
		return;
	count_way(v, lock, w, w->node, ns);
	count_waits(v, lock, 1, ns, ns);
	if (tapir_app_code__of(&v->app_code, tree, w->node) == TAPIR_APP_CODE_NONE)
		v->others_ns += ns;
}

static void contention_on_wait(void *ctx, const struct tapir_wait *w)
{
	see_wait(ctx, w, false);
}

/*
 * A wait that began before the recording, or has not ended in it, counts by its stack, if that is
 * known.
 */
static void contention_on_open_ended_wait(void *ctx, const struct tapir_wait *w)
{
	if (w->node != TAPIR_NO_NODE)
		see_wait(ctx, w, true);
}

static void contention_on_close(void *ctx, struct tapir_interval *i)
{
	struct contention *v = ctx;
	uint64_t took_ns = tapir_timeline__waited_ns(v->args.tl, i);
	struct lock *lock;

	if (i->cause != TAPIR_CAUSE_LOCK)
		return;
	if (i->flags & TAPIR_INTERVAL_NO_BEGIN) {
		v->half++;
		return;
	}
	lock = lock_of(v, i);
	if (!lock)
		return;
	v->half += i->flags & TAPIR_INTERVAL_NO_END ? 1 : 0;
	count_waits(v, lock, 1, took_ns, took_ns);
	if (!lock->callsite_cnt && i->node != TAPIR_NO_NODE) {
		lock->callsites[lock->callsite_cnt++] = (struct callsite){
			.node = i->node, .holder_node = TAPIR_NO_NODE, .ns = took_ns, .cnt = 1};
	}
}

/* One for each stack: which lock it was is not known. */
static void count_eventless(struct contention *v)
{
	const struct tapir_eventless_lock *row;

	tapir_vec_for_each (row, &v->eventless.rows) {
		uint32_t leaf =
			tapir_stack_tree__user_leaf(tapir_timeline__stacks(v->args.tl), row->node);
		uint64_t key = tapir_hash__mix(tapir_hash__mix(4, row->tgid), leaf);
		struct lock *lock;

		if (!tapir_eventless_locks__is_lock(&v->eventless, v->args.tl, row))
			continue;
		lock = lock_at(v, key, TAPIR_NO_KIND, NULL);
		if (!lock)
			continue;
		lock->reason = "monitor";
		if (!lock->callsite_cnt)
			lock->callsites[lock->callsite_cnt++] =
				(struct callsite){.node = row->node, .holder_node = TAPIR_NO_NODE};
		lock->callsites[0].ns += row->ns;
		lock->callsites[0].cnt += row->cnt;
		count_waits(v, lock, row->cnt, row->ns, row->worst_ns);
		v->half += row->open_cnt;
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
	const struct callsite *x = a, *y = b;

	return x->ns < y->ns ? 1 : x->ns > y->ns ? -1 : 0;
}

static void add_callsites(struct tapir_view_result *result, size_t locks, struct lock *lock)
{
	static const struct tapir_column columns[] = {
		{"ns", ">ASLEEP", TAPIR_CELL_NS},
		{"count", ">TIMES", TAPIR_CELL_COUNT},
		{"held_by", "HELD BY", TAPIR_CELL_TEXT},
		{"held_by_tid", NULL, TAPIR_CELL_ID},
		{"held_in", "INSIDE", TAPIR_CELL_TEXT},
		{"stack", "WAITER", TAPIR_CELL_ORIGIN},
		{"holder_stack", "HOLDER STACK", TAPIR_CELL_ORIGIN},
		{}};
	size_t t = tapir_view_result__table_of_row(result, locks, "waiters", NULL, columns);

	qsort(lock->callsites, lock->callsite_cnt, sizeof(*lock->callsites), by_ns);
	for (unsigned i = 0; i < lock->callsite_cnt && (result->top || i < CALLSITES_SHOWN); i++) {
		tapir_view_result__u64(result, t, lock->callsites[i].ns);
		tapir_view_result__u64(result, t, lock->callsites[i].cnt);
		tapir_view_result__name(result, t, lock->callsites[i].holder,
					lock->callsites[i].holder_tid);
		tapir_view_result__u64(result, t, lock->callsites[i].holder_tid);
		tapir_view_result__text(result, t, lock->callsites[i].holder_in);
		tapir_view_result__stack(result, t, lock->callsites[i].node);
		tapir_view_result__stack(result, t, lock->callsites[i].holder_node);
	}
}

static const char *kind_name(const struct contention *v, const struct lock *lock)
{
	const struct tapir_pairs *pairs = tapir_timeline__pairs(v->args.tl);

	return lock->kind == TAPIR_NO_KIND ? lock->reason : pairs->kinds.data[lock->kind].name;
}

static void add_contention_headline(const struct contention *v, struct tapir_view_result *result)
{
	const struct lock *worst = v->locks.cnt ? v->locks.data[0] : NULL;
	char waited[TAPIR_NS_TEXT_BYTES];
	char times[TAPIR_TIMES_TEXT_BYTES];
	const char *kind;

	if (!v->cnt || !worst) {
		result->has_nothing = true;
		return;
	}
	kind = kind_name(v, worst);
	tapir_str__addf(&result->headline, "threads waited %s for locks, %s; %.0f%% for %s%s%s",
			tapir_ns__text(v->waited_ns, waited), tapir_times__text(v->cnt, times),
			v->waited_ns ? 100.0 * (double)worst->waited_ns / (double)v->waited_ns : 0,
			strcmp(kind, "contention") ? kind : "lock",
			worst->label && *worst->label ? " " : "", worst->label ? worst->label : "");
	if (worst->type)
		tapir_str__addf(&result->headline, " (%s)", worst->type);
	/* A finding leaves them out. */
	if (v->others_ns && v->others_ns * 2 < v->waited_ns)
		tapir_str__addf(&result->headline, ", %s in a runtime or a library alone",
				tapir_ns__text(v->others_ns, waited));
	if (worst->callsite_cnt && worst->callsites[0].holder_tid)
		tapir_str__addf(&result->headline, ", most often held by %s (%u)",
				*worst->callsites[0].holder ? worst->callsites[0].holder : "?",
				worst->callsites[0].holder_tid);
}

static int contention_finish(void *ctx, struct tapir_view_result *result)
{
	static const struct tapir_column columns[] = {
		{"ns", ">WAITED", TAPIR_CELL_NS},      {"percent", ">SHARE", TAPIR_CELL_PERCENT},
		{"count", ">TIMES", TAPIR_CELL_COUNT}, {"worst_ns", ">WORST", TAPIR_CELL_NS},
		{"kind", "KIND", TAPIR_CELL_TEXT},     {"label", "LOCK", TAPIR_CELL_TEXT},
		{"type", "OF TYPE", TAPIR_CELL_TEXT},  {}};
	struct contention *v = ctx;
	size_t t = tapir_view_result__table(result, "locks", "locks", columns), tiny = 0;

	count_eventless(v);
	tapir_keyed__sort(&v->locks, by_waited);
	for (size_t i = 0; i < v->locks.cnt && i < v->args.top; i++) {
		struct lock *lock = v->locks.data[i];

		if (!lock->cnt)
			continue;
		if (!result->top && lock->waited_ns * TINY_SHARE < v->waited_ns) {
			tiny++;
			continue;
		}
		tapir_view_result__u64(result, t, lock->waited_ns);
		tapir_view_result__share(result, t, lock->waited_ns, v->waited_ns);
		tapir_view_result__u64(result, t, lock->cnt);
		tapir_view_result__u64(result, t, lock->worst_ns);
		tapir_view_result__text(result, t, kind_name(v, lock));
		tapir_view_result__text(result, t, lock->label);
		tapir_view_result__text(result, t, lock->type);
		add_callsites(result, t, lock);
	}
	add_contention_headline(v, result);
	if (tiny)
		tapir_view_result__note(result,
					"%zu more locks with less than 0.1%% each (--all shows "
					"them)",
					tiny);
	if (v->half)
		tapir_view_result__note(
			result, "%llu waits began before the recording or did not end in it",
			(unsigned long long)v->half);
	tapir_view_result__beyond(result, v->locks.more + v->seen.more,
				  v->locks.failed || v->seen.failed, "waits");
	return 0;
}

static const struct tapir_view_fact facts[] = {
	{TAPIR_VIEW_FACT(struct contention, cnt, "count", NULL, COUNT)},
	{TAPIR_VIEW_FACT(struct contention, waited_ns, "waited_ns", NULL, NS)},
	{TAPIR_VIEW_FACT(struct contention, half, "half", NULL, COUNT)},
	{}};

const struct tapir_view tapir_view_contention = {
	.name = "contention",
	.is_of_traces = true,
	.summary = "locks by the time threads waited for them, with their holders",
	.fns = {.event = contention_on_event,
		.wait = contention_on_wait,
		.open_ended_wait = contention_on_open_ended_wait,
		.close = contention_on_close,
		.call = on_call},
	.nothing = "no thread was seen to wait for a lock",
	.source = {"events of locks", .profile = TAPIR_PROFILE_ID_CONTENTION,
		   .cause = TAPIR_CAUSE_LOCK, .family = TAPIR_FAMILY_SWITCH},
	.facts = facts,
	.has_facts_of_nothing = true,
	.ctx_bytes = sizeof(struct contention),
	.default_top = 10,
	.finish = contention_finish,
	.fini = contention_fini,
};
