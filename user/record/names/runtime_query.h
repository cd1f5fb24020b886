/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * runtime_query.h - a thread that asks runtimes for the names of their code, one after the other:
 * JVMs for a perf map, .NET for a jitdump. An answer takes from 20 ms to for ever, and the session
 * thread cannot wait.
 *
 * All functions are called by one other thread; only __free blocks.
 */
#ifndef TAPIR_USER_RUNTIME_QUERY_H
#define TAPIR_USER_RUNTIME_QUERY_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/runtime_ops.h"

struct tapir_runtime_queries;
struct tapir_runtime_query;

/* No thread runs yet. 0 or -ENOMEM; *out is the caller's to free. */
int tapir_runtime_queries__new(struct tapir_runtime_queries **out);
/* Gives up what is being asked, and removes the files that were made for us. */
void tapir_runtime_queries__free(struct tapir_runtime_queries *queries);

/* Begins a query; the thread is started with the first one. NULL: out of memory. */
struct tapir_runtime_query *tapir_runtime_queries__ask(struct tapir_runtime_queries *queries,
						       const struct tapir_runtime_ops *runtime,
						       uint32_t tgid);

/* Returns true if __answer and __error may be called. */
bool tapir_runtime_query__is_answered(struct tapir_runtime_query *q);
/*
 * Returns the answer of an answered query, in the format of its runtime; borrowed until __drop.
 * NULL: it gave none, or is not such a runtime.
 */
const void *tapir_runtime_query__answer(const struct tapir_runtime_query *q);
/* Returns the result of an answered query, 0 or -errno. */
int tapir_runtime_query__error(const struct tapir_runtime_query *q);
/* Frees the query; its file is removed if it was made for tapir. */
void tapir_runtime_query__drop(struct tapir_runtime_query *q);

#endif
