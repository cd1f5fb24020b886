// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Resources of the process: CPU time, which a quota or other processes limit; and memory, of which
 * it may use more and more. Measured by tapir each second (decode/usage_text.h), not by events.
 */
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "decode/usage_text.h"
#include "diagnose/diagnosis_impl.h"
#include "analyze/view.h"

static struct tapir_sv meta_of(const struct tapir_diagnosis *f, const char *key)
{
	return tapir_catalog__meta_value(tapir_timeline__catalog(f->tl), key);
}

/* Runnable, and no CPU for it. */
void tapir_finding_machine__wait(struct tapir_diagnosis *f, const struct tapir_wait *w)
{
	f->machine.runnable_ns += w->until_ns - w->wake_ns;
}

/* ---- CPU time -------------------------------------------------------------------------------- */

void tapir_finding_quota__list(struct tapir_diagnosis *f, struct tapir_findings *list)
{
	struct tapir_str dir = {};
	struct tapir_quota_use q;

	if (!tapir_usage_text__quota(meta_of(f, TAPIR_USAGE_QUOTA), &q))
		return;
	tapir_str__add_printable(&dir, q.dir.data, q.dir.len);
	TAPIR_JUDGE(f, list, QUOTA, .cnt = q.throttled_cnt, .of = q.period_cnt,
		    .took_s = q.throttled_ns / 1e9, .seconds = q.wall_ns / 1e9,
		    .percent = tapir_diagnosis__percent(q.throttled_ns, q.wall_ns),
		    .rest = tapir_diagnosis__percent(q.quota_us, q.period_us), .subject = "quota",
		    .object = dir);
}

/*
 * The CPU time of other processes, by the machine's clock, too: processes may have come and gone
 * within the recording.
 */
static uint64_t others_ns(const struct tapir_diagnosis *f, const struct tapir_neighbours *n)
{
	uint64_t by_machine_ns = n->machine_ns > f->cpu.ns ? n->machine_ns - f->cpu.ns : 0;

	return by_machine_ns > n->all_ns ? by_machine_ns : n->all_ns;
}

static void add_others(const struct tapir_diagnosis *f, const struct tapir_neighbours *n,
		       struct tapir_str *out)
{
	uint64_t all_ns = others_ns(f, n), ended_ns = all_ns - n->all_ns;
	double seconds = (double)n->wall_ns / 1e9;
	unsigned cnt = 0;

	tapir_str__addf(out, ": other processes used %.2f of %" PRIu64 " CPUs",
			(double)all_ns / 1e9 / seconds, n->cpu_cnt);
	for (unsigned i = 0; i < n->cnt && i < 2; i++) {
		if (!TAPIR_IS_SHARE(NEIGHBOUR_NAMED, n->rows[i].cpu_ns, all_ns))
			break; /* the busiest comes first */
		tapir_str__adds(out, cnt++ ? ", " : ", most ");
		tapir_str__add_printable(out, n->rows[i].comm,
					 strnlen(n->rows[i].comm, TAPIR_COMM_BYTES));
		tapir_str__addf(out, " (%u) %.2f", n->rows[i].tgid,
				(double)n->rows[i].cpu_ns / 1e9 / seconds);
	}
	if (!TAPIR_IS_SHARE(WORTH, ended_ns, all_ns))
		return;
	if (cnt)
		tapir_str__addf(out, ", processes that have ended %.2f",
				(double)ended_ns / 1e9 / seconds);
	else
		tapir_str__addf(out, ", %.2f of it by processes that have ended",
				(double)ended_ns / 1e9 / seconds);
}

/*
 * The CPUs in use, if other processes had most of them, not the process's own threads, and not a
 * hypervisor, whose share shows nowhere.
 */
static double busy_percent(const struct tapir_diagnosis *f, const struct tapir_neighbours *n)
{
	double all_ns = (double)n->cpu_cnt * (double)n->wall_ns;

	if (others_ns(f, n) < f->cpu.ns || all_ns <= 0)
		return 0;
	return 100 * (double)(others_ns(f, n) + f->cpu.ns) / all_ns;
}

/*
 * The time that threads which want more than all the CPUs would have waited on an otherwise idle
 * machine.
 */
static uint64_t own_wait_ns(const struct tapir_diagnosis *f, const struct tapir_neighbours *n,
			    uint64_t span_ns)
{
	double all_ns = (double)n->cpu_cnt * (double)span_ns;
	double own_ns = (double)f->cpu.ns + (double)f->machine.runnable_ns - all_ns;

	if (own_ns <= 0)
		return 0;
	return own_ns < (double)f->machine.runnable_ns ? (uint64_t)own_ns : f->machine.runnable_ns;
}

/* The threads' demand for CPUs, and that of other processes. False: not known. */
struct demand {
	struct tapir_neighbours others;
	uint64_t own_wait_ns; /* for one another */
	double wanted;	      /* CPUs */
};

static bool find_demand(const struct tapir_diagnosis *f, struct demand *out)
{
	uint64_t span_ns = tapir_timeline__switched_ns(f->tl);

	if (!f->has_clock || !span_ns ||
	    !tapir_usage_text__neighbours(meta_of(f, TAPIR_USAGE_NEIGHBOURS), &out->others))
		return false;
	out->own_wait_ns = own_wait_ns(f, &out->others, span_ns);
	out->wanted = (double)(f->cpu.ns + f->machine.runnable_ns) / (double)span_ns;
	return true;
}

void tapir_finding_neighbours__list(struct tapir_diagnosis *f, struct tapir_findings *list)
{
	uint64_t all_ns = f->machine.runnable_ns, wanted_ns = f->cpu.ns + all_ns;
	struct tapir_str others = {};
	struct demand d;
	double percent;

	if (!find_demand(f, &d))
		return;
	percent = tapir_diagnosis__percent(all_ns - d.own_wait_ns, wanted_ns);
	add_others(f, &d.others, &others);
	TAPIR_JUDGE(f, list, RUNNABLE, .cnt = all_ns, .of = wanted_ns, .ns = all_ns,
		    .own_ns = d.own_wait_ns, .percent = percent,
		    .rate = d.wanted < 1 ? percent * d.wanted : percent,
		    .rest = busy_percent(f, &d.others),
		    .in_threads = all_ns / (double)tapir_timeline__switched_ns(f->tl),
		    .subject = d.others.cnt ? d.others.rows[0].comm : NULL, .more = others);
}

void tapir_finding_machine__append_oversubscription(const struct tapir_diagnosis *f,
						    struct tapir_str *out)
{
	char text[TAPIR_NS_TEXT_BYTES];
	struct demand d;

	if (!find_demand(f, &d) ||
	    d.wanted < TAPIR_LIMIT(OVERSUBSCRIBED) * (double)d.others.cpu_cnt ||
	    !TAPIR_IS_SHARE(DOMINANT, d.own_wait_ns, f->machine.runnable_ns))
		return;
	tapir_str__addf(out,
			"; its threads want %.1f CPUs of %" PRIu64
			": they waited %s for one, %s of "
			"it for one another",
			d.wanted, d.others.cpu_cnt, tapir_ns__text(f->machine.runnable_ns, text),
			d.own_wait_ns == f->machine.runnable_ns ? "all" : "most");
}

/* ---- memory ---------------------------------------------------------------------------------- */

static double mb(uint64_t bytes)
{
	return (double)bytes / 1e6;
}

/* A program that starts in the recording takes memory for its start: those points are removed. */
static void drop_start(const struct tapir_diagnosis *f, struct tapir_memory_series *s)
{
	const struct tapir_rec_process *rec =
		s->cnt ? tapir_catalog__process(tapir_timeline__catalog(f->tl), s->tgid,
						s->points[s->cnt - 1].at_ns)
		       : NULL;
	unsigned from = 0;

	if (!rec || (rec->kind != TAPIR_PROCESS_FORK && rec->kind != TAPIR_PROCESS_EXEC))
		return;
	while (from < s->cnt &&
	       s->points[from].at_ns < rec->h.time_ns + TAPIR_LIMIT_NS(MEMORY_START))
		from++;
	s->cnt -= from;
	memmove(s->points, s->points + from, s->cnt * sizeof(*s->points));
}

/*
 * Notes whether it grows all the time: a program that fills its caches once does not. Returns false
 * if it does not.
 */
static bool grows(const struct tapir_diagnosis *f, const struct tapir_memory_series *s,
		  struct tapir_rule_fact *out, struct tapir_findings *list)
{
	const struct tapir_memory_point *first = &s->points[s->cnt ? 1 : 0], *last, *middle;
	double grown, later;

	if (s->cnt < 2)
		return false;
	last = &s->points[s->cnt - 1];
	middle = &s->points[s->cnt / 2];
	grown = mb(last->resident_bytes) - mb(first->resident_bytes);
	later = mb(last->resident_bytes) - mb(middle->resident_bytes);
	*out = TAPIR_FACT(
		MEMORY, .cnt = s->cnt, .since_ns = first->at_ns, .until_ns = last->at_ns,
		.seconds = ((double)last->at_ns - (double)first->at_ns) / 1e9,
		.from = mb(first->resident_bytes), .to = mb(last->resident_bytes),
		.percent = first->resident_bytes ? 100 * grown / mb(first->resident_bytes) : 100,
		.rest = grown > 0 ? 100 * later / grown : 0, .where = &f->gc.growth_callers);
	out->rate = out->seconds > 0 ? grown / out->seconds : 0;
	return !tapir_finding_jvm__fills_heap(f, s->tgid, first->resident_bytes,
					      last->resident_bytes) &&
	       tapir_rules__are_met(f, list, out);
}

static void add_collector(const struct tapir_diagnosis *f, uint32_t tgid, struct tapir_str *out)
{
	const struct tapir_collector *gc = tapir_finding_gc__collector(f, tgid);
	const struct tapir_function_sums *growth_callers = &f->gc.growth_callers;

	if (gc && gc->started_cnt && gc->heap_cnt)
		tapir_str__addf(out, "; %" PRIu64 " collection%s, after which the heap had %.1f MB",
				gc->started_cnt, gc->started_cnt == 1 ? "" : "s",
				mb(tapir_heap_size__sum(&gc->heap_last, 1)));
	else if (f->has_dotnet && (!gc || !gc->started_cnt))
		tapir_str__adds(out, "; no collection: native memory, or the heap has not been "
				     "collected");
	if (growth_callers->sum >= TAPIR_LIMIT(MEMORY_GROWTH_CALLERS) &&
	    tapir_diagnosis__top_function(f, growth_callers)) {
		tapir_str__addf(out, "; the heap took memory %" PRIu64 " times, most for ",
				growth_callers->sum);
		tapir_diagnosis__add_name(f, growth_callers->top_name, out);
	}
}

void tapir_finding_memory__list(struct tapir_diagnosis *f, struct tapir_findings *list)
{
	struct tapir_sv text = meta_of(f, TAPIR_USAGE_MEMORY);
	struct tapir_rule_fact fact, worst = {};
	struct tapir_memory_series series;
	uint32_t tgid = 0;

	while (text.len && tapir_usage_text__next_memory(&text, &series)) {
		drop_start(f, &series);
		if (!tapir_timeline__reports_at(f->tl, series.tgid) ||
		    !grows(f, &series, &fact, list) || fact.rate <= worst.rate)
			continue;
		worst = fact;
		tgid = series.tgid;
	}
	if (worst.rate <= 0)
		return;
	add_collector(f, tgid, &worst.more);
	tapir_rules__judge(f, list, worst);
}
