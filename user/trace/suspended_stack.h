/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * suspended_stack.h - stacks that no thread of the kernel has: of coroutines and virtual threads,
 * which are objects while they wait. A runtime hands each to a sink; heap/suspended.h groups them.
 */
#ifndef TAPIR_USER_SUSPENDED_STACK_H
#define TAPIR_USER_SUSPENDED_STACK_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/record.h"

/* Texts are borrowed until add returns. */
struct tapir_suspended_stack {
	struct tapir_sv frames; /* "name(file:line)\n" of each function, innermost first */
	struct tapir_sv awaits; /* what the innermost function awaits; empty: not known */
	struct tapir_sv holder; /* the function that has it; empty: not known */
	struct tapir_sv task;	/* its name; empty: none */
	bool is_parked;		/* it waits: it neither runs nor is about to */
	bool is_stuck;		/* it is one of those that wait for each other */
};

struct tapir_suspended_sink {
	void (*add)(void *ctx, const struct tapir_suspended_stack *stack);
	void *ctx;
	/* These are set by the runtime. */
	uint64_t cnt;	    /* functions that are suspended, callers among them */
	uint64_t stuck_cnt; /* stacks that wait for each other */
	bool is_truncated;  /* there are more: objects changed while they were read, or a bound */
};

#endif
