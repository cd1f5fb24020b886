/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * frame_chain.h - one number for the functions at one address: that of the function or, where
 * functions are inlined, of their list. For what is remembered of a frame (stack_cache.h). One
 * thread.
 */
#ifndef TAPIR_USER_FRAME_CHAIN_H
#define TAPIR_USER_FRAME_CHAIN_H

#include "base/map.h"
#include "base/vec.h"
#include "symbol/frame.h"

#define TAPIR_FRAME_CHAIN (1ull << 63) /* no function's number has it */

struct tapir_frame_chains {		/* zeroed at first */
	struct tapir_vec(uint64_t) all; /* of each list: how many there are, then they */
	struct tapir_map by_numbers;	/* position + 1 */
};

/*
 * number_of(ctx, function) of each function at the frame's address, innermost first, as one number.
 * Without memory the outermost's.
 */
uint64_t
tapir_frame_chains__number(struct tapir_frame_chains *chains, const struct tapir_frame *frame,
			   uint64_t (*number_of)(void *ctx, const struct tapir_frame *function),
			   void *ctx);
/*
 * Returns how many functions a number stands for; *numbers: theirs, borrowed until the next
 * __number.
 */
unsigned tapir_frame_chains__get(const struct tapir_frame_chains *chains, const uint64_t *number,
				 const uint64_t **numbers);
/* Frees the lists; numbers from them are invalid. */
void tapir_frame_chains__fini(struct tapir_frame_chains *chains);

#endif
