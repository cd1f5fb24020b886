// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The collector: time in it and who allocates, who requests collections, a heap that grows,
 * finalizers. A collection of .NET lies in its pause, except one in the background, which stops the
 * program twice, shortly: pauses are counted, not collections.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/keyed.h"
#include "diagnose/diagnosis_impl.h"
#include "analyze/view.h"

#define CLR	      "Microsoft-Windows-DotNETRuntime"
#define GENERATIONS   (sizeof(((struct tapir_heap_size *)NULL)->bytes) / sizeof(uint64_t))
#define MAX_LOWS      65536u
#define MAX_PROCESSES 4096u

/* ---- counting ------------------------------------------------------------------------------- */

uint64_t tapir_heap_size__sum(const struct tapir_heap_size *size, unsigned youngest)
{
	uint64_t sum = 0;

	for (unsigned i = youngest; i < GENERATIONS; i++)
		sum += size->bytes[i];
	return sum;
}

/* NULL: there are too many. */
static struct tapir_collector *collector_of(struct tapir_diagnosis *f, uint32_t tgid)
{
	struct tapir_collector made = {.tgid = tgid};

	return tapir_keyed__add(&f->gc.processes, tgid, MAX_PROCESSES, made);
}

const struct tapir_collector *tapir_finding_gc__collector(const struct tapir_diagnosis *f,
							  uint32_t tgid)
{
	return tapir_keyed__get(&f->gc.processes, tgid);
}

void tapir_finding_gc__finalizer(struct tapir_diagnosis *f, uint32_t tgid, uint32_t function,
				 uint64_t ns)
{
	struct tapir_collector *gc = collector_of(f, tgid);

	if (gc)
		tapir_function_sums__add(f, &gc->finalizer_functions, function, ns);
}

static void add_minimum(struct tapir_collector *gc, const struct tapir_heap_size *size)
{
	size_t cnt = gc->post_gc_minima.cnt;
	struct tapir_heap_size *last = cnt ? &gc->post_gc_minima.data[cnt - 1] : NULL;

	if (!last || size->at_ns >= last->at_ns + TAPIR_LIMIT_NS(HEAP_MINIMA)) {
		if (cnt < MAX_LOWS)
			(void)tapir_vec__push(&gc->post_gc_minima, *size);
	} else if (tapir_heap_size__sum(size, 1) < tapir_heap_size__sum(last, 1)) {
		memcpy(last->bytes, size->bytes, sizeof(last->bytes));
	}
}

static void count_heap(struct tapir_collector *gc, const struct tapir_diagnosis_event *e)
{
	struct tapir_heap_size size = {.at_ns = e->now_ns};
	char name[32];

	for (unsigned i = 0; i < GENERATIONS; i++) {
		snprintf(name, sizeof(name), "GenerationSize%u", i);
		size.bytes[i] = tapir_event_fields__u64(e->fields, name);
	}
	if (!gc->heap_cnt++)
		gc->heap_first = size;
	gc->heap_last = size;
	add_minimum(gc, &size);
}

/* GC.Collect and the like, by the reason's name or number. */
static bool is_induced(const struct tapir_diagnosis_event *e)
{
	struct tapir_str reason = {};
	bool is_one;

	tapir_event_fields__add_text(e->fields, "Reason", 40, &reason);
	is_one = reason.data && (strstr(reason.data, "nduced") || !strcmp(reason.data, "1"));
	tapir_str__fini(&reason);
	return is_one;
}

static void count_start(struct tapir_collector *gc, const struct tapir_diagnosis_event *e)
{
	gc->started_cnt++;
	gc->has_collected_young |= gc->heap_cnt && tapir_event_fields__u64(e->fields, "Depth");
	gc->induced_cnt += is_induced(e);
}

static void count_process(struct tapir_diagnosis *f, const struct tapir_diagnosis_event *e)
{
	struct tapir_collector *gc = collector_of(f, e->thread->tgid);

	if (!gc)
		return;
	if (e->event_kind == TAPIR_DIAGNOSIS_EVENT_HEAP)
		count_heap(gc, e);
	else if (e->event_kind == TAPIR_DIAGNOSIS_EVENT_GC_START)
		count_start(gc, e);
	else
		gc->finalized_cnt++;
}

void tapir_finding_gc__event(struct tapir_diagnosis *f, const struct tapir_diagnosis_event *e)
{
	switch (e->event_kind) {
	case TAPIR_DIAGNOSIS_EVENT_HEAP:
	case TAPIR_DIAGNOSIS_EVENT_GC_START:
	case TAPIR_DIAGNOSIS_EVENT_FINALIZED:
		count_process(f, e);
		break;
	case TAPIR_DIAGNOSIS_EVENT_GC_TRIGGERED:
		tapir_diagnosis__add_stack(
			f, is_induced(e) ? &f->gc.callers : &f->gc.trigger_callers, e->node, 1);
		break;
	case TAPIR_DIAGNOSIS_EVENT_HEAP_MEMORY:
		tapir_diagnosis__add_stack(f, &f->gc.growth_callers, e->node, 1);
		break;
	default:
		break;
	}
}

/*
 * A collection of .NET lies in its pause, except one in the background: that stops the program
 * twice, shortly, and is not the reason of the longest pause.
 */
static void count_dotnet(struct tapir_diagnosis *f, const struct tapir_interval *i)
{
	const struct tapir_interval_kind *kind = &tapir_timeline__pairs(f->tl)->kinds.data[i->kind];
	struct tapir_collector *gc;
	bool is_background;

	if (!i->label || i->flags & TAPIR_INTERVAL_NO_BEGIN || strcmp(kind->name, "gc") != 0 ||
	    strcmp(kind->provider, CLR) != 0)
		return;
	gc = collector_of(f, i->tgid);
	if (!gc)
		return;
	is_background = strstr(i->label, "BackgroundGC") != NULL;
	gc->dotnet_cnt++;
	gc->dotnet_gen2_cnt += i->label[0] == '2';
	gc->background_cnt += is_background;
	if (is_background || i->flags & TAPIR_INTERVAL_NO_END ||
	    i->until_ns - i->from_ns < gc->dotnet_ns)
		return;
	gc->dotnet_ns = i->until_ns - i->from_ns;
	free(gc->dotnet_label);
	gc->dotnet_label = strdup(i->label);
}

void tapir_finding_gc__close(struct tapir_diagnosis *f, const struct tapir_interval *i)
{
	uint64_t took_ns = i->until_ns - i->from_ns;
	struct tapir_collector *gc;

	if (i->cause == TAPIR_CAUSE_NONE)
		count_dotnet(f, i);
	if (i->cause != TAPIR_CAUSE_GC ||
	    i->flags & (TAPIR_INTERVAL_NO_BEGIN | TAPIR_INTERVAL_NO_END))
		return;
	gc = collector_of(f, i->tgid);
	if (!gc)
		return;
	gc->cnt++;
	gc->ns += took_ns;
	gc->worst_ns = took_ns > gc->worst_ns ? took_ns : gc->worst_ns;
}

/* ---- findings ------------------------------------------------------------------------------- */

/* "7 collections (2 gen 2, 1 in the background), " */
static void add_collections(const struct tapir_collector *gc, struct tapir_str *out)
{
	const char *separator = " (";

	if (!gc->dotnet_cnt)
		return;
	tapir_str__addf(out, "%" PRIu64 " collection%s", gc->dotnet_cnt,
			gc->dotnet_cnt == 1 ? "" : "s");
	if (gc->dotnet_gen2_cnt) {
		tapir_str__addf(out, "%s%" PRIu64 " gen 2", separator, gc->dotnet_gen2_cnt);
		separator = ", ";
	}
	if (gc->background_cnt) {
		tapir_str__addf(out, "%s%" PRIu64 " in the background", separator,
				gc->background_cnt);
		separator = ", ";
	}
	tapir_str__adds(out, *separator == ',' ? "), " : ", ");
}

static void add_longest(const struct tapir_collector *gc, struct tapir_str *out)
{
	const char *why = gc->dotnet_label ? strchr(gc->dotnet_label, ' ') : NULL;

	if (!why)
		return;
	tapir_str__adds(out, "; the longest collection:");
	tapir_str__add_printable(out, why, strlen(why));
}

/*
 * Without events of allocations, the callers of collections stand for them: a collection is due
 * when a thread allocates, mostly the one that allocates most.
 */
static void add_trigger(const struct tapir_diagnosis *f, struct tapir_str *out)
{
	const struct tapir_function_sums *w = &f->gc.trigger_callers;

	if (w->sum < TAPIR_LIMIT(GC_TRIGGERS) || !tapir_diagnosis__top_function(f, w))
		return;
	tapir_str__addf(out, "; %.0f%% of the collections triggered by allocations",
			tapir_diagnosis__percent(w->top, w->sum));
	tapir_diagnosis__append_top_function(f, w, " in ", out);
}

static const char *allocator(const struct tapir_diagnosis *f)
{
	const char *method = tapir_allocators__top(&f->allocators, f->tl);

	return method ? method : tapir_diagnosis__top_function(f, &f->gc.trigger_callers);
}

static void add_allocator(const struct tapir_diagnosis *f, struct tapir_str *out)
{
	const char *method = tapir_allocators__top(&f->allocators, f->tl);
	double share = tapir_diagnosis__percent(f->allocators.best_bytes, f->allocators.bytes);

	if (!method || share < TAPIR_LIMIT(SIGNIFICANT)) {
		add_trigger(f, out);
		return;
	}
	tapir_str__addf(out, "; %.0f%% of %.1f MB allocated from ", share,
			(double)f->allocators.bytes / 1e6);
	tapir_str__add_printable(out, method, strlen(method));
}

static bool has_cpu_share(const struct tapir_diagnosis *f)
{
	return f->cpu.gc >= TAPIR_LIMIT(SAMPLES) &&
	       tapir_diagnosis__percent(f->cpu.gc, f->cpu.samples) >= TAPIR_LIMIT(GC_CPU);
}

/* " in java (4711)", where others collect, too */
static void add_collected_process(const struct tapir_diagnosis *f, const struct tapir_collector *gc,
				  struct tapir_str *out)
{
	struct tapir_sv comm;

	if (f->gc.processes.cnt < 2)
		return;
	comm = tapir_timeline__comm(f->tl, gc->tgid, tapir_timeline__stats(f->tl)->last_ns);
	tapir_str__adds(out, " in ");
	tapir_str__add_printable(out, comm.len ? comm.data : "process", comm.len ? comm.len : 7);
	tapir_str__addf(out, " (%u)", gc->tgid);
}

static void add_cpu_share(const struct tapir_diagnosis *f, const char *before, const char *after,
			  struct tapir_str *out)
{
	tapir_str__adds(out, before);
	tapir_rules__add_share((double)f->cpu.gc, (double)f->cpu.samples, out);
	tapir_str__adds(out, after);
}

static void add_times(const struct tapir_diagnosis *f, const struct tapir_collector *gc,
		      double time, struct tapir_str *out)
{
	char sum[TAPIR_NS_TEXT_BYTES], worst[TAPIR_NS_TEXT_BYTES];

	/* Without its events only the collector's own threads are known to collect. */
	if (has_cpu_share(f) && !gc->cnt && !gc->started_cnt)
		add_cpu_share(f, "at least ", " of the CPU in GC, whose events were not recorded",
			      out);
	else if (has_cpu_share(f))
		add_cpu_share(f, "", " of the CPU in GC", out);
	else
		tapir_str__addf(out, "%.0f%% of the time in GC", time);
	if (!gc->cnt && !gc->started_cnt)
		tapir_diagnosis__append_top_function(f, &f->gc.cpu_callers, ", most for ", out);
	if (!gc->cnt)
		return;
	tapir_str__adds(out, ": ");
	add_collections(gc, out);
	tapir_str__addf(out, "%" PRIu64 " pause%s of %s in all", gc->cnt, gc->cnt == 1 ? "" : "s",
			tapir_ns__text(gc->ns, sum));
	add_collected_process(f, gc, out);
	if (has_cpu_share(f)) /* else the sentence begins with it */
		tapir_str__addf(out, " (%.0f%% of the time)", time);
	tapir_str__addf(out, ", the longest %s", tapir_ns__text(gc->worst_ns, worst));
	add_longest(gc, out);
}

/* The collector with most pauses; without any an empty one. */
static const struct tapir_collector *top_paused(const struct tapir_diagnosis *f)
{
	static const struct tapir_collector none;
	const struct tapir_collector *gc, *top = &none;

	tapir_vec_for_each (gc, &f->gc.processes)
		if (top == &none || gc->ns > top->ns)
			top = gc;
	return top;
}

static const struct tapir_collector *top_induced(const struct tapir_diagnosis *f)
{
	const struct tapir_collector *gc, *top = top_paused(f);

	tapir_vec_for_each (gc, &f->gc.processes)
		if (gc->induced_cnt > top->induced_cnt)
			top = gc;
	return top;
}

static void emit_induced(struct tapir_diagnosis *f, uint64_t span_ns, struct tapir_findings *list)
{
	const struct tapir_collector *gc = top_induced(f);
	struct tapir_str times = {};

	add_times(f, gc, tapir_diagnosis__percent(gc->ns, span_ns), &times);
	TAPIR_JUDGE(f, list, INDUCED, .cnt = gc->induced_cnt, .of = gc->started_cnt,
		    .where = &f->gc.callers, .more = times);
}

static void emit_pauses(struct tapir_diagnosis *f, uint64_t span_ns, struct tapir_findings *list)
{
	const struct tapir_collector *gc = top_paused(f);
	double time = tapir_diagnosis__percent(gc->ns, span_ns), magnitude = time;
	double cpu = tapir_diagnosis__percent(f->cpu.gc, f->cpu.samples);
	double cpus = tapir_diagnosis__cpus(f);
	struct tapir_str times = {};

	/* A share of a CPU that is hardly used is small. */
	if (has_cpu_share(f) && cpu * (cpus >= 0 && cpus < 1 ? cpus : 1) > magnitude)
		magnitude = cpu * (cpus >= 0 && cpus < 1 ? cpus : 1);
	add_times(f, gc, time, &times);
	add_allocator(f, &times);
	TAPIR_JUDGE(f, list, COLLECTIONS, .percent = magnitude, .subject = allocator(f),
		    .more = times);
}

/*
 * Collections of gen 0 alone fill gen 1 of any program: what is in it has not been collected. It
 * counts where it was.
 */
static unsigned youngest_counted_gen(const struct tapir_collector *gc)
{
	return gc->has_collected_young ? 1 : 2;
}

/*
 * A heap that goes up and down, and ends high by chance, does not grow: it falls back later, too.
 */
static double steady_percent(const struct tapir_collector *gc)
{
	unsigned from = youngest_counted_gen(gc);
	uint64_t first = tapir_heap_size__sum(&gc->heap_first, from),
		 last = tapir_heap_size__sum(&gc->heap_last, from);
	uint64_t middle_ns = (gc->heap_first.at_ns + gc->heap_last.at_ns) / 2, least = last;
	const struct tapir_heap_size *low;

	tapir_vec_for_each (low, &gc->post_gc_minima)
		if (low->at_ns >= middle_ns && tapir_heap_size__sum(low, from) < least)
			least = tapir_heap_size__sum(low, from);
	return last > first && least > first ? tapir_diagnosis__percent(least - first, last - first)
					     : 0;
}

/* ", most in gen 2" */
static void add_generation(const struct tapir_collector *gc, struct tapir_str *out)
{
	static const char *const names[] = {"", "gen 1", "gen 2", "large objects",
					    "pinned objects"};
	double top = 0;
	unsigned where = 0;

	for (unsigned i = youngest_counted_gen(gc); i < sizeof(names) / sizeof(*names); i++) {
		double grown = (double)gc->heap_last.bytes[i] - (double)gc->heap_first.bytes[i];

		if (grown > top) {
			top = grown;
			where = i;
		}
	}
	if (where)
		tapir_str__addf(out, ", most in %s", names[where]);
}

static double grown_percent(double from, double to)
{
	return from > 0 ? 100 * (to - from) / from : to > 0 ? 100 : 0;
}

static void emit_growth(struct tapir_diagnosis *f, const struct tapir_collector *gc,
			struct tapir_findings *list)
{
	double seconds = (double)(gc->heap_last.at_ns - gc->heap_first.at_ns) / 1e9;
	unsigned youngest = youngest_counted_gen(gc);
	double from = (double)tapir_heap_size__sum(&gc->heap_first, youngest);
	double to = (double)tapir_heap_size__sum(&gc->heap_last, youngest);
	struct tapir_str process = {}, text = {};

	add_collected_process(f, gc, &process);
	add_generation(gc, &text);
	add_allocator(f, &text);
	TAPIR_JUDGE(f, list, HEAP, .cnt = gc->heap_cnt, .seconds = seconds,
		    .rate = seconds > 0 ? (to - from) / 1e6 / seconds : 0, .from = from / 1e6,
		    .to = to / 1e6, .since_ns = gc->heap_first.at_ns,
		    .until_ns = gc->heap_last.at_ns, .percent = grown_percent(from, to),
		    .rest = steady_percent(gc), .subject = allocator(f), .label = process.data,
		    .more = text);
	tapir_str__fini(&process);
}

/*
 * Whenever the thread of .NET has run them all, it fires an event. Objects wait for the finalizer
 * of a runtime without such events, and keep what they refer to: its time in finalizers counts.
 */
static void emit_finalizer(struct tapir_diagnosis *f, const struct tapir_collector *gc,
			   uint64_t span_ns, struct tapir_findings *list)
{
	/* Samples count for a little more or less than the time for which they stand. */
	uint64_t ns = gc->finalizer_functions.sum < span_ns ? gc->finalizer_functions.sum : span_ns;
	struct tapir_rule_fact fact =
		TAPIR_FACT(FINALIZER, .cnt = gc->finalized_cnt ? 0 : (double)gc->started_cnt,
			   .seconds = ns / 1e9, .ns = span_ns,
			   .percent = f->has_dotnet ? 0 : tapir_diagnosis__percent(ns, span_ns),
			   .where = &gc->finalizer_functions);

	if (!ns)
		return;
	add_collected_process(f, gc, &fact.who);
	tapir_rules__judge(f, list, fact);
}

void tapir_finding_gc__list(struct tapir_diagnosis *f, struct tapir_findings *list)
{
	uint64_t span_ns = tapir_timeline__span_ns(f->tl);
	const struct tapir_collector *gc;

	emit_induced(f, span_ns, list);
	emit_pauses(f, span_ns, list);
	tapir_vec_for_each (gc, &f->gc.processes) {
		emit_growth(f, gc, list);
		emit_finalizer(f, gc, span_ns, list);
	}
}

void tapir_finding_gc__fini(struct tapir_diagnosis *f)
{
	struct tapir_collector *gc;

	tapir_vec_for_each (gc, &f->gc.processes) {
		tapir_vec__fini(&gc->post_gc_minima);
		tapir_function_sums__fini(&gc->finalizer_functions);
		free(gc->dotnet_label);
	}
	tapir_keyed__fini(&f->gc.processes);
	tapir_function_sums__fini(&f->gc.callers);
	tapir_function_sums__fini(&f->gc.cpu_callers);
	tapir_function_sums__fini(&f->gc.trigger_callers);
	tapir_function_sums__fini(&f->gc.growth_callers);
}
