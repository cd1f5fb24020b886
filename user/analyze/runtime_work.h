/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * runtime_work.h - is a thread at work for the program, for the garbage collector or for the JIT
 * compiler? By what it is called, by the functions and libraries in its stack, and by the
 * intervals it is in.
 */
#ifndef TAPIR_USER_RUNTIME_WORK_H
#define TAPIR_USER_RUNTIME_WORK_H

#include "analyze/name_traits.h"
#include "analyze/timeline.h"

enum tapir_work {
	TAPIR_WORK_MANAGED, /* code made by a JIT compiler */
	TAPIR_WORK_INTERPRETER,
	TAPIR_WORK_GC,
	TAPIR_WORK_JIT,
	TAPIR_WORK_RUNTIME,
	TAPIR_WORK_NATIVE,
	TAPIR_WORK_KERNEL,
	TAPIR_WORK_UNKNOWN,
	TAPIR_WORK_CNT
};
/* The name of an enum tapir_work in tables, "GC"; "" for another number. Static. */
const char *tapir_work__name(unsigned work);

/* Returns what a runtime does in a function, or in a thread: "collection"; NULL: not known. */
const char *tapir_work__purpose_of(const char *function, const struct tapir_lore *lore);
const char *tapir_work__purpose(enum tapir_work work, const struct tapir_tl_thread *thread,
				const struct tapir_pairs *pairs);

/* The facts about nodes, for this room alone. */
struct tapir_works {
	struct tapir_vec(uint8_t) by_node;
	struct tapir_name_traits functions;
};

/* Returns the work of a thread whose last sample is at node. */
enum tapir_work tapir_works__of(struct tapir_works *works, struct tapir_timeline *tl,
				struct tapir_tl_thread *thread, uint32_t node, uint64_t time_ns);
/*
 * The two parts of __of, for callers that remember things of nodes themselves: __of_thread returns
 * the work that the thread's name identifies, TAPIR_WORK_CNT: none; __judge that of the stack at
 * node.
 */
enum tapir_work tapir_works__of_thread(struct tapir_timeline *tl, struct tapir_tl_thread *thread,
				       uint64_t time_ns);
enum tapir_work tapir_works__classify(struct tapir_works *works,
				      const struct tapir_stack_tree *tree, uint32_t node);
/*
 * Returns the node to report for a collecting thread: a .NET thread collects itself, and in a
 * runtime without symbols each address would be a separate function; then it is the method that
 * made it collect.
 */
uint32_t tapir_work__collecting_node(const struct tapir_stack_tree *tree, uint32_t node);
void tapir_works__fini(struct tapir_works *works);

#endif
