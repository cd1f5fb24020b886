/* SPDX-License-Identifier: MIT */
/*
 * listener_buffer.c - the two halves of the buffer that listener_buffer.h describes: the firing
 * thread's, which takes a place, fills it and commits, and the reader's. Threads are spread over
 * shards, so that those which fire at once seldom want the same head.
 */
#include <sys/mman.h>

#include "listener_buffer.h"

#define ID_BYTES 16u

static uint64_t bytes_of(uint32_t cap_bytes)
{
	return sizeof(struct listener_buffers) + (uint64_t)LISTENER_SHARDS * cap_bytes;
}

struct listener_buffers *listener_buffers__new(uint32_t cap_bytes)
{
	struct listener_buffers *b = mmap(NULL, bytes_of(cap_bytes), PROT_READ | PROT_WRITE,
					  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (b == MAP_FAILED)
		return NULL;
	b->cap_bytes = cap_bytes;
	return b;
}

void listener_buffers__free(struct listener_buffers *b)
{
	if (b)
		munmap(b, bytes_of(b->cap_bytes));
}

static uint8_t *bytes_at(const struct listener_buffers *b, uint32_t shard, uint64_t pos)
{
	return (uint8_t *)(uintptr_t)(b + 1) + (uint64_t)shard * b->cap_bytes +
	       (pos & (b->cap_bytes - 1));
}

/* ---- firing ------------------------------------------------------------------------------- */

static int lose(struct listener_buffers *b, const struct tapir_event_kind *kind)
{
	uint32_t row = kind->idx < LISTENER_ROWS ? kind->idx : LISTENER_ROWS - 1;

	__atomic_fetch_add(&b->lost[row], 1, __ATOMIC_RELAXED);
	return 0;
}

/* Reserves room: its position, or UINT64_MAX. *skip: bytes before it that are left out. */
static uint64_t reserve_room(struct listener_buffers *b, struct listener_shard *shard,
			     uint32_t need, uint32_t *skip)
{
	uint64_t head = prov_load(&shard->head), whole;

	do {
		uint64_t off = head & (b->cap_bytes - 1);

		*skip = off + need > b->cap_bytes ? (uint32_t)(b->cap_bytes - off) : 0;
		whole = *skip + need;
		if (head + whole - prov_load_acquire(&shard->tail) > b->cap_bytes)
			return UINT64_MAX;
	} while (!__atomic_compare_exchange_n(&shard->head, &head, head + whole, 1,
					      __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
	return head;
}

static uint8_t *put_id(uint8_t *at, const uint8_t *id)
{
	if (!id)
		return at;
	memcpy(at, id, ID_BYTES);
	return at + ID_BYTES;
}

static int reserve(void *ctx, struct session_write *write)
{
	struct listener_buffers *b = ctx;
	uint32_t shard = provider_shard(), skip, need;
	uint32_t ids = (write->activity ? ID_BYTES : 0) + (write->related ? ID_BYTES : 0);
	struct listener_record *record;
	uint64_t pos;

	if (write->bytes > TAPIR_PAYLOAD_BYTES)
		return lose(b, write->kind);
	need = (uint32_t)(sizeof(*record) + ids + write->bytes + 7) & ~7u;
	if (need > b->cap_bytes / 2)
		return lose(b, write->kind);
	pos = reserve_room(b, &b->shards[shard], need, &skip);
	if (pos == UINT64_MAX)
		return lose(b, write->kind);
	if (skip) {
		record = (struct listener_record *)(void *)bytes_at(b, shard, pos);
		record->size = skip; /* 8 bytes fit always */
		order_release(&record->commit);
		prov_store_release(&record->commit, LISTENER_SKIP);
		pos += skip;
	}
	order_acquire(&b->shards[shard].tail);
	record = (struct listener_record *)(void *)bytes_at(b, shard, pos);
	record->size = need;
	record->kind = write->kind;
	record->tid = provider_tid();
	record->payload_bytes = write->bytes;
	record->ids =
		(write->activity ? LISTENER_ACTIVITY : 0) | (write->related ? LISTENER_RELATED : 0);
	write->token = record;
	write->payload = put_id(put_id((uint8_t *)(record + 1), write->activity), write->related);
	return 1;
}

static void commit(void *ctx, struct session_write *write)
{
	struct listener_record *record = write->token;

	(void)ctx;
	record->time_ns = write->time_ns;
	order_release(&record->commit);
	prov_store_release(&record->commit, LISTENER_EVENT);
}

const struct provider_session_ops listener_ops = {.reserve = reserve, .commit = commit};

/* ---- reading ------------------------------------------------------------------------------ */

uint64_t listener_buffers__head(const struct listener_buffers *b, uint32_t shard)
{
	return __atomic_load_n(&b->shards[shard].head, __ATOMIC_SEQ_CST);
}

void listener_buffers__take(struct listener_buffers *b, uint32_t shard,
			    const struct listener_record *record)
{
	uint32_t size = record->size;

	memset((void *)(uintptr_t)record, 0, size);
	order_release(&b->shards[shard].tail);
	prov_store_release(&b->shards[shard].tail, b->shards[shard].tail + size);
}

const struct listener_record *listener_buffers__next(struct listener_buffers *b, uint32_t shard,
						     uint64_t until, int *waits)
{
	struct listener_shard *s = &b->shards[shard];

	while (s->tail < until) {
		const struct listener_record *record =
			(const struct listener_record *)(void *)bytes_at(b, shard, s->tail);
		uint32_t state = prov_load_acquire(&record->commit);

		*waits = !state;
		order_acquire(&record->commit);
		if (state != LISTENER_SKIP)
			return state ? record : NULL;
		listener_buffers__take(b, shard, record);
	}
	*waits = 0;
	return NULL;
}
