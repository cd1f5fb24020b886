/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * heap_allocations.h - who allocates what grows: a recording of the allocations of a process (the
 * runtime's samples or ticks, with stacks) between two snapshots, by type.
 *
 * Privileges: as for any recording. One thread.
 */
#ifndef TAPIR_USER_HEAP_ALLOCATIONS_H
#define TAPIR_USER_HEAP_ALLOCATIONS_H

#include "analyze/tally.h"
#include "trace/reader.h"

struct tapir_heap_allocations {
	int fd;			     /* of the recording, in memory */
	struct tapir_reader *reader; /* NULL: there is none */
	struct tapir_timeline *tl;
	struct tapir_pairs pairs;
	struct tapir_tally ticks, samples;
};

#define TAPIR_HEAP_NO_ALLOCATIONS                                                                  \
	(struct tapir_heap_allocations)                                                            \
	{                                                                                          \
		.fd = -1                                                                           \
	}

/* Blocks for the duration, or until Ctrl-C. -errno with lines. __fini in any case. */
int tapir_heap_allocations__record(struct tapir_heap_allocations *a, uint32_t tgid,
				   uint64_t duration_ns);
/* The allocations of objects of this type, as heap_events.h writes names; NULL: none was seen. */
const struct tapir_tally_row *tapir_heap_allocations__of(const struct tapir_heap_allocations *a,
							 const char *type);
void tapir_heap_allocations__fini(struct tapir_heap_allocations *a);

#endif
