/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * heap_allocations.h - who allocates what a .NET process keeps: a recording of its allocations (the
 * runtime's samples or ticks, with stacks) and of what collections move, which ends with a snapshot
 * of the heap. So the allocations are known by type, and of each sampled object whether it is alive
 * and where.
 *
 * Privileges: as for any recording. One thread.
 */
#ifndef TAPIR_USER_HEAP_ALLOCATIONS_H
#define TAPIR_USER_HEAP_ALLOCATIONS_H

#include "analyze/event_counts.h"
#include "heap/heap_follow.h"
#include "heap/heap_record.h"
#include "heap/heap_snapshot.h"
#include "trace/reader.h"

struct tapir_heap_allocations {
	int fd;			     /* of the recording, in memory */
	struct tapir_reader *reader; /* NULL: there is none */
	struct tapir_timeline *tl;
	struct tapir_pairs pairs;
	struct tapir_event_counts ticks, samples;
	struct tapir_heap_follow follow;
	bool follows_samples; /* ticks say the same once more */
	uint64_t end_ns;   /* of the snapshot: what came later is not followed; 0: there is none */
	uint64_t lost_cnt; /* records: addresses may be wrong */
};

#define TAPIR_HEAP_NO_ALLOCATIONS                                                                  \
	(struct tapir_heap_allocations)                                                            \
	{                                                                                          \
		.fd = -1                                                                           \
	}

/*
 * opts: without a file. Blocks for opts->follow_ns and the collection after it. snapshot: zeros,
 * for
 * __fini in any case; it has no rows when Ctrl-C came before the collection. -errno with lines.
 * __fini in any case.
 */
int tapir_heap_allocations__record(struct tapir_heap_allocations *a,
				   const struct tapir_heap_record_opts *opts,
				   struct tapir_heap_snapshot *snapshot);
/*
 * Returns the allocations of objects of this type, as heap_events.h writes names; NULL: none was
 * seen.
 */
const struct tapir_event_counts_row *
tapir_heap_allocations__of(const struct tapir_heap_allocations *a, const char *type);
void tapir_heap_allocations__fini(struct tapir_heap_allocations *a);

#endif
