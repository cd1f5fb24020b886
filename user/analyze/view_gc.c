// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Collections: each pause with its reason, what it freed, the CPU it took and who waited; their
 * percentiles; how fast the program allocates, from the heap's size between them; and what and
 * where, if that was recorded.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/histogram.h"
#include "base/keyed.h"
#include "base/order.h"
#include "analyze/runtime_work.h"
#include "analyze/event_counts.h"
#include "analyze/view.h"

#define MAX_GCS	    65536u
#define MAX_WAITERS 4096u
#define TYPES_SHOWN 3u

struct gc {
	uint64_t from_ns, until_ns, samples;
	uint64_t before_bytes, after_bytes, promoted_bytes; /* of all pools, 0: not reported */
	uint32_t tgid, tid, kind;
	char *label, *reason;
	bool is_half;
};

struct waiter {
	uint32_t tgid, tid;
	uint64_t ns, cnt;
	char comm[TAPIR_COMM_TEXT_BYTES];
};

/* Pauses of one process. Times of several processes overlap, and are not added. */
struct pauses {
	uint64_t cnt, sum_ns, half;
	struct tapir_histogram took;
	char comm[TAPIR_COMM_TEXT_BYTES];
};

/* The collection in progress in a process, and its heap size after the last one. */
struct heap {
	uint32_t tgid;
	struct pauses *pauses; /* NULL: none yet */
	uint64_t samples, before_bytes, after_bytes, last_after_bytes, promoted_bytes;
	char *reason;
};

struct gc_view {
	struct tapir_view_args args;
	uint64_t cnt, samples, gc_samples, more, half, allocated_bytes;
	uint64_t first_ns, last_ns;
	uint64_t allocated_per_second, has_only;       /* at the end */
	struct pauses only;			       /* of the only process that paused */
	uint64_t dotnet_cnt, gen2_cnt, background_cnt; /* collections of .NET that began */
	struct tapir_vec(struct gc) gcs;
	struct tapir_keyed(struct waiter) waiters; /* by tid */
	struct tapir_keyed(struct heap) heaps;	   /* by tgid */
	struct tapir_works works;
	struct tapir_event_counts allocated;
};

static void gc_begin(void *ctx)
{
	struct gc_view *v = ctx;

	v->allocated.tl = v->args.tl;
	v->allocated.id = TAPIR_COUNTS_ALLOCATIONS;
}

static void gc_fini(void *ctx)
{
	struct gc_view *v = ctx;
	struct heap *heap;
	struct gc *gc;

	tapir_vec_for_each (gc, &v->gcs) {
		free(gc->label);
		free(gc->reason);
	}
	tapir_vec_for_each (heap, &v->heaps) {
		free(heap->reason);
		free(heap->pauses);
	}
	tapir_vec__fini(&v->gcs);
	tapir_keyed__fini(&v->waiters);
	tapir_keyed__fini(&v->heaps);
	tapir_works__fini(&v->works);
	tapir_event_counts__fini(&v->allocated);
}

static struct heap *heap_of(struct gc_view *v, uint32_t tgid)
{
	return tapir_keyed__add(&v->heaps, tgid, MAX_WAITERS, ((struct heap){.tgid = tgid}));
}

/* ---- what happens --------------------------------------------------------------------------- */

static void gc_on_sample(void *ctx, struct tapir_tl_thread *t,
			 const struct tapir_rec_sample *sample)
{
	struct gc_view *v = ctx;
	enum tapir_work work =
		tapir_works__of(&v->works, v->args.tl, t, t->last_node, sample->h.time_ns);
	struct heap *heap;

	v->samples++;
	v->gc_samples += work == TAPIR_WORK_GC;
	if (tapir_tl_thread__cause(t) != TAPIR_CAUSE_GC)
		return;
	heap = heap_of(v, t->tgid);
	if (heap)
		heap->samples++;
}

static void count_waiter(struct gc_view *v, const struct tapir_wait *w, uint64_t ns)
{
	const struct waiter made = {.tgid = w->thread->tgid, .tid = w->thread->tid};
	struct waiter *waiter = tapir_keyed__add(&v->waiters, made.tid, MAX_WAITERS, made);

	if (!waiter)
		return;
	if (!waiter->cnt++)
		tapir_comm__copy(waiter->comm,
				 tapir_timeline__comm(v->args.tl, made.tid, w->until_ns));
	waiter->ns += ns;
}

/* Threads stopped for it, including those that would have slept anyway. */
static void gc_on_wait(void *ctx, const struct tapir_wait *w)
{
	struct gc_view *v = ctx;
	uint64_t ns = w->parts.ns[TAPIR_CAUSE_GC][TAPIR_THREAD_SLEEPING] +
		      w->parts.ns[TAPIR_CAUSE_GC][TAPIR_THREAD_RUNNABLE];

	if (ns && tapir_works__of(&v->works, v->args.tl, w->thread, TAPIR_NO_NODE, w->until_ns) !=
			  TAPIR_WORK_GC)
		count_waiter(v, w, ns);
}

/* "GenerationSize0", ... in sum. */
static uint64_t generations_sum(const struct tapir_event_fields *f, const char *name)
{
	uint64_t sum = 0;
	char text[32];

	for (unsigned i = 0; i < 5; i++) {
		snprintf(text, sizeof(text), "%s%u", name, i);
		sum += tapir_event_fields__u64(f, text);
	}
	return sum;
}

static void take_heap_stats(struct gc_view *v, const struct tapir_tl_thread *t,
			    const struct tapir_event_fields *f)
{
	struct heap *heap = heap_of(v, t->tgid);

	if (!heap)
		return;
	heap->after_bytes = generations_sum(f, "GenerationSize");
	heap->promoted_bytes = generations_sum(f, "TotalPromotedSize");
}

static void gc_on_event(void *ctx, struct tapir_tl_thread *t, const struct tapir_probe_view *probe,
			const struct tapir_event_view *event)
{
	bool is_begin = tapir_sv__is(probe->event, "mem__pool__gc__begin");
	struct gc_view *v = ctx;
	struct heap *heap;

	if (tapir_event_counts__add(&v->allocated, t, probe, event))
		return;
	if (tapir_sv__is(probe->event, "GCHeapStats"))
		take_heap_stats(v, t, tapir_timeline__fields(v->args.tl, probe, event));
	if (!is_begin && !tapir_sv__is(probe->event, "mem__pool__gc__end"))
		return;
	heap = heap_of(v, t->tgid);
	if (!heap)
		return;
	*(is_begin ? &heap->before_bytes : &heap->after_bytes) += tapir_event_fields__u64(
		tapir_timeline__fields(v->args.tl, probe, event), "used_bytes");
}

/* The JVM's operation is the reason. */
static void gc_on_open(void *ctx, struct tapir_interval *i)
{
	struct gc_view *v = ctx;
	const struct tapir_pairs *pairs = tapir_timeline__pairs(v->args.tl);
	struct heap *heap;

	if (i->cause != TAPIR_CAUSE_GC)
		return;
	heap = heap_of(v, i->tgid);
	if (!heap)
		return;
	free(heap->reason);
	heap->reason = NULL;
	heap->samples = 0;
	for (const struct tapir_interval *o = i->outer; o; o = o->outer)
		if (o->label && !strcmp(pairs->kinds.data[o->kind].name, "vmop") && !heap->reason)
			heap->reason = strdup(o->label);
}

static void take_heap(struct gc_view *v, struct gc *gc, struct heap *heap)
{
	gc->samples = heap->samples;
	gc->before_bytes = heap->before_bytes;
	gc->after_bytes = heap->after_bytes;
	gc->promoted_bytes = heap->promoted_bytes;
	gc->reason = heap->reason;
	heap->reason = NULL;
	if (heap->last_after_bytes && gc->before_bytes > heap->last_after_bytes)
		v->allocated_bytes += gc->before_bytes - heap->last_after_bytes;
	if (gc->after_bytes)
		heap->last_after_bytes = gc->after_bytes;
	heap->samples = heap->before_bytes = heap->after_bytes = heap->promoted_bytes = 0;
}

/* A .NET collection is inside the pause made for it. */
static bool is_dotnet_gc(const struct gc_view *v, const struct tapir_interval *i)
{
	const struct tapir_interval_kind *kind =
		&tapir_timeline__pairs(v->args.tl)->kinds.data[i->kind];

	return i->cause == TAPIR_CAUSE_NONE && !strcmp(kind->name, "gc") &&
	       !strcmp(kind->provider, "Microsoft-Windows-DotNETRuntime");
}

/* Apart from pauses: one in the background has two, of which another one may be in the first. */
static void count_collection(struct gc_view *v, const struct tapir_interval *i)
{
	if (!i->label || i->flags & TAPIR_INTERVAL_NO_BEGIN)
		return;
	v->dotnet_cnt++;
	v->gen2_cnt += i->label[0] == '2';
	v->background_cnt += strstr(i->label, "BackgroundGC") != NULL;
}

static void name_pause(struct gc_view *v, const struct tapir_interval *i)
{
	struct heap *heap = heap_of(v, i->tgid);
	struct tapir_str text = {};

	if (!heap || !i->label)
		return;
	tapir_str__adds(&text, "gen ");
	tapir_str__adds(&text, i->label);
	free(heap->reason);
	heap->reason = text.data;
}

static void count_pause(struct gc_view *v, struct heap *heap, const struct gc *gc)
{
	struct pauses *p = heap->pauses;

	if (!p)
		p = heap->pauses = calloc(1, sizeof(*p));
	if (!p) {
		v->args.failed = true;
		return;
	}
	if (!*p->comm)
		tapir_comm__copy(p->comm,
				 tapir_timeline__comm(v->args.tl, heap->tgid, gc->from_ns));
	p->half += gc->is_half;
	if (gc->is_half)
		return;
	p->cnt++;
	p->sum_ns += gc->until_ns - gc->from_ns;
	tapir_histogram__add(&p->took, gc->until_ns - gc->from_ns);
}

static void gc_on_close(void *ctx, struct tapir_interval *i)
{
	struct gc_view *v = ctx;
	struct heap *heap;
	struct gc gc = {.from_ns = i->from_ns,
			.until_ns = i->until_ns,
			.tgid = i->tgid,
			.tid = i->tid,
			.kind = i->kind,
			.is_half = i->flags & (TAPIR_INTERVAL_NO_BEGIN | TAPIR_INTERVAL_NO_END)};

	if (is_dotnet_gc(v, i)) {
		count_collection(v, i);
		name_pause(v, i);
	}
	if (i->cause != TAPIR_CAUSE_GC)
		return;
	v->first_ns = v->first_ns ? v->first_ns : gc.from_ns;
	v->last_ns = gc.until_ns;
	v->half += gc.is_half;
	v->cnt += !gc.is_half;
	heap = heap_of(v, i->tgid);
	if (heap) {
		count_pause(v, heap, &gc);
		take_heap(v, &gc, heap);
	}
	if (v->gcs.cnt == MAX_GCS || !tapir_vec__push(&v->gcs, gc)) {
		v->args.failed |= v->gcs.cnt < MAX_GCS;
		free(gc.reason);
		v->more++;
		return;
	}
	/* The text changes its owner: the timeline frees what is left in the interval. */
	v->gcs.data[v->gcs.cnt - 1].label = i->label;
	i->label = NULL;
}

/* ---- the result ------------------------------------------------------------------------------ */

/*
 * A collection that the edges of the recording cut is not the longest: its duration is not known.
 */
static int by_took(const void *a, const void *b)
{
	const struct gc *x = a, *y = b;
	uint64_t x_ns = x->until_ns - x->from_ns, y_ns = y->until_ns - y->from_ns;

	return tapir_order__by(tapir_order__up(x->is_half, y->is_half),
			       tapir_order__down(x_ns, y_ns),
			       tapir_order__up(x->from_ns, y->from_ns));
}

static int by_ns(const void *a, const void *b)
{
	const struct waiter *x = a, *y = b;

	return x->ns < y->ns ? 1 : x->ns > y->ns ? -1 : 0;
}

/* "true" of is_full is not informative. */
static const char *reason_text(const struct gc_view *v, const struct gc *gc, char *text,
			       size_t size)
{
	const struct tapir_interval_kind *kind =
		&tapir_timeline__pairs(v->args.tl)->kinds.data[gc->kind];

	if (gc->label && !strcmp(kind->provider, "hotspot"))
		return !strcmp(gc->label, "true") ? "full" : "not full";
	if (!gc->label)
		return kind->name;
	snprintf(text, size, "%s %s", kind->name, gc->label);
	return text;
}

static void write_gcs(struct gc_view *v, struct tapir_view_result *result)
{
	static const struct tapir_column columns[] = {
		{"ns", ">PAUSE", TAPIR_CELL_NS},
		{"at_ns", ">AT", TAPIR_CELL_TIME},
		{"begin_ns", NULL, TAPIR_CELL_ID},
		{"pid", ">PID", TAPIR_CELL_ID},
		{"what", "WHAT", TAPIR_CELL_TEXT},
		{"reason", "REASON", TAPIR_CELL_TEXT},
		{"before_bytes", ">BEFORE", TAPIR_CELL_BYTES},
		{"after_bytes", ">AFTER", TAPIR_CELL_BYTES},
		{"promoted_bytes", ">PROMOTED", TAPIR_CELL_BYTES},
		{"samples", ">CPU SAMPLES", TAPIR_CELL_COUNT},
		{"incomplete", "", TAPIR_CELL_TEXT},
		{}};
	size_t t = tapir_view_result__table(result, "pauses", "the longest pauses", columns);
	char text[160];

	if (v->gcs.cnt)
		qsort(v->gcs.data, v->gcs.cnt, sizeof(*v->gcs.data), by_took);
	for (size_t i = 0; i < v->gcs.cnt && i < v->args.top; i++) {
		const struct gc *gc = &v->gcs.data[i];

		tapir_view_result__u64(result, t, gc->until_ns - gc->from_ns);
		tapir_view_result__time(result, t, gc->from_ns);
		tapir_view_result__u64(result, t, gc->from_ns);
		tapir_view_result__u64(result, t, gc->tgid);
		tapir_view_result__text(result, t, reason_text(v, gc, text, sizeof(text)));
		tapir_view_result__text(result, t, gc->reason);
		tapir_view_result__known(result, t, gc->before_bytes, gc->before_bytes);
		tapir_view_result__known(result, t, gc->after_bytes, gc->after_bytes);
		tapir_view_result__known(result, t, gc->promoted_bytes, gc->promoted_bytes);
		tapir_view_result__u64(result, t, gc->samples);
		tapir_view_result__text(result, t,
					gc->is_half ? "begin or end not recorded" : NULL);
	}
}

static void write_waiters(struct gc_view *v, struct tapir_view_result *result)
{
	static const struct tapir_column columns[] = {{"ns", ">STOPPED FOR", TAPIR_CELL_NS},
						      {"count", ">TIMES", TAPIR_CELL_COUNT},
						      {"tid", ">TID", TAPIR_CELL_ID},
						      {"thread", "THREAD", TAPIR_CELL_TEXT},
						      {}};
	size_t t = tapir_view_result__table(result, "waiters",
					    "threads that were off-CPU during a pause", columns);

	tapir_keyed__sort(&v->waiters, by_ns);
	for (size_t i = 0; i < v->waiters.cnt && i < v->args.top; i++) {
		tapir_view_result__u64(result, t, v->waiters.data[i].ns);
		tapir_view_result__u64(result, t, v->waiters.data[i].cnt);
		tapir_view_result__u64(result, t, v->waiters.data[i].tid);
		tapir_view_result__text(result, t, v->waiters.data[i].comm);
	}
}

static int by_sum(const void *a, const void *b)
{
	const struct pauses *x = ((const struct heap *)a)->pauses;
	const struct pauses *y = ((const struct heap *)b)->pauses;
	uint64_t x_ns = x ? x->sum_ns : 0, y_ns = y ? y->sum_ns : 0;

	return tapir_order__up(!x, !y) ?: tapir_order__down(x_ns, y_ns);
}

/* Sorts the processes, with most of the time paused first, and counts those that paused. */
static size_t sort_processes(struct gc_view *v)
{
	size_t cnt = 0;

	tapir_keyed__sort(&v->heaps, by_sum);
	while (cnt < v->heaps.cnt && v->heaps.data[cnt].pauses)
		cnt++;
	return cnt;
}

static void cell_percentile(struct tapir_view_result *result, size_t t, const struct pauses *p,
			    double percent)
{
	tapir_view_result__known(result, t, tapir_histogram__percentile(&p->took, percent),
				 p->cnt > 0);
}

static void write_processes(const struct gc_view *v, size_t cnt, struct tapir_view_result *result)
{
	static const struct tapir_column columns[] = {
		{"pid", ">PID", TAPIR_CELL_ID},
		{"process", "PROCESS", TAPIR_CELL_TEXT},
		{"count", ">PAUSES", TAPIR_CELL_COUNT},
		{"sum_ns", ">PAUSED", TAPIR_CELL_NS},
		{"percent", ">OF THE TIME", TAPIR_CELL_PERCENT},
		{"p50_ns", ">MEDIAN", TAPIR_CELL_NS},
		{"p90_ns", ">90%", TAPIR_CELL_NS},
		{"p99_ns", ">99%", TAPIR_CELL_NS},
		{"half", NULL, TAPIR_CELL_COUNT},
		{}};
	size_t t = tapir_view_result__table(result, "processes", "pauses by process", columns);

	for (size_t i = 0; i < cnt && i < v->args.top; i++) {
		const struct pauses *p = v->heaps.data[i].pauses;

		tapir_view_result__u64(result, t, v->heaps.data[i].tgid);
		tapir_view_result__text(result, t, p->comm);
		tapir_view_result__u64(result, t, p->cnt);
		tapir_view_result__u64(result, t, p->sum_ns);
		tapir_view_result__share(result, t, p->sum_ns, tapir_timeline__span_ns(v->args.tl));
		cell_percentile(result, t, p, 50);
		cell_percentile(result, t, p, 90);
		cell_percentile(result, t, p, 99);
		tapir_view_result__u64(result, t, p->half);
	}
}

/* The times of the only process that paused are the recording's. */
static void count_up(struct gc_view *v, size_t process_cnt)
{
	uint64_t span_ns = v->last_ns > v->first_ns ? v->last_ns - v->first_ns : 0;

	if (process_cnt == 1)
		v->only = *v->heaps.data[0].pauses;
	v->has_only = process_cnt == 1;
	if (span_ns)
		v->allocated_per_second =
			(uint64_t)((double)v->allocated_bytes * 1e9 / (double)span_ns);
}

static void write_allocated(struct gc_view *v, struct tapir_view_result *result)
{
	struct tapir_event_counts *t = &v->allocated;

	if (!t->rows.cnt)
		return;
	tapir_event_counts__sort(t);
	tapir_event_counts__write(t, result, "allocations", t->weight > t->cnt,
				  v->args.top < TYPES_SHOWN ? v->args.top : TYPES_SHOWN);
	v->args.failed |= t->failed;
}

static void add_pauses(const struct gc_view *v, size_t process_cnt, struct tapir_str *out)
{
	uint64_t span_ns = tapir_timeline__span_ns(v->args.tl);
	const struct pauses *p = v->heaps.data[0].pauses;
	const struct gc *first = v->gcs.data;
	char text[TAPIR_NS_TEXT_BYTES];

	/*
	 * Both lists are sorted by now: their first are the longest pause, and the process that
	 * paused most of the time.
	 */
	if (!v->cnt) {
		tapir_str__addf(out,
				"%llu pause%s for GC, which began before the recording or did not "
				"end in it",
				(unsigned long long)v->half, v->half == 1 ? "" : "s");
		return;
	}
	if (process_cnt > 1) {
		tapir_str__addf(out, "%zu processes paused for GC, most of the time ", process_cnt);
		tapir_str__add_printable(out, *p->comm ? p->comm : "?",
					 *p->comm ? strlen(p->comm) : 1);
		tapir_str__addf(out, " (%u): ", v->heaps.data[0].tgid);
	}
	tapir_str__addf(out, "%llu pause%s%s: %s, %.1f%% of the time", (unsigned long long)p->cnt,
			p->cnt == 1 ? "" : "s", process_cnt > 1 ? "" : " for GC",
			tapir_ns__text(p->sum_ns, text),
			span_ns ? 100.0 * (double)p->sum_ns / (double)span_ns : 0);
	if (!first->is_half) {
		tapir_str__addf(out, "%s the longest %s", process_cnt > 1 ? ";" : ",",
				tapir_ns__text(first->until_ns - first->from_ns, text));
		if (process_cnt > 1)
			tapir_str__addf(out, " in %u", first->tgid);
	}
	if (v->half)
		tapir_str__addf(out, "; %llu more began before the recording or did not end in it",
				(unsigned long long)v->half);
}

static int gc_finish(void *ctx, struct tapir_view_result *result)
{
	struct gc_view *v = ctx;
	size_t process_cnt;

	tapir_view_result__beyond(result, v->waiters.more, v->waiters.failed, "waits");
	tapir_view_result__beyond(result, v->heaps.more, v->heaps.failed, "events");
	write_gcs(v, result);
	process_cnt = sort_processes(v);
	if (!process_cnt) {
		result->has_nothing = true;
		return 0;
	}
	write_waiters(v, result);
	write_allocated(v, result);
	count_up(v, process_cnt);
	if (process_cnt > 1)
		write_processes(v, process_cnt, result);
	add_pauses(v, process_cnt, &result->headline);
	if (v->samples)
		tapir_str__addf(&result->headline, "; %.1f%% of the CPU in GC",
				100.0 * (double)v->gc_samples / (double)v->samples);
	if (v->more)
		tapir_view_result__note(result, "%llu more pauses are not listed",
					(unsigned long long)v->more);
	return 0;
}

#define WITH(member) .if_off = TAPIR_VIEW_NUMBER(struct gc_view, member), .is_optional = true

static const struct tapir_view_fact facts[] = {
	{TAPIR_VIEW_FACT(struct gc_view, cnt, "count", NULL, COUNT)},
	{TAPIR_VIEW_FACT(struct gc_view, half, "half", NULL, COUNT)},
	{TAPIR_VIEW_FACT(struct gc_view, dotnet_cnt, "collections", "collections", COUNT),
	 WITH(dotnet_cnt)},
	{TAPIR_VIEW_FACT(struct gc_view, gen2_cnt, "gen2", "of them gen 2", COUNT),
	 WITH(dotnet_cnt)},
	{TAPIR_VIEW_FACT(struct gc_view, background_cnt, "background", "of them in the background",
			 COUNT),
	 WITH(dotnet_cnt)},
	{TAPIR_VIEW_FACT(struct gc_view, only.sum_ns, "sum_ns", "paused", NS), WITH(has_only)},
	{TAPIR_VIEW_PERCENTILE(struct gc_view, only.took, "p50_ns", "median", 50), WITH(has_only)},
	{TAPIR_VIEW_PERCENTILE(struct gc_view, only.took, "p90_ns", "90%", 90), WITH(has_only)},
	{TAPIR_VIEW_PERCENTILE(struct gc_view, only.took, "p99_ns", "99%", 99), WITH(has_only)},
	{TAPIR_VIEW_FACT(struct gc_view, samples, "samples", NULL, COUNT)},
	{TAPIR_VIEW_FACT(struct gc_view, gc_samples, "gc_samples", "CPU samples of the collector",
			 COUNT)},
	{TAPIR_VIEW_FACT(struct gc_view, allocated_per_second, "allocated_per_second",
			 "allocated per second", BYTES),
	 WITH(allocated_per_second)},
	{}};

const struct tapir_view tapir_view_gc = {
	.name = "gc",
	.summary = "collections: pauses, reasons, heap size, threads that waited",
	.fns = {.sample = gc_on_sample,
		.wait = gc_on_wait,
		.event = gc_on_event,
		.open = gc_on_open,
		.close = gc_on_close},
	.nothing = "no collection was seen",
	.source = {"collections", .profile = TAPIR_PROFILE_ID_GC, .cause = TAPIR_CAUSE_GC},
	.facts = facts,
	.ctx_bytes = sizeof(struct gc_view),
	.default_top = 10,
	.begin = gc_begin,
	.finish = gc_finish,
	.fini = gc_fini,
};
