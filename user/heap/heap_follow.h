/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * heap_follow.h - where sampled objects of a .NET process are, through the collections that move
 * them, and which of them are gone.
 *
 * With the keyword GCHeapSurvivalAndMovement a collection reports, between its GCStart (1) and its
 * GCEnd (2), the ranges of memory that stay (21) and those that move, from where to where (22): of
 * the generations that it collects alone. GCGenerationRange (23) says which memory is of which
 * generation, before it and after it. So an object in a generation that is collected and in none of
 * the ranges is gone. Where the generation is not known, an object counts as alive until it must
 * have been reported: all are by a collection of generation 2 that blocks. A background collection
 * moves nothing; it reports what it keeps of what was old when it began.
 *
 * Payloads are hostile input: they are bounded and checked, and each step is counted. One thread.
 */
#ifndef TAPIR_USER_HEAP_FOLLOW_H
#define TAPIR_USER_HEAP_FOLLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

#define TAPIR_HEAP_MAX_SAMPLES (1u << 20) /* that are alive at a time */

enum tapir_heap_follow_event {
	TAPIR_HEAP_SURVIVED = 21,
	TAPIR_HEAP_MOVED = 22,
	TAPIR_HEAP_GENERATION = 23,
};

struct tapir_heap_sample {
	uint64_t va, type_id;
	uint64_t bytes; /* of all that it stands for */
	uint32_t node;	/* the stack that made it */
	bool is_small;	/* not of the large or the pinned object heap */
	/* for this file */
	uint8_t generation;
	bool is_listed, is_covered; /* by the collection that is open */
	bool is_old, is_kept;	    /* when the background one began; by it */
	uint64_t new_va;
	uint32_t number;
};

struct tapir_heap_follow {
	struct tapir_vec(struct tapir_heap_sample) samples; /* not known to be gone */
	uint64_t taken_cnt, taken_bytes;		    /* of all that were added */
	uint64_t malformed_cnt;
	bool is_full; /* samples or ranges had no room: what is left is not all */
	/* for this file */
	bool is_sorted, is_collecting, has_ranges;
	uint32_t gc_number, gc_generation;
	bool is_in_background, has_background_ranges;
	uint32_t background_number;
	uint64_t steps;
};

/* An object at its allocation. */
void tapir_heap_follow__add(struct tapir_heap_follow *f, const struct tapir_heap_sample *sample);
/* Takes an event of the runtime, in their order; ids that say nothing of this are ignored. */
void tapir_heap_follow__event(struct tapir_heap_follow *f, uint16_t id, const void *payload,
			      size_t len);
void tapir_heap_follow__fini(struct tapir_heap_follow *f);

#endif
