/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * glob_logic.bpf.h - a shell glob over a process name, as a bit-parallel automaton: bit i of the
 * state means "the first i elements of the glob match the text so far". Matching has no branch
 * except the end of the text, which suits the verifier; the tables are made in user space
 * (user/record/comm_glob.h), so that kernel and user space agree.
 */
#ifndef TAPIR_BPF_GLOB_LOGIC_H
#define TAPIR_BPF_GLOB_LOGIC_H

#include "tapir/abi.h"

#define TAPIR_COMM_GLOB_MAX 31 /* elements: one state bit each, and one for "all of it" */

struct tapir_comm_glob {
	uint32_t takes[256]; /* by text character: the glob positions that take it */
	uint32_t stars;	     /* the glob positions that are a '*' */
	uint32_t all;	     /* the state bit "whole glob matched" */
};
TAPIR_STATIC_ASSERT(sizeof(struct tapir_comm_glob) == 1032, "tapir_comm_glob");

/* text: NUL-padded to TAPIR_COMM_BYTES. */
static inline __attribute__((always_inline)) int
tapir_comm_glob__match(const struct tapir_comm_glob *glob, const char *text)
{
	uint32_t state = 1 | ((1 & glob->stars) << 1);

	for (int i = 0; i < TAPIR_COMM_BYTES; i++) {
		uint8_t c = (uint8_t)text[i];

		if (!c)
			break;
		/* A character is taken, or a star stays where it is; then stars match nothing. */
		state = ((state & glob->takes[c] & ~glob->stars) << 1) | (state & glob->stars);
		state |= (state & glob->stars) << 1;
	}
	return !!(state & glob->all);
}

#endif
