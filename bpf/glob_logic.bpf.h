/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * glob_logic.bpf.h - '*' and '?' over a process name, as a bit-parallel automaton: bit i of
 * the state says "the first i characters of the glob match the text so far". Matching has
 * no branch but the end of the text, which is what the verifier likes; the tables are made
 * in user space.
 */
#ifndef TAPIR_BPF_GLOB_LOGIC_H
#define TAPIR_BPF_GLOB_LOGIC_H

#include "tapir/abi.h"

#define TAPIR_COMM_GLOB_MAX 31 /* characters: one state bit each, and one for "all of it" */

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

#ifndef __bpf__
/* Runs of stars count as one. 0, or -1: longer than TAPIR_COMM_GLOB_MAX. */
static inline int tapir_comm_glob__compile(const char *text, struct tapir_comm_glob *out)
{
	struct tapir_comm_glob glob = {.stars = 0};
	unsigned at = 0;

	for (; *text; text++) {
		if (*text == '*' && text[1] == '*')
			continue;
		if (at == TAPIR_COMM_GLOB_MAX)
			return -1;
		if (*text == '*')
			glob.stars |= 1u << at;
		for (unsigned c = 1; *text == '?' && c < 256; c++)
			glob.takes[c] |= 1u << at;
		if (*text != '?' && *text != '*')
			glob.takes[(uint8_t)*text] |= 1u << at;
		at++;
	}
	glob.all = 1u << at;
	*out = glob;
	return 0;
}
#endif

#endif
