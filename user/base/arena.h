/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * arena.h - memory that is given back all at once, with an upper bound.
 *
 * For small trees that are built while something is parsed and never change afterwards. Not
 * thread-safe.
 */
#ifndef TAPIR_USER_ARENA_H
#define TAPIR_USER_ARENA_H

#include <stddef.h>

struct tapir_arena_block;

struct tapir_arena {
	struct tapir_arena_block *newest;
	size_t bytes, max_bytes; /* max_bytes 0: no bound */
};

/*
 * Frees every allocation of the arena. An arena of zeros (`= {}`) is empty and needs no init;
 * max_bytes may be set before the first allocation.
 */
void tapir_arena__fini(struct tapir_arena *a);
/*
 * Returns zeroed memory, aligned for any type, owned by the arena. NULL: out of memory, or beyond
 * max_bytes.
 */
void *tapir_arena__alloc(struct tapir_arena *a, size_t bytes);
/* Returns a NUL-terminated copy of len bytes, owned by the arena; NULL as above. */
char *tapir_arena__text(struct tapir_arena *a, const char *text, size_t len);
/* Returns a copy of cnt elements of elem_bytes each, owned by the arena; NULL as above. */
void *tapir_arena__copy(struct tapir_arena *a, const void *data, size_t cnt, size_t elem_bytes);

#endif
