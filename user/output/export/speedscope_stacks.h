/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * speedscope_stacks.h - functions and stacks of a speedscope document: each gets a number when it
 * comes for the first time. For speedscope.c. One thread.
 */
#ifndef TAPIR_USER_SPEEDSCOPE_STACKS_H
#define TAPIR_USER_SPEEDSCOPE_STACKS_H

#include "base/str.h"
#include "symbol/frame_chain.h"
#include "symbol/stack_cache.h"
#include "trace/catalog.h"

#define TAPIR_SPEEDSCOPE_NO_STACK UINT32_MAX

struct tapir_speedscope_stack {
	uint64_t first; /* in frames, innermost first */
	uint32_t cnt;
};

struct tapir_speedscope_stacks {
	const struct tapir_catalog *catalog; /* borrowed; set it before numbering */
	struct tapir_str frames_json;	     /* the members of "frames" */
	struct tapir_vec(uint32_t) frames;
	struct tapir_vec(struct tapir_speedscope_stack) stacks;
	bool failed; /* out of memory */
	/* for the numbering alone */
	uint32_t frame_cnt;
	struct tapir_frame_cache frame_cache;
	struct tapir_frame_chains chains;
	struct tapir_stack_cache stack_cache;
	struct tapir_map frame_by_name, stack_by_frames;
};

/* The number of a stack, in `stacks`; TAPIR_SPEEDSCOPE_NO_STACK: nothing of it is described. */
uint32_t tapir_speedscope_stacks__number(struct tapir_speedscope_stacks *s,
					 const struct tapir_stack_ref *ref);
/* Returns the bytes held, without those of names. */
size_t tapir_speedscope_stacks__bytes(const struct tapir_speedscope_stacks *s);
void tapir_speedscope_stacks__fini(struct tapir_speedscope_stacks *s);

#endif
