// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Remembers what the findings judge of a stack: a stack is judged once, and a recording repeats few
 * stacks.
 */
#include "diagnose/node_facts.h"

#include <stddef.h>
#include <string.h>

#include "diagnose/finding_impl.h"
#include "spec/runtime_db/lore.h"

/* ---- names ---------------------------------------------------------------------------------- */

enum { ONE = 1, WHOLE = 2, MANAGED = 4 };

static const struct {
	enum tapir_name_mark mark;
	size_t member; /* offset in struct tapir_lore */
	unsigned how;
} rows[] = {
#define ROW(id, member, how) {TAPIR_MARK_##id, offsetof(struct tapir_lore, member), how},
	TAPIR_NAME_MARKS(ROW)};
#define ROW_CNT (sizeof(rows) / sizeof(*rows))

static bool is_listed(const struct tapir_lore *lore, size_t row, struct tapir_sv name)
{
	const char *one[] = {NULL, NULL}, *const *list = one;

	if (rows[row].how & ONE)
		memcpy(&one[0], (const char *)lore + rows[row].member, sizeof(one[0]));
	else
		memcpy(&list, (const char *)lore + rows[row].member, sizeof(list));
	if (!(rows[row].how & WHOLE))
		return tapir_sv__starts_with_any(name, list);
	for (; list && *list; list++)
		if (tapir_sv__is(name, *list))
			return true;
	return false;
}

static const struct tapir_lore *lore_of(size_t row, const char *name)
{
	struct tapir_sv text =
		tapir_sv__of(rows[row].how & MANAGED ? tapir_own_code__without_type(name) : name);

	tapir_lore_for_each (lore)
		if (is_listed(lore, row, text))
			return lore;
	return NULL;
}

const struct tapir_lore *tapir_name_mark__lore(enum tapir_name_mark mark, const char *name)
{
	size_t row = 0;

	while (rows[row].mark != mark)
		row++;
	return lore_of(row, name);
}

static uint32_t judge_name(const char *name)
{
	uint32_t marks = TAPIR_MARK_IS_KNOWN;

	for (size_t i = 0; i < ROW_CNT; i++)
		marks |= lore_of(i, name) ? rows[i].mark : 0;
	if (strstr(name, "epoll_wait") || strstr(name, "epoll_pwait"))
		marks |= TAPIR_MARK_ASKS;
	if (!strncmp(name, "0x", 2))
		marks |= TAPIR_MARK_NO_FILE;
	if (tapir_finding_doing__of_name(name))
		marks |= TAPIR_MARK_DOING;
	if (!strncmp(name, "System.Threading.Tasks.", 23) || strstr(name, "AsyncStateMachineBox"))
		marks |= TAPIR_MARK_CONTINUATION;
	else if (strstr(name, "System.Threading.TimerQueue"))
		marks |= TAPIR_MARK_TIMER;
	return marks;
}

uint32_t tapir_node_facts__marks(struct tapir_finding *f, uint32_t node)
{
	const struct tapir_stack_tree *tree = tapir_timeline__stacks(f->tl);
	struct tapir_nodes_facts *facts = &f->facts;
	uint32_t name = tree->nodes.data[node].name;

	while (facts->marks_by_name.cnt <= name)
		if (!tapir_vec__add(&facts->marks_by_name))
			return judge_name(tree->names.data[name]);
	if (!facts->marks_by_name.data[name])
		facts->marks_by_name.data[name] = judge_name(tree->names.data[name]);
	return facts->marks_by_name.data[name];
}

/* ---- stacks --------------------------------------------------------------------------------- */

static uint32_t marks_of_all(struct tapir_finding *f, uint32_t node)
{
	const struct tapir_stack_tree *tree = tapir_timeline__stacks(f->tl);
	uint32_t marks = 0;

	for (uint32_t n = node < tree->nodes.cnt ? node : 0; n; n = tree->nodes.data[n].parent)
		marks |= tapir_node_facts__marks(f, n);
	return marks;
}

/* Returns true if a timer called this, and not by completing a task. */
static bool is_in_timer(struct tapir_finding *f, uint32_t node)
{
	const struct tapir_stack_tree *tree = tapir_timeline__stacks(f->tl);
	uint32_t marks = 0;

	for (uint32_t n = node < tree->nodes.cnt ? node : 0;
	     n && !(marks & (TAPIR_MARK_TIMER | TAPIR_MARK_CONTINUATION));
	     n = tree->nodes.data[n].parent)
		marks = tapir_node_facts__marks(f, n);
	return marks & TAPIR_MARK_TIMER;
}

static void judge_node(struct tapir_finding *f, uint32_t node, struct tapir_node_facts *facts)
{
	const struct tapir_stack_tree *tree = tapir_timeline__stacks(f->tl);

	*facts = (struct tapir_node_facts){
		.doing = tapir_finding_doing__of(f, node),
		.spot = tapir_loop_spot__look_up(f, node),
		.thrown = tapir_finding_throws__of(f, node),
		.function = tapir_own_code__find_or_native(tree, node),
		.gil_place = (uint8_t)tapir_finding_gil__place(f, node),
		.work = (uint8_t)tapir_works__classify(&f->works, tree, node),
		.is_in_timer = is_in_timer(f, node),
		.marks = marks_of_all(f, node),
		.node = node,
	};
	facts->is_outside_loops = facts->spot.place != TAPIR_LOOP_ITSELF && !facts->spot.is_proof;
}

/* NULL: there is none yet. */
static struct tapir_node_facts *find_row(struct tapir_nodes_facts *facts, uint32_t node)
{
	uint32_t at = node < facts->by_node.cnt ? facts->by_node.data[node] : 0;

	return at ? &facts->rows.data[at - 1] : NULL;
}

struct tapir_node_facts *tapir_node_facts__of(struct tapir_finding *f, uint32_t node)
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
void tapir_node_facts__expect(struct tapir_finding *f, uint32_t node)
{
	const struct tapir_node_facts *row = find_row(&f->facts, f->facts.expected);

	if (row)
		__builtin_prefetch(row);
	if (node < f->facts.by_node.cnt)
		__builtin_prefetch(&f->facts.by_node.data[node]);
	f->facts.expected = node;
}

void tapir_node_facts__fini(struct tapir_finding *f)
{
	tapir_vec__fini(&f->facts.by_node);
	tapir_vec__fini(&f->facts.rows);
	tapir_vec__fini(&f->facts.marks_by_name);
}
