/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf_script.h - samples, and events with a stack, as 'perf script' prints them: what its many
 * readers understand. One thread.
 */
#ifndef TAPIR_USER_PERF_SCRIPT_H
#define TAPIR_USER_PERF_SCRIPT_H

#include "base/str.h"
#include "symbol/stack_cache.h"

struct tapir_perf_script {
	const struct tapir_catalog *catalog; /* set it, the rest zero */
	/* lines of frames that were printed already, while their names hold */
	struct tapir_frame_cache memo;
	struct tapir_str lines;
	/* all lines of a stack, in the same way: most samples have one that was there before */
	struct tapir_stack_cache stacks;
	struct tapir_str texts;
	uint64_t version;
};

/*
 * Appends the lines of a record; nothing where it has no stack to have, or is of another type. Out
 * of memory shows in out.
 */
void tapir_perf_script__add(struct tapir_perf_script *script, const struct tapir_rec *rec,
			    struct tapir_str *out);
/* Frees the lines that are kept. */
void tapir_perf_script__fini(struct tapir_perf_script *script);

#endif
