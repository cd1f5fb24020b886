/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pprof.h - a tree of calls as a profile of pprof (google/pprof), compressed by gzip. Functions are
 * known by their names alone: no addresses, no lines. One thread.
 */
#ifndef TAPIR_USER_PPROF_H
#define TAPIR_USER_PPROF_H

#include "analyze/stack_tree.h"
#include "base/str.h"

struct tapir_pprof_opts {
	uint64_t utc_ns;    /* when the recording began */
	const char *counts; /* what the tree counts: "samples" */
	uint64_t period_ns; /* of CPU time that each count stands for; 0: none */
	const char *lines;  /* comments, each ending with '\n'; NULL: none */
};

/* Adds the profile to out. 0 or -ENOMEM. */
int tapir_pprof__write(const struct tapir_stack_tree *tree, const struct tapir_pprof_opts *opts,
		       struct tapir_str *out);

#endif
