// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Memory over time: the resident set of each process, as tapir measured it each second
 * (decode/usage_text.h), with what .NET's heap had after its last collection, by generation, and
 * what the collector had committed then (.NET 7 and later say so): its heap with what is free in
 * it, kept for later or about to be given back. Its tables are left out, as the program's own
 * GCMemoryInfo.TotalCommittedBytes does (equal to the byte, .NET 10). What is neither file nor heap
 * is memory of native code, of the runtime, and of objects allocated since.
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/view.h"
#include "decode/usage_text.h"

#define MAX_HEAPS   65536u
#define COMMITTED   "CommittedUsage" /* the inner name of a GCDynamicEvent */
#define GENERATIONS 5		     /* 0, 1, 2, large objects, pinned objects */

struct heap {
	uint32_t tgid;
	uint64_t at_ns, sum_bytes, bytes[GENERATIONS];
};

struct committed {
	uint32_t tgid;
	uint64_t at_ns, bytes;
};

struct memory {
	struct tapir_view_args args;
	struct tapir_vec(struct committed) committed; /* twice a collection */
	struct tapir_vec(struct heap) heaps;
	uint64_t more;
};

static void memory_fini(void *ctx)
{
	struct memory *v = ctx;

	tapir_vec__fini(&v->heaps);
	tapir_vec__fini(&v->committed);
}

/*
 * Committed memory of .NET is the sum of four members of this event. Where one is missing, another
 * version of it was recorded: there is no sum then.
 */
static void add_committed(struct memory *v, uint32_t tgid, uint64_t at_ns,
			  const struct tapir_event_fields *f)
{
	static const char *const parts[] = {"TotalCommittedInUse", "TotalCommittedInGlobalDecommit",
					    "TotalCommittedInFree", "TotalCommittedInGlobalFree"};
	const struct tapir_value *name = tapir_event_fields__find(f, "Name", 4);
	struct committed committed = {.tgid = tgid, .at_ns = at_ns};
	struct tapir_str text = {};
	bool is_one;

	if (!name)
		return;
	tapir_event_fields__add_value(name, sizeof(COMMITTED), &text);
	is_one = text.data && !strcmp(text.data, COMMITTED);
	tapir_str__fini(&text);
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts) && is_one; i++) {
		const struct tapir_value *part =
			tapir_event_fields__find(f, parts[i], strlen(parts[i]));

		is_one = part;
		committed.bytes += part ? part->u64 : 0;
	}
	if (is_one && v->committed.cnt < 2 * MAX_HEAPS)
		v->args.failed |= !tapir_vec__push(&v->committed, committed);
}

static void memory_on_event(void *ctx, struct tapir_tl_thread *t,
			    const struct tapir_probe_view *probe,
			    const struct tapir_event_view *event)
{
	static const char *const names[GENERATIONS] = {"GenerationSize0", "GenerationSize1",
						       "GenerationSize2", "GenerationSize3",
						       "GenerationSize4"};
	struct heap heap = {.tgid = t->tgid, .at_ns = event->rec->h.time_ns};
	const struct tapir_event_fields *f;
	struct memory *v = ctx;

	if (tapir_sv__is(probe->event, "GCDynamicEvent"))
		add_committed(v, t->tgid, event->rec->h.time_ns,
			      tapir_timeline__fields(v->args.tl, probe, event));
	if (!tapir_sv__is(probe->event, "GCHeapStats"))
		return;
	f = tapir_timeline__fields(v->args.tl, probe, event);
	for (unsigned i = 0; i < GENERATIONS; i++) {
		heap.bytes[i] = tapir_event_fields__u64(f, names[i]);
		heap.sum_bytes += heap.bytes[i];
	}
	if (v->heaps.cnt == MAX_HEAPS)
		v->more++;
	else
		v->args.failed |= !tapir_vec__push(&v->heaps, heap);
}

/* The last one of a process until then; NULL: none. */
static const struct heap *heap_at(const struct memory *v, uint32_t tgid, uint64_t at_ns)
{
	for (size_t i = v->heaps.cnt; i--;)
		if (v->heaps.data[i].tgid == tgid && v->heaps.data[i].at_ns <= at_ns)
			return &v->heaps.data[i];
	return NULL;
}

static const struct committed *committed_at(const struct memory *v, uint32_t tgid, uint64_t at_ns)
{
	for (size_t i = v->committed.cnt; i--;)
		if (v->committed.data[i].tgid == tgid && v->committed.data[i].at_ns <= at_ns)
			return &v->committed.data[i];
	return NULL;
}

/* The collector says it when one begins: what it has after a long one may be more. */
static void add_committed_bytes(struct tapir_view_result *result, size_t t,
				const struct committed *committed, const struct heap *heap)
{
	bool is_known = committed && (!heap || committed->bytes >= heap->sum_bytes);

	tapir_view_result__known(result, t, is_known ? committed->bytes : 0, is_known);
}

static void write_series(const struct memory *v, struct tapir_view_result *result, size_t t,
			 const struct tapir_memory_series *s)
{
	for (unsigned i = 0; i < s->cnt; i++) {
		const struct tapir_memory_point *p = &s->points[i];
		const struct heap *heap = heap_at(v, s->tgid, p->at_ns);
		const struct committed *committed = committed_at(v, s->tgid, p->at_ns);
		uint64_t anonymous = p->resident_bytes - p->file_bytes;
		bool has_rest = heap && heap->sum_bytes <= anonymous;

		tapir_view_result__u64(result, t, s->tgid);
		tapir_view_result__time(result, t, p->at_ns);
		tapir_view_result__u64(result, t, p->resident_bytes);
		tapir_view_result__u64(result, t, p->file_bytes);
		tapir_view_result__known(result, t, heap ? heap->sum_bytes : 0, heap);
		add_committed_bytes(result, t, committed, heap);
		tapir_view_result__known(result, t, has_rest ? anonymous - heap->sum_bytes : 0,
					 has_rest);
	}
}

static void write_heaps(const struct memory *v, struct tapir_view_result *result)
{
	static const struct tapir_column columns[] = {{"pid", ">PID", TAPIR_CELL_ID},
						      {"at_ns", ">AT", TAPIR_CELL_TIME},
						      {"gen0", ">GEN 0", TAPIR_CELL_BYTES},
						      {"gen1", ">GEN 1", TAPIR_CELL_BYTES},
						      {"gen2", ">GEN 2", TAPIR_CELL_BYTES},
						      {"loh", ">LARGE", TAPIR_CELL_BYTES},
						      {"poh", ">PINNED", TAPIR_CELL_BYTES},
						      {"heap", ">SUM", TAPIR_CELL_BYTES},
						      {"committed", ">COMMITTED", TAPIR_CELL_BYTES},
						      {}};
	size_t t = tapir_view_result__table(result, "heaps", "the heap after the last collections",
					    columns);
	size_t from = v->heaps.cnt > v->args.top ? v->heaps.cnt - (size_t)v->args.top : 0;

	for (size_t i = from; i < v->heaps.cnt; i++) {
		const struct heap *heap = &v->heaps.data[i];
		const struct committed *committed = committed_at(v, heap->tgid, heap->at_ns);

		tapir_view_result__u64(result, t, heap->tgid);
		tapir_view_result__time(result, t, heap->at_ns);
		for (unsigned g = 0; g < GENERATIONS; g++)
			tapir_view_result__u64(result, t, heap->bytes[g]);
		tapir_view_result__u64(result, t, heap->sum_bytes);
		add_committed_bytes(result, t, committed, heap);
	}
	if (from || v->more)
		tapir_view_result__note(result, "%zu more collections (--all shows them)",
					from + (size_t)v->more);
}

static double mb(uint64_t bytes)
{
	return (double)bytes / 1e6;
}

static void add_memory_headline(struct tapir_view_result *result,
				const struct tapir_memory_series *s)
{
	const struct tapir_memory_point *first = s->points, *last = &s->points[s->cnt - 1];
	double seconds = (double)(last->at_ns - first->at_ns) / 1e9;
	double grown = mb(last->resident_bytes) - mb(first->resident_bytes);

	tapir_str__addf(&result->headline, "%.1f MB resident at the end, %.1f MB at the beginning",
			mb(last->resident_bytes), mb(first->resident_bytes));
	if (seconds > 0)
		tapir_str__addf(&result->headline, ": %+.1f MB/s", grown / seconds);
}

static int memory_finish(void *ctx, struct tapir_view_result *result)
{
	static const struct tapir_column columns[] = {
		{"pid", ">PID", TAPIR_CELL_ID},
		{"at_ns", ">AT", TAPIR_CELL_TIME},
		{"resident_bytes", ">RESIDENT", TAPIR_CELL_BYTES},
		{"file_bytes", ">OF FILES", TAPIR_CELL_BYTES},
		{"heap_bytes", ">HEAP", TAPIR_CELL_BYTES},
		{"committed_bytes", ">COMMITTED", TAPIR_CELL_BYTES},
		{"other_bytes", ">NEITHER", TAPIR_CELL_BYTES},
		{}};
	struct memory *v = ctx;
	struct tapir_sv text =
		tapir_catalog__meta_value(tapir_timeline__catalog(v->args.tl), TAPIR_USAGE_MEMORY);
	size_t t = tapir_view_result__table(result, "memory", "over time", columns);
	struct tapir_memory_series series;

	while (text.len && tapir_usage_text__next_memory(&text, &series)) {
		if (series.cnt && !result->headline.len)
			add_memory_headline(result, &series);
		write_series(v, result, t, &series);
	}
	if (!result->headline.len)
		result->has_nothing = true;
	write_heaps(v, result);
	return 0;
}

const struct tapir_view tapir_view_memory = {
	.name = "memory",
	.summary = "resident memory over time, .NET's heap by generation, committed",
	.fns = {.event = memory_on_event},
	.nothing = "no memory was measured: a recording with CPU samples or context switches does",
	.ctx_bytes = sizeof(struct memory),
	.default_top = 10,
	.finish = memory_finish,
	.fini = memory_fini,
};
