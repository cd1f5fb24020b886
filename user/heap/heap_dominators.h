/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * heap_dominators.h - what would be freed if an object were: its retained bytes, by the dominator
 * tree of the heap (Lengauer and Tarjan, "A Fast Algorithm for Finding Dominators in a Flowgraph",
 * 1979, the simple variant; no recursion, 40 bytes an object while it runs). Any thread, while the
 * graph is sealed.
 */
#ifndef TAPIR_USER_HEAP_DOMINATORS_H
#define TAPIR_USER_HEAP_DOMINATORS_H

#include "heap/heap_graph.h"

struct tapir_heap_retained {
	uint64_t *by_type; /* bytes that the objects of a type hold together, each counted once */
	uint64_t reachable_cnt, reachable_bytes; /* from the roots */
};

/* Computes the sizes for a sealed graph. 0 or -ENOMEM; then nothing is in out. */
int tapir_heap_retained__init(struct tapir_heap_retained *out, const struct tapir_heap_graph *g);
void tapir_heap_retained__fini(struct tapir_heap_retained *r);

#endif
