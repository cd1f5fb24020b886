/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * heap_spool.h - events of a snapshot, kept as they came until the process runs again: all its
 * threads wait while its objects are listed, and copying them is several times as fast as reading.
 * Bounded: what does not fit makes room by reading the oldest.
 */
#ifndef TAPIR_USER_HEAP_SPOOL_H
#define TAPIR_USER_HEAP_SPOOL_H

#include "heap/heap_events.h"

#define TAPIR_HEAP_SPOOL_BLOCK_BYTES (4u << 20)
#define TAPIR_HEAP_SPOOL_BLOCKS	     192u /* 768 MB: 18 million objects */

struct tapir_heap_spool { /* zeroed at first */
	struct tapir_heap_spool_block *oldest, *newest;
	size_t cnt, max_cnt; /* 0: TAPIR_HEAP_SPOOL_BLOCKS */
};

/* The event comes to e, now or when the spool is emptied, after those before it. */
void tapir_heap_spool__add(struct tapir_heap_spool *s, struct tapir_heap_events *e, uint16_t id,
			   uint64_t time_ns, const void *payload, size_t len);
/* Passes all entries on to e, oldest first, and frees them. */
void tapir_heap_spool__empty(struct tapir_heap_spool *s, struct tapir_heap_events *e);
void tapir_heap_spool__fini(struct tapir_heap_spool *s);

#endif
