// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A row for each thread, reason and whether the stack was cut. What a cut stack was about is
 * decided when all have been seen: by the complete stacks of the same thread that pass at the same
 * place.
 */
#include "diagnose/truncated_waits.h"

#include <string.h>

#include "diagnose/finding_impl.h"
#include "spec/runtime_db/lore.h"

#define MAX_ROWS    65536u
#define MAX_DEPTH   32 /* of a thread: more addresses are not distinguished */
#define FUTEX_SHIFT 3  /* a condition variable waits at two words in turn, side by side */

static struct tapir_truncated_wait *truncated_wait_row_of(struct tapir_finding *f,
							  const struct tapir_truncated_wait *like)
{
	struct tapir_truncated_waits *truncated_waits = &f->truncated_waits;
	uint64_t key = tapir_hash__mix(tapir_hash__mix(3, like->tid), like->is_truncated);
	struct tapir_truncated_wait *row;
	uint64_t *first;

	key = tapir_hash__mix(tapir_hash__mix(key, (uintptr_t)like->wait), like->futex);
	row = tapir_keyed__add(&truncated_waits->rows, key, MAX_ROWS, *like);
	if (!row || row->depth)
		return row;
	first = tapir_map__put(&truncated_waits->first_by_tid, like->tid,
			       NULL); /* 0: it has no row yet */
	if (!first) {
		tapir_keyed__undo(&truncated_waits->rows, key);
		return NULL;
	}
	row->next = *first;
	row->depth = *first ? truncated_waits->rows.data[*first - 1].depth + 1 : 1;
	*first = truncated_waits->rows.cnt;
	return row;
}

static bool has_many(const struct tapir_truncated_waits *truncated_waits, uint32_t tid)
{
	const uint64_t *first = tapir_map__get(&truncated_waits->first_by_tid, tid);

	return first && *first && truncated_waits->rows.data[*first - 1].depth >= MAX_DEPTH;
}

void tapir_truncated_waits__add(struct tapir_finding *f, const struct tapir_wait *w,
				const struct tapir_lore_wait *wait)
{
	struct tapir_truncated_wait like = {.wait = wait, .tid = w->thread->tid, .node = w->node};
	struct tapir_truncated_wait *row;

	like.is_truncated =
		wait->is_common &&
		tapir_wait_reason__is_truncated(tapir_timeline__stacks(f->tl), w->node, wait);
	if (!has_many(&f->truncated_waits, like.tid))
		like.futex = w->futex_va >> FUTEX_SHIFT;
	row = truncated_wait_row_of(f, &like);
	if (!row)
		return;
	row->ns += w->wake_ns - w->from_ns;
	row->cnt++;
}

/* Returns true if both have an address and the addresses differ: they wait for different things. */
static bool is_elsewhere(const struct tapir_truncated_wait *a, const struct tapir_truncated_wait *b)
{
	return a->futex && b->futex && a->futex != b->futex;
}

/*
 * Returns true if a stack of the thread that is not cut passes there, and is for that reason, or
 * for another one.
 */
static bool passes_there(const struct tapir_finding *f, const struct tapir_truncated_wait *wait,
			 const char *reason, bool is_for_it)
{
	const uint64_t *first = tapir_map__get(&f->truncated_waits.first_by_tid, wait->tid);
	const struct tapir_truncated_wait *row;

	for (size_t at = first ? *first : 0; at; at = row->next) {
		row = &f->truncated_waits.rows.data[at - 1];
		if (!row->is_truncated && !strcmp(row->wait->reason, reason) == is_for_it &&
		    !is_elsewhere(row, wait) &&
		    tapir_wait_reason__passes(tapir_timeline__stacks(f->tl), row->node, wait->wait))
			return true;
	}
	return false;
}

uint64_t tapir_truncated_waits__of(const struct tapir_finding *f, uint32_t tid, const char *reason,
				   uint64_t ns, uint64_t *cnt)
{
	const uint64_t *first = tapir_map__get(&f->truncated_waits.first_by_tid, tid);
	const struct tapir_truncated_wait *row;
	uint64_t sum_ns = 0;

	*cnt = 0;
	for (size_t at = first ? *first : 0; at; at = row->next) {
		row = &f->truncated_waits.rows.data[at - 1];
		if (!row->is_truncated || !passes_there(f, row, reason, true) ||
		    passes_there(f, row, reason, false))
			continue;
		sum_ns += row->ns;
		*cnt += row->cnt;
	}
	if (sum_ns + ns <= ns * TAPIR_LIMIT(TRUNCATED_WAITS))
		return sum_ns;
	*cnt = 0;
	return 0;
}

void tapir_truncated_waits__fini(struct tapir_finding *f)
{
	tapir_keyed__fini(&f->truncated_waits.rows);
	tapir_map__fini(&f->truncated_waits.first_by_tid);
}
