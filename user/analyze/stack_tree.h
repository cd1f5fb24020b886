/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stack_tree.h - stacks folded into a tree of calls, outermost function at the root: what a
 * flame graph draws.
 *
 * Names come from files and other processes: nodes and names are bounded, what is beyond is
 * counted in `dropped`. One thread.
 */
#ifndef TAPIR_USER_STACK_TREE_H
#define TAPIR_USER_STACK_TREE_H

#include "base/map.h"
#include "base/vec.h"
#include "trace/catalog.h"
#include "trace/record.h"

#define TAPIR_STACK_TREE_MAX_NODES 100000
#define TAPIR_STACK_TREE_MAX_NAME  512 /* bytes; longer ones are cut */
#define TAPIR_STACK_TREE_ROOT	   0

struct tapir_tree_node {
	uint32_t name;			    /* idx in names */
	uint32_t first_child, next_sibling; /* 0: none; the root is nobody's child */
	uint32_t depth;
	uint64_t total, self;
};

struct tapir_stack_tree {
	struct tapir_vec(
		struct tapir_tree_node) nodes; /* [0]: the root, once something was added */
	struct tapir_vec(char *) names;
	uint64_t dropped;		    /* frames that found no room */
	uint32_t max_depth;		    /* of any node */
	bool failed;			    /* out of memory: the tree is not complete */
	struct tapir_map by_child, by_name; /* for the tree alone */
};

/*
 * Adds weight for one stack: its user frames, and on top of them its kernel's. Either id may
 * be 0. Returns false when neither is described.
 */
bool tapir_stack_tree__add(struct tapir_stack_tree *tree, const struct tapir_catalog *catalog,
			   uint32_t tgid, uint64_t time_ns, uint64_t stack_id, uint64_t kstack_id,
			   uint64_t weight);
/* The stack of a SAMPLE or EVENT; false for any other record. */
bool tapir_stack_tree__add_record(struct tapir_stack_tree *tree,
				  const struct tapir_catalog *catalog, const struct tapir_rec *rec);
/* Children by name, so that two recordings of one program look alike. */
void tapir_stack_tree__sort(struct tapir_stack_tree *tree);
void tapir_stack_tree__fini(struct tapir_stack_tree *tree);

#endif
