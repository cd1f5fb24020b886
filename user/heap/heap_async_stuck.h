/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * heap_async_stuck.h - which suspended methods wait for each other. One thread.
 */
#ifndef TAPIR_USER_HEAP_ASYNC_STUCK_H
#define TAPIR_USER_HEAP_ASYNC_STUCK_H

#include "heap/heap_async.h"

/* Marks them in a, whose awaits are known. 0 or -ENOMEM. */
int tapir_heap_async__find_stuck(struct tapir_heap_async *a, const struct tapir_heap_graph *g);

#endif
