// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See heap_tables.h. One snapshot gives a table of types with paths; two give a table of
 * differences, with what allocated the types that grew and what holds them.
 */
#include "heap/heap_tables.h"
#include "base/order.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/app_code.h"

#define PATHS_MAX 10u /* of the largest types */
#define MB	  1e6

static void headline(struct tapir_view_result *out, const struct tapir_heap_snapshot *s)
{
	if (s->incomplete[0])
		tapir_str__addf(&out->headline, "incomplete (%s): ", s->incomplete);
	if (s->process[0])
		tapir_str__addf(&out->headline, "%s: ", s->process);
}

static void add_sum(struct tapir_view_result *out, const struct tapir_heap_snapshot *s)
{
	tapir_str__addf(&out->headline, "%.1f MB in %" PRIu64 " objects of %zu types",
			(double)s->bytes / MB, s->cnt, s->rows.cnt);
}

static void add_facts(struct tapir_view_result *out, const struct tapir_heap_snapshot *s)
{
	tapir_view_result__fact(out, "objects", NULL, TAPIR_CELL_COUNT, s->cnt);
	tapir_view_result__fact(out, "bytes", NULL, TAPIR_CELL_BYTES, s->bytes);
	tapir_view_result__fact(out, "types", NULL, TAPIR_CELL_COUNT, s->rows.cnt);
	tapir_view_result__fact(out, "complete", NULL, TAPIR_CELL_COUNT, !s->incomplete[0]);
	if (s->has_references) {
		tapir_view_result__fact(out, "reachable_objects", NULL, TAPIR_CELL_COUNT,
					s->reachable_cnt);
		tapir_view_result__fact(out, "reachable_bytes", NULL, TAPIR_CELL_BYTES,
					s->reachable_bytes);
	}
	if (s->gc_ns)
		tapir_view_result__fact(out, "collection_ns", NULL, TAPIR_CELL_NS, s->gc_ns);
}

static void add_notes(struct tapir_view_result *out, const struct tapir_heap_snapshot *s,
		      const struct tapir_heap_tables_opts *opts)
{
	if (opts->induced)
		tapir_view_result__note(out, "%s", opts->induced);
	if (s->gc_ns)
		tapir_view_result__note(out,
					"the collection that listed the objects took %.0f ms, with "
					"all threads suspended",
					(double)s->gc_ns / 1e6);
	if (s->has_references && s->bytes - s->reachable_bytes > s->bytes / 100)
		tapir_view_result__note(out,
					"%.1f MB in %" PRIu64 " objects are held by nothing that "
					"the runtime reports (frozen objects, or by its own data)",
					(double)(s->bytes - s->reachable_bytes) / MB,
					s->cnt - s->reachable_cnt);
	if (s->incomplete[0] && !s->has_references)
		tapir_view_result__note(out, "counts and bytes are of what arrived; retained bytes "
					     "and paths require all of it");
}

static bool is_wanted_type(const struct tapir_heap_row *row,
			   const struct tapir_heap_tables_opts *opts)
{
	return !opts->glob || tapir_glob__match(opts->glob, row->name);
}

/* ---- one ------------------------------------------------------------------------------------- */

static void add_types(struct tapir_view_result *out, const struct tapir_heap_snapshot *s,
		      const struct tapir_heap_tables_opts *opts)
{
	static const struct tapir_column columns[] = {
		{"bytes", "BYTES", TAPIR_CELL_BYTES},
		{"count", "COUNT", TAPIR_CELL_COUNT},
		{"share", "SHARE", TAPIR_CELL_PERCENT},
		{"retained_bytes", "RETAINED", TAPIR_CELL_BYTES},
		{"type", "TYPE", TAPIR_CELL_TEXT},
		{}};
	size_t table = tapir_view_result__table(out, "by_type", NULL, columns);
	const struct tapir_heap_row *row;
	uint64_t shown = 0;

	tapir_vec_for_each (row, &s->rows) {
		if (!is_wanted_type(row, opts))
			continue;
		if (shown++ == opts->top)
			break;
		tapir_view_result__u64(out, table, row->bytes);
		tapir_view_result__u64(out, table, row->cnt);
		tapir_view_result__share(out, table, row->bytes, s->bytes);
		tapir_view_result__known(out, table, row->retained_bytes, s->has_references);
		tapir_view_result__text(out, table, row->name);
	}
}

static void add_path(struct tapir_view_result *out, size_t table,
		     const struct tapir_heap_snapshot *s, const struct tapir_heap_row *row)
{
	const struct tapir_heap_step *step = &s->paths.steps.data[row->path];
	struct tapir_str path = {};

	tapir_heap_snapshot__add_path(s, row->path, &path);
	tapir_view_result__share(out, table, step->cnt, row->cnt);
	tapir_view_result__text(out, table, row->name);
	tapir_view_result__text(out, table, path.data ? path.data : "");
	out->failed |= path.failed;
	tapir_str__fini(&path);
}

static const struct tapir_column path_columns[] = {
	{"share", "SHARE", TAPIR_CELL_PERCENT}, /* of the type's objects */
	{"type", "TYPE", TAPIR_CELL_TEXT},
	{"path", "HELD BY (shortest path to a root)", TAPIR_CELL_TEXT},
	{}};

static int by_retained(const void *a, const void *b)
{
	const struct tapir_heap_row *x = *(const struct tapir_heap_row *const *)a;
	const struct tapir_heap_row *y = *(const struct tapir_heap_row *const *)b;

	return tapir_order__by(tapir_order__down(x->retained_bytes, y->retained_bytes),
			       strcmp(x->name, y->name));
}

struct choice tapir_vec(const struct tapir_heap_row *);

/* Adds the paths of the types that hold most, and are held themselves. */
static void add_paths(struct tapir_view_result *out, const struct tapir_heap_snapshot *s,
		      const struct tapir_heap_tables_opts *opts)
{
	const struct tapir_heap_row *row;
	struct choice choice = {};
	size_t table;

	if (!s->has_references)
		return;
	tapir_vec_for_each (row, &s->rows)
		if (row->path != TAPIR_HEAP_NO_STEP && is_wanted_type(row, opts))
			out->failed |= !tapir_vec__push(&choice, row);
	if (choice.cnt)
		qsort(choice.data, choice.cnt, sizeof(*choice.data), by_retained);
	table = tapir_view_result__table(out, "paths", NULL, path_columns);
	for (size_t i = 0; i < choice.cnt && i < PATHS_MAX && i < opts->top; i++)
		add_path(out, table, s, choice.data[i]);
	tapir_vec__fini(&choice);
}

int tapir_heap_tables__one(const struct tapir_heap_snapshot *s,
			   const struct tapir_heap_tables_opts *opts, struct tapir_view_result *out)
{
	headline(out, s);
	add_sum(out, s);
	if (s->rows.cnt)
		tapir_str__addf(&out->headline, "; most: %.200s, %.1f MB in %" PRIu64 " objects",
				s->rows.data[0].name, (double)s->rows.data[0].bytes / MB,
				s->rows.data[0].cnt);
	add_facts(out, s);
	add_types(out, s, opts);
	add_paths(out, s, opts);
	add_notes(out, s, opts);
	return out->failed || out->headline.failed ? -ENOMEM : 0;
}

/* ---- growth ----------------------------------------------------------------------------------- */

struct grown {
	const struct tapir_heap_row *row; /* after */
	uint64_t cnt, bytes;		  /* more than before; cnt 0: not more of them */
};

struct grown_list tapir_vec(struct grown);

static int by_growth(const void *a, const void *b)
{
	const struct grown *x = a, *y = b;

	return tapir_order__down(x->bytes, y->bytes) ?: strcmp(x->row->name, y->row->name);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct tapir_heap_row *)a)->name,
		      ((const struct tapir_heap_row *)b)->name);
}

/* Types with more bytes than before. */
static int list_grown_types(const struct tapir_heap_snapshot *before,
			    const struct tapir_heap_snapshot *after,
			    const struct tapir_heap_tables_opts *opts, struct grown_list *out)
{
	size_t cnt = before->rows.cnt, bytes = cnt * sizeof(struct tapir_heap_row);
	struct tapir_heap_row *old = malloc(bytes + 1);
	const struct tapir_heap_row *row;
	int err = old ? 0 : -ENOMEM;

	if (old && cnt) {
		memcpy(old, before->rows.data, bytes);
		qsort(old, cnt, sizeof(*old), by_name);
	}
	tapir_vec_for_each (row, &after->rows) {
		struct grown grown = {row, row->cnt, row->bytes};
		/* Types are compared by name, for the two snapshots may be of different runs. */
		const struct tapir_heap_row *was =
			!err && cnt ? bsearch(row, old, cnt, sizeof(*old), by_name) : NULL;

		if (was) {
			grown.bytes -= was->bytes < row->bytes ? was->bytes : row->bytes;
			grown.cnt -= was->cnt < row->cnt ? was->cnt : row->cnt;
		}
		if (!err && grown.bytes && is_wanted_type(row, opts) &&
		    !tapir_vec__push(out, grown))
			err = -ENOMEM;
	}
	free(old);
	if (!err && out->cnt)
		qsort(out->data, out->cnt, sizeof(*out->data), by_growth);
	return err;
}

static void add_growth(struct tapir_view_result *out, const struct tapir_heap_snapshot *after,
		       const struct tapir_heap_tables_opts *opts, const struct grown_list *grown)
{
	static const struct tapir_column columns[] = {
		{"grown_bytes", "+BYTES", TAPIR_CELL_BYTES},
		{"grown_count", "+COUNT", TAPIR_CELL_COUNT},
		{"bytes", "BYTES", TAPIR_CELL_BYTES},
		{"count", "COUNT", TAPIR_CELL_COUNT},
		{"retained_bytes", "RETAINED", TAPIR_CELL_BYTES},
		{"type", "TYPE", TAPIR_CELL_TEXT},
		{}};
	size_t table = tapir_view_result__table(out, "by_growth", NULL, columns), paths;

	for (size_t i = 0; i < grown->cnt && i < opts->top; i++) {
		const struct grown *g = &grown->data[i];

		tapir_view_result__u64(out, table, g->bytes);
		tapir_view_result__u64(out, table, g->cnt);
		tapir_view_result__u64(out, table, g->row->bytes);
		tapir_view_result__u64(out, table, g->row->cnt);
		tapir_view_result__known(out, table, g->row->retained_bytes, after->has_references);
		tapir_view_result__text(out, table, g->row->name);
	}
	if (!after->has_references)
		return;
	paths = tapir_view_result__table(out, "paths", NULL, path_columns);
	for (size_t i = 0; i < grown->cnt && i < PATHS_MAX && i < opts->top; i++)
		if (grown->data[i].row->path != TAPIR_HEAP_NO_STEP)
			add_path(out, paths, after, grown->data[i].row);
}

/* The function of the program that allocates most of a row; NULL: not known. */
static const char *allocator_of(const struct tapir_heap_allocations *a,
				const struct tapir_event_counts_row *row)
{
	const struct tapir_stack_tree *tree = tapir_timeline__stacks(a->tl);
	uint32_t origin = row->stack_cnt ? tapir_app_code__origin(tree, row->stacks[0].node) : 0;

	return origin ? tree->names.data[tree->nodes.data[origin].name] : NULL;
}

/* Adds the heaviest stack that allocated each of the types that grew most. */
static void add_allocations(struct tapir_view_result *out,
			    const struct tapir_heap_tables_opts *opts,
			    const struct grown_list *grown)
{
	static const struct tapir_column columns[] = {
		{"allocated_bytes", "ALLOCATED", TAPIR_CELL_BYTES},
		{"share", "FROM HERE", TAPIR_CELL_PERCENT},
		{"type", "TYPE", TAPIR_CELL_TEXT},
		{"stack", "ALLOCATED BY", TAPIR_CELL_ORIGIN},
		{}};
	size_t table = tapir_view_result__table(out, "allocations", NULL, columns);

	out->tree = tapir_timeline__stacks(opts->allocations->tl);
	for (size_t i = 0; i < grown->cnt && i < PATHS_MAX && i < opts->top; i++) {
		const char *type = grown->data[i].row->name;
		const struct tapir_event_counts_row *row =
			tapir_heap_allocations__of(opts->allocations, type);

		if (!row || !row->stack_cnt)
			continue;
		tapir_view_result__u64(out, table, row->weight);
		tapir_view_result__share(out, table, row->stacks[0].weight, row->weight);
		tapir_view_result__text(out, table, type);
		tapir_view_result__stack(out, table, row->stacks[0].node);
	}
}

/* The samples of what grew most that stay alive; NULL: there are none. */
static const struct tapir_heap_live_row *live_of(const struct tapir_heap_tables_opts *opts,
						 const struct grown_list *grown)
{
	const struct tapir_heap_live_row *row;

	if (!opts->live || !grown->cnt)
		return NULL;
	tapir_vec_for_each (row, &opts->live->rows)
		if (!strcmp(row->type, grown->data[0].row->name))
			return row;
	return NULL;
}

/*
 * Adds what allocated the types that grew most, and what holds them: for objects that stay, if some
 * were sampled. Else the stacks that allocate most of the type, though other objects may be those
 * that stay.
 */
static void add_causes(struct tapir_view_result *out, const struct tapir_heap_snapshot *after,
		       const struct tapir_heap_tables_opts *opts, const struct grown_list *grown)
{
	const struct tapir_heap_live_row *live = live_of(opts, grown);
	const struct tapir_heap_row *type = grown->cnt ? grown->data[0].row : NULL;
	const struct tapir_event_counts_row *row =
		type && !live && opts->allocations
			? tapir_heap_allocations__of(opts->allocations, type->name)
			: NULL;
	const char *by = row ? allocator_of(opts->allocations, row) : NULL;
	struct tapir_str path = {};

	if (live && live->stack[0])
		tapir_str__addf(&out->headline, ", allocated by %.300s", live->stack);
	if (by)
		tapir_str__addf(&out->headline, ", most of this type is allocated by %.200s", by);
	if (live && live->path[0])
		tapir_str__addf(&path, "%s", live->path);
	else if (type && after->has_references && type->path != TAPIR_HEAP_NO_STEP)
		tapir_heap_snapshot__add_path(after, type->path, &path);
	if (path.len)
		tapir_str__addf(&out->headline, ", held by %.300s", path.data);
	out->failed |= path.failed;
	tapir_str__fini(&path);
}

int tapir_heap_tables__growth(const struct tapir_heap_snapshot *before,
			      const struct tapir_heap_snapshot *after,
			      const struct tapir_heap_tables_opts *opts,
			      struct tapir_view_result *out)
{
	struct grown_list grown = {};
	int err = list_grown_types(before, after, opts, &grown);

	/* If one of the two is incomplete, so is the comparison: its reason comes first. */
	headline(out, before->incomplete[0] ? before : after);
	tapir_str__addf(
		&out->headline, "from %.1f MB in %" PRIu64 " objects to %.1f MB in %" PRIu64,
		(double)before->bytes / MB, before->cnt, (double)after->bytes / MB, after->cnt);
	if (grown.cnt)
		tapir_str__addf(&out->headline,
				"; grew most: %.200s, by %.1f MB and %" PRIu64 " objects",
				grown.data[0].row->name, (double)grown.data[0].bytes / MB,
				grown.data[0].cnt);
	else
		tapir_str__adds(&out->headline, "; no type grew");
	add_facts(out, after);
	if (!err) {
		add_causes(out, after, opts, &grown);
		add_growth(out, after, opts, &grown);
	}
	if (!err && opts->live)
		tapir_heap_live__add_table(opts->live, opts->top, out);
	if (!err && opts->allocations)
		add_allocations(out, opts, &grown);
	add_notes(out, after, opts);
	tapir_vec__fini(&grown);
	return err || out->failed || out->headline.failed ? -ENOMEM : 0;
}
