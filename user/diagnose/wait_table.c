// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * For what a truncated stack waited is decided when all have been seen: by the complete stacks of
 * the same thread that pass at the same place.
 */
#include "diagnose/wait_table.h"

#include <string.h>

#include "diagnose/diagnosis_impl.h"
#include "spec/runtime_db/lore.h"
#include "symbol/unnamed_frames.h"

#define MAX_ROWS      262144u /* 512 threads that all end each other's waits */
#define MAX_ADDRESSES 64      /* rows of a thread: more addresses are not distinguished, */
#define MAX_WAKERS    1024    /* and more wakers */
#define FUTEX_SHIFT   3	      /* a condition variable waits at two words in turn, side by side */

static uint64_t wait_key(const struct tapir_wait_row *row)
{
	uint64_t flags =
		row->is_lock | row->is_open << 1 | row->is_truncated << 2 | row->is_unnamed << 3;
	uint64_t parts[] = {(uintptr_t)row->wait, row->own,   row->place,
			    row->waker_tid,	  row->futex, flags};
	uint64_t key = tapir_hash__mix(3, row->tid);

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		key = tapir_hash__mix(key, parts[i]);
	return key;
}

/* Returns the row of a wait; NULL: there is no room for it. */
static struct tapir_wait_row *wait_row_of(struct tapir_wait_table *table,
					  struct tapir_wait_row like)
{
	uint64_t *first = tapir_map__put(&table->first_by_tid, like.tid, NULL); /* new: 0 */
	struct tapir_wait_row *row;

	if (!first)
		return table->rows.failed = true, NULL;
	like.next = *first;
	like.depth = *first ? table->rows.data[*first - 1].depth + 1 : 1;
	like.futex = like.depth > MAX_ADDRESSES ? 0 : like.futex;
	like.waker_tid = like.depth > MAX_WAKERS ? 0 : like.waker_tid;
	row = tapir_keyed__add(&table->rows, wait_key(&like), MAX_ROWS, like);
	if (row && !row->cnt)
		*first = table->rows.cnt;
	return row;
}

/* Returns the program's function, or none if it has no name. */
static uint32_t function_that_waits(struct tapir_diagnosis *f, uint32_t node)
{
	const struct tapir_stack_tree *tree = tapir_timeline__stacks(f->tl);
	uint32_t name = tapir_app_code__or_native(&f->app_code, tree, node);

	return name != TAPIR_APP_CODE_NONE &&
			       tapir_unnamed_frame__module(tree->names.data[name]).len
		       ? TAPIR_APP_CODE_NONE
		       : name;
}

void tapir_wait_table__add(struct tapir_diagnosis *f, const struct tapir_wait *w, bool is_open,
			   bool is_lock)
{
	const struct tapir_stack_tree *tree = tapir_timeline__stacks(f->tl);
	const struct tapir_lore_wait *wait = tapir_diagnosis__wait_at(f, w->node);
	struct tapir_wait_row *row;

	row = wait_row_of(
		&f->wait_table,
		(struct tapir_wait_row){
			.wait = wait,
			.tgid = w->thread->tgid,
			.tid = w->thread->tid,
			.node = w->node,
			.waker_tid = is_open ? 0 : w->waker_tid,
			.own = tapir_diagnosis__own(f, w->node),
			.place = function_that_waits(f, w->node),
			.is_lock = is_lock,
			.is_open = is_open,
			.is_truncated = wait && wait->is_common &&
					tapir_wait_reason__is_truncated(tree, w->node, wait),
			.is_unnamed = tapir_app_code__is_unnamed(tree, w->node),
			.futex = w->futex_va >> FUTEX_SHIFT});
	if (!row)
		return;
	row->ns += w->wake_ns - w->from_ns;
	row->cnt++;
}

/* Returns true if both have an address and the addresses differ: they wait for different things. */
static bool is_elsewhere(const struct tapir_wait_row *a, const struct tapir_wait_row *b)
{
	return a->futex && b->futex && a->futex != b->futex;
}

/*
 * Returns true if a stack of the thread that is not cut passes there, and is for that reason, or
 * for another one.
 */
static bool passes_there(const struct tapir_diagnosis *f, const struct tapir_wait_row *wait,
			 const char *reason, bool is_for_it)
{
	const uint64_t *first = tapir_map__get(&f->wait_table.first_by_tid, wait->tid);
	const struct tapir_wait_row *row;

	for (size_t at = first ? *first : 0; at; at = row->next) {
		row = &f->wait_table.rows.data[at - 1];
		if (row->wait && !row->is_truncated &&
		    !strcmp(row->wait->reason, reason) == is_for_it && !is_elsewhere(row, wait) &&
		    tapir_wait_reason__passes(tapir_timeline__stacks(f->tl), row->node, wait->wait))
			return true;
	}
	return false;
}

/*
 * Returns true if complete stacks of the thread pass where the row's is cut, all for that reason.
 * decided: the answers so far by what they depend on, of which a thread has few: where memory is
 * short for one, it is found again.
 */
static bool is_for_reason(const struct tapir_diagnosis *f, const struct tapir_wait_row *row,
			  const char *reason, struct tapir_map *decided)
{
	uint64_t key = tapir_hash__mix(tapir_hash__mix(5, (uintptr_t)row->wait), row->futex);
	const uint64_t *known = tapir_map__get(decided, key);
	bool is_for_it;
	uint64_t *put;

	if (known)
		return *known;
	is_for_it = passes_there(f, row, reason, true) && !passes_there(f, row, reason, false);
	put = tapir_map__put(decided, key, NULL);
	if (put)
		*put = is_for_it;
	return is_for_it;
}

uint64_t tapir_wait_table__truncated(const struct tapir_diagnosis *f, uint32_t tid,
				     const char *reason, uint64_t ns, uint64_t *cnt)
{
	const uint64_t *first = tapir_map__get(&f->wait_table.first_by_tid, tid);
	const struct tapir_wait_row *row;
	struct tapir_map decided = {};
	uint64_t sum_ns = 0;

	*cnt = 0;
	for (size_t at = first ? *first : 0; at; at = row->next) {
		row = &f->wait_table.rows.data[at - 1];
		if (!row->is_truncated || !is_for_reason(f, row, reason, &decided))
			continue;
		sum_ns += row->ns;
		*cnt += row->cnt;
	}
	tapir_map__fini(&decided);
	if (sum_ns + ns <= ns * TAPIR_LIMIT(TRUNCATED_WAITS))
		return sum_ns;
	*cnt = 0;
	return 0;
}

void tapir_wait_table__fini(struct tapir_wait_table *table)
{
	tapir_keyed__fini(&table->rows);
	tapir_map__fini(&table->first_by_tid);
}
