// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Two generations, each with blocks that only grow and an open-addressing table, at most half full.
 * A record that is replaced keeps its bytes until the generation goes: it is rare.
 */
#include "trace/stack_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"

#define BLOCK_BYTES (1u << 20)
#define BLOCK_WORDS (BLOCK_BYTES / 8)
#define MIN_CAP	    1024u
#define MAX_BLOCKS  (UINT32_MAX / BLOCK_WORDS)

TAPIR_STATIC_ASSERT(BLOCK_BYTES >= TAPIR_MAX_RECORD_BYTES, "a record finds room in a block");

static void generation_fini(struct tapir_stack_generation *g)
{
	for (size_t i = 0; i < g->blocks.cnt; i++)
		free(g->blocks.data[i]);
	tapir_vec__fini(&g->blocks);
	free(g->slots);
	*g = (struct tapir_stack_generation){};
}

static uint64_t bytes_of(const struct tapir_stack_generation *g)
{
	return (uint64_t)g->blocks.cnt * BLOCK_BYTES + g->cap * sizeof(*g->slots);
}

static const struct tapir_rec_stack *record_at(const struct tapir_stack_generation *g,
					       uint32_t place)
{
	return (const void *)(g->blocks.data[(place - 1) / BLOCK_WORDS] +
			      (place - 1) % BLOCK_WORDS);
}

/* The id's slot, or the free one where it belongs. cap > 0. */
static struct tapir_stack_slot *find_stack_slot(const struct tapir_stack_generation *g, uint64_t id)
{
	uint64_t hash = tapir_hash__mix(3, id);
	size_t i = (size_t)hash & (g->cap - 1);

	while (g->slots[i].place &&
	       (g->slots[i].tag != hash >> 32 || record_at(g, g->slots[i].place)->stack_id != id))
		i = (i + 1) & (g->cap - 1);
	return &g->slots[i];
}

static const struct tapir_rec_stack *lookup(const struct tapir_stack_generation *g, uint64_t id)
{
	const struct tapir_stack_slot *slot = g->cap ? find_stack_slot(g, id) : NULL;

	return slot && slot->place ? record_at(g, slot->place) : NULL;
}

static int grow(struct tapir_stack_generation *g)
{
	struct tapir_stack_generation bigger = *g;

	if ((g->cnt + 1) * 2 <= g->cap)
		return 0;
	bigger.cap = g->cap ? g->cap * 2 : MIN_CAP;
	bigger.slots = calloc(bigger.cap, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	for (size_t i = 0; i < g->cap; i++)
		if (g->slots[i].place)
			*find_stack_slot(&bigger, record_at(g, g->slots[i].place)->stack_id) =
				g->slots[i];
	free(g->slots);
	*g = bigger;
	return 0;
}

/* Room for words in a row: *place of the first. */
static int reserve(struct tapir_stack_generation *g, uint32_t words, uint32_t *place)
{
	uint64_t *block;

	if (!g->blocks.cnt || words > BLOCK_WORDS - g->used) {
		block = g->blocks.cnt < MAX_BLOCKS ? malloc(BLOCK_BYTES) : NULL;
		if (!block || !tapir_vec__push(&g->blocks, block)) {
			free(block);
			return -ENOMEM;
		}
		g->used = 0;
	}
	*place = (uint32_t)(g->blocks.cnt - 1) * BLOCK_WORDS + g->used + 1;
	g->used += words;
	return 0;
}

int tapir_stack_store__put(struct tapir_stack_store *s, const struct tapir_rec_stack *rec)
{
	struct tapir_stack_generation *g = &s->now;
	struct tapir_stack_slot *slot;
	uint32_t place;
	int err = grow(g);

	if (!err)
		err = reserve(g, rec->h.size / 8, &place);
	if (err)
		return err;
	memcpy(g->blocks.data[(place - 1) / BLOCK_WORDS] + (place - 1) % BLOCK_WORDS, rec,
	       rec->h.size);
	slot = find_stack_slot(g, rec->stack_id);
	g->cnt += !slot->place;
	slot->place = place;
	slot->tag = (uint32_t)(tapir_hash__mix(3, rec->stack_id) >> 32);
	s->bytes = bytes_of(&s->now) + bytes_of(&s->before);
	return 0;
}

const struct tapir_rec_stack *tapir_stack_store__now(const struct tapir_stack_store *s, uint64_t id)
{
	return lookup(&s->now, id);
}

const struct tapir_rec_stack *tapir_stack_store__before(const struct tapir_stack_store *s,
							uint64_t id)
{
	return lookup(&s->before, id);
}

void tapir_stack_store__next_generation(struct tapir_stack_store *s)
{
	generation_fini(&s->before);
	s->before = s->now;
	s->now = (struct tapir_stack_generation){};
	s->bytes = bytes_of(&s->before);
}

void tapir_stack_store__fini(struct tapir_stack_store *s)
{
	generation_fini(&s->now);
	generation_fini(&s->before);
	s->bytes = 0;
}
