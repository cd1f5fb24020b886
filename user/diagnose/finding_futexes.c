// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Memory of a lock that is gone may become another one, so that two threads wait for the same
 * address one after the other: only waits at the same time show that it is shared. A lock that no
 * thread got is left out: threads wait so for the end of another thread.
 */
#include "diagnose/finding_futexes.h"

#include <string.h>

#include "base/keyed.h"
#include "diagnose/diagnosis_impl.h"
#include "spec/runtime_db/lore.h"
#include "trace/record.h"

#define MAX_ROWS 65536u

/* ---- counting ------------------------------------------------------------------------------- */

static uint64_t lock_key(uint32_t tgid, uint64_t futex_va)
{
	return tapir_hash__mix(tapir_hash__mix(17, tgid), futex_va);
}

static void count_share(struct tapir_futexes *e, const struct tapir_futex *lock, uint32_t tid,
			uint64_t ns, bool is_open)
{
	struct tapir_futex_share made = {.tid = tid, .lock = (uint32_t)(lock - e->locks.data)};
	uint64_t key = tapir_hash__mix(tapir_hash__mix(19, tid), made.lock);
	struct tapir_futex_share *share = tapir_keyed__add(&e->shares, key, MAX_ROWS, made);

	if (!share)
		return;
	share->ns += ns;
	share->got_cnt += !is_open;
}

/* Waits are delivered in the order of their ends. */
static void compare_with_last_waits(struct tapir_futex *lock, const struct tapir_wait *w)
{
	uint32_t tid = w->thread->tid;
	bool is_same = lock->last[0].tid == tid;

	lock->is_shared |= lock->last[is_same].tid && lock->last[is_same].wake_ns > w->from_ns;
	if (!is_same)
		lock->last[1] = lock->last[0];
	lock->last[0].tid = tid;
	lock->last[0].wake_ns = w->wake_ns;
}

/* The thread that ends a wait had the lock, since it last changed hands at the earliest. */
static void count_held(struct tapir_diagnosis *f, struct tapir_futex *lock,
		       const struct tapir_wait *w)
{
	const struct tapir_tl_thread *holder =
		w->waker_tid ? tapir_timeline__thread(f->tl, w->waker_tid) : NULL;
	uint64_t since_ns = w->from_ns > lock->given_ns ? w->from_ns : lock->given_ns;
	uint64_t ns = w->wake_ns > since_ns ? w->wake_ns - since_ns : 0;
	const struct tapir_lore_wait *wait;
	uint32_t node;

	lock->given_ns = w->wake_ns;
	if (!holder || !ns)
		return;
	node = tapir_tl_thread__dominant_stack(holder, since_ns, w->wake_ns);
	wait = tapir_diagnosis__wait_at(f, node);
	tapir_function_sums__add(f, &lock->holders, w->waker_tid, ns);
	if (wait && !wait->is_lock_or_queue)
		tapir_label_sums__add(&lock->held_for, 1, wait->reason, TAPIR_APP_CODE_NONE, ns);
}

/*
 * Returns true if the stack does not show the reason: the address may, when the stack of another
 * wait for it does.
 */
static bool may_be_one(const struct tapir_lore_wait *wait, const struct tapir_wait *w)
{
	return w->futex_va && w->state && (!wait || wait->is_common);
}

bool tapir_finding_futexes__wait(struct tapir_diagnosis *f, const struct tapir_wait *w,
				 bool is_open)
{
	const struct tapir_stack_tree *tree = tapir_timeline__stacks(f->tl);
	const struct tapir_lore_wait *wait = tapir_diagnosis__lore_wait(f, w);
	bool is_attributed = wait && wait->is_lock_or_queue;
	uint64_t took_ns = w->wake_ns - w->from_ns;
	struct tapir_futex *lock;

	if (!is_attributed && !may_be_one(wait, w))
		return false;
	lock = w->futex_va
		       ? tapir_keyed__add(&f->futexes.locks, lock_key(w->thread->tgid, w->futex_va),
					  MAX_ROWS, ((struct tapir_futex){.tgid = w->thread->tgid}))
		       : NULL;
	if (is_attributed)
		tapir_label_sums__add(&f->futexes.by_reason, 1, wait->reason, TAPIR_APP_CODE_NONE,
				      took_ns);
	if (!lock)
		return is_attributed;
	/*
	 * A wait that is known by its address alone adds to the lock's sums, but is not consumed:
	 * the finding that its own stack belongs to counts it.
	 */
	lock->wait = is_attributed ? wait : lock->wait;
	lock->is_named |=
		is_attributed &&
		tapir_app_code__or_library(&f->app_code, tree, w->node) != TAPIR_APP_CODE_NONE;
	lock->attributed_ns += is_attributed ? took_ns : 0;
	lock->ns += took_ns;
	lock->cnt++;
	lock->got_cnt += !is_open;
	tapir_diagnosis__add_app_stack(f, &lock->callers, w->node, took_ns);
	count_share(&f->futexes, lock, w->thread->tid, took_ns, is_open);
	compare_with_last_waits(lock, w);
	if (!is_open)
		count_held(f, lock, w);
	return is_attributed;
}

/* Returns true if the wait is, or is a part of, one for such a lock. */
static bool passes(const struct tapir_stack_tree *tree, uint32_t node)
{
	tapir_lore_for_each (lore)
		for (const struct tapir_lore_wait *w = lore->waits; w && w->function; w++)
			if (w->is_lock_or_queue && tapir_wait_reason__passes(tree, node, w))
				return true;
	return false;
}

static void keep_seen(struct tapir_futexes *e, uint32_t tid, const struct tapir_lore_wait *wait,
		      uint32_t name)
{
	struct tapir_futex_seen made = {.wait = wait, .name = name};
	struct tapir_futex_seen *seen = tapir_keyed__add(&e->seen, tid, MAX_ROWS, made);

	if (seen)
		seen->differs |=
			seen->name != name || strcmp(seen->wait->reason, wait->reason) != 0;
}

void tapir_finding_futexes__snapshot(struct tapir_diagnosis *f, const struct tapir_rec_switch *rec,
				     uint32_t node)
{
	const struct tapir_stack_tree *tree = tapir_timeline__stacks(f->tl);
	const struct tapir_lore_wait *wait =
		rec->out_tid ? tapir_diagnosis__wait_at(f, node) : NULL;
	uint32_t name =
		wait ? tapir_app_code__or_library(&f->app_code, tree, node) : TAPIR_APP_CODE_NONE;
	struct tapir_futex *lock;

	if (name == TAPIR_APP_CODE_NONE || !passes(tree, node))
		return;
	keep_seen(&f->futexes, rec->out_tid, wait, name);
	lock = tapir_keyed__get(&f->futexes.locks,
				lock_key(rec->out_tgid, tapir_switch__futex_va(rec)));
	if (lock && wait->is_lock_or_queue)
		lock->is_named = true;
}

/* ---- findings ------------------------------------------------------------------------------- */

static bool is_lock(const struct tapir_futex *lock)
{
	return lock->wait && (lock->is_shared || lock->is_named) && lock->got_cnt;
}

struct lock_sum {
	uint64_t ns, attributed_ns, wait_cnt;
	size_t lock_cnt, thread_cnt;
	const struct tapir_futex *worst;
};

static struct lock_sum lock_waits_sum(const struct tapir_futexes *e)
{
	const struct tapir_futex *lock;
	const struct tapir_futex_share *share;
	struct lock_sum all = {};
	struct tapir_map tids = {};

	tapir_vec_for_each (lock, &e->locks) {
		if (!is_lock(lock))
			continue;
		all.ns += lock->ns;
		all.attributed_ns += lock->attributed_ns;
		all.wait_cnt += lock->cnt;
		all.lock_cnt++;
		all.worst = !all.worst || lock->ns > all.worst->ns ? lock : all.worst;
	}
	tapir_vec_for_each (share, &e->shares)
		if (is_lock(&e->locks.data[share->lock]))
			(void)tapir_map__put(&tids, share->tid, NULL);
	all.thread_cnt = tids.cnt;
	tapir_map__fini(&tids);
	return all;
}

/* The functions of the threads that wait for it, as the snapshots show them. */
static void add_seen_places(struct tapir_diagnosis *f, const struct tapir_futex *lock,
			    struct tapir_function_sums *functions)
{
	uint32_t idx = (uint32_t)(lock - f->futexes.locks.data);
	const struct tapir_futex_share *share;
	const struct tapir_futex_seen *seen;

	tapir_vec_for_each (share, &f->futexes.shares) {
		seen = share->lock == idx ? tapir_keyed__get(&f->futexes.seen, share->tid) : NULL;
		if (seen && seen->wait->is_lock_or_queue)
			tapir_function_sums__add(f, functions, seen->name, share->ns);
	}
}

/* Adds who holds it most of the time, "thread 7 (python3)", and what the holders mostly wait for.
 */
static void add_holder(struct tapir_diagnosis *f, const struct tapir_futex *lock,
		       struct tapir_rule_fact *fact)
{
	const struct tapir_label_sum *top =
		tapir_label_sums__dominant(&lock->held_for, lock->holders.sum);
	struct tapir_sv comm;

	fact->rest = tapir_diagnosis__percent(lock->holders.top, lock->holders.sum);
	if (fact->rest >= TAPIR_LIMIT(ONE_HOLDS_IT)) {
		comm = tapir_timeline__comm(f->tl, lock->holders.top_name,
					    tapir_timeline__stats(f->tl)->last_ns);
		tapir_str__addf(&fact->holder, "thread %u (", lock->holders.top_name);
		tapir_str__add_printable(&fact->holder, comm.data, comm.len);
		tapir_str__addc(&fact->holder, ')');
	}
	if (top)
		tapir_diagnosis__add_waits(top->label, &fact->does);
}

/* Waits whose own stacks have no names are for what the same thread was seen to wait for. */
void tapir_finding_futexes__conclude(struct tapir_diagnosis *f)
{
	const struct tapir_futex_share *share;
	const struct tapir_futex_seen *seen;

	tapir_vec_for_each (share, &f->futexes.shares) {
		seen = tapir_keyed__get(&f->futexes.seen, share->tid);
		if (!seen || seen->differs || seen->wait->is_lock_or_queue ||
		    !f->futexes.locks.data[share->lock].wait ||
		    is_lock(&f->futexes.locks.data[share->lock]))
			continue;
		tapir_finding_blocking_io__count(f, seen->wait->reason, seen->name, share->ns);
		f->futexes.seen_ns += share->ns;
	}
}

static void emit_locks(struct tapir_diagnosis *f, struct tapir_findings *list)
{
	struct lock_sum all = lock_waits_sum(&f->futexes);
	struct tapir_function_sums seen = {};
	struct tapir_rule_fact fact =
		TAPIR_FACT(SHARED_LOCKS, .cnt = all.thread_cnt, .of = all.lock_cnt,
			   .other = all.wait_cnt, .ns = all.ns);

	if (!all.worst)
		return;
	fact.percent = all.lock_cnt > 1 ? tapir_diagnosis__percent(all.worst->ns, all.ns) : 0;
	fact.subject = all.worst->wait->reason;
	fact.where = &all.worst->callers;
	if (!tapir_diagnosis__top_function(f, fact.where)) {
		add_seen_places(f, all.worst, &seen);
		fact.where = &seen;
	}
	add_holder(f, all.worst, &fact);
	tapir_rules__judge(f, list, fact);
	tapir_function_sums__fini(&seen);
}

/* Threads that wait in functions for locks which no thread releases: each other's, or another's. */
static void emit_blocked_throughout(struct tapir_diagnosis *f, struct tapir_findings *list)
{
	uint64_t span_ns = tapir_timeline__switched_ns(f->tl);
	const struct tapir_futex_share *share;
	const struct tapir_futex_seen *seen;
	struct tapir_function_sums functions = {};
	struct tapir_rule_fact fact =
		TAPIR_FACT(HELD_LOCKS, .ns = span_ns, .is_least = true, .where = &functions);

	tapir_vec_for_each (share, &f->futexes.shares) {
		seen = tapir_keyed__get(&f->futexes.seen, share->tid);
		/*
		 * A thread that ever got one of its locks, or waited in two places, makes progress:
		 * it is slow, and not stuck.
		 */
		if (!seen || seen->differs || !seen->wait->is_lock_or_queue || share->got_cnt ||
		    f->futexes.locks.data[share->lock].got_cnt ||
		    !TAPIR_IS_SHARE(THROUGHOUT, share->ns, span_ns))
			continue;
		fact.subject = seen->wait->reason;
		tapir_function_sums__add(f, &functions, seen->name, 1);
		fact.cnt++;
	}
	tapir_rules__judge(f, list, fact);
	tapir_function_sums__fini(&functions);
}

void tapir_finding_futexes__list(struct tapir_diagnosis *f, struct tapir_findings *list)
{
	emit_blocked_throughout(f, list);
	emit_locks(f, list);
}

void tapir_finding_futexes__append_unclassified(const struct tapir_diagnosis *f,
						struct tapir_str *out)
{
	uint64_t span_ns = tapir_timeline__switched_ns(f->tl);
	const struct tapir_label_sum *top = tapir_label_sums__largest(&f->futexes.by_reason);
	uint64_t shared_ns = lock_waits_sum(&f->futexes).attributed_ns + f->futexes.seen_ns;
	uint64_t rest_ns = top && top->ns > shared_ns ? top->ns - shared_ns : 0;
	double threads = span_ns ? (double)rest_ns / (double)span_ns : 0;

	if (top && tapir_finding__exceeds_threshold(TAPIR_FINDING_WAITS, threads))
		tapir_str__addf(out, "; %.1f threads waited for a %s or for work", threads,
				top->label);
}

void tapir_finding_futexes__fini(struct tapir_diagnosis *f)
{
	struct tapir_futex *lock;

	tapir_vec_for_each (lock, &f->futexes.locks) {
		tapir_label_sums__fini(&lock->held_for);
		tapir_function_sums__fini(&lock->callers);
		tapir_function_sums__fini(&lock->holders);
	}
	tapir_keyed__fini(&f->futexes.locks);
	tapir_keyed__fini(&f->futexes.shares);
	tapir_keyed__fini(&f->futexes.seen);
	tapir_label_sums__fini(&f->futexes.by_reason);
}
