/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * folded_tree.h - a tree of stacks in which each run of frames (frame_runs.h) is one node: what a
 * picture or a page draws. Runs of different lengths that do the same are one. One thread.
 */
#ifndef TAPIR_USER_FOLDED_TREE_H
#define TAPIR_USER_FOLDED_TREE_H

#include "analyze/stack_tree.h"

struct tapir_folded_tree {
	struct tapir_stack_tree tree;
	/* for the tree alone */
	struct tapir_map by_node; /* of the other tree, without a purpose */
	struct tapir_vec(uint32_t) runs;
};

/*
 * The node here of the stack that ends at a node of another tree, always the same one. purpose:
 * what its thread was doing in a runtime, if its functions do not say it; NULL: not known.
 * TAPIR_STACK_TREE_ROOT when out of memory.
 */
uint32_t tapir_folded_tree__node(struct tapir_folded_tree *folded,
				 const struct tapir_stack_tree *other, uint32_t node,
				 const char *purpose);
/* Adds all counts (self) of the other tree. */
void tapir_folded_tree__add(struct tapir_folded_tree *folded, const struct tapir_stack_tree *other);
void tapir_folded_tree__fini(struct tapir_folded_tree *folded);

#endif
