/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pprof.h - a tree of calls as a profile of pprof (google/pprof), compressed by gzip. Functions are
 * known by their names alone: no addresses, no lines. What was counted in a span of a trace is a
 * sample of its own with the labels trace_id and span_id. One thread.
 */
#ifndef TAPIR_USER_PPROF_H
#define TAPIR_USER_PPROF_H

#include "analyze/stack_tree.h"
#include "base/str.h"
#include "base/keyed.h"

#define TAPIR_PPROF_MAX_SPANS (1u << 20) /* stacks in spans; what exceeds it has no labels */

/* Part of what a node counts itself. */
struct tapir_pprof_span {
	struct tapir_trace_ids ids;
	uint32_t node;
	uint64_t cnt;
};

/* All zero: empty. */
struct tapir_pprof_spans {
	struct tapir_keyed(struct tapir_pprof_span) rows; /* more: counts without their labels */
};

/* Adds one observation of the node. ids: NULL: it was in no span. */
void tapir_pprof_spans__add(struct tapir_pprof_spans *spans, uint32_t node,
			    const struct tapir_trace_ids *ids);
void tapir_pprof_spans__fini(struct tapir_pprof_spans *spans);

struct tapir_pprof_opts {
	uint64_t utc_ns;    /* when the recording began */
	const char *counts; /* what the tree counts: "samples" */
	uint64_t period_ns; /* of CPU time that each count stands for; 0: none */
	const char *lines;  /* comments, each ending with '\n'; NULL: none */
};

/* Adds the profile to out. 0 or -ENOMEM. */
int tapir_pprof__write(const struct tapir_stack_tree *tree, const struct tapir_pprof_spans *spans,
		       const struct tapir_pprof_opts *opts, struct tapir_str *out);

#endif
