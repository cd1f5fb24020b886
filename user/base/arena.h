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

void tapir_arena__fini(struct tapir_arena *a);
/* Zeroed, aligned for anything. NULL: out of memory, or more than the bound. */
void *tapir_arena__alloc(struct tapir_arena *a, size_t bytes);
/* A NUL-terminated copy. */
char *tapir_arena__text(struct tapir_arena *a, const char *text, size_t len);
/* A copy of cnt elements. */
void *tapir_arena__copy(struct tapir_arena *a, const void *data, size_t cnt, size_t elem_bytes);

#endif
