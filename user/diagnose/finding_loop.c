// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An iteration of a loop ends where its thread sleeps in the loop itself. A busy loop does not
 * sleep between iterations: it polls, and finds the next event there already. The difference to a
 * blocked one is that some samples are in the loop and not in what it called: one long call has
 * none of them. Where such samples are frequent, a time without any is a call only if it is much
 * longer than the times between them by chance. Time without samples and waits is not counted:
 * records were lost, or were not requested.
 *
 * A loop may be a function of the runtime (libuv's), or be written in its language (asyncio): then
 * the function that calls the program is on the stacks of what it calls.
 */
#include "diagnose/finding_loop.h"

#include <string.h>

#include "base/keyed.h"
#include "diagnose/diagnosis_impl.h"
#include "diagnose/loop_stack.h"
#include "spec/runtime_db/lore.h"

#define MAX_LOOPS 1024u
#define MAX_TIMES 4096u
#define MAX_KEPT  (1u << 20)

/* ---- times ----------------------------------------------------------------------------------- */

static struct tapir_loop *make_loop(struct tapir_diagnosis *f, uint32_t tgid, uint32_t tid,
				    const struct tapir_loop_stack *stack)
{
	struct tapir_loop made = {.tgid = tgid, .tid = tid, .lore = stack->lore};

	return tapir_keyed__add(&f->loops.rows, tid, MAX_LOOPS, made);
}

/* NULL: the thread runs none, as far as is known. */
static struct tapir_loop *loop_of(struct tapir_diagnosis *f, uint32_t tgid, uint32_t tid,
				  const struct tapir_loop_stack *stack)
{
	struct tapir_loop *loop = tapir_keyed__get(&f->loops.rows, tid);

	if (!loop && (stack->state == TAPIR_LOOP_POLLING || stack->is_conclusive))
		loop = make_loop(f, tgid, tid, stack);
	if (loop)
		loop->is_confirmed |= stack->is_conclusive;
	return loop;
}

/*
 * Code that runs in the interpreter no deeper than where the loop requests events is the loop's
 * own: it has called nothing. Until the loop was seen to request events, its code cannot be
 * distinguished from what it calls.
 */
static enum tapir_loop_state state_of_stack(struct tapir_loop *loop,
					    const struct tapir_loop_stack *stack)
{
	if (stack->state == TAPIR_LOOP_POLLING && (!loop->depth || stack->depth < loop->depth))
		loop->depth = stack->depth;
	if (stack->state == TAPIR_LOOP_IN_CALLBACK && stack->depth && !loop->depth)
		return TAPIR_LOOP_OUTSIDE;
	if (stack->state == TAPIR_LOOP_IN_CALLBACK && !stack->is_conclusive &&
	    stack->depth <= loop->depth)
		return TAPIR_LOOP_POLLING;
	return stack->state;
}

static void drop_times(struct tapir_loop *loop)
{
	loop->from_ns = 0;
	loop->attributed_ns = 0;
	loop->points = 0;
	loop->times.cnt = 0;
}

static void keep_stall(struct tapir_loop *loop, uint64_t took_ns, bool is_open)
{
	struct tapir_loop_stall stall = {.ns = took_ns,
					 .points = loop->points,
					 .first_time = loop->kept.cnt,
					 .is_open = is_open};
	const struct tapir_loop_time *time;

	if (loop->kept.cnt + loop->times.cnt > MAX_KEPT || !tapir_vec__push(&loop->stalls, stall))
		return;
	tapir_vec_for_each (time, &loop->times)
		(void)tapir_vec__push(&loop->kept, *time);
}

/* The thread is in the loop again. */
static void end_stall(struct tapir_loop *loop, uint64_t now_ns, bool is_open)
{
	uint64_t took_ns = loop->from_ns && now_ns > loop->from_ns ? now_ns - loop->from_ns : 0;

	if (took_ns >= TAPIR_LIMIT_NS(LOOP_BLOCKED) &&
	    TAPIR_IS_SHARE(LOOP_KNOWN, loop->attributed_ns, took_ns))
		keep_stall(loop, took_ns, is_open);
	drop_times(loop);
}

/*
 * Counts the time between two sleeps. It counts only if enough of it is explained by samples and
 * waits: else records were lost, or a sleep was not seen, and the loop would seem busy. An
 * iteration that is shorter than the time between two samples counts without samples.
 */
static void count_busy(struct tapir_loop_busy *busy, uint64_t from_ns, uint64_t until_ns)
{
	uint64_t ns = from_ns && until_ns > from_ns ? until_ns - from_ns : 0;

	if (ns < TAPIR_LIMIT_NS(ITERATION_KNOWN) ||
	    TAPIR_IS_SHARE(LOOP_KNOWN, busy->attributed_ns, ns)) {
		busy->ns += ns;
		busy->runnable_ns += busy->attributed_runnable_ns;
		busy->longest_ns = ns > busy->longest_ns ? ns : busy->longest_ns;
	}
	busy->attributed_ns = 0;
	busy->attributed_runnable_ns = 0;
}

/* The thread sleeps in the loop. */
static void end_iteration(struct tapir_loop *loop, uint64_t now_ns)
{
	if (loop->slept_ns && now_ns >= loop->slept_ns + TAPIR_LIMIT_NS(LOOP_BLOCKED)) {
		loop->long_iteration_cnt++;
		loop->long_iterations.in_loop += loop->iteration.in_loop;
		loop->long_iterations.called += loop->iteration.called;
	}
	for (size_t i = loop->iteration_first_stall; i < loop->stalls.cnt; i++)
		loop->stalls.data[i].is_dominant =
			loop->slept_ns &&
			TAPIR_IS_SHARE(DOMINANT, loop->stalls.data[i].ns, now_ns - loop->slept_ns);
	loop->iteration_first_stall = loop->stalls.cnt;
	count_busy(&loop->busy, loop->slept_ns, now_ns);
	loop->iteration = (struct tapir_loop_points){};
	loop->back_cnt = 0;
	loop->slept_ns = 0;
}

/* A sample, or a moment when it lost its CPU. */
static void add_point(struct tapir_loop *loop, enum tapir_loop_state state, uint64_t now_ns)
{
	if (!loop->slept_ns)
		loop->slept_ns = now_ns; /* later, in truth */
	/*
	 * The code in which it woke up, and in which it goes to sleep, is in the loop in any case.
	 */
	if (state == TAPIR_LOOP_POLLING && loop->iteration.called)
		loop->back_cnt++;
	if (state == TAPIR_LOOP_IN_CALLBACK) {
		loop->iteration.in_loop += loop->back_cnt;
		loop->back_cnt = 0;
		loop->iteration.called++;
	}
	loop->points += state == TAPIR_LOOP_IN_CALLBACK;
	if (state == TAPIR_LOOP_POLLING)
		end_stall(loop, now_ns, false);
	if (!loop->from_ns && state != TAPIR_LOOP_OUTSIDE)
		loop->from_ns = now_ns;
}

static void add_time(struct tapir_diagnosis *f, struct tapir_loop *loop, uint32_t node,
		     struct tapir_loop_time time)
{
	struct tapir_loop_time *row;

	loop->attributed_ns += time.ns;
	time.name = tapir_diagnosis__own(f, node);
	time.called = tapir_loop_stack__called(f, node);
	time.queue = tapir_loop_stack__queue(f, node);
	tapir_vec_for_each (row, &loop->times)
		if (row->name == time.name && row->called == time.called &&
		    row->queue == time.queue && row->reason == time.reason &&
		    row->is_runnable == time.is_runnable) {
			row->ns += time.ns;
			return;
		}
	if (loop->times.cnt < MAX_TIMES)
		(void)tapir_vec__push(&loop->times, time);
}

/* Time of a thread with that stack, for a reason (NULL: on a CPU, or waiting for one). */
static void add_sync(struct tapir_diagnosis *f, struct tapir_loop *loop, uint32_t node,
		     const char *reason, uint64_t ns, uint64_t runnable_ns)
{
	struct tapir_loop_sync *sync = &loop->sync;

	if (!(tapir_node_facts__of(f, node)->marks & TAPIR_MARK_SYNC))
		return;
	sync->ns += ns;
	sync->runnable_ns += runnable_ns;
	tapir_function_sums__add(f, &sync->called, tapir_loop_stack__called(f, node), ns);
	tapir_diagnosis__add_app_stack(f, &sync->app, node, ns);
	if (reason && *reason)
		tapir_label_sums__add(&sync->reasons, 1, reason, TAPIR_APP_CODE_NONE,
				      ns - runnable_ns);
}

/* The thread ran, or slept in a call. */
static void add_busy_time(struct tapir_diagnosis *f, struct tapir_loop *loop, uint32_t node,
			  uint64_t ns)
{
	loop->busy.attributed_ns += ns;
	tapir_diagnosis__add_app_stack(f, &loop->busy.app, node, ns);
}

void tapir_finding_loop__sample(struct tapir_diagnosis *f, const struct tapir_tl_thread *thread,
				const struct tapir_rec_sample *sample, uint32_t node,
				const struct tapir_node_facts *facts)
{
	uint64_t now_ns = sample->h.time_ns;
	struct tapir_loop_stack stack = facts->stack;
	struct tapir_loop *loop = loop_of(f, thread->tgid, thread->tid, &stack);
	enum tapir_loop_state state;

	if (!loop)
		return;
	state = state_of_stack(loop, &stack);
	loop->seen_ns = now_ns;
	add_point(loop, state, now_ns);
	if (loop->from_ns && state != TAPIR_LOOP_POLLING)
		add_time(f, loop, node, (struct tapir_loop_time){.ns = sample->period});
	if (state == TAPIR_LOOP_IN_CALLBACK)
		add_sync(f, loop, node, NULL, sample->period, 0);
	add_busy_time(f, loop, node, sample->period);
}

static void sleep_in_call(struct tapir_diagnosis *f, struct tapir_loop *loop,
			  const struct tapir_wait *w)
{
	const char *reason = tapir_diagnosis__reason_at(f, w->node);

	if (!loop->from_ns)
		loop->from_ns = w->from_ns;
	add_busy_time(f, loop, w->node, w->wake_ns - w->from_ns);
	add_time(f, loop, w->node,
		 (struct tapir_loop_time){.ns = w->wake_ns - w->from_ns,
					  .reason = reason ? reason : ""});
}

void tapir_finding_loop__wait(struct tapir_diagnosis *f, const struct tapir_wait *w)
{
	struct tapir_loop_stack stack =
		w->node == TAPIR_NO_NODE
			? (struct tapir_loop_stack){TAPIR_LOOP_OUTSIDE, NULL, false, 0}
			: tapir_node_facts__of(f, w->node)->stack;
	struct tapir_loop *loop = loop_of(f, w->thread->tgid, w->thread->tid, &stack);
	enum tapir_loop_state state;
	uint64_t ready_ns = w->state ? w->wake_ns : w->from_ns;

	if (!loop)
		return;
	state = state_of_stack(loop, &stack);
	if (w->state)
		state = stack.state; /* the loop itself sleeps for events alone */
	if (state == TAPIR_LOOP_IN_CALLBACK)
		add_sync(f, loop, w->node, tapir_diagnosis__reason_at(f, w->node),
			 w->until_ns - w->from_ns, w->until_ns - ready_ns);
	loop->seen_ns = w->until_ns;
	if (!w->state) {
		add_point(loop, state, w->from_ns);
	} else if (state == TAPIR_LOOP_IN_CALLBACK) {
		sleep_in_call(f, loop, w);
	} else {
		/* The thread slept in the loop, or it is not known where. */
		if (state == TAPIR_LOOP_POLLING) {
			end_stall(loop, w->from_ns, false);
			loop->idle_ns += w->wake_ns - w->from_ns;
		} else {
			loop->unknown_ns += w->wake_ns - w->from_ns;
		}
		end_iteration(loop, w->from_ns);
		drop_times(loop);
		loop->slept_ns = state == TAPIR_LOOP_POLLING ? w->until_ns : 0;
		loop->from_ns = loop->slept_ns;
		return;
	}
	if (w->until_ns > ready_ns) {
		loop->busy.attributed_ns += w->until_ns - ready_ns;
		loop->busy.attributed_runnable_ns += w->until_ns - ready_ns;
	}
	if (loop->from_ns && w->until_ns > ready_ns)
		add_time(f, loop, w->node,
			 (struct tapir_loop_time){.ns = w->until_ns - ready_ns,
						  .is_runnable = true});
}

/* Proves that a thread runs a loop, by its functions' names. NULL: this stack does not show it. */
static struct tapir_loop *confirm_loop(struct tapir_diagnosis *f, uint32_t tgid, uint32_t tid,
				       uint32_t node)
{
	const struct tapir_lore *lore = tapir_loop_stack__lore(f, node);
	struct tapir_loop_stack stack = {TAPIR_LOOP_OUTSIDE, lore, true, 0};

	return lore ? loop_of(f, tgid, tid, &stack) : NULL;
}

void tapir_finding_loop__snapshot(struct tapir_diagnosis *f, const struct tapir_rec_switch *rec,
				  uint32_t node)
{
	struct tapir_loop *loop =
		rec->out_tid ? confirm_loop(f, rec->out_tgid, rec->out_tid, node) : NULL;
	uint32_t app = loop ? tapir_diagnosis__own(f, node) : TAPIR_APP_CODE_NONE;

	if (app != TAPIR_APP_CODE_NONE &&
	    tapir_node_facts__of(f, node)->stack.state == TAPIR_LOOP_IN_CALLBACK)
		tapir_function_sums__add(f, &loop->seen, app, 1);
}

void tapir_finding_loop__interp_sample(struct tapir_diagnosis *f,
				       const struct tapir_rec_interp_sample *sample, uint32_t node)
{
	struct tapir_loop *loop = confirm_loop(f, sample->tgid, sample->tid, node);
	uint32_t app = loop ? tapir_loop_stack__own(f, node) : TAPIR_APP_CODE_NONE;

	if (app != TAPIR_APP_CODE_NONE)
		tapir_function_sums__add(f, &loop->seen, app, 1);
}

/* ---- all of them ----------------------------------------------------------------------------- */

static void count_time(struct tapir_diagnosis *f, struct tapir_loop *loop,
		       const struct tapir_loop_time *time)
{
	tapir_function_sums__add(f, &loop->app, time->name, time->ns);
	tapir_function_sums__add(f, &loop->called, time->called, time->ns);
	loop->runnable_ns += time->is_runnable ? time->ns : 0;
	loop->queue_ns += time->queue != TAPIR_LOOP_QUEUE_NONE ? time->ns : 0;
	loop->steps_ns += time->queue == TAPIR_LOOP_QUEUE_STEP ? time->ns : 0;
	if (time->reason && *time->reason)
		tapir_label_sums__add(&loop->reasons, 1, time->reason, TAPIR_APP_CODE_NONE,
				      time->ns);
}

/*
 * Returns true if the stall is many short iterations rather than one long call. Where a loop sleeps
 * now and then, short iterations hardly follow each other without a sleep.
 */
static bool is_insignificant(const struct tapir_loop *loop, const struct tapir_loop_stall *stall)
{
	const struct tapir_loop_points *all = &loop->long_iterations;

	if (stall->is_dominant && loop->idle_ns * TAPIR_LIMIT(LOOP_SLEEPS) >= loop->busy.ns)
		return false;
	return all->in_loop &&
	       all->in_loop * TAPIR_LIMIT(LOOP_ITERATIONS) >= loop->long_iteration_cnt &&
	       stall->points * all->in_loop < TAPIR_LIMIT(LOOP_CHANCE) * all->called;
}

static void count_stalls(struct tapir_diagnosis *f, struct tapir_loop *loop)
{
	for (size_t i = 0; i < loop->stalls.cnt; i++) {
		const struct tapir_loop_stall *stall = &loop->stalls.data[i];
		size_t until = i + 1 < loop->stalls.cnt ? stall[1].first_time : loop->kept.cnt;

		if (is_insignificant(loop, stall))
			continue;
		loop->ns += stall->ns;
		loop->cnt++;
		loop->worst_ns = stall->ns > loop->worst_ns ? stall->ns : loop->worst_ns;
		loop->is_open = stall->is_open;
		for (size_t t = stall->first_time; t < until; t++)
			count_time(f, loop, &loop->kept.data[t]);
	}
}

/* Ends the last stay outside the loop with the recording. */
void tapir_finding_loop__conclude(struct tapir_diagnosis *f)
{
	uint64_t end_ns = tapir_timeline__stats(f->tl)->last_ns;
	struct tapir_loop *loop;

	tapir_vec_for_each (loop, &f->loops.rows) {
		end_stall(loop, loop->seen_ns,
			  loop->seen_ns + TAPIR_LIMIT_NS(LOOP_BLOCKED) >= end_ns);
		end_iteration(loop, loop->seen_ns);
		count_stalls(f, loop);
	}
}

void tapir_finding_loop__fini(struct tapir_diagnosis *f)
{
	struct tapir_loop *loop;

	tapir_vec_for_each (loop, &f->loops.rows) {
		tapir_vec__fini(&loop->times);
		tapir_vec__fini(&loop->stalls);
		tapir_vec__fini(&loop->kept);
		tapir_function_sums__fini(&loop->app);
		tapir_function_sums__fini(&loop->seen);
		tapir_function_sums__fini(&loop->sync.called);
		tapir_function_sums__fini(&loop->sync.app);
		tapir_label_sums__fini(&loop->sync.reasons);
		tapir_function_sums__fini(&loop->busy.app);
		tapir_function_sums__fini(&loop->called);
		tapir_label_sums__fini(&loop->reasons);
	}
	tapir_keyed__fini(&f->loops.rows);
}
