// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A turn of a loop ends where its thread sleeps in the loop itself. A busy loop does not sleep
 * between turns: it polls, and finds the next event there already. What tells it from a blocked one
 * is that some samples are in the loop and not in what it called: one long call has none of them.
 * Where they come often, a time without any is a call only if it is much longer than those between
 * them by chance. Time of which neither samples nor waits tell anything is not counted: records
 * were lost, or nobody asked for them.
 *
 * A loop may be a function of the runtime (libuv's), or be written in its language (asyncio): then
 * the function that calls the program is on the stacks of what it calls.
 */
#include "findings/finding_loop.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyze/view.h"
#include "base/keyed.h"
#include "findings/finding_impl.h"
#include "findings/loop_spot.h"
#include "lore/lore.h"
#include "symbol/unnamed_frames.h"

#define MAX_LOOPS     1024u
#define MAX_TIMES     4096u
#define BLOCKED_MS    50
#define BLOCKED_NS    (BLOCKED_MS * 1000000ull)
#define TOLD_PERCENT  50 /* of a time: with less, too little is known of it */
#define WORTH_PERCENT 25 /* of that time, for a cause to be told */
#define MOST_PERCENT  50
#define MORE_PERCENT  120 /* synchronous calls, of the time in which it was blocked for long */
#define MAX_KEPT      (1u << 20)
#define RESTS_OF_ONE  10 /* times as long without a rest: it hardly has any */
#define TURNS_OF_ONE  4	 /* long turns with one such point: fewer, and they are many short ones */
#define BY_CHANCE                                                                                  \
	10 /* times the mean time between such points: hardly by chance in any of a hundred */
#define SECOND_PERCENT 25 /* of the time in which it was blocked, by a second function */
#define STEPS_OF_ONE                                                                               \
	50 /* times in callbacks of a queue with one between: not many, but a long one */

/* ---- times ----------------------------------------------------------------------------------- */

/* NULL: the thread runs none, as far as is known. */
static struct tapir_loop *loop_of(struct tapir_finding *f, uint32_t tgid, uint32_t tid,
				  const struct tapir_loop_spot *spot)
{
	struct tapir_loop made = {.tgid = tgid, .tid = tid, .lore = spot->lore}, *loop;

	if (spot->place == TAPIR_LOOP_ITSELF || spot->is_proof)
		loop = tapir_keyed__row(&f->loops.rows, &f->loops.by_tid, tid, MAX_LOOPS, made);
	else
		loop = tapir_keyed__find(&f->loops.rows, &f->loops.by_tid, tid);
	if (loop)
		loop->is_proven |= spot->is_proof;
	return loop;
}

/*
 * What runs in the interpreter no deeper than where the loop asks for events is the loop's own
 * code: it has called nothing. Until it has been seen to ask, it cannot be told from what it calls.
 */
static enum tapir_loop_place place_of(struct tapir_loop *loop, const struct tapir_loop_spot *spot)
{
	if (spot->place == TAPIR_LOOP_ITSELF && (!loop->depth || spot->depth < loop->depth))
		loop->depth = spot->depth;
	if (spot->place == TAPIR_LOOP_CALLED && spot->depth && !loop->depth)
		return TAPIR_LOOP_ELSEWHERE;
	if (spot->place == TAPIR_LOOP_CALLED && !spot->is_proof && spot->depth <= loop->depth)
		return TAPIR_LOOP_ITSELF;
	return spot->place;
}

static void forget_times(struct tapir_loop *loop)
{
	loop->from_ns = 0;
	loop->told_ns = 0;
	loop->points = 0;
	loop->times.cnt = 0;
}

static void keep_stand(struct tapir_loop *loop, uint64_t took_ns, bool is_open)
{
	struct tapir_loop_stand stand = {.ns = took_ns,
					 .points = loop->points,
					 .first_time = loop->kept.cnt,
					 .is_open = is_open};
	const struct tapir_loop_time *time;

	if (loop->kept.cnt + loop->times.cnt > MAX_KEPT || !tapir_vec__push(&loop->stands, stand))
		return;
	tapir_vec_for_each (time, &loop->times)
		(void)tapir_vec__push(&loop->kept, *time);
}

/* It is in the loop again. */
static void end_stand(struct tapir_loop *loop, uint64_t now_ns, bool is_open)
{
	uint64_t took_ns = loop->from_ns && now_ns > loop->from_ns ? now_ns - loop->from_ns : 0;

	if (took_ns >= BLOCKED_NS && loop->told_ns * 100 >= took_ns * TOLD_PERCENT)
		keep_stand(loop, took_ns, is_open);
	forget_times(loop);
}

/* It sleeps in the loop. */
static void end_turn(struct tapir_loop *loop, uint64_t now_ns)
{
	if (loop->slept_ns && now_ns >= loop->slept_ns + BLOCKED_NS) {
		loop->long_turn_cnt++;
		loop->long_turns.in_loop += loop->turn.in_loop;
		loop->long_turns.called += loop->turn.called;
	}
	for (size_t i = loop->turn_first_stand; i < loop->stands.cnt; i++)
		loop->stands.data[i].is_most =
			loop->slept_ns && loop->stands.data[i].ns * 2 >= now_ns - loop->slept_ns;
	loop->turn_first_stand = loop->stands.cnt;
	tapir_loop_busy__turn(&loop->busy, loop->slept_ns, now_ns);
	loop->turn = (struct tapir_loop_points){};
	loop->back_cnt = 0;
	loop->slept_ns = 0;
}

/* A sample, or a moment when it lost its CPU. */
static void add_point(struct tapir_loop *loop, enum tapir_loop_place place, uint64_t now_ns)
{
	if (!loop->slept_ns)
		loop->slept_ns = now_ns; /* later, in truth */
	/* Where it woke up, and where it goes to sleep, is in the loop in any case. */
	if (place == TAPIR_LOOP_ITSELF && loop->turn.called)
		loop->back_cnt++;
	if (place == TAPIR_LOOP_CALLED) {
		loop->turn.in_loop += loop->back_cnt;
		loop->back_cnt = 0;
		loop->turn.called++;
	}
	loop->points += place == TAPIR_LOOP_CALLED;
	if (place == TAPIR_LOOP_ITSELF)
		end_stand(loop, now_ns, false);
	if (!loop->from_ns && place != TAPIR_LOOP_ELSEWHERE)
		loop->from_ns = now_ns;
}

static void add_time(struct tapir_finding *f, struct tapir_loop *loop, uint32_t node,
		     struct tapir_loop_time time)
{
	const struct tapir_stack_tree *tree = tapir_timeline__stacks(f->tl);
	struct tapir_loop_time *row;

	loop->told_ns += time.ns;
	time.name = tapir_own_code__of(&f->own, tree, node);
	time.called = tapir_loop_spot__called(tree, node);
	time.queue = tapir_loop_spot__queue(tree, node);
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

static void add_sync(struct tapir_finding *f, struct tapir_loop *loop, uint32_t node,
		     const char *reason, uint64_t ns, uint64_t runnable_ns)
{
	tapir_loop_sync__add(f, &loop->sync, node,
			     tapir_loop_spot__called(tapir_timeline__stacks(f->tl), node), reason,
			     ns, runnable_ns);
}

static void add_busy_time(struct tapir_finding *f, struct tapir_loop *loop, uint32_t node,
			  uint64_t ns)
{
	tapir_loop_busy__add(&loop->busy,
			     tapir_own_code__of(&f->own, tapir_timeline__stacks(f->tl), node), ns);
}

void tapir_finding_loop__sample(struct tapir_finding *f, const struct tapir_tl_thread *thread,
				const struct tapir_rec_sample *sample, uint32_t node)
{
	uint64_t now_ns = sample->h.time_ns;
	struct tapir_loop_spot spot = tapir_loop_spot__of(f, node);
	struct tapir_loop *loop = loop_of(f, thread->tgid, thread->tid, &spot);
	enum tapir_loop_place place;

	if (!loop)
		return;
	place = place_of(loop, &spot);
	loop->seen_ns = now_ns;
	add_point(loop, place, now_ns);
	if (loop->from_ns && place != TAPIR_LOOP_ITSELF)
		add_time(f, loop, node, (struct tapir_loop_time){.ns = sample->period});
	if (place == TAPIR_LOOP_CALLED)
		add_sync(f, loop, node, NULL, sample->period, 0);
	add_busy_time(f, loop, node, sample->period);
}

static void sleep_in_call(struct tapir_finding *f, struct tapir_loop *loop,
			  const struct tapir_wait *w)
{
	const char *reason =
		tapir_wait_reasons__of(&f->reasons, tapir_timeline__stacks(f->tl), w->node);

	if (!loop->from_ns)
		loop->from_ns = w->from_ns;
	add_busy_time(f, loop, w->node, w->wake_ns - w->from_ns);
	add_time(f, loop, w->node,
		 (struct tapir_loop_time){.ns = w->wake_ns - w->from_ns,
					  .reason = reason ? reason : ""});
}

void tapir_finding_loop__wait(struct tapir_finding *f, const struct tapir_wait *w)
{
	struct tapir_loop_spot spot =
		w->node == TAPIR_NO_NODE
			? (struct tapir_loop_spot){TAPIR_LOOP_ELSEWHERE, NULL, false, 0}
			: tapir_loop_spot__of(f, w->node);
	struct tapir_loop *loop = loop_of(f, w->thread->tgid, w->thread->tid, &spot);
	enum tapir_loop_place place;
	uint64_t ready_ns = w->state ? w->wake_ns : w->from_ns;

	if (!loop)
		return;
	place = place_of(loop, &spot);
	if (w->state)
		place = spot.place; /* the loop itself sleeps for events alone */
	if (place == TAPIR_LOOP_CALLED)
		add_sync(
			f, loop, w->node,
			tapir_wait_reasons__of(&f->reasons, tapir_timeline__stacks(f->tl), w->node),
			w->until_ns - w->from_ns, w->until_ns - ready_ns);
	loop->seen_ns = w->until_ns;
	if (!w->state) {
		add_point(loop, place, w->from_ns);
	} else if (place == TAPIR_LOOP_CALLED) {
		sleep_in_call(f, loop, w);
	} else {
		/* In the loop, or nobody knows where. */
		if (place == TAPIR_LOOP_ITSELF) {
			end_stand(loop, w->from_ns, false);
			loop->idle_ns += w->wake_ns - w->from_ns;
		} else {
			loop->unknown_ns += w->wake_ns - w->from_ns;
		}
		end_turn(loop, w->from_ns);
		forget_times(loop);
		loop->slept_ns = place == TAPIR_LOOP_ITSELF ? w->until_ns : 0;
		loop->from_ns = loop->slept_ns;
		return;
	}
	if (w->until_ns > ready_ns)
		tapir_loop_busy__add_runnable(&loop->busy, w->until_ns - ready_ns);
	if (loop->from_ns && w->until_ns > ready_ns)
		add_time(f, loop, w->node,
			 (struct tapir_loop_time){.ns = w->until_ns - ready_ns,
						  .is_runnable = true});
}

/* By its functions' names, a thread is known to run a loop. NULL: this stack does not tell. */
static struct tapir_loop *prove(struct tapir_finding *f, uint32_t tgid, uint32_t tid, uint32_t node)
{
	const struct tapir_lore *lore = tapir_loop_spot__lore(tapir_timeline__stacks(f->tl), node);
	struct tapir_loop_spot spot = {TAPIR_LOOP_ELSEWHERE, lore, true, 0};

	return lore ? loop_of(f, tgid, tid, &spot) : NULL;
}

void tapir_finding_loop__snapshot(struct tapir_finding *f, const struct tapir_rec_switch *rec,
				  uint32_t node)
{
	struct tapir_loop *loop = rec->out_tid ? prove(f, rec->out_tgid, rec->out_tid, node) : NULL;
	uint32_t own = loop ? tapir_own_code__of(&f->own, tapir_timeline__stacks(f->tl), node)
			    : TAPIR_OWN_CODE_NONE;

	if (own != TAPIR_OWN_CODE_NONE && tapir_loop_spot__of(f, node).place == TAPIR_LOOP_CALLED)
		tapir_weights__add(&loop->seen, own, 1);
}

void tapir_finding_loop__look(struct tapir_finding *f, const struct tapir_rec_look *look,
			      uint32_t node)
{
	struct tapir_loop *loop = prove(f, look->tgid, look->tid, node);
	uint32_t own = loop ? tapir_loop_spot__own(tapir_timeline__stacks(f->tl), node)
			    : TAPIR_OWN_CODE_NONE;

	if (own != TAPIR_OWN_CODE_NONE)
		tapir_weights__add(&loop->seen, own, 1);
}

/* ---- the finding ----------------------------------------------------------------------------- */

static void count_time(struct tapir_loop *loop, const struct tapir_loop_time *time)
{
	tapir_weights__add(&loop->own, time->name, time->ns);
	tapir_weights__add(&loop->called, time->called, time->ns);
	loop->runnable_ns += time->is_runnable ? time->ns : 0;
	loop->queue_ns += time->queue != TAPIR_LOOP_QUEUE_NONE ? time->ns : 0;
	loop->steps_ns += time->queue == TAPIR_LOOP_QUEUE_STEP ? time->ns : 0;
	if (time->reason && *time->reason)
		tapir_found_labels__add(&loop->reasons, 1, time->reason, TAPIR_OWN_CODE_NONE,
					time->ns);
}

/*
 * Many short turns rather than one long call? Where a loop sleeps every now and then these hardly
 * come in a row.
 */
static bool is_by_chance(const struct tapir_loop *loop, const struct tapir_loop_stand *stand)
{
	const struct tapir_loop_points *all = &loop->long_turns;

	if (stand->is_most && loop->idle_ns * RESTS_OF_ONE >= loop->busy.ns)
		return false;
	return all->in_loop && all->in_loop * TURNS_OF_ONE >= loop->long_turn_cnt &&
	       stand->points * all->in_loop < BY_CHANCE * all->called;
}

static void count_stands(struct tapir_loop *loop)
{
	for (size_t i = 0; i < loop->stands.cnt; i++) {
		const struct tapir_loop_stand *stand = &loop->stands.data[i];
		size_t until = i + 1 < loop->stands.cnt ? stand[1].first_time : loop->kept.cnt;

		if (is_by_chance(loop, stand))
			continue;
		loop->ns += stand->ns;
		loop->cnt++;
		loop->worst_ns = stand->ns > loop->worst_ns ? stand->ns : loop->worst_ns;
		loop->is_open = stand->is_open;
		for (size_t t = stand->first_time; t < until; t++)
			count_time(loop, &loop->kept.data[t]);
	}
}

/* The time in which it is known whether it was blocked: not where stacks lack their callers. */
static uint64_t known_ns(const struct tapir_loop *loop, uint64_t span_ns)
{
	return loop->unknown_ns < span_ns / 2 ? span_ns - loop->unknown_ns : span_ns;
}

/* Without the time in which others had the CPU, which is not its own fault. */
static bool counts(const struct tapir_loop *loop, uint64_t ns, uint64_t runnable_ns,
		   uint64_t span_ns)
{
	uint64_t own_ns = ns > runnable_ns ? ns - runnable_ns : 0;

	return tapir_found__counts(TAPIR_FOUND_LOOP,
				   tapir_finding__percent(own_ns, known_ns(loop, span_ns)));
}

/* Rather than by long calls. */
static bool is_by_sync(const struct tapir_loop *loop)
{
	return loop->sync.ns * 100 > loop->ns * MORE_PERCENT;
}

static bool is_blocked(const struct tapir_loop *loop, uint64_t span_ns)
{
	return is_by_sync(loop) ? counts(loop, loop->sync.ns, loop->sync.runnable_ns, span_ns)
				: counts(loop, loop->ns, loop->runnable_ns, span_ns);
}

static uint64_t blocked_ns(const struct tapir_loop *loop)
{
	return is_by_sync(loop) ? loop->sync.ns : loop->ns;
}

/* A worker beside the loop of the process's first thread: it is there to compute. */
static bool is_worker(const struct tapir_finding *f, const struct tapir_loop *loop)
{
	return loop->tid != loop->tgid && tapir_map__get(&f->loops.by_tid, loop->tgid);
}

/* Its last stay outside the loop ends with the recording. */
static void end_all(struct tapir_finding *f)
{
	uint64_t end_ns = tapir_timeline__stats(f->tl)->last_ns;
	struct tapir_loop *loop;

	tapir_vec_for_each (loop, &f->loops.rows) {
		end_stand(loop, loop->seen_ns, loop->seen_ns + BLOCKED_NS >= end_ns);
		end_turn(loop, loop->seen_ns);
		count_stands(loop);
	}
}

/* *cnt: how many are blocked. NULL: none. */
static struct tapir_loop *worst_loop(struct tapir_finding *f, uint64_t span_ns, size_t *cnt)
{
	struct tapir_loop *loop, *worst = NULL;

	*cnt = 0;
	tapir_vec_for_each (loop, &f->loops.rows) {
		if (!loop->is_proven || is_worker(f, loop) || !is_blocked(loop, span_ns))
			continue;
		++*cnt;
		if (!worst || blocked_ns(loop) > blocked_ns(worst))
			worst = loop;
	}
	return worst;
}

static double busy_percent(const struct tapir_loop *loop, uint64_t ns, uint64_t span_ns)
{
	return tapir_finding__percent(ns, known_ns(loop, span_ns));
}

/* NULL: each sleeps long enough, but for the time in which others had the CPU. */
static struct tapir_loop *busiest_loop(struct tapir_finding *f, uint64_t span_ns)
{
	struct tapir_loop *loop, *busiest = NULL;

	tapir_vec_for_each (loop, &f->loops.rows) {
		struct tapir_loop_busy *busy = &loop->busy;
		uint64_t own_ns = busy->ns > busy->runnable_ns ? busy->ns - busy->runnable_ns : 0;

		if (loop->is_proven && !is_worker(f, loop) &&
		    tapir_found__counts(TAPIR_FOUND_LOOP_BUSY,
					busy_percent(loop, own_ns, span_ns)) &&
		    (!busiest || busy->ns > busiest->busy.ns))
			busiest = loop;
	}
	return busiest;
}

static bool has_name(const struct tapir_finding *f, uint32_t name)
{
	const char *text = tapir_timeline__stacks(f->tl)->names.data[name];

	return !tapir_unnamed_frame__module(text).len;
}

/* One callback takes long, or there are many: then some of the time is between them. */
static void add_queue(const struct tapir_loop *loop, struct tapir_str *out)
{
	if (loop->queue_ns * 100 >= loop->ns * WORTH_PERCENT && loop->lore->loop_queued &&
	    loop->steps_ns * STEPS_OF_ONE >= loop->queue_ns)
		tapir_str__addf(out, ", %.0f%% of it %s",
				tapir_finding__percent(loop->queue_ns, loop->ns),
				loop->lore->loop_queued);
}

/* "most of it in renderReport shop.js:12:3", or what is known without names of functions. */
static void add_function(const struct tapir_finding *f, const struct tapir_loop *loop,
			 struct tapir_str *out)
{
	const struct tapir_found_label *reason = tapir_found_labels__worst(&loop->reasons);

	add_queue(loop, out);
	if (loop->own.best * 100 >= loop->ns * WORTH_PERCENT) {
		tapir_str__addf(out, ", %.0f%% of it in ",
				tapir_finding__percent(loop->own.best, loop->ns));
		tapir_finding__add_name(f, loop->own.best_name, out);
	}
	if (loop->called.best * 100 >= loop->ns * MOST_PERCENT &&
	    has_name(f, loop->called.best_name)) {
		tapir_str__adds(out, ", in a call of ");
		tapir_finding__add_name(f, loop->called.best_name, out);
	}
	if (reason && reason->ns * 100 >= loop->ns * MOST_PERCENT) {
		if (!strcmp(reason->label, "sleep"))
			tapir_str__adds(out, ", asleep");
		else
			tapir_str__addf(out, ", waiting for a %s", reason->label);
	}
	if (loop->runnable_ns * 100 >= loop->ns * WORTH_PERCENT)
		tapir_str__addf(out, ", %.0f%% of it waiting for a CPU",
				tapir_finding__percent(loop->runnable_ns, loop->ns));
}

static void add_blocked(struct tapir_finding *f, const struct tapir_loop *loop, double percent,
			struct tapir_str *out)
{
	char worst[TAPIR_NS_TEXT_BYTES];

	tapir_str__addf(out,
			" blocked %.0f%% of the time: %" PRIu64
			" time%s for %u ms and more, %s at most",
			percent, loop->cnt, loop->cnt == 1 ? "" : "s", BLOCKED_MS,
			tapir_ns__text(loop->worst_ns, worst));
	add_function(f, loop, out);
	if (loop->is_open)
		tapir_str__adds(out, "; it still was when the recording ended");
}

static void add_remedy(struct tapir_finding *f, const struct tapir_loop *loop,
		       const struct tapir_weights *own, uint64_t of_ns, struct tapir_str *out)
{
	if (own->best * 100 < of_ns * MOST_PERCENT &&
	    !tapir_finding__add_most(f, &loop->seen, "; it was seen in ", out) && !own->best)
		tapir_str__addf(out, "; its functions have no names: %s", loop->lore->names.remedy);
}

static void add_found(struct tapir_finding *f, struct tapir_found_list *list,
		      enum tapir_found_kind kind, double percent, const struct tapir_weights *own,
		      struct tapir_str *text, uint64_t sum_ns)
{
	struct tapir_str evidence = {};
	char sum[TAPIR_NS_TEXT_BYTES];

	tapir_str__addf(&evidence, "%s in all", tapir_ns__text(sum_ns, sum));
	tapir_found_list__add(list, kind, percent, own ? tapir_finding__most(f, own) : NULL, text,
			      &evidence, NULL);
}

static void add_sync_calls(struct tapir_finding *f, const struct tapir_loop *loop,
			   enum tapir_found_kind kind, struct tapir_found_list *list)
{
	double percent = busy_percent(loop, loop->sync.ns, tapir_timeline__switched_ns(f->tl));
	struct tapir_str text = {};

	tapir_str__addf(&text, "the event loop of process %u was", loop->tgid);
	tapir_loop_sync__add_text(f, &loop->sync, percent, &text);
	add_remedy(f, loop, &loop->sync.own, loop->sync.ns, &text);
	add_found(f, list, kind, percent, &loop->sync.own, &text, loop->sync.ns);
}

static void add_loop(struct tapir_finding *f, const struct tapir_loop *loop, size_t loop_cnt,
		     struct tapir_found_list *list)
{
	double percent = busy_percent(loop, loop->ns, tapir_timeline__switched_ns(f->tl));
	struct tapir_str text = {};

	tapir_str__addf(&text, "the event loop of process %u was", loop->tgid);
	add_blocked(f, loop, percent, &text);
	if (loop_cnt > 1)
		tapir_str__addf(&text, "; %zu more loops were blocked", loop_cnt - 1);
	add_remedy(f, loop, &loop->own, loop->ns, &text);
	add_found(f, list, TAPIR_FOUND_LOOP, percent, &loop->own, &text, loop->ns);
}

/* What else blocks it: another function, or calls that are too short to be seen one by one. */
static void add_second(struct tapir_finding *f, const struct tapir_loop *loop,
		       struct tapir_found_list *list)
{
	uint64_t span_ns = tapir_timeline__switched_ns(f->tl), ns;
	uint32_t second = tapir_weights__second(&loop->own, &ns);
	const struct tapir_loop_sync *sync = &loop->sync;
	struct tapir_str text = {};

	if (sync->own.best && sync->own.best_name != loop->own.best_name &&
	    counts(loop, sync->ns, sync->runnable_ns, span_ns))
		add_sync_calls(f, loop, TAPIR_FOUND_LOOP_SYNC, list);
	if (ns * 100 < loop->ns * SECOND_PERCENT || second == sync->own.best_name)
		return;
	tapir_str__addf(&text,
			"the event loop of process %u was also blocked %.0f%% of the time in ",
			loop->tgid, busy_percent(loop, ns, span_ns));
	tapir_finding__add_name(f, second, &text);
	add_found(f, list, TAPIR_FOUND_LOOP, busy_percent(loop, ns, span_ns), NULL, &text, ns);
}

static void add_busy(struct tapir_finding *f, const struct tapir_loop *loop,
		     struct tapir_found_list *list)
{
	const struct tapir_loop_busy *busy = &loop->busy;
	double percent = busy_percent(loop, busy->ns, tapir_timeline__switched_ns(f->tl));
	struct tapir_str text = {};

	tapir_str__addf(&text, "the event loop of process %u was", loop->tgid);
	tapir_loop_busy__add_text(f, busy, percent, &text);
	if (!busy->own.best)
		add_remedy(f, loop, &busy->own, busy->ns, &text);
	add_found(f, list, TAPIR_FOUND_LOOP_BUSY, percent, &busy->own, &text, busy->ns);
}

void tapir_finding_loop__list(struct tapir_finding *f, struct tapir_found_list *list)
{
	uint64_t span_ns = tapir_timeline__switched_ns(f->tl);
	struct tapir_loop *worst, *busiest;
	bool is_minor;
	size_t cnt;

	/* Without switches nobody knows when it slept. */
	if (!f->has_clock || !span_ns || !tapir_timeline__stats(f->tl)->switches)
		return;
	end_all(f);
	worst = worst_loop(f, span_ns, &cnt);
	busiest = busiest_loop(f, span_ns);
	/* Calls may be of less weight than what else keeps it from sleeping. */
	is_minor = worst && is_by_sync(worst) && busiest && worst->sync.ns * 2 < busiest->busy.ns;
	if (busiest && (!worst || is_minor))
		add_busy(f, busiest, list);
	if (worst && is_by_sync(worst))
		add_sync_calls(f, worst, is_minor ? TAPIR_FOUND_LOOP_SYNC : TAPIR_FOUND_LOOP, list);
	if (worst && !is_by_sync(worst)) {
		add_loop(f, worst, cnt, list);
		add_second(f, worst, list);
	}
}

void tapir_finding_loop__fini(struct tapir_finding *f)
{
	struct tapir_loop *loop;

	tapir_vec_for_each (loop, &f->loops.rows) {
		tapir_vec__fini(&loop->times);
		tapir_vec__fini(&loop->stands);
		tapir_vec__fini(&loop->kept);
		tapir_weights__fini(&loop->own);
		tapir_weights__fini(&loop->seen);
		tapir_loop_sync__fini(&loop->sync);
		tapir_loop_busy__fini(&loop->busy);
		tapir_weights__fini(&loop->called);
		tapir_found_labels__fini(&loop->reasons);
	}
	tapir_vec__fini(&f->loops.rows);
	tapir_map__fini(&f->loops.by_tid);
	tapir_map__fini(&f->loops.place_by_node);
	tapir_map__fini(&f->loops.sync_by_node);
}
