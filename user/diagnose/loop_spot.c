// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See loop_spot.h. Names of functions decide, through the tables of lore.h; what a name implies is
 * looked up once. A loop is recognized by its function (libuv), or, if it is written in its
 * language, by the functions through which it calls the program (asyncio).
 */
#include "diagnose/loop_spot.h"

#include <string.h>

#include "diagnose/finding_impl.h"
#include "spec/runtime_db/lore.h"
#include "base/keyed.h"
#include "symbol/frame_kind.h"

/* Bits that a name implies for a loop. Most names have none. */
enum {
	IS_LOOP = 1,
	IS_PREFIXED = 2,
	IS_CALLER = 4,
	IS_INTERPRETER = 8,
	ASKS = 16,
	IS_NO_FILE = 32
};

static const struct tapir_lore *loop_of_function(const char *name)
{
	tapir_lore_for_each (lore)
		if (lore->loop_function && !strcmp(name, lore->loop_function))
			return lore;
	return NULL;
}

static bool has_loop_prefix(const char *name)
{
	tapir_lore_for_each (lore)
		if (lore->loop_prefix &&
		    tapir_sv__starts_with(tapir_sv__of(name), lore->loop_prefix))
			return true;
	return false;
}

static const struct tapir_lore *loop_of_caller(const char *name)
{
	tapir_lore_for_each (lore)
		if (tapir_sv__starts_with_any(tapir_sv__of(name), lore->loop_callers))
			return lore;
	return NULL;
}

static const struct tapir_lore *loop_of_interpreter(const char *name)
{
	tapir_lore_for_each (lore)
		for (const char *const *p = lore->interpreter_loops; p && *p; p++)
			if (lore->loop_callers && !strcmp(name, *p))
				return lore;
	return NULL;
}

static uint8_t judge_name(const char *name)
{
	bool asks = strstr(name, "epoll_wait") || strstr(name, "epoll_pwait");

	return (loop_of_function(name) ? IS_LOOP : 0) | (has_loop_prefix(name) ? IS_PREFIXED : 0) |
	       (loop_of_caller(name) ? IS_CALLER : 0) |
	       (loop_of_interpreter(name) ? IS_INTERPRETER : 0) | (asks ? ASKS : 0) |
	       (strncmp(name, "0x", 2) ? 0 : IS_NO_FILE);
}

static uint8_t traits_of(struct tapir_finding *f, const struct tapir_stack_tree *tree,
			 uint32_t node)
{
	return tapir_name_traits__of(&f->facts.loops, tree, tree->nodes.data[node].name,
				     judge_name);
}

/*
 * Functions that a loop may call to find events: its own, the kernel's, the C library's. Code of no
 * file may be anything.
 */
static bool is_of_loop(const struct tapir_tree_node *node, uint8_t traits)
{
	if (node->kind == TAPIR_FRAME_KERNEL)
		return true;
	return node->kind == TAPIR_FRAME_NATIVE ? !(traits & IS_NO_FILE) : traits & IS_PREFIXED;
}

/* The outermost loop decides: what it called may run a loop of its own, and wait for that. */
static struct tapir_loop_spot look_up_function(struct tapir_finding *f,
					       const struct tapir_stack_tree *tree, uint32_t node)
{
	struct tapir_loop_spot spot = {TAPIR_LOOP_ELSEWHERE, NULL, false, 0};
	bool is_own = true;

	for (; node && node < tree->nodes.cnt; node = tree->nodes.data[node].parent) {
		uint8_t traits = traits_of(f, tree, node);

		if (traits & IS_LOOP)
			spot = (struct tapir_loop_spot){
				is_own ? TAPIR_LOOP_ITSELF : TAPIR_LOOP_CALLED,
				loop_of_function(tree->names.data[tree->nodes.data[node].name]),
				true, 0};
		else
			is_own &= is_of_loop(&tree->nodes.data[node], traits);
	}
	return spot;
}

/*
 * Classifies a stack without a function of the loop: it calls the program, or requests events, for
 * the interpreter. The caller of a callback that is not a task is the interpreter itself: then it
 * takes another stack of the thread to know that it runs a loop.
 */
static struct tapir_loop_spot look_up_caller(struct tapir_finding *f,
					     const struct tapir_stack_tree *tree, uint32_t node)
{
	const struct tapir_lore *lore = NULL, *caller = NULL;
	unsigned depth = 0;
	bool asks = false;

	for (; node && node < tree->nodes.cnt; node = tree->nodes.data[node].parent) {
		const char *name = tree->names.data[tree->nodes.data[node].name];
		uint8_t traits = traits_of(f, tree, node);

		asks |= (traits & ASKS) != 0;
		if (!caller && traits & IS_CALLER)
			caller = loop_of_caller(name);
		if (traits & IS_INTERPRETER)
			lore = loop_of_interpreter(name);
		depth += traits & IS_INTERPRETER && depth < UINT8_MAX;
	}
	if (caller && caller == lore)
		return (struct tapir_loop_spot){TAPIR_LOOP_CALLED, caller, true, (uint8_t)depth};
	if (!lore)
		return (struct tapir_loop_spot){TAPIR_LOOP_ELSEWHERE, NULL, false, 0};
	return (struct tapir_loop_spot){asks ? TAPIR_LOOP_ITSELF : TAPIR_LOOP_CALLED, lore, false,
					(uint8_t)depth};
}

struct tapir_loop_spot tapir_loop_spot__look_up(struct tapir_finding *f, uint32_t node)
{
	const struct tapir_stack_tree *tree = tapir_timeline__stacks(f->tl);
	struct tapir_loop_spot spot = look_up_function(f, tree, node);

	return spot.lore ? spot : look_up_caller(f, tree, node);
}

struct tapir_loop_spot tapir_loop_spot__of(struct tapir_finding *f, uint32_t node)
{
	struct tapir_loop_spot spot, *known = tapir_keyed__get(&f->facts.spots, node);

	if (known)
		return *known;
	spot = tapir_loop_spot__look_up(f, node);
	(void)tapir_keyed__add(&f->facts.spots, node, UINT32_MAX, spot);
	return spot;
}

static bool is_plumbing(const char *name)
{
	tapir_lore_for_each (lore)
		if (tapir_sv__starts_with_any(tapir_sv__of(name), lore->loop_plumbing))
			return true;
	return false;
}

uint32_t tapir_loop_spot__called(const struct tapir_stack_tree *tree, uint32_t node)
{
	uint32_t called = TAPIR_OWN_CODE_NONE;

	for (; node && node < tree->nodes.cnt; node = tree->nodes.data[node].parent) {
		const struct tapir_tree_node *n = &tree->nodes.data[node];
		const char *name = tree->names.data[n->name];

		if (n->kind == TAPIR_FRAME_JIT || n->kind == TAPIR_FRAME_INTERPRETER)
			return called;
		if (n->kind == TAPIR_FRAME_RUNTIME && !is_plumbing(name))
			called = n->name;
	}
	return TAPIR_OWN_CODE_NONE;
}

static bool is_step(const char *name)
{
	tapir_lore_for_each (lore)
		if (tapir_sv__starts_with_any(tapir_sv__of(name), lore->loop_queue_steps))
			return true;
	return false;
}

static bool is_queue(const char *name)
{
	tapir_lore_for_each (lore)
		if (lore->loop_queue && !strcmp(name, lore->loop_queue))
			return true;
	return false;
}

enum tapir_loop_queue tapir_loop_spot__queue(const struct tapir_stack_tree *tree, uint32_t node)
{
	bool is_in_call = false;

	for (; node && node < tree->nodes.cnt; node = tree->nodes.data[node].parent) {
		const struct tapir_tree_node *n = &tree->nodes.data[node];
		const char *name = tree->names.data[n->name];

		if (!is_in_call && is_step(name))
			return TAPIR_LOOP_QUEUE_STEP;
		if (is_queue(name))
			return TAPIR_LOOP_QUEUE_CALLED;
		is_in_call |= n->kind == TAPIR_FRAME_JIT || n->kind == TAPIR_FRAME_INTERPRETER;
	}
	return TAPIR_LOOP_QUEUE_NONE;
}

/* The runtime whose loop the function of that name is. */
static const struct tapir_lore *lore_of_name(const char *name)
{
	tapir_lore_for_each (lore)
		if (lore->loop_names &&
		    tapir_sv__starts_with_any(tapir_sv__of(name), lore->loop_names))
			return lore;
	return NULL;
}

const struct tapir_lore *tapir_loop_spot__lore(const struct tapir_stack_tree *tree, uint32_t node)
{
	const struct tapir_lore *lore = NULL;

	for (; node && node < tree->nodes.cnt && !lore; node = tree->nodes.data[node].parent)
		lore = lore_of_name(tree->names.data[tree->nodes.data[node].name]);
	return lore;
}

uint32_t tapir_loop_spot__own(const struct tapir_stack_tree *tree, uint32_t node)
{
	for (; node && node < tree->nodes.cnt; node = tree->nodes.data[node].parent) {
		const struct tapir_tree_node *n = &tree->nodes.data[node];
		const char *name = tree->names.data[n->name];

		if (lore_of_name(name))
			break;
		if (tapir_own_code__is_own(n, name))
			return n->name;
	}
	return TAPIR_OWN_CODE_NONE;
}
