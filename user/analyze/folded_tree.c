// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Runs of a stack are noted from the inside out, up to a node that is known; from there on inwards
 * they are made. A purpose is the innermost runtime's: what is outside of that is known to all.
 */
#include "analyze/folded_tree.h"

#include "analyze/frame_runs.h"
#include "symbol/frame_kind.h"

#define NONE SIZE_MAX

/* Makes the node of the run that begins at a node of the other tree. */
static uint32_t make_folded_node(struct tapir_folded_tree *folded,
				 const struct tapir_stack_tree *other, uint32_t node,
				 uint32_t parent, const char *purpose)
{
	struct tapir_frame_run run;
	struct tapir_str text = {};
	uint32_t made;

	tapir_frame_run__of_node(&run, other, node);
	if (run.of == TAPIR_RUN_OF_FRAME)
		return tapir_stack_tree__child_like(&folded->tree, parent, other, node);
	tapir_frame_run__add(&run, purpose, false, &text);
	folded->tree.failed |= text.failed;
	made = tapir_stack_tree__child(&folded->tree, parent, text.data ? text.data : "?",
				       run.of == TAPIR_RUN_OF_RUNTIME
					       ? TAPIR_FRAME_RUNTIME
					       : other->nodes.data[node].kind);
	tapir_str__fini(&text);
	return made;
}

/* Notes where runs without a node begin; *purposed: which of them has the purpose. The node here
 * that is outside of them. */
static uint32_t note_runs(struct tapir_folded_tree *folded, const struct tapir_stack_tree *other,
			  uint32_t node, const char *purpose, size_t *purposed)
{
	*purposed = NONE;
	folded->runs.cnt = 0;
	while (node) {
		const uint64_t *known = purpose && *purposed == NONE
						? NULL
						: tapir_map__get(&folded->by_node, node);
		struct tapir_frame_run run;

		if (known)
			return (uint32_t)*known;
		if (!tapir_vec__push(&folded->runs, node)) {
			folded->tree.failed = true;
			break;
		}
		node = tapir_frame_run__of_node(&run, other, node);
		if (*purposed == NONE &&
		    (run.of == TAPIR_RUN_OF_RUNTIME || run.of == TAPIR_RUN_OF_FILE))
			*purposed = folded->runs.cnt - 1;
	}
	return TAPIR_STACK_TREE_ROOT;
}

uint32_t tapir_folded_tree__node(struct tapir_folded_tree *folded,
				 const struct tapir_stack_tree *other, uint32_t node,
				 const char *purpose)
{
	size_t purposed;
	bool has_root = tapir_stack_tree__begin(&folded->tree);
	uint32_t made =
		note_runs(folded, other, node < other->nodes.cnt ? node : 0, purpose, &purposed);

	for (size_t i = has_root ? folded->runs.cnt : 0; i-- > 0;) {
		bool is_known = !purpose || (purposed != NONE && i > purposed);
		uint64_t *known;

		made = make_folded_node(folded, other, folded->runs.data[i], made,
					i == purposed ? purpose : NULL);
		known = made != UINT32_MAX && is_known
				? tapir_map__put(&folded->by_node, folded->runs.data[i], NULL)
				: NULL;
		if (made == UINT32_MAX || (is_known && !known)) {
			folded->tree.failed = true;
			return TAPIR_STACK_TREE_ROOT;
		}
		if (known)
			*known = made;
	}
	return made;
}

void tapir_folded_tree__add(struct tapir_folded_tree *folded, const struct tapir_stack_tree *other)
{
	for (uint32_t n = 0; n < other->nodes.cnt; n++) {
		uint32_t node;

		if (!tapir_stack_tree__self(other, n))
			continue;
		node = tapir_folded_tree__node(folded, other, n, NULL);
		if (folded->tree.failed)
			return;
		tapir_stack_tree__count(&folded->tree, node, tapir_stack_tree__self(other, n));
	}
	folded->tree.folded_cnt += other->folded_cnt;
	folded->tree.failed |= other->failed;
}

void tapir_folded_tree__fini(struct tapir_folded_tree *folded)
{
	tapir_stack_tree__fini(&folded->tree);
	tapir_map__fini(&folded->by_node);
	tapir_vec__fini(&folded->runs);
}
