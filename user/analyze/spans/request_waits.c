// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A request continues when the last of what it awaits in parallel is complete: a moment belongs to
 * the row that ends last of those that go on then, and to a call before an await around it. An
 * await for all of several tasks has what none of those has. A wait in a queue for a connection is
 * within a row, and comes before it.
 */
#include "analyze/spans/request_waits.h"
#include "base/order.h"

#include <stdlib.h>
#include <string.h>

void tapir_request_waits__add(struct tapir_request_waits *w, const struct tapir_request_wait *row)
{
	if (row->until_ns <= row->from_ns)
		return;
	if (w->rows.cnt == TAPIR_REQUEST_WAITS_MAX)
		w->dropped_cnt++;
	else
		w->failed |= !tapir_vec__push(&w->rows, *row);
}

void tapir_request_waits__add_away(struct tapir_request_waits *w, uint64_t from_ns,
				   uint64_t until_ns)
{
	struct tapir_request_away away = {from_ns, until_ns};

	if (w->away.cnt < TAPIR_REQUEST_WAITS_MAX)
		w->failed |= !tapir_vec__push(&w->away, away);
}

static int by_begin(const void *a, const void *b)
{
	const struct tapir_request_wait *x = a, *y = b;

	return tapir_order__by(tapir_order__up(x->from_ns, y->from_ns),
			       tapir_order__down(x->until_ns, y->until_ns));
}

/* ---- calls and awaits -------------------------------------------------------------------------- */

/* When the request next left its thread. */
static uint64_t leaves_ns(const struct tapir_request_waits *w, uint64_t at_ns)
{
	const struct tapir_request_away *away;

	tapir_vec_for_each (away, &w->away)
		if (away->from_ns >= at_ns)
			return away->from_ns;
	return UINT64_MAX;
}

/* Returns true if an await that ends then has the answer of a call: at once, or from its method. */
static bool has_answer(const struct tapir_request_waits *w, uint64_t await_ns, uint64_t call_ns)
{
	return await_ns >= call_ns || (w->away.cnt && leaves_ns(w, await_ns) >= call_ns);
}

/*
 * The method that calls suspends in the stretch of time in which the call began, before any other
 * does; it continues with the answer. NULL: none does, it may have blocked its thread.
 */
static struct tapir_request_wait *await_of(struct tapir_request_waits *w, size_t call)
{
	const struct tapir_request_wait *of = &w->rows.data[call];
	uint64_t leaves = leaves_ns(w, of->from_ns);

	for (size_t i = call + 1; i < w->rows.cnt && w->rows.data[i].from_ns <= leaves; i++) {
		struct tapir_request_wait *row = &w->rows.data[i];

		if (row->site == TAPIR_NO_SITE || row->peer != TAPIR_NO_PEER || row->is_joint ||
		    row->is_in_queue)
			continue;
		return has_answer(w, row->until_ns, of->until_ns) ? row : NULL;
	}
	return NULL;
}

/* The innermost method of the program that awaits already when the call begins. */
static struct tapir_request_wait *await_around(struct tapir_request_waits *w, size_t call)
{
	const struct tapir_request_wait *of = &w->rows.data[call];
	struct tapir_request_wait *row;

	for (size_t i = call; i-- > 0;) {
		row = &w->rows.data[i];
		if (row->site != TAPIR_NO_SITE && row->peer == TAPIR_NO_PEER && !row->is_joint &&
		    !row->is_in_queue && row->until_ns > of->from_ns)
			return row;
	}
	return NULL;
}

static void join_calls(struct tapir_request_waits *w)
{
	size_t kept = 0;

	for (size_t i = 0; i < w->rows.cnt; i++) {
		struct tapir_request_wait *row = &w->rows.data[i], *await = NULL;

		if (row->site == TAPIR_NO_SITE && !row->is_in_queue)
			await = await_of(w, i);
		if (!await && row->is_mark)
			await = await_around(w, i);
		if (await)
			await->peer = row->peer;
		else if (!row->is_mark)
			w->rows.data[kept++] = *row;
	}
	w->rows.cnt = kept;
}

/* ---- dividing ---------------------------------------------------------------------------------- */

/*
 * Returns true if other awaits of the program fill that one. They need not begin within it: methods
 * suspend from the inside out.
 */
static bool is_filled(const struct tapir_request_waits *w, const struct tapir_request_wait *outer)
{
	const struct tapir_request_wait *row;
	uint64_t ns = 0;

	tapir_vec_for_each (row, &w->rows) {
		uint64_t from_ns = row->from_ns > outer->from_ns ? row->from_ns : outer->from_ns;

		if (row != outer && row->site != TAPIR_NO_SITE && !row->is_in_queue &&
		    !row->is_taskless && row->until_ns <= outer->until_ns &&
		    row->until_ns > from_ns)
			ns += row->until_ns - from_ns;
	}
	return ns && ns >= (outer->until_ns - outer->from_ns) / 10 * 9;
}

/* An item of an iterator is what the iterator awaits for it. */
static void find_joints(struct tapir_request_waits *w)
{
	struct tapir_request_wait *row;

	tapir_vec_for_each (row, &w->rows)
		row->is_joint |= row->is_taskless && is_filled(w, row);
}

static void find_parallel(struct tapir_request_waits *w)
{
	struct tapir_request_wait *row,
		*last = NULL; /* last: of those before, the one that ends so */
	uint64_t both_ns;

	tapir_vec_for_each (row, &w->rows) {
		if (row->is_joint || row->is_in_queue)
			continue;
		if (last && last->until_ns > row->from_ns) {
			both_ns =
				(last->until_ns < row->until_ns ? last->until_ns : row->until_ns) -
				row->from_ns;
			row->is_parallel |= 2 * both_ns >= row->until_ns - row->from_ns;
			last->is_parallel |= row->is_parallel;
		}
		if (!last || row->until_ns > last->until_ns)
			last = row;
	}
}

/*
 * The row of which this one is the wait in a queue: methods suspend from the inside out, so it is
 * the first one that begins afterwards, if any does; it ends later. NULL: it is not known.
 */
static struct tapir_request_wait *owner_of(struct tapir_request_waits *w,
					   const struct tapir_request_wait *queued)
{
	struct tapir_request_wait *row, *owner = NULL;

	tapir_vec_for_each (row, &w->rows) {
		if (row->from_ns >= queued->until_ns ||
		    (owner && owner->from_ns >= queued->from_ns))
			break;
		if (row->is_in_queue || row->is_joint || row->until_ns < queued->until_ns)
			continue;
		if (queued->site == TAPIR_NO_SITE || queued->site == row->site)
			owner = row;
	}
	return owner;
}

static void find_owners(struct tapir_request_waits *w)
{
	struct tapir_request_wait *row, *owner;

	tapir_vec_for_each (row, &w->rows) {
		row->is_call = row->site == TAPIR_NO_SITE;
		row->ends_ns = row->until_ns;
		row->queued_ns = 0;
	}
	tapir_vec_for_each (row, &w->rows) {
		owner = row->is_in_queue ? owner_of(w, row) : NULL;
		if (!owner)
			continue;
		row->is_call = owner->is_call;
		row->ends_ns = owner->until_ns;
		row->site = owner->site;
		owner->queued_ns += row->until_ns - row->from_ns;
	}
}

static bool is_better(const struct tapir_request_wait *row, const struct tapir_request_wait *best)
{
	if (!best || row->is_joint != best->is_joint)
		return !best || best->is_joint;
	if (row->is_call != best->is_call)
		return row->is_call;
	if (row->ends_ns != best->ends_ns)
		return row->ends_ns > best->ends_ns;
	return row->is_in_queue && !best->is_in_queue;
}

/* The row to which that moment belongs; NULL: none, *next_ns: when there may be one. */
static struct tapir_request_wait *row_at(struct tapir_request_waits *w, uint64_t at_ns,
					 uint64_t *next_ns)
{
	struct tapir_request_wait *row, *best = NULL;

	tapir_vec_for_each (row, &w->rows) {
		if (row->from_ns > at_ns) {
			*next_ns = row->from_ns;
			break;
		}
		if (row->until_ns <= at_ns)
			continue;
		if (is_better(row, best))
			best = row;
	}
	return best;
}

static uint64_t divide_stretch(struct tapir_request_waits *w, uint64_t from_ns, uint64_t until_ns)
{
	uint64_t sum_ns = 0;

	while (from_ns < until_ns) {
		uint64_t next_ns = until_ns;
		struct tapir_request_wait *row = row_at(w, from_ns, &next_ns);

		if (next_ns > until_ns)
			next_ns = until_ns;
		if (row && row->until_ns < next_ns)
			next_ns = row->until_ns;
		if (row) {
			row->ns += next_ns - from_ns;
			sum_ns += next_ns - from_ns;
		}
		from_ns = next_ns;
	}
	return sum_ns;
}

static void drop_joints(struct tapir_request_waits *w)
{
	size_t kept = 0;

	for (size_t i = 0; i < w->rows.cnt; i++)
		if (!w->rows.data[i].is_joint || w->rows.data[i].ns)
			w->rows.data[kept++] = w->rows.data[i];
	w->rows.cnt = kept;
}

uint64_t tapir_request_waits__divide(struct tapir_request_waits *w, uint64_t from_ns,
				     uint64_t until_ns, bool is_tracked)
{
	const struct tapir_request_away *away;
	struct tapir_request_wait *row;
	uint64_t sum_ns = 0;

	if (w->rows.cnt)
		qsort(w->rows.data, w->rows.cnt, sizeof(*w->rows.data), by_begin);
	join_calls(w);
	tapir_vec_for_each (row, &w->rows) {
		row->ns = 0;
		row->is_parallel = false;
	}
	find_joints(w);
	find_parallel(w);
	find_owners(w);
	if (!is_tracked)
		sum_ns = divide_stretch(w, from_ns, until_ns);
	else
		tapir_vec_for_each (away, &w->away)
			sum_ns += divide_stretch(w, away->from_ns, away->until_ns);
	drop_joints(w);
	return sum_ns;
}

void tapir_request_waits__clear(struct tapir_request_waits *w)
{
	w->rows.cnt = w->away.cnt = 0;
	w->dropped_cnt = 0;
}

void tapir_request_waits__fini(struct tapir_request_waits *w)
{
	tapir_vec__fini(&w->rows);
	tapir_vec__fini(&w->away);
}
