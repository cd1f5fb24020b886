// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Native memory: what is in use and what was allocated since the recording began, by process and
 * stack. Blocks of malloc's family are samples, each of which stands for as many as its size makes
 * unlikely to be sampled: a block of n bytes is one with probability 1 - exp(-n / mean). Mappings
 * are exact; they are address space, of which the process may have touched only a part.
 *
 * What is in use at the end of a process stays counted as that: it is what was not freed.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "analyze/native_ranges.h"
#include "analyze/app_code.h"
#include "analyze/view.h"
#include "base/keyed.h"
#include "base/order.h"
#include "decode/usage_text.h"
#include "trace/native_memory.h"

#define MAX_ROWS    65536u
#define MAX_SPACES  65536u
#define WORTH_BYTES 100000u /* a loader makes some pages of its own accessible */

enum source { OF_MALLOC, OF_MAPPING };

struct row {
	uint32_t pid, node;
	enum source source;
	char comm[TAPIR_COMM_TEXT_BYTES];
	double bytes, cnt;	     /* allocated or mapped */
	double used_bytes, used_cnt; /* still */
	uint64_t samples;
};

/* The address space of a process, from its first record or execve(2) on. */
struct space {
	uint32_t tgid;
	struct tapir_native_ranges ranges;
};

struct native {
	struct tapir_view_args args;
	struct tapir_keyed(struct row) rows;
	struct tapir_map blocks; /* samples in use: by process and address, the row */
	struct tapir_keyed(struct space) spaces; /* by tgid, while the process has it */
	uint64_t records, unknown_bytes, more, mean_bytes;
};

static void native_fini(void *ctx)
{
	struct native *v = ctx;
	struct space *space;

	tapir_vec_for_each (space, &v->spaces)
		tapir_native_ranges__fini(&space->ranges);
	tapir_keyed__fini(&v->spaces);
	tapir_keyed__fini(&v->rows);
	tapir_map__fini(&v->blocks);
}

/* ---- rows ------------------------------------------------------------------------------------- */

static void name_row(const struct native *v, const struct tapir_rec_native *rec, struct row *row)
{
	const struct tapir_rec_thread *thread = tapir_catalog__thread(
		tapir_timeline__catalog(v->args.tl), rec->tid, rec->h.time_ns);
	const char *comm = thread ? thread->leader_comm : "?";

	tapir_comm__copy(row->comm, (struct tapir_sv){comm, strnlen(comm, TAPIR_COMM_BYTES)});
}

/* NULL: there is no room for one more row, or no memory. */
static struct row *native_row_of(struct native *v, const struct tapir_rec_native *rec,
				 uint32_t node, enum source source)
{
	const struct row made = {.pid = rec->tgid, .node = node, .source = source};
	uint64_t key = tapir_hash__mix((uint64_t)rec->tgid << 32 | node, source);
	size_t before = v->rows.cnt;
	struct row *row = tapir_keyed__add(&v->rows, key, MAX_ROWS, made);

	if (row && v->rows.cnt > before)
		name_row(v, rec, row);
	return row;
}

/* ---- blocks ----------------------------------------------------------------------------------- */

/* Returns the number of blocks of that size which a sampled one stands for. */
static double weight_of(const struct tapir_rec_native *rec)
{
	double p = rec->mean_bytes ? -expm1(-(double)rec->bytes / (double)rec->mean_bytes) : 1;

	return p > 0 ? 1 / p : 1;
}

static uint64_t block_key(const struct tapir_rec_native *rec)
{
	return tapir_hash__mix(rec->va, rec->tgid);
}

static void add_block(struct native *v, const struct tapir_rec_native *rec, uint32_t node)
{
	struct row *row = native_row_of(v, rec, node, OF_MALLOC);
	double weight = weight_of(rec);
	uint64_t *slot;

	v->mean_bytes = rec->mean_bytes;
	if (!row)
		return;
	row->samples++;
	row->cnt += weight;
	row->bytes += weight * (double)rec->bytes;
	row->used_cnt += weight;
	row->used_bytes += weight * (double)rec->bytes;
	slot = tapir_map__put(&v->blocks, block_key(rec), NULL);
	v->args.failed |= !slot;
	if (slot)
		*slot = (uint64_t)(row - v->rows.data);
}

/* A block whose allocation is not in this part of the recording was not counted. */
static void free_block(struct native *v, const struct tapir_rec_native *rec)
{
	uint64_t *slot = tapir_map__get(&v->blocks, block_key(rec));
	double weight = weight_of(rec);
	struct row *row;

	if (!slot)
		return;
	row = &v->rows.data[*slot];
	row->used_cnt -= weight;
	row->used_bytes -= weight * (double)rec->bytes;
	tapir_map__del(&v->blocks, block_key(rec));
}

/* ---- mappings --------------------------------------------------------------------------------- */

static struct tapir_native_ranges *ranges_of(struct native *v, uint32_t tgid)
{
	struct space *space =
		tapir_keyed__add(&v->spaces, tgid, MAX_SPACES, ((struct space){.tgid = tgid}));

	return space ? &space->ranges : NULL;
}

static struct tapir_native_range range_of(const struct native *v,
					  const struct tapir_rec_native *rec, const struct row *row)
{
	return (struct tapir_native_range){
		.start_va = rec->va,
		.end_va = rec->va + rec->bytes,
		.owner = row ? (uint32_t)(row - v->rows.data) : UINT32_MAX,
		.is_accessible = rec->flags & TAPIR_NATIVE_ACCESSIBLE,
	};
}

static void add_mapped(struct row *row, uint64_t bytes)
{
	if (!row || !bytes)
		return;
	row->cnt++;
	row->samples++;
	row->bytes += (double)bytes;
}

/* A file's mapping only takes the place of others. */
static void map(struct native *v, struct tapir_native_ranges *ranges,
		const struct tapir_rec_native *rec, uint32_t node)
{
	bool is_counted =
		rec->flags & TAPIR_NATIVE_ANONYMOUS && rec->flags & TAPIR_NATIVE_ACCESSIBLE;
	struct row *row = is_counted ? native_row_of(v, rec, node, OF_MAPPING) : NULL;

	if (rec->flags & TAPIR_NATIVE_ANONYMOUS)
		tapir_native_ranges__map(ranges, range_of(v, rec, row));
	else
		tapir_native_ranges__unmap(ranges, rec->va, rec->va + rec->bytes);
	if (is_counted)
		add_mapped(row, rec->bytes);
}

/* A mapping from before the recording that grows is known by as much as it grew. */
static void remap(struct native *v, struct tapir_native_ranges *ranges,
		  const struct tapir_rec_native *rec, uint32_t node)
{
	uint64_t used, known = tapir_native_ranges__known(ranges, rec->old_va,
							  rec->old_va + rec->old_bytes, &used);
	struct tapir_rec_native part = *rec;
	struct row *row;

	tapir_native_ranges__unmap(ranges, rec->old_va, rec->old_va + rec->old_bytes);
	tapir_native_ranges__unmap(ranges, rec->va, rec->va + rec->bytes);
	if (!known) {
		part.va += rec->old_bytes;
		part.bytes = rec->bytes > rec->old_bytes ? rec->bytes - rec->old_bytes : 0;
	} else if (!used) {
		part.flags &= (uint8_t)~TAPIR_NATIVE_ACCESSIBLE;
	}
	row = part.bytes && part.flags & TAPIR_NATIVE_ACCESSIBLE
		      ? native_row_of(v, rec, node, OF_MAPPING)
		      : NULL;
	tapir_native_ranges__map(ranges, range_of(v, &part, row));
	add_mapped(row, part.bytes);
}

/* An allocator reserves much and makes it accessible as it grows. */
static void protect(struct native *v, struct tapir_native_ranges *ranges,
		    const struct tapir_rec_native *rec, uint32_t node)
{
	uint64_t used,
		known = tapir_native_ranges__known(ranges, rec->va, rec->va + rec->bytes, &used);
	bool is_accessible = rec->flags & TAPIR_NATIVE_ACCESSIBLE;
	struct row *row =
		is_accessible && known > used ? native_row_of(v, rec, node, OF_MAPPING) : NULL;

	if (is_accessible && known < rec->bytes)
		v->unknown_bytes += rec->bytes - known;
	add_mapped(row, tapir_native_ranges__protect(ranges, range_of(v, rec, row)));
}

/*
 * The blocks of a program that another one replaced are gone; what it mapped is, too. The next
 * process of that number has a space of its own.
 */
static void end_process(struct native *v, const struct tapir_rec_native *rec)
{
	struct space *space = tapir_keyed__get(&v->spaces, rec->tgid);
	struct row *row;

	if (space && rec->flags & TAPIR_NATIVE_EXEC)
		space->ranges.all.cnt = 0;
	tapir_keyed__forget(&v->spaces, rec->tgid);
	if (!(rec->flags & TAPIR_NATIVE_EXEC))
		return;
	tapir_vec_for_each (row, &v->rows)
		if (row->pid == rec->tgid)
			row->used_bytes = row->used_cnt = 0;
}

/*
 * The kinds up to FREE are of malloc, those from END on of processes; all between are of mappings.
 */
static void on_native(void *ctx, const struct tapir_rec_native *rec, uint32_t node)
{
	struct native *v = ctx;
	struct tapir_native_ranges *ranges;

	v->records++;
	if (rec->kind == TAPIR_NATIVE_ALLOC)
		add_block(v, rec, node);
	else if (rec->kind == TAPIR_NATIVE_FREE)
		free_block(v, rec);
	else if (rec->kind == TAPIR_NATIVE_END)
		end_process(v, rec);
	if (rec->kind <= TAPIR_NATIVE_FREE || rec->kind >= TAPIR_NATIVE_END)
		return;
	ranges = ranges_of(v, rec->tgid);
	if (!ranges)
		return;
	if (rec->kind == TAPIR_NATIVE_MAP)
		map(v, ranges, rec, node);
	else if (rec->kind == TAPIR_NATIVE_REMAP)
		remap(v, ranges, rec, node);
	else if (rec->kind == TAPIR_NATIVE_PROTECT)
		protect(v, ranges, rec, node);
	else
		tapir_native_ranges__unmap(ranges, rec->va, rec->va + rec->bytes);
}

/* ---- tables ----------------------------------------------------------------------------------- */

static void add_ranges(struct native *v, const struct tapir_native_ranges *ranges)
{
	const struct tapir_native_range *range;

	v->args.failed |= ranges->failed;
	v->more += ranges->more;
	tapir_vec_for_each (range, &ranges->all) {
		if (!range->is_accessible || range->owner >= v->rows.cnt)
			continue;
		v->rows.data[range->owner].used_cnt++;
		v->rows.data[range->owner].used_bytes += (double)(range->end_va - range->start_va);
	}
}

static int by_use(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return tapir_order__by(tapir_order__up(x->source, y->source),
			       tapir_order__down(x->used_bytes, y->used_bytes),
			       tapir_order__down(x->bytes, y->bytes),
			       tapir_order__up(x->pid, y->pid), tapir_order__up(x->node, y->node));
}

static uint64_t whole(double value)
{
	return value > 0 ? (uint64_t)(value + 0.5) : 0;
}

static const struct tapir_column columns[] = {{"used_bytes", ">IN USE", TAPIR_CELL_BYTES},
					      {"used", ">BLOCKS", TAPIR_CELL_COUNT},
					      {"bytes", ">ALLOCATED", TAPIR_CELL_BYTES},
					      {"count", ">COUNT", TAPIR_CELL_COUNT},
					      {"samples", ">SEEN", TAPIR_CELL_COUNT},
					      {"process", "PROCESS", TAPIR_CELL_TEXT},
					      {"pid", NULL, TAPIR_CELL_ID},
					      {"stack", "FROM", TAPIR_CELL_ORIGIN},
					      {}};

static void write_row(struct tapir_view_result *result, size_t t, const struct row *row)
{
	tapir_view_result__u64(result, t, whole(row->used_bytes));
	tapir_view_result__u64(result, t, whole(row->used_cnt));
	tapir_view_result__u64(result, t, whole(row->bytes));
	tapir_view_result__u64(result, t, whole(row->cnt));
	tapir_view_result__u64(result, t, row->samples);
	tapir_view_result__name(result, t, row->comm, row->pid);
	tapir_view_result__u64(result, t, row->pid);
	tapir_view_result__stack(result, t, row->node);
}

static void write_native_table(struct native *v, struct tapir_view_result *result,
			       enum source source)
{
	static const char *const keys[] = {"malloc", "mapped"};
	static const char *const titles[] = {
		"malloc and its like: estimated from samples",
		"mapped: mmap, mremap, mprotect and brk; address space, touched or not"};
	uint64_t left = v->args.top, cnt = 0;
	const struct row *row;
	size_t t = 0;

	tapir_vec_for_each (row, &v->rows) {
		if (row->source != source)
			continue;
		if (!cnt++)
			t = tapir_view_result__table(result, keys[source], titles[source], columns);
		if (left && left--)
			write_row(result, t, row);
	}
	tapir_view_result__note_top(result, keys[source], v->args.top, cnt);
}

static double mb(double bytes)
{
	return bytes / 1e6;
}

/* Writes what tapir measured of the whole process, with what it had before the recording. */
static void write_processes(const struct native *v, struct tapir_view_result *result)
{
	static const struct tapir_column of_process[] = {
		{"pid", ">PID", TAPIR_CELL_ID},
		{"resident_bytes", ">RESIDENT", TAPIR_CELL_BYTES},
		{"anonymous_bytes", ">ANONYMOUS", TAPIR_CELL_BYTES},
		{"first_resident_bytes", ">RESIDENT FIRST", TAPIR_CELL_BYTES},
		{"first_anonymous_bytes", ">ANONYMOUS FIRST", TAPIR_CELL_BYTES},
		{}};
	struct tapir_sv text =
		tapir_catalog__meta_value(tapir_timeline__catalog(v->args.tl), TAPIR_USAGE_MEMORY);
	size_t t = tapir_view_result__table(
		result, "processes", "all memory of the processes, last and first", of_process);
	struct tapir_memory_series series;

	while (text.len && tapir_usage_text__next_memory(&text, &series)) {
		const struct tapir_memory_point *first = series.points, *last;

		if (!series.cnt)
			continue;
		last = &series.points[series.cnt - 1];
		tapir_view_result__u64(result, t, series.tgid);
		tapir_view_result__u64(result, t, last->resident_bytes);
		tapir_view_result__u64(result, t, last->resident_bytes - last->file_bytes);
		tapir_view_result__u64(result, t, first->resident_bytes);
		tapir_view_result__u64(result, t, first->resident_bytes - first->file_bytes);
	}
}

static void add_native_function(const struct native *v, struct tapir_str *out,
				const struct row *row)
{
	const struct tapir_stack_tree *tree = tapir_timeline__stacks(v->args.tl);
	uint32_t name = row->node == TAPIR_NO_NODE
				? TAPIR_APP_CODE_NONE
				: tapir_app_code__find_or_native(tree, row->node);

	tapir_str__adds(out, name == TAPIR_APP_CODE_NONE ? "?" : tree->names.data[name]);
}

/* The first row in use: of malloc, or of what is mapped where malloc's blocks were all freed. */
static const struct row *top_row(const struct native *v)
{
	const struct row *row;

	tapir_vec_for_each (row, &v->rows)
		if (row->used_bytes >= 1)
			return row;
	return NULL;
}

static void write_headline(const struct native *v, struct tapir_view_result *result)
{
	double seconds = (double)tapir_timeline__span_ns(v->args.tl) / 1e9;
	const struct row *row = top_row(v);

	if (!row) {
		tapir_str__addf(&result->headline, "nothing that was allocated is still in use");
		return;
	}
	tapir_str__addf(&result->headline, "%+.1f MB in %.1f s from ", mb(row->used_bytes),
			seconds);
	add_native_function(v, &result->headline, row);
	tapir_str__addf(&result->headline, ", %" PRIu64 " %s still in use", whole(row->used_cnt),
			row->source == OF_MALLOC ? "blocks" : "mappings");
}

static void write_notes(const struct native *v, struct tapir_view_result *result)
{
	struct tapir_sv heap = tapir_catalog__meta_value(tapir_timeline__catalog(v->args.tl),
							 TAPIR_NATIVE_MEMORY_MALLOC);

	if (heap.len)
		tapir_view_result__note(result, "%.*s", (int)heap.len, heap.data);
	if (v->mean_bytes > 1)
		tapir_view_result__note(result,
					"one sample per %" PRIu64
					" bytes of malloc: a row of n samples is right within "
					"2/sqrt(n), 95%% of the time",
					v->mean_bytes);
	tapir_view_result__note(result, "allocations from before the recording are not known: only "
					"the table of processes includes them");
	if (v->unknown_bytes >= WORTH_BYTES)
		tapir_view_result__note(
			result,
			"%.1f MB in mappings from before the recording were made accessible, or "
			"were so before: no row includes them",
			mb((double)v->unknown_bytes));
	if (v->more)
		tapir_view_result__note(
			result, "%" PRIu64 " records found no row: 'tapir query' has all", v->more);
}

static int native_finish(void *ctx, struct tapir_view_result *result)
{
	struct native *v = ctx;
	const struct space *space;

	tapir_vec_for_each (space, &v->spaces)
		add_ranges(v, &space->ranges);
	v->args.failed |= v->rows.failed || v->spaces.failed;
	v->more += v->rows.more + v->spaces.more;
	tapir_keyed__sort(&v->rows, by_use);
	write_native_table(v, result, OF_MALLOC);
	write_native_table(v, result, OF_MAPPING);
	write_processes(v, result);
	write_headline(v, result);
	write_notes(v, result);
	return 0;
}

static const struct tapir_view_fact facts[] = {
	{TAPIR_VIEW_FACT(struct native, mean_bytes, "mean_bytes", NULL, BYTES)},
	{TAPIR_VIEW_FACT(struct native, unknown_bytes, "unknown_bytes", NULL, BYTES)},
	{}};

const struct tapir_view tapir_view_native_memory = {
	.name = "native-memory",
	.summary = "memory outside managed heaps: in use and allocated, by stack",
	.fns = {.native = on_native},
	.nothing = "no native memory was allocated",
	.source = {"native memory", "`tapir record --native-memory`", .family = TAPIR_FAMILY_NATIVE,
		   .is_alone = true},
	.facts = facts,
	.found_off = TAPIR_VIEW_NUMBER(struct native, records),
	.ctx_bytes = sizeof(struct native),
	.default_top = 10,
	.finish = native_finish,
	.fini = native_fini,
};
