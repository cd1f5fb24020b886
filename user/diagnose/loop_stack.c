// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See loop_stack.h. Marks of names decide (name_marks.h). A loop is recognized by its function
 * (libuv), or, if it is written in its language, by the functions through which it calls the
 * program (asyncio).
 */
#include "diagnose/loop_stack.h"

#include "diagnose/diagnosis_impl.h"
#include "spec/runtime_db/lore.h"
#include "symbol/frame_kind.h"

static const char *name_at(const struct tapir_stack_tree *tree, uint32_t node)
{
	return tree->names.data[tree->nodes.data[node].name];
}

/*
 * Functions that a loop may call to find events: its own, the kernel's, the C library's. Code of no
 * file may be anything.
 */
static bool is_of_loop(const struct tapir_tree_node *node, uint32_t marks)
{
	if (node->kind == TAPIR_FRAME_KERNEL)
		return true;
	return node->kind == TAPIR_FRAME_NATIVE ? !(marks & TAPIR_MARK_NO_FILE)
						: marks & TAPIR_MARK_OF_LOOP;
}

/* The outermost loop decides: what it called may run a loop of its own, and wait for that. */
static struct tapir_loop_stack
classify_by_function(struct tapir_diagnosis *f, const struct tapir_stack_tree *tree, uint32_t node)
{
	struct tapir_loop_stack stack = {TAPIR_LOOP_OUTSIDE, NULL, false, 0};
	bool is_own = true;

	for (; node && node < tree->nodes.cnt; node = tree->nodes.data[node].parent) {
		uint32_t marks = tapir_diagnosis__marks(f, node);

		if (marks & TAPIR_MARK_LOOP)
			stack = (struct tapir_loop_stack){
				is_own ? TAPIR_LOOP_POLLING : TAPIR_LOOP_IN_CALLBACK,
				tapir_name_mark__lore(TAPIR_MARK_LOOP, name_at(tree, node)), true,
				0};
		else
			is_own &= is_of_loop(&tree->nodes.data[node], marks);
	}
	return stack;
}

/*
 * Classifies a stack without a function of the loop: it calls the program, or requests events, for
 * the interpreter. The caller of a callback that is not a task is the interpreter itself: then it
 * takes another stack of the thread to know that it runs a loop.
 */
static struct tapir_loop_stack
classify_by_caller(struct tapir_diagnosis *f, const struct tapir_stack_tree *tree, uint32_t node)
{
	const struct tapir_lore *lore = NULL, *caller = NULL, *interpreter;
	unsigned depth = 0;
	uint32_t all = 0, marks;

	for (; node && node < tree->nodes.cnt; node = tree->nodes.data[node].parent) {
		marks = tapir_diagnosis__marks(f, node);
		all |= marks;
		if (!caller && marks & TAPIR_MARK_CALLER)
			caller = tapir_name_mark__lore(TAPIR_MARK_CALLER, name_at(tree, node));
		interpreter =
			marks & TAPIR_MARK_INTERPRETER
				? tapir_name_mark__lore(TAPIR_MARK_INTERPRETER, name_at(tree, node))
				: NULL;
		if (!interpreter || !interpreter->loop_callers)
			continue;
		lore = interpreter;
		depth += depth < UINT8_MAX;
	}
	if (caller && caller == lore)
		return (struct tapir_loop_stack){TAPIR_LOOP_IN_CALLBACK, caller, true,
						 (uint8_t)depth};
	if (!lore)
		return (struct tapir_loop_stack){TAPIR_LOOP_OUTSIDE, NULL, false, 0};
	return (struct tapir_loop_stack){all & TAPIR_MARK_POLLS ? TAPIR_LOOP_POLLING
								: TAPIR_LOOP_IN_CALLBACK,
					 lore, false, (uint8_t)depth};
}

struct tapir_loop_stack tapir_loop_stack__classify(struct tapir_diagnosis *f, uint32_t node)
{
	const struct tapir_stack_tree *tree = tapir_timeline__stacks(f->tl);
	struct tapir_loop_stack stack = classify_by_function(f, tree, node);

	return stack.lore ? stack : classify_by_caller(f, tree, node);
}

uint32_t tapir_loop_stack__called(struct tapir_diagnosis *f, uint32_t node)
{
	const struct tapir_stack_tree *tree = tapir_timeline__stacks(f->tl);
	uint32_t called = TAPIR_APP_CODE_NONE;

	for (; node && node < tree->nodes.cnt; node = tree->nodes.data[node].parent) {
		const struct tapir_tree_node *n = &tree->nodes.data[node];

		if (n->kind == TAPIR_FRAME_JIT || n->kind == TAPIR_FRAME_INTERPRETER)
			return called;
		if (n->kind == TAPIR_FRAME_RUNTIME &&
		    !(tapir_diagnosis__marks(f, node) & TAPIR_MARK_GLUE))
			called = n->name;
	}
	return TAPIR_APP_CODE_NONE;
}

enum tapir_loop_queue tapir_loop_stack__queue(struct tapir_diagnosis *f, uint32_t node)
{
	const struct tapir_stack_tree *tree = tapir_timeline__stacks(f->tl);
	bool is_in_call = false;

	for (; node && node < tree->nodes.cnt; node = tree->nodes.data[node].parent) {
		uint32_t marks = tapir_diagnosis__marks(f, node);
		uint8_t kind = tree->nodes.data[node].kind;

		if (!is_in_call && marks & TAPIR_MARK_QUEUE_STEP)
			return TAPIR_LOOP_QUEUE_STEP;
		if (marks & TAPIR_MARK_QUEUE)
			return TAPIR_LOOP_QUEUE_CALLED;
		is_in_call |= kind == TAPIR_FRAME_JIT || kind == TAPIR_FRAME_INTERPRETER;
	}
	return TAPIR_LOOP_QUEUE_NONE;
}

const struct tapir_lore *tapir_loop_stack__lore(struct tapir_diagnosis *f, uint32_t node)
{
	const struct tapir_stack_tree *tree = tapir_timeline__stacks(f->tl);

	for (; node && node < tree->nodes.cnt; node = tree->nodes.data[node].parent)
		if (tapir_diagnosis__marks(f, node) & TAPIR_MARK_LOOP_NAME)
			return tapir_name_mark__lore(TAPIR_MARK_LOOP_NAME, name_at(tree, node));
	return NULL;
}

uint32_t tapir_loop_stack__own(struct tapir_diagnosis *f, uint32_t node)
{
	const struct tapir_stack_tree *tree = tapir_timeline__stacks(f->tl);

	for (; node && node < tree->nodes.cnt; node = tree->nodes.data[node].parent) {
		if (tapir_diagnosis__marks(f, node) & TAPIR_MARK_LOOP_NAME)
			break;
		if (tapir_app_code__is_app(&tree->nodes.data[node], name_at(tree, node)))
			return tree->nodes.data[node].name;
	}
	return TAPIR_APP_CODE_NONE;
}
