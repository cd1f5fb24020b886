/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * keyed.h - rows that are found by a key: an array (vec.h), and a map (map.h) from a key to the
 * index of its row. Keys are hashes where a key has several parts: rows compare nothing else, so a
 * hash must be of 64 well mixed bits (tapir_hash__mix). One thread.
 */
#ifndef TAPIR_USER_KEYED_H
#define TAPIR_USER_KEYED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"

#define TAPIR_KEYED_NONE SIZE_MAX

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
 * The row of v, pointer to an array, that has the key in map; made, a value, is added where there
 * is none. NULL: there are max of them, or there is no memory. Borrowed until the next is added.
 */
#define tapir_keyed__row(v, map, key, max, made)                                                   \
	({                                                                                         \
		bool tapir_new_;                                                                   \
		size_t tapir_at_ = tapir_keyed__idx(map, key, (v)->cnt, max, &tapir_new_);         \
		if (tapir_new_ && !tapir_vec__push(v, made)) {                                     \
			tapir_map__del(map, key);                                                  \
			tapir_at_ = TAPIR_KEYED_NONE;                                              \
		}                                                                                  \
		tapir_at_ == TAPIR_KEYED_NONE ? NULL : &(v)->data[tapir_at_];                      \
	})

/* The row that has the key; NULL: none has. */
#define tapir_keyed__find(v, map, key)                                                             \
	({                                                                                         \
		const uint64_t *tapir_idx_ = tapir_map__get(map, key);                             \
		tapir_idx_ ? &(v)->data[*tapir_idx_] : NULL;                                       \
	})

#endif
