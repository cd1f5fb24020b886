// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rows are chained by process, so that an exit costs what its process maps. Bounded: past ROW_MAX,
 * which a process can reach that forks for ever, the row that is not kept is a GAP at once.
 */
#include "record/unopened_lanes.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/diag.h"
#include "base/order.h"

#define ROW_MAX	 65536u
#define STEP_MAX 65536u
#define EXEC_NS	 (100 * TAPIR_NS_PER_MS) /* that execve(2) takes, of a thread that has to wait */

static bool has_been_open(const struct tapir_unopened_lanes *u, uint32_t tgid,
			  const struct tapir_image *image, uint64_t since_ns)
{
	const uint64_t *key;

	tapir_vec_for_each (key, &image->ring_keys)
		if (tapir_lane_coverage__began_since(u->cover, tgid, *key, since_ns))
			return true;
	return false;
}

static void report(const struct tapir_unopened_lanes *u, const struct tapir_unopened_lane *row,
		   uint64_t until_ns)
{
	if (!has_been_open(u, row->tgid, row->image, row->since_ns))
		u->fn(u->ctx, row->tgid, row->image, row->since_ns, until_ns);
}

static struct tapir_unopened_lane *first_of(const struct tapir_unopened_lanes *u, uint32_t tgid)
{
	const uint64_t *first = tapir_map__get(&u->first, tgid);

	return first ? &u->rows.data[*first - 1] : NULL;
}

static struct tapir_unopened_lane *next_of(const struct tapir_unopened_lanes *u,
					   const struct tapir_unopened_lane *row)
{
	return row->next ? &u->rows.data[row->next - 1] : NULL;
}

static struct tapir_unopened_lane *find_row(const struct tapir_unopened_lanes *u, uint32_t tgid,
					    const struct tapir_image *image)
{
	struct tapir_unopened_lane *row = first_of(u, tgid);

	while (row && row->image != image)
		row = next_of(u, row);
	return row;
}

/* Returns index + 1 of a row that is free; 0: there is none. */
static size_t take_row(struct tapir_unopened_lanes *u)
{
	size_t at = u->free_row;

	if (at)
		u->free_row = u->rows.data[at - 1].next;
	else if (u->rows.cnt < ROW_MAX && tapir_vec__push(&u->rows, (struct tapir_unopened_lane){}))
		at = u->rows.cnt;
	return at;
}

static void add(struct tapir_unopened_lanes *u, struct tapir_unopened_lane row)
{
	size_t at = take_row(u);
	uint64_t *first = at ? tapir_map__put(&u->first, row.tgid, NULL) : NULL;

	if (first) {
		row.next = *first;
		*first = at;
		u->rows.data[at - 1] = row;
		return;
	}
	if (at) {
		u->rows.data[at - 1].next = u->free_row;
		u->free_row = at;
	}
	report(u, &row, row.since_ns);
}

/*
 * The files of a new program are mapped before its EXEC is reported: what was mapped shortly before
 * is taken for its own, at worst with a gap that begins too early.
 */
static bool is_of_new_program(const struct tapir_unopened_lane *row,
			      const struct tapir_lane_step *step)
{
	return step->kind == TAPIR_LANE_STEP_EXEC && row->mapped_ns + EXEC_NS >= step->time_ns;
}

static void end_row(struct tapir_unopened_lanes *u, struct tapir_unopened_lane *row,
		    const struct tapir_lane_step *step, size_t *kept)
{
	size_t at = (size_t)(row - u->rows.data) + 1;
	bool is_kept = is_of_new_program(row, step);
	size_t *list = is_kept ? kept : &u->free_row;
	uint64_t until_ns = is_kept ? row->mapped_ns : step->time_ns;

	if (until_ns > row->since_ns)
		report(u, row, until_ns);
	row->since_ns = row->mapped_ns;
	if (!is_kept)
		row->image = NULL;
	row->next = *list;
	*list = at;
}

/* The process no longer executes what it did. */
static void end(struct tapir_unopened_lanes *u, const struct tapir_lane_step *step)
{
	struct tapir_unopened_lane *row = first_of(u, step->tgid), *next;
	size_t kept = 0;

	for (; row; row = next) {
		next = next_of(u, row);
		end_row(u, row, step, &kept);
	}
	if (kept)
		*tapir_map__get(&u->first, step->tgid) = kept;
	else
		tapir_map__del(&u->first, step->tgid);
}

/* A parent with a ring counts what its children fire: they have no part in its gap. */
static bool is_counted_by_parent(const struct tapir_unopened_lanes *u,
				 const struct tapir_unopened_lane *of, uint64_t time_ns)
{
	const uint64_t *key;

	tapir_vec_for_each (key, &of->image->ring_keys)
		if (tapir_lane_coverage__has(u->cover, of->tgid, *key, time_ns))
			return true;
	return false;
}

static void inherit(struct tapir_unopened_lanes *u, const struct tapir_lane_step *step)
{
	const struct tapir_unopened_lane *of = first_of(u, step->parent_tgid);
	size_t at = of ? (size_t)(of - u->rows.data) + 1 : 0;

	/* A new row may move the others: an index stays. */
	for (; at; at = u->rows.data[at - 1].next) {
		const struct tapir_unopened_lane *row = &u->rows.data[at - 1];

		if (!is_counted_by_parent(u, row, step->time_ns))
			add(u, (struct tapir_unopened_lane){.tgid = step->tgid,
							    .since_ns = step->time_ns,
							    .image = row->image});
	}
}

static void see_mapped(struct tapir_unopened_lanes *u, const struct tapir_lane_step *step)
{
	struct tapir_unopened_lane *row = find_row(u, step->tgid, step->image);

	if (row)
		row->mapped_ns = step->time_ns;
	else
		add(u, (struct tapir_unopened_lane){.tgid = step->tgid,
						    .since_ns = step->time_ns,
						    .mapped_ns = step->time_ns,
						    .image = step->image});
}

static void take(struct tapir_unopened_lanes *u, const struct tapir_lane_step *step)
{
	if (step->kind == TAPIR_LANE_STEP_MAP)
		see_mapped(u, step);
	else
		end(u, step); /* FORK: of another process, which had its id */
	if (step->kind == TAPIR_LANE_STEP_FORK)
		inherit(u, step);
}

static int lane_records_by_time(const void *a, const void *b)
{
	const struct tapir_lane_step *x = a, *y = b;

	return tapir_order__up(x->time_ns, y->time_ns) ?: tapir_order__up(x->seq, y->seq);
}

void tapir_unopened_lanes__settle(struct tapir_unopened_lanes *u)
{
	const struct tapir_lane_step *step;

	if (!u->steps.cnt)
		return;
	qsort(u->steps.data, u->steps.cnt, sizeof(*u->steps.data), lane_records_by_time);
	tapir_vec_for_each (step, &u->steps)
		take(u, step);
	u->steps.cnt = 0;
}

void tapir_unopened_lanes__note(struct tapir_unopened_lanes *u, struct tapir_lane_step step)
{
	if (!u->rings || (step.kind == TAPIR_LANE_STEP_MAP && !step.image->ring_keys.cnt))
		return;
	if (u->steps.cnt >= STEP_MAX)
		tapir_unopened_lanes__settle(u);
	step.seq = u->steps.cnt;
	if (!tapir_vec__push(&u->steps, step))
		take(u, &step); /* out of order is better than never */
}

void tapir_unopened_lanes__finish(struct tapir_unopened_lanes *u)
{
	const struct tapir_unopened_lane *row;
	int mark = tapir_diag__cnt();

	tapir_unopened_lanes__settle(u);
	/* A process without a ring has fired nothing; to open a ring posts the gap before it. */
	tapir_vec_for_each (row, &u->rows)
		if (row->image && tapir_ring_reader__add(u->rings, row->tgid) < 0)
			report(u, row, tapir_clock__now_ns());
	tapir_diag__rewind(mark);
}

void tapir_unopened_lanes__fini(struct tapir_unopened_lanes *u)
{
	tapir_vec__fini(&u->steps);
	tapir_vec__fini(&u->rows);
	tapir_map__fini(&u->first);
}
