/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * heap_graph.h - the objects of a heap, what they refer to and what holds them, in flat arrays: 28
 * bytes an object and 4 a reference once it is sealed.
 *
 * What is added may come from a hostile process or file: nothing is assumed of addresses, counts or
 * references, and all sizes are bounded. One thread at a time.
 */
#ifndef TAPIR_USER_HEAP_GRAPH_H
#define TAPIR_USER_HEAP_GRAPH_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/keyed.h"
#include "base/vec.h"

#define TAPIR_HEAP_MAX_OBJECTS (1u << 26)
#define TAPIR_HEAP_MAX_EDGES   (1u << 28)
#define TAPIR_HEAP_MAX_TYPES   (1u << 20)
#define TAPIR_HEAP_NO_OBJECT   UINT32_MAX

/* In the order in which a path to a root prefers them: the first says most. */
enum tapir_heap_root_kind {
	TAPIR_HEAP_ROOT_STATIC, /* a static field, with its name */
	TAPIR_HEAP_ROOT_HANDLE,
	TAPIR_HEAP_ROOT_PINNED, /* a pinned handle */
	TAPIR_HEAP_ROOT_STACK,
	TAPIR_HEAP_ROOT_FINALIZER,
	TAPIR_HEAP_ROOT_OTHER,
	TAPIR_HEAP_ROOT_CNT
};

struct tapir_heap_type {
	const char *name; /* the graph's; NULL: not known */
	uint64_t id;
};

struct tapir_heap_root {
	uint64_t object_va;
	uint32_t object;  /* sealed: its index, or TAPIR_HEAP_NO_OBJECT */
	uint8_t kind;	  /* enum tapir_heap_root_kind */
	const char *name; /* of a static field, the graph's; NULL: none */
};

/* Value lives as long as key does (dependent handles). */
struct tapir_heap_dependent {
	uint64_t key_va, value_va;
};

struct tapir_heap_graph {
	struct tapir_vec(uint64_t) va;	  /* by object; sealed: ascending */
	struct tapir_vec(uint64_t) bytes; /* by object, as type and edge_cnt */
	struct tapir_vec(uint32_t) type;  /* idx in types */
	struct tapir_vec(uint32_t) edge_cnt;
	struct tapir_vec(uint64_t) edge_va; /* of all objects, one after the other; freed by seal */
	uint64_t *first_edge;		    /* sealed: by object, cnt + 1 of them */
	uint32_t *edges;		    /* sealed: objects */
	struct tapir_vec(struct tapir_heap_root) roots;
	struct tapir_vec(struct tapir_heap_dependent) dependents;
	struct tapir_keyed(struct tapir_heap_type) types; /* by id */
	struct tapir_arena names;
	uint64_t edges_left; /* references to what is no object: of a hostile or incomplete one */
	bool is_full;	     /* a limit was reached: what came then is missing */
};

/* Adds an object. false: no memory, or a limit is reached. */
bool tapir_heap_graph__add_object(struct tapir_heap_graph *g, uint64_t va, uint64_t bytes,
				  uint64_t type_id, uint64_t edge_cnt);
bool tapir_heap_graph__add_edge(struct tapir_heap_graph *g, uint64_t va);
bool tapir_heap_graph__add_root(struct tapir_heap_graph *g, uint64_t va,
				enum tapir_heap_root_kind kind, const char *name);

/*
 * Returns the index of the type of that id, which is added if it is new; TAPIR_HEAP_NO_OBJECT: no
 * room.
 */
uint32_t tapir_heap_graph__type(struct tapir_heap_graph *g, uint64_t id);

/* Forgets objects, references and roots, not types. */
void tapir_heap_graph__clear(struct tapir_heap_graph *g);

/*
 * Sorts objects by address and resolves references, when all was added. An address that occurs
 * twice is one object (the first). 0 or -ENOMEM.
 */
int tapir_heap_graph__seal(struct tapir_heap_graph *g);
/* Returns, of a sealed graph, the object that begins at this address, or TAPIR_HEAP_NO_OBJECT. */
uint32_t tapir_heap_graph__find(const struct tapir_heap_graph *g, uint64_t va);

/* Frees the graph. */
void tapir_heap_graph__fini(struct tapir_heap_graph *g);

#endif
