/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * page_nodes.h - the stacks of a page: of a call tree the nodes that its rows have. When those are
 * too many, the rarest are counted with their callers. For output/page alone. One thread.
 */
#ifndef TAPIR_USER_PAGE_NODES_H
#define TAPIR_USER_PAGE_NODES_H

#include "analyze/stack_tree.h"
#include "output/page/page_rows.h"

struct tapir_page_nodes {
	struct tapir_vec(uint32_t) kept; /* their nodes in the tree, callers first; [0]: the root */
	uint64_t left_cnt;
};

/* Numbers the nodes, and the rows by that. The lists end in NULL. 0 or -ENOMEM. */
int tapir_page_nodes__choose(struct tapir_page_nodes *nodes, const struct tapir_stack_tree *tree,
			     size_t max_nodes, struct tapir_page_marks *const *marks,
			     struct tapir_page_slices *const *slices);
/* Writes their columns: parent, name (a number of names), kind (enum tapir_frame_kind). */
void tapir_page_nodes__write(const struct tapir_page_nodes *nodes,
			     const struct tapir_stack_tree *tree, struct tapir_page_texts *names,
			     struct tapir_json *j);
void tapir_page_nodes__fini(struct tapir_page_nodes *nodes);

#endif
