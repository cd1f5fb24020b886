/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * wait_reason.h - what a sleeping thread waits for, by the functions of the stack with which it
 * left its CPU: a table of the kernel's and of libraries' names.
 */
#ifndef TAPIR_USER_WAIT_REASON_H
#define TAPIR_USER_WAIT_REASON_H

#include "analyze/stack_tree.h"
#include "spec/runtime_db/lore.h"

/* Looked up once per node; for this room alone. */
struct tapir_wait_reason {
	const struct tapir_lore_wait *wait; /* NULL: unknown */
	bool is_known;
};

struct tapir_wait_reasons {
	struct tapir_vec(struct tapir_wait_reason) by_node;
};

/* Returns "sleep", "mutex", "epoll"; static; NULL: unknown. node may be UINT32_MAX. */
const char *tapir_wait_reasons__of(struct tapir_wait_reasons *reasons,
				   const struct tapir_stack_tree *tree, uint32_t node);
/* The same with what else is known of it. */
const struct tapir_lore_wait *tapir_wait_reasons__find(struct tapir_wait_reasons *reasons,
						       const struct tapir_stack_tree *tree,
						       uint32_t node);
void tapir_wait_reasons__fini(struct tapir_wait_reasons *reasons);
/* Returns the wait in a function, by its name alone; NULL: it is none. */
const struct tapir_lore_wait *tapir_wait_reason__of_function(const char *name, bool is_kernel);
/* Returns true if a timer ends it, in whichever thread runs then. NULL: false. */
bool tapir_wait_reason__is_sleep(const char *reason);
/* Returns true if it is a wait until another thread releases a lock. */
bool tapir_wait_reason__is_lock(const char *reason);

/* Returns true if callers are missing right where a stack's reason was found, which many things
 * have. */
bool tapir_wait_reason__is_truncated(const struct tapir_stack_tree *tree, uint32_t node,
				     const struct tapir_lore_wait *wait);
/* Returns true if the stack has a function of that reason; whether it leads further is not
 * checked. */
bool tapir_wait_reason__passes(const struct tapir_stack_tree *tree, uint32_t node,
			       const struct tapir_lore_wait *wait);

/* Does the stack reach where a thread begins? If not, callers are missing. */
/*
 * The runtime waits for the program's own function, which called it directly: to enter a monitor,
 * to initialize a class, or while a collection stops all threads. More cannot be found out about
 * the runtime of .NET 8 and 9 without symbols.
 */
bool tapir_wait_reason__is_in_runtime(const struct tapir_stack_tree *tree, uint32_t node);
bool tapir_stack__is_complete(const struct tapir_stack_tree *tree, uint32_t node);

#endif
