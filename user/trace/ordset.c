// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A treap by split and merge. Both go down in a loop and keep the place where the rest is hung:
 * recursion on a tree whose depth is random could use any amount of stack.
 */
#include "trace/ordset.h"

#include <sys/random.h>

static uint64_t next_priority(void)
{
	static __thread uint64_t state;

	while (!state)
		if (getrandom(&state, sizeof(state), GRND_NONBLOCK) != sizeof(state))
			state = (uint64_t)(uintptr_t)&state | 1;
	state ^= state << 13; /* xorshift64 */
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static int compare_positions(const struct tapir_ordset_node *node, uint64_t pos, uint64_t time)
{
	/* In the loop of each look-up: two branches are less than the numbers of order.h. */
	if (node->pos != pos)
		return node->pos < pos ? -1 : 1;
	return node->time < time ? -1 : node->time > time;
}

/* *low: nodes < (pos, time); *high: the others. */
static void split_nodes(struct tapir_ordset_node *root, uint64_t pos, uint64_t time,
			struct tapir_ordset_node **low, struct tapir_ordset_node **high)
{
	while (root) {
		if (compare_positions(root, pos, time) < 0) {
			*low = root;
			low = &root->right;
			root = root->right;
		} else {
			*high = root;
			high = &root->left;
			root = root->left;
		}
	}
	*low = *high = NULL;
}

/* Every node of low is smaller than every node of high. */
static struct tapir_ordset_node *merge_nodes(struct tapir_ordset_node *low,
					     struct tapir_ordset_node *high)
{
	struct tapir_ordset_node *root = NULL, **at = &root;

	while (low && high) {
		if (low->priority > high->priority) {
			*at = low;
			at = &low->right;
			low = low->right;
		} else {
			*at = high;
			at = &high->left;
			high = high->left;
		}
	}
	*at = low ? low : high;
	return root;
}

void tapir_ordset__insert(struct tapir_ordset *set, struct tapir_ordset_node *node)
{
	struct tapir_ordset_node **at = &set->root;

	node->priority = next_priority();
	while (*at && (*at)->priority > node->priority)
		at = compare_positions(*at, node->pos, node->time) < 0 ? &(*at)->right
								       : &(*at)->left;
	split_nodes(*at, node->pos, node->time, &node->left, &node->right);
	*at = node;
}

void tapir_ordset__remove(struct tapir_ordset *set, struct tapir_ordset_node *node)
{
	struct tapir_ordset_node **at = &set->root;

	while (*at && *at != node)
		at = compare_positions(*at, node->pos, node->time) < 0 ? &(*at)->right
								       : &(*at)->left;
	if (*at)
		*at = merge_nodes(node->left, node->right);
}

struct tapir_ordset_node *tapir_ordset__floor(const struct tapir_ordset *set, uint64_t pos,
					      uint64_t time)
{
	struct tapir_ordset_node *best = NULL, *at = set->root;

	while (at) {
		if (compare_positions(at, pos, time) <= 0) {
			best = at;
			at = at->right;
		} else {
			at = at->left;
		}
	}
	return best;
}

struct tapir_ordset_node *tapir_ordset__ceil(const struct tapir_ordset *set, uint64_t pos,
					     uint64_t time)
{
	struct tapir_ordset_node *best = NULL, *at = set->root;

	while (at) {
		if (compare_positions(at, pos, time) >= 0) {
			best = at;
			at = at->left;
		} else {
			at = at->right;
		}
	}
	return best;
}

struct tapir_ordset_node *tapir_ordset__next(const struct tapir_ordset *set,
					     const struct tapir_ordset_node *node)
{
	if (!node)
		return tapir_ordset__ceil(set, 0, 0);
	if (node->time != UINT64_MAX)
		return tapir_ordset__ceil(set, node->pos, node->time + 1);
	return node->pos == UINT64_MAX ? NULL : tapir_ordset__ceil(set, node->pos + 1, 0);
}
