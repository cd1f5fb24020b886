/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * offcpu_tree.h - the time threads did not run as a tree of calls: by the stack with which each
 * left its CPU, and on top of it why ("[sleeping]", "[preempted]"). Weights are microseconds.
 */
#ifndef TAPIR_USER_OFFCPU_TREE_H
#define TAPIR_USER_OFFCPU_TREE_H

#include "analyze/offcpu.h"
#include "analyze/stack_tree.h"
#include "trace/trace_filter.h"

/* The name that stands for waits where events are named. */
#define TAPIR_OFFCPU_EVENT "offcpu"

/*
 * The node of the stack with which a thread leaves its CPU, and on top of it why. UINT32_MAX: the
 * thread is tapir's own, or there is no memory.
 */
uint32_t tapir_offcpu_tree__node(struct tapir_stack_tree *tree, const struct tapir_catalog *catalog,
				 const struct tapir_rec_switch *out);

struct tapir_offcpu_tree;

/*
 * Begins the tree of waits of threads that left their CPU in the trace, by the record's ids; of
 * any, unless it is set. All arguments are borrowed until __free. NULL: out of memory.
 */
struct tapir_offcpu_tree *tapir_offcpu_tree__new(struct tapir_stack_tree *tree,
						 const struct tapir_catalog *catalog,
						 const struct tapir_trace_filter *trace);
void tapir_offcpu_tree__free(struct tapir_offcpu_tree *t);

/* Adds a record as tapir_offcpu__add does. */
int tapir_offcpu_tree__add(struct tapir_offcpu_tree *t, const struct tapir_rec *rec,
			   bool (*is_wanted)(void *ctx, uint32_t tgid), void *ctx);
/* Call it after the last record; then sort the tree. */
int tapir_offcpu_tree__finish(struct tapir_offcpu_tree *t);

#endif
