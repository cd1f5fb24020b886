/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * allocators.h - which method of the program allocates most: bytes by the innermost managed
 * function of an allocation's stack that is not the framework's own. Asks for the stacks of these
 * events alone, so that it adds little to the cost of a summary. Bounded. One thread.
 */
#ifndef TAPIR_USER_ALLOCATORS_H
#define TAPIR_USER_ALLOCATORS_H

#include "analyze/app_code.h"
#include "analyze/timeline.h"

#define TAPIR_ALLOCATORS_MAX 65536u /* methods; what more there are weighs in the sum alone */

struct tapir_allocators {
	uint64_t bytes;	     /* of all, also of those without a stack */
	uint64_t best_bytes; /* of the method that has most */
	uint32_t best_name;  /* idx in the timeline's stacks' names */
	/* for the allocators alone */
	uint8_t kind; /* of event that was seen first: others say the same once more */
	struct tapir_map by_probe, by_name;
	struct tapir_app_code app_code;
};

/* Counts an event if it reports an allocation. */
void tapir_allocators__add(struct tapir_allocators *a, struct tapir_timeline *tl,
			   const struct tapir_tl_thread *thread,
			   const struct tapir_probe_view *probe,
			   const struct tapir_event_view *event);
/* Returns "Foo.Bar(int)", borrowed from the timeline; NULL: no stack of an allocation was seen. */
const char *tapir_allocators__top(const struct tapir_allocators *a, struct tapir_timeline *tl);
/*
 * Returns the bytes that a sampled object represents: the inverse of the chance that one of its
 * size is sampled.
 */
uint64_t tapir_allocation_sample__bytes(uint64_t object_bytes);
/* Frees the counts. */
void tapir_allocators__fini(struct tapir_allocators *a);

#endif
