// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The innermost name that spec/runtime_db has decides; many things use the kernel's futex, or a
 * condition: there, a name further out decides, up to the program's own code, which waits for its
 * own reasons.
 */
#include "analyze/wait_reason.h"

#include <string.h>

#include "analyze/app_code.h"
#include "spec/runtime_db/lore.h"
#include "symbol/frame_kind.h"
#include "symbol/unnamed_frames.h"

static bool matches(const char *function, const char *name)
{
	const char *star = strchr(function, '*');
	size_t len = star ? (size_t)(star - function) : 0;

	return star ? !strncmp(name, function, len) && strstr(name + len, star + 1)
		    : !strcmp(name, function);
}

const struct tapir_lore_wait *tapir_wait_reason__of_function(const char *name, bool is_kernel)
{
	tapir_lore_for_each (lore)
		for (const struct tapir_lore_wait *w = lore->waits; w && w->function; w++)
			if (lore->is_kernel == is_kernel && matches(w->function, name))
				return w;
	return NULL;
}

/*
 * Returns true if a function further out may refine the reason that was found; see `by` in lore.h.
 */
static bool fits_wait_reason(const struct tapir_lore_wait *more,
			     const struct tapir_lore_wait *found, bool is_direct)
{
	return !more->by || (found && is_direct && !strcmp(found->reason, more->by));
}

/* A function further out to whose wait the one that was found belongs; NULL: it is none. */
static const struct tapir_lore_wait *whole_of(const struct tapir_lore_wait *found, const char *name)
{
	const struct tapir_lore_wait *whole = tapir_wait_reason__of_function(name, false);

	return whole && whole->instead_of && !strcmp(whole->instead_of, found->reason) ? whole
										       : NULL;
}

static const struct tapir_lore_wait *look_up(const struct tapir_stack_tree *tree, uint32_t node)
{
	const struct tapir_lore_wait *found = NULL, *more;
	bool is_direct = true;

	for (; node < tree->nodes.cnt && node; node = tree->nodes.data[node].parent) {
		const struct tapir_tree_node *n = &tree->nodes.data[node];
		const char *name = tree->names.data[n->name];
		bool is_kernel = n->kind == TAPIR_FRAME_KERNEL;

		/*
		 * The innermost function that is known says what for, except a common one, such as
		 * a condition's, which an outer one may explain.
		 */
		if (found && (!found->is_common || is_kernel)) {
			more = is_kernel ? NULL : whole_of(found, name);
			found = more ? more : found;
			continue;
		}
		/* Callers of the program's own function do not show what it waits for. */
		if (found && !is_kernel && tapir_app_code__is_app(n, name))
			break;
		more = tapir_wait_reason__of_function(name, is_kernel);
		if (more && fits_wait_reason(more, found, is_direct)) {
			found = more;
			is_direct = true;
		} else {
			is_direct &= n->kind == TAPIR_FRAME_RUNTIME &&
				     tapir_unnamed_frame__module(name).len;
		}
	}
	return found;
}

const struct tapir_lore_wait *tapir_wait_reasons__find(struct tapir_wait_reasons *reasons,
						       const struct tapir_stack_tree *tree,
						       uint32_t node)
{
	struct tapir_wait_reason *known;

	if (node >= tree->nodes.cnt)
		return NULL;
	while (reasons->by_node.cnt <= node)
		if (!tapir_vec__add(&reasons->by_node))
			return look_up(tree, node);
	known = &reasons->by_node.data[node];
	if (!known->is_known)
		*known = (struct tapir_wait_reason){look_up(tree, node), true};
	return known->wait;
}

const char *tapir_wait_reasons__of(struct tapir_wait_reasons *reasons,
				   const struct tapir_stack_tree *tree, uint32_t node)
{
	const struct tapir_lore_wait *wait = tapir_wait_reasons__find(reasons, tree, node);

	return wait ? wait->reason : NULL;
}

void tapir_wait_reasons__fini(struct tapir_wait_reasons *reasons)
{
	tapir_vec__fini(&reasons->by_node);
}

bool tapir_wait_reason__is_sleep(const char *reason)
{
	return reason && !strcmp(reason, "sleep");
}

bool tapir_wait_reason__is_lock(const char *reason)
{
	tapir_lore_for_each (lore)
		for (const struct tapir_lore_wait *w = lore->waits; w && w->function; w++)
			if (w->is_lock && !strcmp(w->reason, reason))
				return true;
	return false;
}

/* Returns true if the function is one of those that have this reason. */
static bool has_wait_reason(const char *name, bool is_kernel, const char *reason)
{
	const struct tapir_lore_wait *w = tapir_wait_reason__of_function(name, is_kernel);

	return w && !strcmp(w->reason, reason);
}

bool tapir_wait_reason__passes(const struct tapir_stack_tree *tree, uint32_t node,
			       const struct tapir_lore_wait *wait)
{
	for (; node < tree->nodes.cnt && node; node = tree->nodes.data[node].parent) {
		const struct tapir_tree_node *n = &tree->nodes.data[node];

		if (has_wait_reason(tree->names.data[n->name], n->kind == TAPIR_FRAME_KERNEL,
				    wait->reason))
			return true;
	}
	return false;
}

/* An interpreted method without a name, code that a walk by frame pointers may have skipped
 * functions of, or nothing. */
static bool is_gap(const struct tapir_stack_tree *tree, uint32_t node, bool is_complete)
{
	const struct tapir_tree_node *n = &tree->nodes.data[node];
	const char *name = tree->names.data[n->name];

	if (!node || *name == '[')
		return !is_complete;
	if (n->kind == TAPIR_FRAME_INTERPRETER)
		return tapir_app_code__is_unnamed(tree, node) && !tapir_app_code__is_app(n, name);
	return !is_complete && tapir_app_code__is_app(n, name);
}

bool tapir_wait_reason__is_truncated(const struct tapir_stack_tree *tree, uint32_t node,
				     const struct tapir_lore_wait *wait)
{
	uint32_t beyond = node;

	if (!node || node >= tree->nodes.cnt)
		return false;
	for (uint32_t at = node; at; at = tree->nodes.data[at].parent) {
		const struct tapir_tree_node *n = &tree->nodes.data[at];

		if (has_wait_reason(tree->names.data[n->name], n->kind == TAPIR_FRAME_KERNEL,
				    wait->reason))
			beyond = n->parent;
	}
	return is_gap(tree, beyond, tapir_stack_tree__is_complete(tree, node));
}

/* In a single-file application the runtime is its executable, which calls its methods, too. */
static bool has_called(const struct tapir_stack_tree *tree, const char *unnamed, uint32_t node)
{
	for (; node && node < tree->nodes.cnt; node = tree->nodes.data[node].parent)
		if (tapir_unnamed_frames__are_alike(tree->names.data[tree->nodes.data[node].name],
						    unnamed))
			return true;
	return false;
}

bool tapir_wait_reason__is_in_runtime(const struct tapir_stack_tree *tree, uint32_t node)
{
	const struct tapir_tree_node *called = NULL;

	for (; node && node < tree->nodes.cnt; node = tree->nodes.data[node].parent) {
		const struct tapir_tree_node *n = &tree->nodes.data[node];

		if (n->kind == TAPIR_FRAME_JIT)
			return called && tapir_app_code__is_app(n, tree->names.data[n->name]) &&
			       (called->kind == TAPIR_FRAME_RUNTIME ||
				has_called(tree, tree->names.data[called->name], n->parent));
		called = n->kind == TAPIR_FRAME_KERNEL ? NULL : n;
	}
	return false;
}

bool tapir_stack__is_complete(const struct tapir_stack_tree *tree, uint32_t node)
{
	return node && node < tree->nodes.cnt && tapir_stack_tree__is_complete(tree, node);
}
