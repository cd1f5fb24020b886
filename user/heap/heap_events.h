/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * heap_events.h - the events in which a .NET runtime describes its heap (keyword GCHeapDump), as a
 * graph.
 *
 * A collection that walks the heap sends, between its GCStart and its GCEnd: BulkType (15), the
 * types; GCBulkRootStaticVar (38), GCBulkRootEdge (16) and
 * GCBulkRootConditionalWeakTableElementEdge (17), what holds objects; GCBulkNode (18), objects with
 * the number of their references; GCBulkEdge (19), all references in the objects' order. Each kind
 * but the first two is numbered, so a missing one shows. Layouts: Microsoft's manifest of the
 * runtime's events, seen with .NET 8, 9 and 10.
 *
 * The first complete collection counts: another tool's, before or after it, does not. Payloads are
 * hostile input: they are bounded and checked. One thread.
 */
#ifndef TAPIR_USER_HEAP_EVENTS_H
#define TAPIR_USER_HEAP_EVENTS_H

#include "base/str.h"
#include "heap/heap_graph.h"

#define TAPIR_HEAP_PROVIDER "Microsoft-Windows-DotNETRuntime"

enum tapir_heap_event {
	TAPIR_HEAP_GC_START = 1,
	TAPIR_HEAP_GC_END = 2,
	TAPIR_HEAP_TYPES = 15,
	TAPIR_HEAP_ROOTS = 16,
	TAPIR_HEAP_DEPENDENTS = 17,
	TAPIR_HEAP_OBJECTS = 18,
	TAPIR_HEAP_EDGES = 19,
	TAPIR_HEAP_STATICS = 38,
};

enum tapir_heap_walk { TAPIR_HEAP_BEFORE, TAPIR_HEAP_IN_GC, TAPIR_HEAP_AFTER };

struct tapir_heap_events {
	struct tapir_heap_graph graph;
	enum tapir_heap_walk walk;
	uint32_t gc_number;
	uint64_t start_ns, end_ns;		 /* of that collection */
	uint64_t promised_edges;		 /* by the objects */
	uint32_t next_idx[TAPIR_HEAP_EDGES + 1]; /* by event: the number that comes next */
	uint64_t lost_cnt;			 /* events missing among those that are numbered */
	uint64_t malformed_cnt;			 /* events whose payload is not what it should be */
};

/* An event of that provider; other ids are ignored. */
void tapir_heap_events__add(struct tapir_heap_events *e, uint16_t id, uint64_t time_ns,
			    const void *payload, size_t len);

/* Returns true if it has objects, references or roots: it is of a walk alone. */
bool tapir_heap_event__is_content(uint16_t id);

/* Returns true if every object, reference and root of the collection is there. */
bool tapir_heap_events__are_complete(const struct tapir_heap_events *e);

/* Appends Dictionary`2[System.String,System.Object] as Dictionary<System.String, System.Object>. */
void tapir_heap_type__add_name(struct tapir_str *out, const char *text);

/* Frees names and types; the graph is the caller's. */
void tapir_heap_events__fini(struct tapir_heap_events *e);

#endif
