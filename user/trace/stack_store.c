// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An open-addressing table, at most half full, of records in blocks that only grow. A slot belongs
 * where its tag says, so that a table is rebuilt without reading records. A record that is dropped
 * or replaced keeps its bytes until its block is mostly such: then what it still has moves.
 */
#include "trace/stack_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"

#define BLOCK_BYTES (1u << 20)
#define BLOCK_WORDS (BLOCK_BYTES / 8)
#define MIN_CAP	    1024u
#define MAX_CAP	    (1u << 30)
#define MAX_BLOCKS  (UINT32_MAX / BLOCK_WORDS)

TAPIR_STATIC_ASSERT(BLOCK_BYTES >= TAPIR_MAX_RECORD_BYTES, "a record finds room in a block");

static uint32_t tag_of(uint64_t id)
{
	return tapir_hash__mix(3, id) >> 33;
}

static size_t block_of(uint32_t position)
{
	return (position - 1) / BLOCK_WORDS;
}

static struct tapir_rec_stack *record_at(const struct tapir_stack_store *s, uint32_t position)
{
	return (void *)(s->blocks.data[block_of(position)].words + (position - 1) % BLOCK_WORDS);
}

/* The id's slot, or the free one where it belongs. cap > 0. */
static struct tapir_stack_slot *find_stack_slot(const struct tapir_stack_store *s, uint64_t id)
{
	uint32_t tag = tag_of(id);
	size_t i = tag & (s->cap - 1);

	while (s->slots[i].position &&
	       (s->slots[i].tag != tag || record_at(s, s->slots[i].position)->stack_id != id))
		i = (i + 1) & (s->cap - 1);
	return &s->slots[i];
}

const struct tapir_rec_stack *tapir_stack_store__find(const struct tapir_stack_store *s,
						      uint64_t id, bool *is_now)
{
	const struct tapir_stack_slot *slot = s->cap ? find_stack_slot(s, id) : NULL;

	if (is_now)
		*is_now = slot && slot->is_now;
	return slot && slot->position ? record_at(s, slot->position) : NULL;
}

void tapir_stack_store__expect(const struct tapir_stack_store *s, uint64_t id, bool is_near)
{
	const struct tapir_stack_slot *slot = s->cap ? &s->slots[tag_of(id) & (s->cap - 1)] : NULL;
	const char *rec;

	if (slot && !is_near)
		__builtin_prefetch(slot);
	if (!slot || !is_near || !slot->position)
		return;
	rec = (const char *)record_at(s, slot->position);
	__builtin_prefetch(rec);
	__builtin_prefetch(rec + 64);
	__builtin_prefetch(rec + 128);
}

static void count_bytes(struct tapir_stack_store *s)
{
	s->bytes = (uint64_t)s->block_cnt * BLOCK_BYTES + s->cap * sizeof(*s->slots);
}

/* Puts slots into a table of cap, all or those of this segment. False: out of memory. */
static bool rebuild(struct tapir_stack_store *s, size_t cap, bool only_now)
{
	struct tapir_stack_slot *slots = calloc(cap, sizeof(*slots));

	if (!slots)
		return false;
	s->cnt = 0;
	for (size_t i = 0; i < s->cap; i++) {
		size_t at = s->slots[i].tag & (cap - 1);

		if (!s->slots[i].position || (only_now && !s->slots[i].is_now))
			continue;
		while (slots[at].position)
			at = (at + 1) & (cap - 1);
		slots[at] = s->slots[i];
		slots[at].is_now &= !only_now;
		s->cnt++;
	}
	free(s->slots);
	s->slots = slots;
	s->cap = cap;
	return true;
}

static int grow_store(struct tapir_stack_store *s)
{
	if ((s->cnt + 1) * 2 <= s->cap)
		return 0;
	return s->cap < MAX_CAP && rebuild(s, s->cap ? s->cap * 2 : MIN_CAP, false) ? 0 : -ENOMEM;
}

/* Makes a block with the number of one that was freed, or the next. */
static int add_block(struct tapir_stack_store *s)
{
	size_t at = 0;

	while (at < s->blocks.cnt && s->blocks.data[at].words)
		at++;
	if (at == MAX_BLOCKS || (at == s->blocks.cnt && !tapir_vec__add(&s->blocks)))
		return -ENOMEM;
	s->blocks.data[at] = (struct tapir_stack_block){.words = malloc(BLOCK_BYTES)};
	if (!s->blocks.data[at].words)
		return -ENOMEM;
	s->block_cnt++;
	s->at = at;
	s->used = 0;
	return 0;
}

/* Copies a record behind the last one. *place: where. */
static int append_stack(struct tapir_stack_store *s, const struct tapir_rec_stack *rec,
			uint32_t *position)
{
	uint32_t words = rec->h.size / 8;
	int err = !s->block_cnt || words > BLOCK_WORDS - s->used ? add_block(s) : 0;

	if (err)
		return err;
	memcpy(s->blocks.data[s->at].words + s->used, rec, rec->h.size);
	*position = (uint32_t)s->at * BLOCK_WORDS + s->used + 1;
	s->used += words;
	return 0;
}

static void note_now(struct tapir_stack_store *s, struct tapir_stack_slot *slot, uint32_t bytes)
{
	slot->is_now = true;
	s->blocks.data[block_of(slot->position)].now_words += bytes / 8;
}

int tapir_stack_store__put(struct tapir_stack_store *s, const struct tapir_rec_stack *rec)
{
	struct tapir_stack_slot *slot;
	uint32_t position;
	int err = grow_store(s);

	if (!err)
		err = append_stack(s, rec, &position);
	count_bytes(s);
	if (err)
		return err;
	slot = find_stack_slot(s, rec->stack_id);
	s->cnt += !slot->position;
	if (slot->is_now)
		s->blocks.data[block_of(slot->position)].now_words -=
			record_at(s, slot->position)->h.size / 8;
	slot->position = position;
	slot->tag = tag_of(rec->stack_id);
	note_now(s, slot, rec->h.size);
	return 0;
}

void tapir_stack_store__keep(struct tapir_stack_store *s, uint64_t id)
{
	struct tapir_stack_slot *slot = s->cap ? find_stack_slot(s, id) : NULL;

	if (slot && slot->position && !slot->is_now)
		note_now(s, slot, record_at(s, slot->position)->h.size);
}

/* Blocks are sparse of which a quarter or more is not remembered. */
static void find_sparse(struct tapir_stack_store *s)
{
	for (size_t i = 0; i < s->blocks.cnt; i++) {
		struct tapir_stack_block *block = &s->blocks.data[i];

		block->is_sparse =
			block->words && i != s->at && block->now_words < BLOCK_WORDS / 4 * 3;
	}
}

/* Moves what sparse blocks still have. Without memory the rest stays where it is. */
static void move_records(struct tapir_stack_store *s)
{
	for (size_t i = 0; i < s->cap; i++) {
		struct tapir_stack_slot *slot = &s->slots[i];
		size_t block = slot->position ? block_of(slot->position) : 0;
		const struct tapir_rec_stack *rec;

		if (!slot->position || !s->blocks.data[block].is_sparse)
			continue;
		rec = record_at(s, slot->position);
		if (append_stack(s, rec, &slot->position))
			return;
		s->blocks.data[block].now_words -= rec->h.size / 8;
		s->blocks.data[block_of(slot->position)].now_words += rec->h.size / 8;
	}
}

/* Notes that nothing is in this segment yet. */
static void forget_now(struct tapir_stack_store *s)
{
	struct tapir_stack_block *block;

	for (size_t i = 0; i < s->cap; i++)
		s->slots[i].is_now = false;
	tapir_vec_for_each (block, &s->blocks)
		block->now_words = 0;
}

static void free_empty(struct tapir_stack_store *s)
{
	struct tapir_stack_block *block;

	tapir_vec_for_each (block, &s->blocks) {
		if (block->is_sparse && !block->now_words) {
			free(block->words);
			block->words = NULL;
			s->block_cnt--;
		}
		block->is_sparse = false;
		block->now_words = 0;
	}
}

/* The size of a table for what is in this segment, which may need as much room soon. */
static size_t cap_for_now(const struct tapir_stack_store *s)
{
	size_t cnt = 0, cap = s->cap;

	for (size_t i = 0; i < s->cap; i++)
		cnt += s->slots[i].is_now;
	while (cap > MIN_CAP && cnt * 8 < cap)
		cap /= 2;
	return cap;
}

void tapir_stack_store__next_generation(struct tapir_stack_store *s)
{
	if (!s->cap)
		return;
	/* Without memory for the table, all is kept for one more segment. */
	if (rebuild(s, cap_for_now(s), true)) {
		find_sparse(s);
		move_records(s);
		free_empty(s);
	} else {
		forget_now(s);
	}
	count_bytes(s);
}

void tapir_stack_store__fini(struct tapir_stack_store *s)
{
	struct tapir_stack_block *block;

	tapir_vec_for_each (block, &s->blocks)
		free(block->words);
	tapir_vec__fini(&s->blocks);
	free(s->slots);
	*s = (struct tapir_stack_store){};
}
