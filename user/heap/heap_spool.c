// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Entries in blocks that are mappings of their own, so that each is the system's again as soon as
 * it was read: the spool and the graph that is made of it are not both in memory.
 */
#include "heap/heap_spool.h"

#include <string.h>
#include <sys/mman.h>

struct tapir_heap_spool_block {
	struct tapir_heap_spool_block *newer;
	size_t used;
	uint8_t data[TAPIR_HEAP_SPOOL_BLOCK_BYTES - 2 * sizeof(void *)];
};

struct entry {
	uint64_t time_ns;
	uint32_t len;
	uint16_t id;
	uint16_t pad;
};

static size_t entry_bytes(size_t len)
{
	return sizeof(struct entry) + ((len + 7) & ~(size_t)7);
}

/* NULL: out of memory. */
static struct tapir_heap_spool_block *new_block(void)
{
	void *block = mmap(NULL, sizeof(struct tapir_heap_spool_block), PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return block == MAP_FAILED ? NULL : block;
}

static void read_block(const struct tapir_heap_spool_block *block, struct tapir_heap_events *e)
{
	for (size_t at = 0; at < block->used;) {
		const struct entry *entry = (const void *)(block->data + at);

		tapir_heap_events__add(e, entry->id, entry->time_ns, entry + 1, entry->len);
		at += entry_bytes(entry->len);
	}
}

/* The oldest, which is read if e is given. */
static void drop_oldest(struct tapir_heap_spool *s, struct tapir_heap_events *e)
{
	struct tapir_heap_spool_block *block = s->oldest;

	if (e)
		read_block(block, e);
	s->oldest = block->newer;
	if (!s->oldest)
		s->newest = NULL;
	s->cnt--;
	munmap(block, sizeof(*block));
}

/* One with room for so much; NULL: out of memory. */
static struct tapir_heap_spool_block *room_for(struct tapir_heap_spool *s,
					       struct tapir_heap_events *e, size_t bytes)
{
	struct tapir_heap_spool_block *block = s->newest;

	if (block && sizeof(block->data) - block->used >= bytes)
		return block;
	if (s->cnt >= (s->max_cnt ? s->max_cnt : TAPIR_HEAP_SPOOL_BLOCKS))
		drop_oldest(s, e);
	block = new_block();
	if (!block)
		return NULL;
	if (s->newest)
		s->newest->newer = block;
	else
		s->oldest = block;
	s->newest = block;
	s->cnt++;
	return block;
}

void tapir_heap_spool__add(struct tapir_heap_spool *s, struct tapir_heap_events *e, uint16_t id,
			   uint64_t time_ns, const void *payload, size_t len)
{
	struct tapir_heap_spool_block *block = NULL;
	struct entry entry = {.time_ns = time_ns, .len = (uint32_t)len, .id = id};

	if (entry_bytes(len) <= sizeof(block->data))
		block = room_for(s, e, entry_bytes(len));
	if (!block) {
		tapir_heap_spool__empty(s, e);
		tapir_heap_events__add(e, id, time_ns, payload, len);
		return;
	}
	memcpy(block->data + block->used, &entry, sizeof(entry));
	memcpy(block->data + block->used + sizeof(entry), payload, len);
	block->used += entry_bytes(len);
}

void tapir_heap_spool__empty(struct tapir_heap_spool *s, struct tapir_heap_events *e)
{
	while (s->oldest)
		drop_oldest(s, e);
}

void tapir_heap_spool__fini(struct tapir_heap_spool *s)
{
	tapir_heap_spool__empty(s, NULL);
}
