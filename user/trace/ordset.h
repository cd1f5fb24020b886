/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ordset.h - an ordered set of intrusive nodes by (pos, time), for "what covers this address":
 * insert, exact and floor lookup, walk. A treap; the priorities come from a generator the data
 * cannot predict, so a hostile file cannot make it a list.
 *
 * Nodes belong to the caller, who frees them. Any of these takes some 2 log2(n) steps. One thread.
 */
#ifndef TAPIR_USER_ORDSET_H
#define TAPIR_USER_ORDSET_H

#include <stddef.h>
#include <stdint.h>

struct tapir_ordset_node {
	struct tapir_ordset_node *left, *right;
	uint64_t pos, time;
	uint64_t priority;
};

struct tapir_ordset {
	struct tapir_ordset_node *root;
};

/*
 * __insert: pos and time of node are set, and no node with both may be in the set. __remove: the
 * node is in the set; it is not freed.
 */
void tapir_ordset__insert(struct tapir_ordset *set, struct tapir_ordset_node *node);
void tapir_ordset__remove(struct tapir_ordset *set, struct tapir_ordset_node *node);

/* Return the largest node <= (pos, time), and the smallest >= it; NULL: none. Borrowed. */
struct tapir_ordset_node *tapir_ordset__floor(const struct tapir_ordset *set, uint64_t pos,
					      uint64_t time);
struct tapir_ordset_node *tapir_ordset__ceil(const struct tapir_ordset *set, uint64_t pos,
					     uint64_t time);
/* The node after this one; the first if node is NULL. */
struct tapir_ordset_node *tapir_ordset__next(const struct tapir_ordset *set,
					     const struct tapir_ordset_node *node);

#endif
