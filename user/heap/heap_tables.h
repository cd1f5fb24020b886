/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * heap_tables.h - snapshots as sentences and tables, for output/render/view_result_print.h. One
 * thread.
 */
#ifndef TAPIR_USER_HEAP_TABLES_H
#define TAPIR_USER_HEAP_TABLES_H

#include "analyze/view_result.h"
#include "heap/heap_allocations.h"
#include "heap/heap_live.h"
#include "heap/heap_snapshot.h"

struct tapir_heap_tables_opts {
	uint64_t top;					  /* rows */
	const char *glob;				  /* only types of such a name; NULL: all */
	const struct tapir_heap_allocations *allocations; /* between two snapshots; NULL: none */
	const struct tapir_heap_live *live; /* sampled between them and alive; NULL: none */
	const char *induced; /* what taking the snapshot did to the process; NULL: it is a file's */
};

/* out: empty but for view. -ENOMEM. */
int tapir_heap_tables__one(const struct tapir_heap_snapshot *s,
			   const struct tapir_heap_tables_opts *opts,
			   struct tapir_view_result *out);

/* Writes the growth from before to after. */
int tapir_heap_tables__growth(const struct tapir_heap_snapshot *before,
			      const struct tapir_heap_snapshot *after,
			      const struct tapir_heap_tables_opts *opts,
			      struct tapir_view_result *out);

#endif
