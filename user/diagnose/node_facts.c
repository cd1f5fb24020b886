// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Remembers what the findings judge of a stack: a stack is judged once, and a recording repeats few
 * stacks.
 */
#include "diagnose/node_facts.h"

#include <string.h>

#include "diagnose/diagnosis_impl.h"

static uint32_t marks_of_all(struct tapir_diagnosis *f, uint32_t node)
{
	const struct tapir_stack_tree *tree = tapir_timeline__stacks(f->tl);
	uint32_t marks = 0;

	for (uint32_t n = node < tree->nodes.cnt ? node : 0; n; n = tree->nodes.data[n].parent)
		marks |= tapir_diagnosis__marks(f, n);
	return marks;
}

/* Returns true if a timer called this, and not by completing a task. */
static bool is_in_timer(struct tapir_diagnosis *f, uint32_t node)
{
	const struct tapir_stack_tree *tree = tapir_timeline__stacks(f->tl);
	uint32_t marks = 0;

	for (uint32_t n = node < tree->nodes.cnt ? node : 0;
	     n && !(marks & (TAPIR_MARK_TIMER | TAPIR_MARK_CONTINUATION));
	     n = tree->nodes.data[n].parent)
		marks = tapir_diagnosis__marks(f, n);
	return marks & TAPIR_MARK_TIMER;
}

/* The outermost function of throwing, whose caller throws; 0: none. */
static uint32_t thrown_at(struct tapir_diagnosis *f, uint32_t node)
{
	const struct tapir_stack_tree *tree = tapir_timeline__stacks(f->tl);
	uint32_t found = 0;

	for (uint32_t n = node < tree->nodes.cnt ? node : 0; n; n = tree->nodes.data[n].parent)
		if (tapir_diagnosis__marks(f, n) & TAPIR_MARK_THROWS)
			found = n;
	return found;
}

static void judge_node(struct tapir_diagnosis *f, uint32_t node, struct tapir_node_facts *facts)
{
	const struct tapir_stack_tree *tree = tapir_timeline__stacks(f->tl);

	*facts = (struct tapir_node_facts){
		.activity = tapir_finding_cpu_activity__of(f, node),
		.stack = tapir_loop_stack__classify(f, node),
		.thrown = thrown_at(f, node),
		.function = tapir_app_code__find_or_native(tree, node),
		.gil_side = (uint8_t)tapir_finding_gil__side(f, node),
		.work = (uint8_t)tapir_works__classify(&f->works, tree, node),
		.is_in_timer = is_in_timer(f, node),
		.marks = marks_of_all(f, node),
		.node = node,
	};
	facts->is_outside_loops =
		facts->stack.state != TAPIR_LOOP_POLLING && !facts->stack.is_conclusive;
}

/* NULL: there is none yet. */
static struct tapir_node_facts *find_row(struct tapir_nodes_facts *facts, uint32_t node)
{
	uint32_t at = node < facts->by_node.cnt ? facts->by_node.data[node] : 0;

	return at ? &facts->rows.data[at - 1] : NULL;
}

struct tapir_node_facts *tapir_node_facts__of(struct tapir_diagnosis *f, uint32_t node)
{
	struct tapir_nodes_facts *facts = &f->facts;
	struct tapir_node_facts *row = find_row(facts, node);

	if (row)
		return row;
	judge_node(f, node, &facts->spare);
	while (facts->by_node.cnt <= node)
		if (node >= TAPIR_STACK_TREE_MAX_NODES || !tapir_vec__add(&facts->by_node))
			return &facts->spare;
	if (!tapir_vec__push(&facts->rows, facts->spare))
		return &facts->spare;
	facts->by_node.data[node] = (uint32_t)facts->rows.cnt;
	return find_row(facts, node);
}

/* The location of the row of the node before this one is in the CPU's cache by now. */
void tapir_node_facts__expect(struct tapir_diagnosis *f, uint32_t node)
{
	const struct tapir_node_facts *row = find_row(&f->facts, f->facts.expected);

	if (row)
		__builtin_prefetch(row);
	if (node < f->facts.by_node.cnt)
		__builtin_prefetch(&f->facts.by_node.data[node]);
	f->facts.expected = node;
}

void tapir_node_facts__fini(struct tapir_diagnosis *f)
{
	tapir_vec__fini(&f->facts.by_node);
	tapir_vec__fini(&f->facts.rows);
}
