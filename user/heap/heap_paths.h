/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * heap_paths.h - what holds the objects of a type: for every object a shortest path to a root (to
 * one on a thread's stack only where there is no other), and the paths of equal types counted
 * together. A chain of objects of one type (a linked list) is one step.
 *
 * Steps are a tree: a step's parent is what refers to it, its first one a root. Bounded: what has
 * no room is counted with the step before it. One thread; costs one pass over the references.
 */
#ifndef TAPIR_USER_HEAP_PATHS_H
#define TAPIR_USER_HEAP_PATHS_H

#include "base/keyed.h"
#include "heap/heap_graph.h"

#define TAPIR_HEAP_MAX_STEPS (1u << 20)
#define TAPIR_HEAP_NO_STEP   UINT32_MAX

struct tapir_heap_step {
	uint32_t parent; /* TAPIR_HEAP_NO_STEP: a root */
	uint32_t type;	 /* of the objects; of a root: idx in the graph's roots */
	uint32_t depth;
	bool is_truncated;   /* there are steps between it and its parent: too deep, or no room */
	uint64_t cnt, bytes; /* of objects whose shortest path ends here */
};

struct tapir_heap_paths {
	struct tapir_keyed(struct tapir_heap_step) steps; /* by parent and type */
	uint32_t *best;	     /* by type: the step with most of its bytes, or TAPIR_HEAP_NO_STEP */
	uint32_t *of_object; /* by object: its step, or TAPIR_HEAP_NO_STEP */
	uint64_t unreachable_cnt, unreachable_bytes;
};

/* Finds the paths of a sealed graph. 0 or -ENOMEM; then nothing is in out. */
int tapir_heap_paths__init(struct tapir_heap_paths *out, const struct tapir_heap_graph *g);
void tapir_heap_paths__fini(struct tapir_heap_paths *p);

/* Returns "static Shop.Program.Kept", "a handle", "a thread's stack": text, or a constant. */
const char *tapir_heap_root__text(const struct tapir_heap_root *root, char *text,
				  size_t text_bytes);

#endif
