/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * loop_stack.h - where a stack of an event loop's thread is (finding_loop.h): in the loop's own
 * functions, or in what these called. One thread.
 */
#ifndef TAPIR_USER_LOOP_STACK_H
#define TAPIR_USER_LOOP_STACK_H

#include <stdbool.h>
#include <stdint.h>

#include "diagnose/finding_loop.h"

struct tapir_diagnosis;
struct tapir_lore;

enum tapir_loop_state {
	TAPIR_LOOP_OUTSIDE,	/* no loop is on the stack, or it was cut short */
	TAPIR_LOOP_POLLING,	/* in its own functions: it looks for events */
	TAPIR_LOOP_IN_CALLBACK, /* in what an event called */
	TAPIR_LOOP_STATE_CNT
};

struct tapir_loop_stack {
	enum tapir_loop_state state;
	const struct tapir_lore *lore; /* of the loop; NULL: TAPIR_LOOP_OUTSIDE */
	bool is_conclusive;	       /* that its thread runs one */
	uint8_t depth;		       /* calls of the interpreter on the stack; 0: it has none */
};

/* Classifies the stack at node, for node_facts.h, which has the answer from then on. */
struct tapir_loop_stack tapir_loop_stack__classify(struct tapir_diagnosis *f, uint32_t node);
/*
 * Returns the runtime's function that compiled or interpreted code called; NONE: the time is its
 * own.
 */
uint32_t tapir_loop_stack__called(struct tapir_diagnosis *f, uint32_t node);
/*
 * Classifies a stack as in callbacks of a queue that the loop does not leave before it is empty, or
 * in the code that fills the queue.
 */
enum tapir_loop_queue tapir_loop_stack__queue(struct tapir_diagnosis *f, uint32_t node);
/* Returns the runtime whose loop a function on the stack is, if it has a name; NULL: none. */
const struct tapir_lore *tapir_loop_stack__lore(struct tapir_diagnosis *f, uint32_t node);
/* Returns the program's own function that such a one called; NONE: it is in none. */
uint32_t tapir_loop_stack__own(struct tapir_diagnosis *f, uint32_t node);

#endif
