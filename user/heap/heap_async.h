/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * heap_async.h - the async methods of a .NET heap that are suspended, and what each awaits:
 * requests that never end have no thread, but their state machines are objects.
 *
 * A method awaits a task (or what stands behind a ValueTask) that its state machine refers to, and
 * that refers back to the method as what continues: both are required, so nothing is guessed. A
 * method that has no such task is counted as one of which it is not known. Methods that have ended
 * are none.
 *
 * Methods whose awaits go round in a circle wait for each other: each for the task of the next one
 * (exact), or for a semaphore or a TaskCompletionSource. Those store no holder: there a method is
 * taken for one that may hold it if its own state machine refers to it, and they are said to wait
 * for each other only if all such methods do.
 *
 * Objects may be of a hostile process: work is bounded (is_cut). One thread.
 */
#ifndef TAPIR_USER_HEAP_ASYNC_H
#define TAPIR_USER_HEAP_ASYNC_H

#include "heap/heap_async_types.h"
#include "heap/heap_graph.h"

#define TAPIR_HEAP_NO_METHOD UINT32_MAX

struct tapir_heap_method {
	uint32_t object;  /* its box */
	uint32_t step;	  /* its state machine, where that is an object; or TAPIR_HEAP_NO_OBJECT */
	uint32_t awaited; /* TAPIR_HEAP_NO_OBJECT: not known */
	uint32_t callee;  /* the method that it awaits, or TAPIR_HEAP_NO_METHOD */
	uint32_t caller;  /* the first method that awaits it, or TAPIR_HEAP_NO_METHOD */
	uint32_t part_of; /* the combined task that ends with it, or TAPIR_HEAP_NO_OBJECT */
	uint32_t holder;  /* the semaphore or source of what is awaited, or TAPIR_HEAP_NO_OBJECT */
	const char *awaited_text; /* it awaits, if that is no method: "a delay"; NULL */
	bool is_stuck;		  /* it is one of those that wait for each other */
	bool is_certain;	  /* by tasks alone */
};

struct tapir_heap_async {
	struct tapir_vec(struct tapir_heap_method) methods;
	uint64_t unknown_cnt; /* methods of which it is not known what they await */
	uint64_t stuck_cnt;
	bool is_truncated; /* there is more than work is spent on */
};

/* Finds the methods of a sealed graph. 0 or -ENOMEM; then nothing is in out. */
int tapir_heap_async__init(struct tapir_heap_async *out, const struct tapir_heap_graph *g);
void tapir_heap_async__fini(struct tapir_heap_async *a);

#endif
