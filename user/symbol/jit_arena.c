// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A text's number is its place in units of 4 bytes: 31 bits are enough for 8 GB, and an entry of
 * the table stays at 32 bytes. Chunks never move, so texts may be borrowed.
 */
#include "symbol/jit_arena.h"

#define UNIT	    4u
#define CHUNK_UNITS (1u << 14)
#define CHUNK_BYTES ((size_t)CHUNK_UNITS * UNIT)

void tapir_jit_arena__fini(struct tapir_jit_arena *a)
{
	for (size_t i = 0; i < a->chunks.cnt; i++)
		free(a->chunks.data[i]);
	tapir_vec__fini(&a->chunks);
	a->used_bytes = a->bytes = 0;
}

static bool add_chunk(struct tapir_jit_arena *a)
{
	char *chunk;

	if (a->chunks.cnt >= TAPIR_JIT_NO_TEXT / CHUNK_UNITS)
		return false;
	chunk = malloc(CHUNK_BYTES);
	if (!chunk || !tapir_vec__push(&a->chunks, chunk)) {
		free(chunk);
		return false;
	}
	a->used_bytes = 0;
	a->bytes += CHUNK_BYTES + sizeof(char *);
	return true;
}

uint32_t tapir_jit_arena__add(struct tapir_jit_arena *a, const char *bytes, size_t len)
{
	size_t need = (offsetof(struct tapir_jit_text, bytes) + len + UNIT - 1) / UNIT * UNIT;
	struct tapir_jit_text *text;
	uint32_t number;

	if ((!a->chunks.cnt || CHUNK_BYTES - a->used_bytes < need) && !add_chunk(a))
		return TAPIR_JIT_NO_TEXT;
	number = (uint32_t)((a->chunks.cnt - 1) * CHUNK_UNITS + a->used_bytes / UNIT);
	a->used_bytes += need;
	text = tapir_jit_arena__at(a, number);
	*text = (struct tapir_jit_text){.len = (uint16_t)len};
	if (len)
		memcpy(text->bytes, bytes, len);
	return number;
}

struct tapir_jit_text *tapir_jit_arena__at(const struct tapir_jit_arena *a, uint32_t text)
{
	return (void *)(a->chunks.data[text / CHUNK_UNITS] + (size_t)(text % CHUNK_UNITS) * UNIT);
}
