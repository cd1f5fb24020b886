/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * keyed.h - rows that are found by a key: key -> row of sums -> the rows with most, in a bounded
 * table. Keys are hashes where a key has several parts: rows compare nothing else, so a hash must
 * be of 64 well mixed bits (tapir_hash__mix). Values with percentiles by questions: fold.h. One
 * thread.
 *
 *	struct tapir_keyed(struct heap) heaps = {};
 *
 *	heap = tapir_keyed__add(&heaps, tgid, MAX_HEAPS, ((struct heap){.tgid = tgid}));
 *	tapir_keyed__sort(&heaps, by_sum);
 *	tapir_vec_for_each (heap, &heaps) ...
 *	tapir_keyed__fini(&heaps);
 */
#ifndef TAPIR_USER_KEYED_H
#define TAPIR_USER_KEYED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"

#define TAPIR_KEYED_NONE SIZE_MAX

/* Rows in the order in which their keys came, as in vec.h. A table of zeros is empty. */
#define tapir_keyed(type)                                                                          \
	{                                                                                          \
		type *data;                                                                        \
		size_t cnt, cap;                                                                   \
		struct tapir_map idx_by_key;                                                       \
		uint64_t more; /* keys that found no row, each time */                             \
		bool failed;   /* memory was short for a row */                                    \
	}

/* Any of them, by which code that does not know the rows reads one. */
struct tapir_keyed_rows tapir_keyed(void);

/* The index that map has for key; cnt, which it then has, if it had none. NONE: no memory, or max.
 */
static inline size_t tapir_keyed__idx(struct tapir_map *map, uint64_t key, size_t cnt, size_t max,
				      bool *is_new)
{
	uint64_t *idx = tapir_map__get(map, key);

	*is_new = false;
	if (idx)
		return *idx;
	idx = cnt < max ? tapir_map__put(map, key, NULL) : NULL;
	if (!idx)
		return TAPIR_KEYED_NONE;
	*is_new = true;
	*idx = cnt;
	return cnt;
}

/*
 * The row of a table that has the key; made, a value, is added where there is none. NULL: there are
 * max of them, or there is no memory: that is counted in the table, which has neither the key nor
 * the row then. Borrowed until the next is added.
 */
#define tapir_keyed__add(table, key, max, made)                                                    \
	({                                                                                         \
		const uint64_t tapir_key_ = (key);                                                 \
		bool tapir_new_;                                                                   \
		size_t tapir_at_ = tapir_keyed__idx(&(table)->idx_by_key, tapir_key_,              \
						    (table)->cnt, max, &tapir_new_);               \
		if (tapir_new_ && !tapir_vec__push(table, made)) {                                 \
			tapir_map__del(&(table)->idx_by_key, tapir_key_);                          \
			tapir_at_ = TAPIR_KEYED_NONE;                                              \
		}                                                                                  \
		if (tapir_at_ == TAPIR_KEYED_NONE) {                                               \
			(table)->more++;                                                           \
			(table)->failed |= (table)->cnt < (max);                                   \
		}                                                                                  \
		tapir_at_ == TAPIR_KEYED_NONE ? NULL : &(table)->data[tapir_at_];                  \
	})

/* The row of a table that has the key; NULL: none has. */
#define tapir_keyed__get(table, key)                                                               \
	({                                                                                         \
		const uint64_t *tapir_idx_ = tapir_map__get(&(table)->idx_by_key, key);            \
		tapir_idx_ ? &(table)->data[*tapir_idx_] : NULL;                                   \
	})

/* Takes back the row that was added last, by its key: memory was short for what it was to own. */
#define tapir_keyed__undo(table, key)                                                              \
	do {                                                                                       \
		tapir_map__del(&(table)->idx_by_key, key);                                         \
		(table)->cnt--;                                                                    \
		(table)->more++;                                                                   \
		(table)->failed = true;                                                            \
	} while (0)

/* Removes the row of a key that is there; the last row, by its key, takes its place. */
#define tapir_keyed__drop(table, key, last_key)                                                    \
	do {                                                                                       \
		const uint64_t tapir_key_ = (key), tapir_last_ = (last_key);                       \
		uint64_t tapir_at_ = *tapir_map__get(&(table)->idx_by_key, tapir_key_);            \
		(table)->data[tapir_at_] = (table)->data[--(table)->cnt];                          \
		*tapir_map__get(&(table)->idx_by_key, tapir_last_) = tapir_at_;                    \
		tapir_map__del(&(table)->idx_by_key, tapir_key_);                                  \
	} while (0)

/*
 * Frees the key for another row; the row that had it stays in the table, which must not be sorted
 * again.
 */
#define tapir_keyed__forget(table, key) tapir_map__del(&(table)->idx_by_key, key)

/*
 * Sorts the rows of a table that is complete, as often as wanted: keys are forgotten. Rows that are
 * equal by compare keep the order in which their keys came. It allocates nothing.
 */
#define tapir_keyed__sort(table, compare)                                                          \
	tapir_keyed__sort_rows((table)->data, (table)->cnt, sizeof(*(table)->data),                \
			       &(table)->idx_by_key, compare)
void tapir_keyed__sort_rows(void *rows, size_t cnt, size_t row_bytes, struct tapir_map *idx_by_key,
			    int (*compare)(const void *, const void *));

/* Empties the table for other rows, and keeps its memory and counts. */
#define tapir_keyed__clear(table)                                                                  \
	do {                                                                                       \
		tapir_map__clear(&(table)->idx_by_key);                                            \
		(table)->cnt = 0;                                                                  \
	} while (0)

/* Frees the table; what rows own is the caller's. */
#define tapir_keyed__fini(table)                                                                   \
	do {                                                                                       \
		tapir_vec__fini(table);                                                            \
		tapir_map__fini(&(table)->idx_by_key);                                             \
	} while (0)

#endif
