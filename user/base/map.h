/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * map.h - a hash map from a 64-bit key to a 64-bit value (a number, an index or a pointer).
 *
 * Open addressing with backward-shift deletion: no tombstones, so a map that is filled and emptied
 * for hours stays fast. Any key may be used. A map of zeros (`= {}`) is empty. One thread at a
 * time.
 */
#ifndef TAPIR_USER_MAP_H
#define TAPIR_USER_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tapir_map_slot {
	uint64_t key;
	uint64_t value;
	bool used;
};

struct tapir_map {
	struct tapir_map_slot *slots;
	size_t cnt, cap; /* cap: 0 or a power of two */
};

/* Frees the slots and leaves an empty map; what values point to is the caller's. */
void tapir_map__fini(struct tapir_map *m);
void tapir_map__clear(struct tapir_map *m); /* keeps the memory */
/* The value's place, borrowed until the map changes; NULL: no such key. */
uint64_t *tapir_map__get(const struct tapir_map *m, uint64_t key);
/* The place for key, made with value 0 if it is new; NULL: out of memory. */
uint64_t *tapir_map__put(struct tapir_map *m, uint64_t key, bool *is_new);
/* Removes a key; false: it was not in the map. */
bool tapir_map__del(struct tapir_map *m, uint64_t key);

/*
 * Mixes a value into a hash; good enough to key maps by several fields. The first factor separates
 * (a, b) from (b, a), and from (a ^ x, b ^ x): pairs of small numbers are common.
 */
static inline uint64_t tapir_hash__mix(uint64_t hash, uint64_t value)
{
	hash = (hash * 0xff51afd7ed558ccdull ^ value) * 0x9e3779b97f4a7c15ull;
	return hash ^ (hash >> 32);
}

/* Mixes bytes into a hash, 0 at first. data may be NULL if len is 0. */
uint64_t tapir_hash__bytes(uint64_t hash, const void *data, size_t len);

#endif
