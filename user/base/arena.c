// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A list of blocks of a few KB, the newest first; an allocation that is larger than a block gets
 * one for itself. Only the newest block is searched for room: what is left in the others is not
 * used, which is cheaper than to remember it for trees that are read once and freed.
 */
#include "base/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_BYTES 4096
#define ALIGN	    16

struct tapir_arena_block {
	struct tapir_arena_block *older;
	size_t used, size;
	_Alignas(ALIGN) char data[];
};

void tapir_arena__fini(struct tapir_arena *a)
{
	while (a->newest) {
		struct tapir_arena_block *older = a->newest->older;

		free(a->newest);
		a->newest = older;
	}
	a->bytes = 0;
}

static struct tapir_arena_block *add_block(struct tapir_arena *a, size_t bytes)
{
	size_t size = bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES;
	struct tapir_arena_block *block = calloc(1, sizeof(*block) + size);

	if (!block)
		return NULL;
	block->size = size;
	block->older = a->newest;
	a->newest = block;
	return block;
}

void *tapir_arena__alloc(struct tapir_arena *a, size_t bytes)
{
	struct tapir_arena_block *block = a->newest;
	void *at;

	/* The first test keeps the rounding below from wrapping. */
	if (bytes > SIZE_MAX / 2 || (a->max_bytes && bytes > a->max_bytes - a->bytes))
		return NULL;
	bytes = (bytes + ALIGN - 1) / ALIGN * ALIGN;
	if (!block || block->size - block->used < bytes)
		block = add_block(a, bytes);
	if (!block)
		return NULL;
	at = block->data + block->used;
	block->used += bytes;
	a->bytes += bytes;
	/*
	 * Rounding may exceed the bound by some bytes; the difference above must not become
	 * negative.
	 */
	if (a->max_bytes && a->bytes > a->max_bytes)
		a->bytes = a->max_bytes;
	return at;
}

char *tapir_arena__text(struct tapir_arena *a, const char *text, size_t len)
{
	char *copy = len == SIZE_MAX ? NULL : tapir_arena__alloc(a, len + 1);

	if (copy)
		memcpy(copy, text, len);
	return copy;
}

void *tapir_arena__copy(struct tapir_arena *a, const void *data, size_t cnt, size_t elem_bytes)
{
	size_t bytes;
	void *copy = __builtin_mul_overflow(cnt, elem_bytes, &bytes) ? NULL
								     : tapir_arena__alloc(a, bytes);

	if (copy && bytes)
		memcpy(copy, data, bytes);
	return copy;
}
