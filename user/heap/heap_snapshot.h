/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * heap_snapshot.h - a heap as it was at one moment: the objects by type, what they retain and what
 * holds them, read from a recording of a .NET heap (heap_record.h) or counted by a runtime
 * (heap_ops.h), which says nothing of references. One thread.
 */
#ifndef TAPIR_USER_HEAP_SNAPSHOT_H
#define TAPIR_USER_HEAP_SNAPSHOT_H

#include "heap/heap_dominators.h"
#include "heap/heap_events.h"
#include "heap/heap_paths.h"
#include "heap/heap_spool.h"
#include "base/str.h"
#include "trace/reader.h"

struct tapir_heap_row {
	const char *name; /* the snapshot's; never NULL */
	uint64_t cnt, bytes, retained_bytes;
	uint32_t path; /* in paths.steps; TAPIR_HEAP_NO_STEP: none */
};

struct tapir_heap_snapshot {
	char process[64];			      /* "Shop (4711)"; "": not known */
	struct tapir_vec(struct tapir_heap_row) rows; /* by bytes, descending; names differ */
	uint64_t cnt, bytes;
	uint64_t reachable_cnt, reachable_bytes; /* by references; of a JVM 0 */
	uint64_t gc_ns;				 /* of the collection with the walk; 0: not known */
	uint64_t end_ns;			 /* when it ended; 0: not known */
	bool has_references;			 /* retained bytes and paths */
	char incomplete[200];			 /* why; "": nothing is missing */
	struct tapir_heap_graph graph;
	struct tapir_heap_paths paths;
	struct tapir_arena names;
};

/* The records of one snapshot as they come. Zeros to begin with. */
struct tapir_heap_reading {
	struct tapir_heap_events events;
	char process[64];
	uint64_t lost_cnt; /* by the recording's own account */
	uint32_t cause;	   /* of the first of them */
	uint32_t tgid;	   /* the first process whose heap is there; others' events are left */
	bool is_spooled;   /* events are read when all are there; tgid is given */
	struct tapir_heap_spool spool;
	bool is_damaged;  /* parts of the file could not be read */
	bool is_complete; /* once it was made a snapshot */
};

/* Takes a record, as the sink of a recording (session.h). ctx: the reading. Returns 0. */
int tapir_heap_reading__add(void *ctx, const struct tapir_catalog *catalog,
			    const struct tapir_rec *rec);
/* Releases a reading that does not become a snapshot. */
void tapir_heap_reading__fini(struct tapir_heap_reading *r);
/* Takes what is in it, also on failure, which is that of __read. */
int tapir_heap_snapshot__make(struct tapir_heap_snapshot *out, struct tapir_heap_reading *r,
			      const char *path);

/*
 * Reads all records of the reader. -ENODATA, with a line: it has no heap (path is its name there);
 * -ENOMEM. out: zeros, for __fini in any case.
 */
int tapir_heap_snapshot__read(struct tapir_heap_snapshot *out, struct tapir_reader *reader,
			      const char *path);

/* Adds to the type of that name. false: no memory. */
bool tapir_heap_snapshot__add_row(struct tapir_heap_snapshot *s, const char *name, size_t len,
				  uint64_t cnt, uint64_t bytes);
/* Sorts the rows, when all were added. */
void tapir_heap_snapshot__sort(struct tapir_heap_snapshot *s);

/* Frees the rows. */
void tapir_heap_snapshot__fini(struct tapir_heap_snapshot *s);

/*
 * Appends "List<Order>[] <- Cache <- static Shop.Program.Kept": what holds a row's objects, and the
 * root.
 */
void tapir_heap_snapshot__add_path(const struct tapir_heap_snapshot *s, uint32_t step,
				   struct tapir_str *out);

#endif
