// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Recognizes the program's functions by the names of frames: "Shop.Draw(int)" of .NET, "long
 * shop.Draw.all(int)" of a JVM.
 */
#include "analyze/app_code.h"

#include <string.h>

#include "base/str.h"
#include "spec/runtime_db/lore.h"
#include "symbol/frame_kind.h"

/*
 * The runtime's own pieces of code: no method. HotSpot's have the name of no type: "StubRoutines
 * (1)", "new_type_array Runtime1 stub".
 */
static bool is_stub(const char *name)
{
	static const char mark[] = " [CoreCLR]";
	size_t len = strlen(name);

	return !strpbrk(name, ".:/$") ||
	       (len >= sizeof(mark) - 1 && !strcmp(name + len - (sizeof(mark) - 1), mark));
}

/* Two words before the arguments, of which the second one is a method of a class. */
const char *tapir_app_code__without_type(const char *name)
{
	size_t type_len = strcspn(name, " ("), name_len;
	const char *rest = name + type_len + 1;

	if (!type_len || name[type_len] != ' ' || name[type_len - 1] == ',' || *name == '[')
		return name;
	name_len = strcspn(rest, " (");
	return rest[name_len] == '(' && memchr(rest, '.', name_len) ? rest : name;
}

bool tapir_app_code__is_library(const char *name)
{
	struct tapir_sv text = tapir_sv__of(tapir_app_code__without_type(name));

	tapir_lore_for_each (lore)
		if (tapir_sv__starts_with_any(text, lore->library_code))
			return true;
	/* Node.js, CPython and Ruby: the file says it. */
	return strstr(name, "node:") || strstr(name, "/lib/python") || strstr(name, "<frozen ") ||
	       strstr(name, "/lib/ruby/") || strstr(name, "/gems/") ||
	       strstr(name, ":<internal:") || strstr(name, ":[internal]");
}

/*
 * Returns true for an interpreted frame that has a function's name: those of Java methods have
 * types.
 */
static bool is_named_interpreted(const char *name)
{
	return tapir_sv__starts_with(tapir_sv__of(name), "py::") ||
	       tapir_sv__starts_with(tapir_sv__of(name), "php::") ||
	       tapir_sv__starts_with(tapir_sv__of(name), "rb::") || strstr(name, ".js:") ||
	       tapir_app_code__without_type(name) != name;
}

static bool is_managed(const struct tapir_tree_node *node, const char *name)
{
	if (node->kind == TAPIR_FRAME_INTERPRETER)
		return is_named_interpreted(name);
	return node->kind == TAPIR_FRAME_JIT && !is_stub(name) && *name != '['; /* [jit]+0x12 */
}

bool tapir_app_code__is_app(const struct tapir_tree_node *node, const char *name)
{
	return is_managed(node, name) && !tapir_app_code__is_library(name);
}

bool tapir_app_code__is_glue(const struct tapir_tree_node *node, const char *name)
{
	return node->kind == TAPIR_FRAME_RUNTIME ||
	       (node->kind == TAPIR_FRAME_INTERPRETER && !is_named_interpreted(name)) ||
	       (node->kind == TAPIR_FRAME_JIT && *name != '[' && is_stub(name));
}

bool tapir_app_code__is_framework_glue(const char *name)
{
	struct tapir_sv text = tapir_sv__of(name);

	tapir_lore_for_each (lore)
		if (tapir_sv__starts_with_any(text, lore->framework_glue))
			return true;
	return false;
}

/* 0: there is none. library: the one to name then; the innermost that is not plumbing, if any. */
static uint32_t find_app_frame(const struct tapir_stack_tree *tree, uint32_t node,
			       uint32_t *library)
{
	const struct tapir_tree_node *nodes = tree->nodes.data;
	uint32_t framework_glue = 0;

	*library = 0;
	for (; node && node < tree->nodes.cnt; node = nodes[node].parent) {
		const char *name = tree->names.data[nodes[node].name];

		if (!is_managed(&nodes[node], name))
			continue;
		if (!tapir_app_code__is_library(name))
			return node;
		if (tapir_app_code__is_framework_glue(name))
			framework_glue = framework_glue ? framework_glue : node;
		else if (!*library)
			*library = node;
	}
	*library = *library ? *library : framework_glue;
	return 0;
}

static uint32_t node_function_name(const struct tapir_stack_tree *tree, uint32_t node)
{
	return node ? tree->nodes.data[node].name : TAPIR_APP_CODE_NONE;
}

uint32_t tapir_app_code__origin(const struct tapir_stack_tree *tree, uint32_t node)
{
	uint32_t library, frame = find_app_frame(tree, node, &library);

	return frame ? frame : library;
}

/* The name of the node that `find` finds. Kept as idx + 2: 0 was not searched yet, 1 has none. */
static uint32_t find_once(struct tapir_app_nodes *known, const struct tapir_stack_tree *tree,
			  uint32_t node,
			  uint32_t (*find)(const struct tapir_stack_tree *tree, uint32_t node))
{
	uint32_t name;

	if (!node || node >= tree->nodes.cnt)
		return TAPIR_APP_CODE_NONE;
	while (known->by_node.cnt <= node)
		if (!tapir_vec__add(&known->by_node))
			return node_function_name(tree, find(tree, node));
	if (known->by_node.data[node])
		return known->by_node.data[node] - 2;
	name = node_function_name(tree, find(tree, node));
	known->by_node.data[node] = name + 2;
	return name;
}

static uint32_t find_managed(const struct tapir_stack_tree *tree, uint32_t node)
{
	uint32_t library;

	return find_app_frame(tree, node, &library);
}

uint32_t tapir_app_code__of(struct tapir_app_code *code, const struct tapir_stack_tree *tree,
			    uint32_t node)
{
	return find_once(&code->managed, tree, node, find_managed);
}

static bool is_native_library(const char *name)
{
	struct tapir_sv text = tapir_sv__of(name);

	tapir_lore_for_each (lore)
		if (tapir_sv__starts_with_any(text, lore->native_library_code))
			return true;
	return false;
}

bool tapir_app_code__is_app_native(const struct tapir_tree_node *node, const char *name)
{
	return node->is_of_program && !is_native_library(name);
}

/* A stack of the runtime's own work has no function of the program. */
uint32_t tapir_app_code__native_origin(const struct tapir_stack_tree *tree, uint32_t node)
{
	const struct tapir_tree_node *nodes = tree->nodes.data;
	uint32_t frame = 0, library = 0;

	for (; node && node < tree->nodes.cnt; node = nodes[node].parent) {
		if (nodes[node].kind != TAPIR_FRAME_NATIVE &&
		    nodes[node].kind != TAPIR_FRAME_NONE && nodes[node].kind != TAPIR_FRAME_KERNEL)
			return 0;
		if (frame || !nodes[node].is_of_program)
			continue;
		if (tapir_app_code__is_app_native(&nodes[node], tree->names.data[nodes[node].name]))
			frame = node;
		else if (!library)
			library = node;
	}
	return frame ? frame : library;
}

uint32_t tapir_app_code__or_native(struct tapir_app_code *code, const struct tapir_stack_tree *tree,
				   uint32_t node)
{
	uint32_t name = tapir_app_code__of(code, tree, node);

	return name != TAPIR_APP_CODE_NONE
		       ? name
		       : find_once(&code->native, tree, node, tapir_app_code__native_origin);
}

uint32_t tapir_app_code__find_or_native(const struct tapir_stack_tree *tree, uint32_t node)
{
	uint32_t frame = find_managed(tree, node);

	return node_function_name(tree, frame ? frame : tapir_app_code__native_origin(tree, node));
}

uint32_t tapir_app_code__or_library(struct tapir_app_code *code,
				    const struct tapir_stack_tree *tree, uint32_t node)
{
	uint32_t name = tapir_app_code__of(code, tree, node), library;

	if (name != TAPIR_APP_CODE_NONE)
		return name;
	find_app_frame(tree, node, &library);
	return node_function_name(tree, library);
}

bool tapir_app_code__is_unnamed(const struct tapir_stack_tree *tree, uint32_t node)
{
	for (; node && node < tree->nodes.cnt; node = tree->nodes.data[node].parent)
		if (tree->nodes.data[node].kind == TAPIR_FRAME_INTERPRETER &&
		    !is_managed(&tree->nodes.data[node],
				tree->names.data[tree->nodes.data[node].name]))
			return true;
	return false;
}

void tapir_app_code__fini(struct tapir_app_code *code)
{
	tapir_vec__fini(&code->managed.by_node);
	tapir_vec__fini(&code->native.by_node);
}
