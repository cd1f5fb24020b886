/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * node_facts.h - what the stack of a sample implies for each kind of finding, found once per node
 * of the tree: of ten million samples most are of a stack that was there before, and cost one
 * look-up. Nodes and their names never change, so nothing goes stale. One thread.
 */
#ifndef TAPIR_USER_NODE_FACTS_H
#define TAPIR_USER_NODE_FACTS_H

#include "base/vec.h"
#include "diagnose/loop_stack.h"

struct tapir_diagnosis;
struct tapir_lore_activity;

/* Members that each sample reads come first, so that they are in one line of memory. */
struct tapir_node_facts {
	uint64_t sample_cnt; /* samples at it that are not in the sums by function yet */
	const struct tapir_lore_activity *activity; /* NULL: none is known */
	uint32_t node;
	uint8_t work;	  /* enum tapir_work, of a thread whose name does not identify it */
	uint8_t gil_side; /* enum tapir_gil_place */
	bool is_outside_loops;
	bool is_in_timer;
	uint32_t thrown;   /* node of the outermost function of throwing; 0: none */
	uint32_t function; /* the program's own, or TAPIR_APP_CODE_NONE */
	uint32_t marks;	   /* of the names of all functions on the stack */
	struct tapir_loop_stack stack;
};

struct tapir_nodes_facts {
	struct tapir_vec(uint32_t) by_node; /* idx + 1 of its row; 0: it has none */
	struct tapir_vec(struct tapir_node_facts) rows;
	uint32_t expected;	       /* the last one */
	struct tapir_node_facts spare; /* where there is no memory for another row */
};

/*
 * Returns what is known of a node, which may be TAPIR_NO_NODE; never NULL: without memory it is
 * worked out for this call alone. Borrowed until the next call.
 */
struct tapir_node_facts *tapir_node_facts__of(struct tapir_diagnosis *f, uint32_t node);
/* Prefetches what asking for these nodes, one after the other, will take. */
void tapir_node_facts__expect(struct tapir_diagnosis *f, uint32_t node);
void tapir_node_facts__fini(struct tapir_diagnosis *f);

#endif
