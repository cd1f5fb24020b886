// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Locks without events of their own (HotSpot's monitors unless the JVM was started with probes for
 * them, java.util.concurrent, CPython's GIL, mutexes of C): a thread that leaves its CPU in a
 * function that spec/runtime_db has as a wait for a lock waits for one. Who holds it is not known
 * from stacks; threads that waited for nothing else and never got it are in a deadlock or behind a
 * holder that never releases it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/statement_text.h"
#include "base/keyed.h"
#include "diagnose/diagnosis_impl.h"
#include "spec/runtime_db/lore.h"

#define MAX_KINDS   64u
#define MAX_THREADS 65536u

/* ---- counting ------------------------------------------------------------------------------- */

static struct tapir_lock_kind *blocked_kind_of(struct tapir_diagnosis *f,
					       const struct tapir_lore_wait *wait)
{
	return tapir_keyed__add(&f->locks_by_stack.kinds,
				tapir_hash__bytes(7, wait->reason, strlen(wait->reason)), MAX_KINDS,
				((struct tapir_lock_kind){.wait = wait}));
}

/* A thread that waits for anything else, as far as it is known for what, is not stuck. */
static void count_other(struct tapir_diagnosis *f, const struct tapir_wait *w)
{
	struct tapir_lock_waiter *thread;
	struct tapir_lock_kind *kind;

	tapir_vec_for_each (kind, &f->locks_by_stack.kinds) {
		thread = tapir_keyed__get(&kind->threads, w->thread->tid);
		if (thread)
			thread->other_ns += w->wake_ns - w->from_ns;
	}
}

static const struct tapir_lore *lore_of(const struct tapir_lore_wait *wait)
{
	tapir_lore_for_each (lore)
		for (const struct tapir_lore_wait *w = lore->waits; w && w->function; w++)
			if (w == wait)
				return lore;
	return NULL;
}

/* Threads of .NET have the function that waits in each wait: finding_locks_by_event.c reports them.
 */
static bool is_by_function(const struct tapir_lore_wait *wait, uint32_t app)
{
	const struct tapir_lore *lore = lore_of(wait);

	return app != TAPIR_APP_CODE_NONE &&
	       (lore->is_library || lore == tapir_lore__named(".NET"));
}

/*
 * Woken by another thread of the process. Else its time is up, and it looks whether the lock is
 * free: until it has a CPU to do that, it still waits for the lock.
 */
static bool is_given(const struct tapir_diagnosis *f, const struct tapir_wait *w)
{
	const struct tapir_tl_thread *waker =
		w->waker_tid ? tapir_timeline__thread(f->tl, w->waker_tid) : NULL;

	return waker && waker->tgid == w->thread->tgid;
}

bool tapir_finding_locks_by_stack__wait(struct tapir_diagnosis *f, const struct tapir_wait *w,
					bool is_truncated)
{
	const struct tapir_stack_tree *tree = tapir_timeline__stacks(f->tl);
	const struct tapir_lore_wait *wait;
	struct tapir_lock_kind *kind = NULL;
	struct tapir_lock_waiter *thread;
	uint32_t app = tapir_diagnosis__own(f, w->node);
	uint64_t took_ns = w->wake_ns - w->from_ns;

	if (!w->state)
		return false;
	wait = tapir_diagnosis__wait_at(f, w->node);
	if (wait && wait->is_interpreter && !is_given(f, w))
		took_ns = w->until_ns - w->from_ns;
	if (wait && wait->is_lock && !is_by_function(wait, app))
		kind = blocked_kind_of(f, wait);
	thread = kind ? tapir_keyed__add(&kind->threads, w->thread->tid, MAX_THREADS,
					 ((struct tapir_lock_waiter){.tid = w->thread->tid}))
		      : NULL;
	/* Common functions, such as a condition's, say nothing of what is waited for. */
	if (!thread && wait && !wait->is_common)
		count_other(f, w);
	if (!thread)
		return false;
	thread->ns += took_ns;
	thread->cnt++;
	thread->got_cnt += !is_truncated && !(w->flags & TAPIR_SWITCH_WOKEN_BY_IRQ);
	thread->function = app;
	tapir_function_sums__add_at(f, &kind->callers,
				    tapir_app_code__or_native(&f->app_code, tree, w->node), w->node,
				    took_ns);
	return true;
}

static void free_seen(struct tapir_seen_wait *seen)
{
	free(seen->object);
	free(seen->statement);
	free(seen->holder_statement);
}

/* The statement without its numbers. NULL: there is none. */
static char *statement_of(struct tapir_sv text)
{
	struct tapir_str out = {};

	tapir_statement_text__add(text, &out);
	return out.data;
}

void tapir_finding_locks_by_stack__call(struct tapir_diagnosis *f, const struct tapir_rec *rec)
{
	struct tapir_str text = {};
	struct tapir_wait_view wait;
	struct tapir_seen_wait *seen;
	bool is_other_owner;

	tapir_wait_view__of(rec, &wait);
	seen = wait.object.len || wait.rec->owner_tid
		       ? tapir_keyed__add(&f->locks_by_stack.seen, wait.rec->tid, MAX_THREADS,
					  (struct tapir_seen_wait){})
		       : NULL;
	if (!seen)
		return;
	if (wait.object.len)
		tapir_str__add_printable(&text, wait.object.data, wait.object.len);
	is_other_owner =
		seen->owner_tid && wait.rec->owner_tid && seen->owner_tid != wait.rec->owner_tid;
	seen->has_changed |=
		seen->cnt && (is_other_owner || strcmp(seen->object ? seen->object : "",
						       text.data ? text.data : "") != 0);
	free_seen(seen);
	seen->object = text.data;
	seen->statement = statement_of(wait.statement);
	seen->holder_statement = statement_of(wait.holder_statement);
	if (wait.rec->owner_tid) /* not known in each snapshot */
		seen->owner_tid = wait.rec->owner_tid;
	seen->cnt++;
}

void tapir_finding_locks_by_stack__close(struct tapir_diagnosis *f, const struct tapir_interval *i)
{
	if (i->cause == TAPIR_CAUSE_LOCK)
		f->locks_by_stack.event_ns += i->until_ns - i->from_ns;
}

/* ---- findings ------------------------------------------------------------------------------- */

static bool waited_throughout(const struct tapir_lock_waiter *thread, uint64_t span_ns)
{
	return TAPIR_IS_SHARE(BLOCKED_THROUGHOUT_SHARE, thread->ns, span_ns) &&
	       thread->other_ns * 100 <= span_ns * (100 - TAPIR_LIMIT(BLOCKED_THROUGHOUT_SHARE)) &&
	       (double)thread->cnt <=
		       TAPIR_LIMIT(BLOCKED_THROUGHOUT_WAITS) +
			       TAPIR_LIMIT(BLOCKED_THROUGHOUT_WAKES) * (double)span_ns / 1e9;
}

/*
 * If other threads get the lock, it is released: a thread that waits throughout only has bad luck.
 */
static void mark_stuck(struct tapir_lock_kind *kind, uint64_t span_ns)
{
	struct tapir_map progressed = {};
	struct tapir_lock_waiter *t;

	tapir_vec_for_each (t, &kind->threads)
		if (t->got_cnt && !waited_throughout(t, span_ns))
			(void)tapir_map__put(&progressed, t->function, NULL);
	tapir_vec_for_each (t, &kind->threads)
		t->is_blocked_throughout =
			waited_throughout(t, span_ns) && !tapir_map__get(&progressed, t->function);
	tapir_map__fini(&progressed);
}

struct blocked_sum {
	uint64_t ns, wait_cnt, truncated_ns;
	size_t thread_cnt;
};

/* If such a wait may also be one for work, threads that never got what they waited for are idle. */
static bool is_among(const struct tapir_lock_kind *kind, const struct tapir_lock_waiter *t,
		     bool are_blocked_throughout)
{
	return !(kind->wait->may_idle && !t->got_cnt) &&
	       t->is_blocked_throughout == are_blocked_throughout;
}

static struct blocked_sum blocked_threads_sum(const struct tapir_lock_kind *kind,
					      bool are_blocked_throughout)
{
	struct blocked_sum all = {};
	const struct tapir_lock_waiter *t;

	tapir_vec_for_each (t, &kind->threads) {
		if (!is_among(kind, t, are_blocked_throughout))
			continue;
		all.ns += t->ns;
		all.truncated_ns += t->truncated_ns;
		all.wait_cnt += t->cnt;
		all.thread_cnt++;
	}
	return all;
}

/* A single thread that is stuck is not a deadlock: it waits as the others do. */
static struct blocked_sum sum_of_all(struct tapir_lock_kind *kind)
{
	struct tapir_lock_waiter *t;

	tapir_vec_for_each (t, &kind->threads)
		t->is_blocked_throughout = false;
	return blocked_threads_sum(kind, false);
}

/* Adds the threads that waited: ", most of them clerk-*". */
static void add_names(struct tapir_diagnosis *f, const struct tapir_lock_kind *kind,
		      bool are_blocked_throughout, struct tapir_str *out)
{
	struct tapir_label_sums names = {};
	const struct tapir_label_sum *top;
	const struct tapir_lock_waiter *t;

	tapir_vec_for_each (t, &kind->threads)
		if (is_among(kind, t, are_blocked_throughout))
			tapir_diagnosis__count_thread(f, &names, t->tid, t->ns);
	top = tapir_label_sums__largest(&names);
	if (top && *top->label)
		tapir_str__addf(out, ", %s%s", names.rows.cnt > 1 ? "most of them " : "",
				top->label);
	tapir_label_sums__fini(&names);
}

/*
 * Returns true if the thread never got the lock, or began and ended the recording with a wait for
 * the same one, held by the same thread, and did little else: what woke it during that time was not
 * a release. PostgreSQL's processes search for a deadlock after a second, and wait on.
 */
static bool never_got(struct tapir_diagnosis *f, const struct tapir_lock_waiter *t)
{
	const struct tapir_seen_wait *seen =
		t->got_cnt ? tapir_keyed__get(&f->locks_by_stack.seen, t->tid) : NULL;

	return !t->got_cnt || (seen && seen->cnt > 1 && !seen->has_changed && seen->owner_tid &&
			       waited_throughout(t, tapir_timeline__switched_ns(f->tl)));
}

/*
 * Counts the objects or statements that snapshots saw for threads that wait throughout, weighted by
 * the time that they waited.
 */
static void count_seen(struct tapir_diagnosis *f, const struct tapir_lock_kind *kind,
		       bool are_blocked_throughout, bool are_statements,
		       struct tapir_label_sums *out)
{
	const struct tapir_lock_waiter *t;
	const struct tapir_seen_wait *seen;
	const char *text;

	tapir_vec_for_each (t, &kind->threads) {
		seen = is_among(kind, t, are_blocked_throughout) && never_got(f, t)
			       ? tapir_keyed__get(&f->locks_by_stack.seen, t->tid)
			       : NULL;
		text = !seen ? NULL : are_statements ? seen->statement : seen->object;
		if (text)
			tapir_label_sums__add(out, 1, text, TAPIR_APP_CODE_NONE, t->ns);
	}
}

/*
 * Appends what most of the time was waited for: "relation orders (OID 16412 of database shop)", or
 * executed.
 */
static void add_seen(struct tapir_diagnosis *f, const struct tapir_lock_kind *kind,
		     bool are_blocked_throughout, bool are_statements, uint64_t all_ns,
		     struct tapir_str *out)
{
	struct tapir_label_sums seen = {};

	count_seen(f, kind, are_blocked_throughout, are_statements, &seen);
	tapir_label_sums__append_dominant(&seen, all_ns, out);
	tapir_label_sums__fini(&seen);
}

/* The one who holds what most of them wait for, or what those wait for who hold that. */
static uint32_t holder_of(struct tapir_diagnosis *f, const struct tapir_lock_kind *kind,
			  bool are_blocked_throughout)
{
	const struct tapir_lock_waiter *t;
	struct tapir_map cnt_by_tid = {};
	uint32_t holder, best = 0;
	uint64_t *cnt, top = 0;

	tapir_vec_for_each (t, &kind->threads) {
		holder = is_among(kind, t, are_blocked_throughout)
				 ? tapir_finding_locks_by_event__holder(f, t->tid)
				 : 0;
		cnt = holder ? tapir_map__put(&cnt_by_tid, holder, NULL) : NULL;
		if (!cnt || ++*cnt <= top)
			continue;
		top = *cnt;
		best = holder;
	}
	tapir_map__fini(&cnt_by_tid);
	return best;
}

static bool has_moved(struct tapir_diagnosis *f, const struct tapir_lock_kind *kind)
{
	const struct tapir_lock_waiter *t;

	tapir_vec_for_each (t, &kind->threads)
		if (!never_got(f, t))
			return true;
	return false;
}

/* Adds who holds it, "postgres 4711", and what that one does: " and waits for a client". */
static void add_holder(struct tapir_diagnosis *f, uint32_t tid, struct tapir_rule_fact *fact)
{
	const struct tapir_tl_thread *t = tid ? tapir_timeline__thread(f->tl, tid) : NULL;
	const struct tapir_seen_wait *seen;
	const struct tapir_lore_wait *wait;

	if (!tid)
		return;
	tapir_diagnosis__add_thread_id(f, tid, &fact->holder);
	if (tapir_finding_sessions__add(f, tid, &fact->does))
		return;
	wait = t && t->out_ns ? tapir_diagnosis__wait_at(f, t->offcpu_node) : NULL;
	if (wait && (!wait->is_common ||
		     tapir_wait_reason__is_sleep(wait->reason))) { /* a futex may be anything */
		tapir_str__adds(&fact->does, " and ");
		tapir_diagnosis__add_waits(wait->reason, &fact->does);
	}
	tapir_vec_for_each (seen, &f->locks_by_stack.seen) {
		if (seen->owner_tid != tid || !seen->holder_statement)
			continue;
		tapir_str__addf(&fact->does, ", in %s", seen->holder_statement);
		return;
	}
}

static void emit_kind(struct tapir_diagnosis *f, const struct tapir_lock_kind *kind,
		      bool are_blocked_throughout, const struct blocked_sum *all,
		      struct tapir_findings *list)
{
	/* If the lock is passed on, the one who held it at the end was one of many. */
	uint32_t holder = are_blocked_throughout || !has_moved(f, kind)
				  ? holder_of(f, kind, are_blocked_throughout)
				  : 0;
	bool is_interpreter = kind->wait->is_interpreter;
	struct tapir_rule_fact fact = {
		.fact_kind = are_blocked_throughout
				     ? (holder ? TAPIR_FACT_KEPT_LOCK : TAPIR_FACT_NEVER_ACQUIRED)
				     : (is_interpreter ? TAPIR_FACT_GIL : TAPIR_FACT_CONVOY),
		.cnt = (double)all->thread_cnt,
		.other = (double)all->wait_cnt,
		.ns = (double)(are_blocked_throughout ? tapir_timeline__switched_ns(f->tl)
						      : all->ns),
		.own_ns = (double)all->truncated_ns,
		.is_least = are_blocked_throughout,
		.where = &kind->callers,
		.subject = kind->wait->reason};

	add_names(f, kind, are_blocked_throughout, &fact.who);
	if (is_interpreter && !are_blocked_throughout)
		tapir_finding_gil__add_holder(f, &fact.who);
	add_seen(f, kind, are_blocked_throughout, false, all->ns, &fact.object);
	add_seen(f, kind, are_blocked_throughout, true, all->ns, &fact.request);
	add_holder(f, holder, &fact);
	tapir_rules__judge(f, list, fact);
}

static void add_truncated_waits(struct tapir_diagnosis *f, struct tapir_lock_kind *kind)
{
	struct tapir_lock_waiter *t;

	tapir_vec_for_each (t, &kind->threads) {
		t->truncated_ns = tapir_wait_table__truncated(f, t->tid, kind->wait->reason, t->ns,
							      &t->truncated_cnt);
		t->ns += t->truncated_ns;
		t->cnt += t->truncated_cnt;
	}
}

void tapir_finding_locks_by_stack__conclude(struct tapir_diagnosis *f)
{
	struct tapir_lock_kind *kind;

	tapir_vec_for_each (kind, &f->locks_by_stack.kinds)
		add_truncated_waits(f, kind);
}

void tapir_finding_locks_by_stack__list(struct tapir_diagnosis *f, struct tapir_findings *list)
{
	uint64_t span_ns = tapir_timeline__switched_ns(f->tl);
	struct tapir_lock_kind *kind;

	tapir_vec_for_each (kind, &f->locks_by_stack.kinds) {
		struct blocked_sum blocked, others;

		mark_stuck(kind, span_ns);
		blocked = blocked_threads_sum(kind, true);
		others = blocked_threads_sum(kind, false);

		/* Events know more of the same waits. */
		if (!span_ns ||
		    TAPIR_IS_SHARE(DOMINANT, f->locks_by_stack.event_ns, blocked.ns + others.ns))
			continue;
		if (tapir_findings__admits(list, TAPIR_FINDING_DEADLOCK, (double)blocked.thread_cnt,
					   TAPIR_NO_CHECKS) &&
		    !f->locks.are_deadlocked) /* else it is named */
			emit_kind(f, kind, true, &blocked, list);
		else if (blocked.thread_cnt)
			others = sum_of_all(kind);
		if (tapir_findings__admits(list, TAPIR_FINDING_LOCKS,
					   (double)others.ns / (double)span_ns, TAPIR_NO_CHECKS))
			emit_kind(f, kind, false, &others, list);
	}
}

void tapir_finding_locks_by_stack__fini(struct tapir_diagnosis *f)
{
	struct tapir_lock_kind *kind;
	struct tapir_seen_wait *seen;

	tapir_vec_for_each (kind, &f->locks_by_stack.kinds) {
		tapir_function_sums__fini(&kind->callers);
		tapir_keyed__fini(&kind->threads);
	}
	tapir_keyed__fini(&f->locks_by_stack.kinds);
	tapir_vec_for_each (seen, &f->locks_by_stack.seen)
		free_seen(seen);
	tapir_keyed__fini(&f->locks_by_stack.seen);
}
