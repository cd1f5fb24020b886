/* SPDX-License-Identifier: MIT */
/*
 * listener_buffer.h - a buffer that any number of threads write and one reads.
 *
 * Positions count bytes since the beginning. A writer takes its place by compare-and-exchange of
 * `head`, fills the record, whose time is taken after its place, and stores `commit` last. The
 * reader takes records in the order of their places, clears what it has read (a place that was
 * taken and not yet filled has commit 0) and then moves `tail`. An event in a signal handler takes
 * the next place.
 */
#ifndef TAPIR_LISTENER_BUFFER_H
#define TAPIR_LISTENER_BUFFER_H

#include "../provider/provider_impl.h"

#define LISTENER_SHARDS	  16u
#define LISTENER_LINE	  64u
#define LISTENER_ROWS	  16384u /* of losses, by kind; the last is for all others */

#define LISTENER_SKIP	  1u /* commit: nothing but the end of the buffer */
#define LISTENER_EVENT	  2u

#define LISTENER_ACTIVITY (1u << 0)
#define LISTENER_RELATED  (1u << 1)

struct listener_record {
	uint32_t commit; /* release; 0: not filled yet */
	uint32_t size;	 /* of all of it, a multiple of 8 */
	uint64_t time_ns;
	const struct tapir_event_kind *kind;
	uint32_t tid;
	uint32_t payload_bytes;
	uint32_t ids; /* LISTENER_ACTIVITY, LISTENER_RELATED: 16 bytes each before the payload */
	uint32_t pad0;
};

struct listener_shard {
	uint64_t head;
	uint8_t pad0[LISTENER_LINE - sizeof(uint64_t)];
	uint64_t tail;
	uint8_t pad1[LISTENER_LINE - sizeof(uint64_t)];
};

struct listener_buffers {
	struct listener_shard shards[LISTENER_SHARDS];
	uint64_t lost[LISTENER_ROWS];
	uint32_t cap_bytes; /* of each, a power of two */
	uint32_t pad0[15];
	/* then LISTENER_SHARDS x cap_bytes */
};

#pragma GCC visibility push(hidden)

/* NULL: no memory. Pages are used as they are written. */
struct listener_buffers *listener_buffers__new(uint32_t cap_bytes);
/* Frees the shards; no thread may fire into them any longer. */
void listener_buffers__free(struct listener_buffers *b);

extern const struct provider_session_ops listener_ops; /* ctx: struct listener_buffers */

/*
 * The next record of a shard before `until`, or NULL: there is none, or it is not filled yet
 * (*waits). take: it was copied.
 */
const struct listener_record *listener_buffers__next(struct listener_buffers *b, uint32_t shard,
						     uint64_t until, int *waits);
/* Clears a record that was copied and frees its room. Reader's thread. */
void listener_buffers__take(struct listener_buffers *b, uint32_t shard,
			    const struct listener_record *record);
/* Returns how far a shard is reserved: what is before it will be filled. */
uint64_t listener_buffers__head(const struct listener_buffers *b, uint32_t shard);

#pragma GCC visibility pop

#endif
