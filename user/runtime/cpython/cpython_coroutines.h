/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cpython_coroutines.h - the coroutines of a CPython process that are suspended, and what each
 * awaits: they are objects, which the collector of garbage has in its lists. CPython 3.11 to 3.13.
 *
 * A coroutine has what it awaits on its stack of values: another coroutine, or a future, or a task,
 * of which it is known which coroutine that runs. If several await the same one,
 * the first of them counts as its caller. Coroutines whose awaits go round in a circle wait for
 * each other: each for the task of the next one, or for an asyncio.Lock in whose `async with` that
 * is.
 *
 * Nothing is asked of the interpreter, which runs on. What does not look like an object ends a
 * list; work is bounded. One thread.
 */
#ifndef TAPIR_USER_CPYTHON_COROUTINES_H
#define TAPIR_USER_CPYTHON_COROUTINES_H

#include "runtime/cpython/cpython_frames.h"
#include "trace/suspended_stack.h"

/*
 * Hands the suspended stacks to the sink. Returns 0; -EOPNOTSUPP: the version is none of those;
 * -ENOMEM; -EAGAIN: a list changed while it was read, and nothing was handed unless is_last.
 */
int tapir_cpython_coroutines__list(const struct tapir_cpython *python,
				   const struct tapir_process_memory *memory, bool is_last,
				   struct tapir_suspended_sink *sink);

#endif
