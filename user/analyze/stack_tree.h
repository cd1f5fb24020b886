/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stack_tree.h - stacks folded into a tree of calls, outermost function at the root: what a flame
 * graph draws.
 *
 * Names come from files and other processes: nodes and names are bounded. The fuller the tree, the
 * more often a stack must occur before it gets its own nodes. Until then it is folded: its
 * outermost callers, as many as fit, "(rarer stacks)", and the function it was in. So sums stay
 * complete, functions keep their own counts, and folding is visible. One thread.
 */
#ifndef TAPIR_USER_STACK_TREE_H
#define TAPIR_USER_STACK_TREE_H

#include "base/map.h"
#include "base/vec.h"
#include "base/str.h"
#include "symbol/frame_chain.h"
#include "symbol/stack_cache.h"
#include "trace/catalog.h"
#include "trace/record.h"
#include "trace/reorder.h"

#define TAPIR_STACK_TREE_MAX_NODES (1u << 20)
#define TAPIR_STACK_TREE_MAX_NAME  512	       /* bytes; longer ones are cut */
#define TAPIR_STACK_TREE_MAX_BYTES (64u << 20) /* of all names; past it they share one */
#define TAPIR_STACK_TREE_ROOT	   0

struct tapir_tree_node {
	uint32_t name;			    /* idx in names */
	uint32_t first_child, next_sibling; /* 0: none; the root is never a child */
	uint32_t parent;
	uint16_t depth;
	uint8_t kind;		/* enum tapir_frame_kind */
	bool is_of_program : 1; /* tapir_frame__is_of_program */
	uint8_t runtime : 5;	/* of TAPIR_FRAME_RUNTIME: tapir_frame__runtime */
	uint32_t location;	/* in its source: idx in names; 0: unknown */
};

/* The sums of a node: of what was counted there, and of that with everything below. */
struct tapir_tree_sums {
	uint64_t self, total; /* total: after __sort */
};

struct tapir_tree_slot {
	uint32_t node : 20; /* 0: free */
	uint32_t tag : 12;  /* of parent and name: most others are skipped without their node */
};
TAPIR_STATIC_ASSERT(TAPIR_STACK_TREE_MAX_NODES <= 1u << 20, "a slot has each node's number");

/* The frame of a stack's process, between the root and its outermost function. */
enum tapir_process_frame {
	TAPIR_PROCESS_FRAME_NONE,
	TAPIR_PROCESS_FRAME_NAME, /* "java": one frame for all processes of this name */
	TAPIR_PROCESS_FRAME_EACH, /* "java (412)" */
};

struct tapir_stack_tree {
	enum tapir_process_frame process_frame; /* set it before adding */
	struct tapir_vec(
		struct tapir_tree_node) nodes; /* [0]: the root, once something was added */
	/* of the nodes until the last one at which something was counted: most trees count nothing
	 */
	struct tapir_vec(struct tapir_tree_sums) sums;
	struct tapir_vec(uint64_t) whole; /* a bit a node: the stack begins where a thread does */
	struct tapir_vec(char *) names;
	uint64_t folded_cnt; /* incomplete stacks, counted each time one is requested */
	uint32_t max_depth;  /* of any node */
	size_t name_bytes;
	bool failed; /* out of memory: the tree is not complete */
	/* for the tree alone */
	struct tapir_map by_name;
	struct tapir_tree_slot *slots; /* nodes by parent and name */
	size_t slot_cnt;	       /* 0 or a power of two */
	size_t fold_cnt;	       /* nodes made for folded stacks */
	struct tapir_stack_cache memo;
	struct tapir_frame_cache frame_cache;
	struct tapir_frame_chains chains;
};

/*
 * Adds the stack of a SAMPLE or EVENT: its user frames, and on top of them its kernel's. Returns
 * false when neither is described, and for any other record.
 */
bool tapir_stack_tree__add_record(struct tapir_stack_tree *tree,
				  const struct tapir_catalog *catalog, const struct tapir_rec *rec);
/* Returns the node to which that adds; UINT32_MAX where it adds nothing. */
uint32_t tapir_stack_tree__record_node(struct tapir_stack_tree *tree,
				       const struct tapir_catalog *catalog,
				       const struct tapir_rec *rec);
/*
 * Returns the node of a stack, with a frame `leaf` on top of it, for a caller that counts there;
 * made also when nothing of the stack is known. UINT32_MAX: out of memory.
 */
uint32_t tapir_stack_tree__find(struct tapir_stack_tree *tree, const struct tapir_catalog *catalog,
				const struct tapir_stack_ref *ref, const char *leaf);
/* Returns the node of a stack's innermost frame; UINT32_MAX: the stack is not described. */
uint32_t tapir_stack_tree__node(struct tapir_stack_tree *tree, const struct tapir_catalog *catalog,
				const struct tapir_stack_ref *ref);
/* Returns the same; hint: of the tree's memo for this stack, or 0. */
uint32_t tapir_stack_tree__hinted_node(struct tapir_stack_tree *tree,
				       const struct tapir_catalog *catalog,
				       const struct tapir_stack_ref *ref, uint64_t hint);
/*
 * The node of a record's stack will be requested: prefetches, step by step, what that takes. The
 * node it will probably be, after the last step; else UINT32_MAX.
 */
uint32_t tapir_stack_tree__expect(const struct tapir_stack_tree *tree, const struct tapir_rec *rec,
				  enum tapir_reorder_step step, uint64_t hint);
/* Returns true if the stack at a node begins where a thread does. */
bool tapir_stack_tree__is_complete(const struct tapir_stack_tree *tree, uint32_t node);
/* Counts at a node; cnt may be less than nothing, modulo 2^64. */
void tapir_stack_tree__count(struct tapir_stack_tree *tree, uint32_t node, uint64_t cnt);
/* Makes its root, if it has none. False: out of memory. */
bool tapir_stack_tree__begin(struct tapir_stack_tree *tree);
/*
 * Returns the child of a node that has this name, or the name, place and kind of a node of another
 * tree; made, if it is new. UINT32_MAX: out of memory, or too many.
 */
uint32_t tapir_stack_tree__child(struct tapir_stack_tree *tree, uint32_t parent, const char *name,
				 uint8_t kind);
uint32_t tapir_stack_tree__child_like(struct tapir_stack_tree *tree, uint32_t parent,
				      const struct tapir_stack_tree *other, uint32_t node);
/* Returns the innermost frame at or above a node that is not the kernel's; 0: there is none. */
uint32_t tapir_stack_tree__user_leaf(const struct tapir_stack_tree *tree, uint32_t node);
/* Adds the label of a node: "fill", or with --lines and --inline "fill (pool.c:120, inlined)". */
void tapir_stack_tree__add_label(struct tapir_str *out, const struct tapir_stack_tree *tree,
				 uint32_t node);
/* Adds up, and puts children in the order of names: recordings of one program look alike. */
void tapir_stack_tree__sort(struct tapir_stack_tree *tree);
void tapir_stack_tree__fini(struct tapir_stack_tree *tree);

static inline uint64_t tapir_stack_tree__self(const struct tapir_stack_tree *tree, uint32_t node)
{
	return node < tree->sums.cnt ? tree->sums.data[node].self : 0;
}

/* After __sort. */
static inline uint64_t tapir_stack_tree__total(const struct tapir_stack_tree *tree, uint32_t node)
{
	return node < tree->sums.cnt ? tree->sums.data[node].total : 0;
}

#endif
