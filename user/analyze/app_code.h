/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * app_code.h - which frame of a stack is the program's own: the innermost managed one that belongs
 * neither to the runtime nor to its libraries (library_code in spec/runtime_db). A cause is named
 * by it. Where no runtime is on the stack, it is the innermost native one that is of no library.
 * One thread, as the tree.
 */
#ifndef TAPIR_USER_APP_CODE_H
#define TAPIR_USER_APP_CODE_H

#include "analyze/stack_tree.h"

#define TAPIR_APP_CODE_NONE UINT32_MAX

/* A cache of results by node; for this file alone. */
struct tapir_app_nodes {
	struct tapir_vec(uint32_t) by_node;
};
struct tapir_app_code {
	struct tapir_app_nodes managed, native;
};

/*
 * Returns the index of its name in the tree's names, or TAPIR_APP_CODE_NONE. node may be
 * UINT32_MAX.
 */
uint32_t tapir_app_code__of(struct tapir_app_code *code, const struct tapir_stack_tree *tree,
			    uint32_t node);
/* The same, or the innermost managed function of a library where no other is on the stack; of
 * those, one that is not plumbing (lore) if there is any. */
uint32_t tapir_app_code__or_library(struct tapir_app_code *code,
				    const struct tapir_stack_tree *tree, uint32_t node);
/* The same as __of, or the program's native function. */
uint32_t tapir_app_code__or_native(struct tapir_app_code *code, const struct tapir_stack_tree *tree,
				   uint32_t node);
/* Returns the same without a cache, for callers that have one. */
uint32_t tapir_app_code__find_or_native(const struct tapir_stack_tree *tree, uint32_t node);
/* Returns the node of that frame; 0: the stack has neither. node may be UINT32_MAX. */
uint32_t tapir_app_code__origin(const struct tapir_stack_tree *tree, uint32_t node);
/* Returns the node of the native function; 0: there is none, or a runtime is on the stack. */
uint32_t tapir_app_code__native_origin(const struct tapir_stack_tree *tree, uint32_t node);
/* Returns true if this frame is the program's own. */
bool tapir_app_code__is_app(const struct tapir_tree_node *node, const char *name);
/* Returns true if this native frame is of the program, and of no library that is built into it. */
bool tapir_app_code__is_app_native(const struct tapir_tree_node *node, const char *name);
/*
 * Returns true for a frame through which a runtime calls managed code: its own functions, the
 * interpreter's loop, stubs. Between two managed functions it explains nothing.
 */
bool tapir_app_code__is_glue(const struct tapir_tree_node *node, const char *name);
/* Returns true if a method of this name is one of the runtime's libraries. */
bool tapir_app_code__is_library(const char *name);
/*
 * Returns true if it does something for any caller (plumbing in spec/runtime_db): then it explains
 * nothing.
 */
bool tapir_app_code__is_framework_glue(const char *name);
/* Returns true if a function of a program is on the stack of which an interpreter gave no name. */
bool tapir_app_code__is_unnamed(const struct tapir_stack_tree *tree, uint32_t node);
/* Returns "Shop.draw(int)" of a JVM's "void Shop.draw(int)"; any other name as it is. */
const char *tapir_app_code__without_type(const char *name);
void tapir_app_code__fini(struct tapir_app_code *code);

#endif
