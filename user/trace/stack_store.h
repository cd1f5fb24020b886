/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stack_store.h - STACK records by their id, of this segment and of the one before.
 *
 * A recording has millions of them, most of them again in each segment: they are stored once, in
 * blocks, found by 8 bytes each, and dropped when they were in neither of two segments. A pointer
 * to a record is valid until the next generation. The caller bounds the memory. One thread.
 */
#ifndef TAPIR_USER_STACK_STORE_H
#define TAPIR_USER_STACK_STORE_H

#include <stdbool.h>

#include "base/vec.h"
#include "tapir/abi.h"

struct tapir_stack_slot {
	uint32_t position; /* of the record, in 8 bytes, + 1; 0: free */
	/* of its id: where the slot belongs, and most others are skipped without reading theirs */
	uint32_t tag : 31;
	uint32_t is_now : 1; /* it is in this segment */
};

struct tapir_stack_block {
	uint64_t *words;    /* NULL: it was freed, the next new one takes its number */
	uint32_t now_words; /* of records of this segment */
	bool is_sparse;	    /* what it still has moves */
};

struct tapir_stack_store {
	struct tapir_vec(struct tapir_stack_block) blocks;
	size_t block_cnt, at; /* at: the block that is filled */
	uint32_t used;	      /* of that block, in 8 bytes */
	struct tapir_stack_slot *slots;
	size_t cnt, cap; /* cap: 0 or a power of two */
	uint64_t bytes;
};

/* Frees everything; a store of zeros is empty. */
void tapir_stack_store__fini(struct tapir_stack_store *s);

/*
 * Returns the stack with that id, of this segment or the one before. Borrowed; NULL: not known.
 * is_now may be NULL.
 */
const struct tapir_rec_stack *tapir_stack_store__find(const struct tapir_stack_store *s,
						      uint64_t id, bool *is_now);
/* The stack will be requested soon: prefetches where it is, and a few records later itself. */
void tapir_stack_store__expect(const struct tapir_stack_store *s, uint64_t id, bool is_near);
/* Copies a well-formed record into this segment, in place of one with its id. 0 or -ENOMEM. */
int tapir_stack_store__put(struct tapir_stack_store *s, const struct tapir_rec_stack *rec);
/* Notes that a stack which is stored is in this segment, too. */
void tapir_stack_store__keep(struct tapir_stack_store *s, uint64_t id);
/* Begins a segment: forgets what was not in the one that ends. */
void tapir_stack_store__next_generation(struct tapir_stack_store *s);

#endif
