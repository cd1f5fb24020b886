// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Memory of a process that grows for as long as it is recorded. Its resident size is measured by
 * tapir each second (decode/usage_text.h), not by events: what takes the memory is known only where
 * the heap's growth has events.
 */
#include <inttypes.h>
#include <string.h>

#include "decode/usage_text.h"
#include "diagnose/diagnosis_impl.h"

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
	struct tapir_sv text = tapir_diagnosis__meta(f, TAPIR_USAGE_MEMORY);
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
