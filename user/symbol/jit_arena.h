/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jit_arena.h - the texts of a jit_table.h, one after the other in chunks. For jit_table.c only;
 * one thread. A text is never moved or freed alone.
 */
#ifndef TAPIR_USER_JIT_ARENA_H
#define TAPIR_USER_JIT_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct tapir_jit_text {
	uint16_t len;
	uint8_t source;
	char bytes[];
};

struct tapir_jit_arena {
	struct tapir_vec(char *) chunks;
	size_t used_bytes; /* of the last chunk */
	size_t bytes;
};

#define TAPIR_JIT_NO_TEXT (UINT32_MAX >> 1)

/* Frees all texts. */
void tapir_jit_arena__fini(struct tapir_jit_arena *a);
/*
 * Copies a text and returns its number. TAPIR_JIT_NO_TEXT: out of memory, or of numbers (8 GB).
 * len: at most 65,000.
 */
uint32_t tapir_jit_arena__add(struct tapir_jit_arena *a, const char *bytes, size_t len);
/* Returns the text with that number, borrowed until __fini. */
struct tapir_jit_text *tapir_jit_arena__at(const struct tapir_jit_arena *a, uint32_t text);

#endif
