// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Chooses the event loops to report (finding_loop.h), by what blocked them, and writes the
 * sentences.
 */
#include <string.h>

#include "base/keyed.h"
#include "diagnose/diagnosis_impl.h"
#include "spec/runtime_db/lore.h"
#include "symbol/unnamed_frames.h"

/* The time in which it is known whether it was blocked: not where stacks lack their callers. */
static uint64_t known_ns(const struct tapir_loop *loop, uint64_t span_ns)
{
	return !TAPIR_IS_SHARE(DOMINANT, loop->unknown_ns, span_ns) ? span_ns - loop->unknown_ns
								    : span_ns;
}

/* The percentage without the time in which others had the CPU, which is not its own fault. */
static double own_percent(const struct tapir_loop *loop, uint64_t ns, uint64_t runnable_ns,
			  uint64_t span_ns)
{
	uint64_t own_ns = ns > runnable_ns ? ns - runnable_ns : 0;

	return tapir_diagnosis__percent(own_ns, known_ns(loop, span_ns));
}

/* Rather than by long calls. */
static bool is_by_sync(const struct tapir_loop *loop)
{
	return loop->sync.ns * 100 > loop->ns * TAPIR_LIMIT(LOOP_CALLS);
}

static double blocked_percent(const struct tapir_loop *loop, uint64_t span_ns)
{
	return is_by_sync(loop) ? own_percent(loop, loop->sync.ns, loop->sync.runnable_ns, span_ns)
				: own_percent(loop, loop->ns, loop->runnable_ns, span_ns);
}

static uint64_t blocked_ns(const struct tapir_loop *loop)
{
	return is_by_sync(loop) ? loop->sync.ns : loop->ns;
}

/*
 * Returns true for a worker next to the loop of the process's first thread: its purpose is to
 * compute.
 */
static bool is_worker(const struct tapir_diagnosis *f, const struct tapir_loop *loop)
{
	return loop->tid != loop->tgid && tapir_keyed__get(&f->loops.rows, loop->tgid);
}

/* *cnt: how many are blocked. NULL: none. */
static struct tapir_loop *worst_loop(struct tapir_diagnosis *f, uint64_t span_ns,
				     struct tapir_findings *list, size_t *cnt)
{
	struct tapir_loop *loop, *worst = NULL;

	*cnt = 0;
	tapir_vec_for_each (loop, &f->loops.rows) {
		if (!loop->is_confirmed || is_worker(f, loop) ||
		    !tapir_findings__admits(list, TAPIR_FINDING_LOOP,
					    blocked_percent(loop, span_ns), TAPIR_NO_CHECKS))
			continue;
		++*cnt;
		if (!worst || blocked_ns(loop) > blocked_ns(worst))
			worst = loop;
	}
	return worst;
}

static double busy_percent(const struct tapir_loop *loop, uint64_t ns, uint64_t span_ns)
{
	return tapir_diagnosis__percent(ns, known_ns(loop, span_ns));
}

/* NULL: each sleeps long enough, but for the time in which others had the CPU. */
static struct tapir_loop *busiest_loop(struct tapir_diagnosis *f, uint64_t span_ns,
				       struct tapir_findings *list)
{
	struct tapir_loop *loop, *busiest = NULL;

	tapir_vec_for_each (loop, &f->loops.rows) {
		struct tapir_loop_busy *busy = &loop->busy;
		if (loop->is_confirmed && !is_worker(f, loop) &&
		    tapir_findings__admits(list, TAPIR_FINDING_LOOP_BUSY,
					   own_percent(loop, busy->ns, busy->runnable_ns, span_ns),
					   TAPIR_NO_CHECKS) &&
		    (!busiest || busy->ns > busiest->busy.ns))
			busiest = loop;
	}
	return busiest;
}

static bool has_name(const struct tapir_diagnosis *f, uint32_t name)
{
	const char *text = tapir_timeline__stacks(f->tl)->names.data[name];

	return !tapir_unnamed_frame__module(text).len;
}

/* One callback takes long, or there are many: then some of the time is between them. */
static void add_queue(const struct tapir_loop *loop, struct tapir_str *out)
{
	if (TAPIR_IS_SHARE(WORTH, loop->queue_ns, loop->ns) && loop->lore->loop_queued &&
	    loop->steps_ns * TAPIR_LIMIT(LOOP_STEPS) >= loop->queue_ns)
		tapir_str__addf(out, ", %.0f%% of it %s",
				tapir_diagnosis__percent(loop->queue_ns, loop->ns),
				loop->lore->loop_queued);
}

/* "most of it in renderReport shop.js:12:3", or what is known without names of functions. */
static void add_loop_function(const struct tapir_diagnosis *f, const struct tapir_loop *loop,
			      struct tapir_str *out)
{
	const struct tapir_label_sum *reason = tapir_label_sums__largest(&loop->reasons);

	add_queue(loop, out);
	if (TAPIR_IS_SHARE(WORTH, loop->app.top, loop->ns)) {
		tapir_str__addf(out, ", %.0f%% of it in ",
				tapir_diagnosis__percent(loop->app.top, loop->ns));
		tapir_diagnosis__add_name(f, loop->app.top_name, out);
	}
	if (TAPIR_IS_SHARE(DOMINANT, loop->called.top, loop->ns) &&
	    has_name(f, loop->called.top_name)) {
		tapir_str__adds(out, ", in a call of ");
		tapir_diagnosis__add_name(f, loop->called.top_name, out);
	}
	if (reason && TAPIR_IS_SHARE(DOMINANT, reason->ns, loop->ns)) {
		if (tapir_wait_reason__is_sleep(reason->label))
			tapir_str__adds(out, ", asleep");
		else
			tapir_str__addf(out, ", waiting for a %s", reason->label);
	}
}

static void add_remedy(struct tapir_diagnosis *f, const struct tapir_loop *loop,
		       const struct tapir_function_sums *app, uint64_t of_ns, struct tapir_str *out)
{
	if (!TAPIR_IS_SHARE(DOMINANT, app->top, of_ns) &&
	    !tapir_diagnosis__append_top_function(f, &loop->seen, "; it was seen in ", out) &&
	    !app->top)
		tapir_str__addf(out, "; its functions have no names: %s", loop->lore->names.remedy);
}

/* The percentage of a part that is worth mentioning; else 0. */
static double worth(uint64_t part_ns, uint64_t of_ns)
{
	return TAPIR_IS_SHARE(WORTH, part_ns, of_ns) ? tapir_diagnosis__percent(part_ns, of_ns) : 0;
}

static void judge(struct tapir_diagnosis *f, struct tapir_findings *list,
		  const struct tapir_loop *loop, struct tapir_rule_fact fact)
{
	uint64_t span_ns = tapir_timeline__switched_ns(f->tl);

	fact.of = loop->tgid;
	fact.percent = busy_percent(loop, (uint64_t)fact.ns, span_ns);
	tapir_rules__judge(f, list, fact);
}

static void add_sync_calls(struct tapir_diagnosis *f, const struct tapir_loop *loop,
			   enum tapir_rule_fact_kind fact_kind, struct tapir_findings *list)
{
	const struct tapir_loop_sync *sync = &loop->sync;
	const struct tapir_label_sum *reason = tapir_label_sums__largest(&sync->reasons);
	struct tapir_rule_fact fact = {.fact_kind = fact_kind,
				       .ns = (double)sync->ns,
				       .rest = tapir_diagnosis__percent(sync->called.top, sync->ns),
				       .runnable = worth(sync->runnable_ns, sync->ns),
				       .where = &sync->app,
				       .elsewhere = &sync->called};

	if (reason && TAPIR_IS_SHARE(DOMINANT, reason->ns, sync->ns))
		fact.label = reason->label;
	add_remedy(f, loop, &sync->app, sync->ns, &fact.more);
	judge(f, list, loop, fact);
}

static void add_loop(struct tapir_diagnosis *f, const struct tapir_loop *loop, size_t loop_cnt,
		     struct tapir_findings *list)
{
	struct tapir_rule_fact fact = TAPIR_FACT(
		LOOP, .cnt = loop->cnt, .other = loop_cnt - 1, .ns = loop->ns,
		.own_ns = loop->worst_ns, .ms = TAPIR_LIMIT(LOOP_BLOCKED),
		.runnable = worth(loop->runnable_ns, loop->ns), .where = &loop->app,
		.note = loop->is_open ? "; it still was when the recording ended" : NULL);

	add_loop_function(f, loop, &fact.does);
	add_remedy(f, loop, &loop->app, loop->ns, &fact.more);
	judge(f, list, loop, fact);
}

/* Adds what else blocks it: another function, or calls that are too short to be seen one by one. */
static void add_second(struct tapir_diagnosis *f, const struct tapir_loop *loop,
		       struct tapir_findings *list)
{
	uint64_t span_ns = tapir_timeline__switched_ns(f->tl);
	const struct tapir_map_slot *second = tapir_function_sums__next(
		&loop->app, loop->app.top ? tapir_function_sums__next(&loop->app, NULL) : NULL);
	const struct tapir_loop_sync *sync = &loop->sync;
	struct tapir_str name = {};

	if (sync->app.top && sync->app.top_name != loop->app.top_name &&
	    tapir_finding__exceeds_threshold(
		    TAPIR_FINDING_LOOP, own_percent(loop, sync->ns, sync->runnable_ns, span_ns)))
		add_sync_calls(f, loop, TAPIR_FACT_LOOP_CALLS_TOO, list);
	if (!second || !TAPIR_IS_SHARE(WORTH, second->value, loop->ns) ||
	    second->key == sync->app.top_name)
		return;
	tapir_diagnosis__add_name(f, (uint32_t)second->key, &name);
	judge(f, list, loop,
	      (struct tapir_rule_fact){.fact_kind = TAPIR_FACT_LOOP_SECOND,
				       .ns = (double)second->value,
				       .more = name});
}

static void add_busy(struct tapir_diagnosis *f, const struct tapir_loop *loop,
		     struct tapir_findings *list)
{
	const struct tapir_loop_busy *busy = &loop->busy;
	struct tapir_rule_fact fact =
		TAPIR_FACT(LOOP_BUSY, .ns = busy->ns, .own_ns = busy->longest_ns,
			   .rest = tapir_diagnosis__percent(busy->app.top, busy->app.sum),
			   .runnable = worth(busy->runnable_ns, busy->ns), .where = &busy->app);

	if (!busy->app.top)
		add_remedy(f, loop, &busy->app, busy->ns, &fact.more);
	judge(f, list, loop, fact);
}

void tapir_finding_loop__list(struct tapir_diagnosis *f, struct tapir_findings *list)
{
	uint64_t span_ns = tapir_timeline__switched_ns(f->tl);
	struct tapir_loop *worst, *busiest;
	bool is_minor;
	size_t cnt;

	/* Without switches it is not known when it slept. */
	if (!f->has_clock || !span_ns || !tapir_timeline__stats(f->tl)->switches)
		return;
	worst = worst_loop(f, span_ns, list, &cnt);
	busiest = busiest_loop(f, span_ns, list);
	/* Calls may be of less weight than what else keeps it from sleeping. */
	is_minor = worst && is_by_sync(worst) && busiest &&
		   !TAPIR_IS_SHARE(DOMINANT, worst->sync.ns, busiest->busy.ns);
	if (busiest && (!worst || is_minor))
		add_busy(f, busiest, list);
	if (worst && is_by_sync(worst))
		add_sync_calls(f, worst,
			       is_minor ? TAPIR_FACT_LOOP_CALLS_TOO : TAPIR_FACT_LOOP_CALLS, list);
	if (worst && !is_by_sync(worst)) {
		add_loop(f, worst, cnt, list);
		add_second(f, worst, list);
	}
}
