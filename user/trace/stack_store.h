/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stack_store.h - STACK records by their id, of this segment and of the one before.
 *
 * A recording has millions of them, and they are freed all at once: they are stored in blocks,
 * found by 8 bytes each. A pointer to a record is valid until its generation is dropped. The caller
 * bounds the memory. One thread.
 */
#ifndef TAPIR_USER_STACK_STORE_H
#define TAPIR_USER_STACK_STORE_H

#include "base/vec.h"
#include "tapir/abi.h"

struct tapir_stack_slot {
	uint32_t place; /* of the record, in 8 bytes, + 1; 0: free */
	uint32_t tag;	/* of its id: most others are skipped without reading theirs */
};

struct tapir_stack_generation {
	struct tapir_vec(uint64_t *) blocks;
	uint32_t used; /* of the last block, in 8 bytes */
	struct tapir_stack_slot *slots;
	size_t cnt, cap; /* cap: 0 or a power of two */
};

struct tapir_stack_store {
	struct tapir_stack_generation now, before;
	uint64_t bytes;
};

/* Frees both generations; a store of zeros is empty. */
void tapir_stack_store__fini(struct tapir_stack_store *s);

/*
 * Return the stack with that id of this generation, or of the one before. Borrowed; NULL: not
 * known.
 */
const struct tapir_rec_stack *tapir_stack_store__now(const struct tapir_stack_store *s,
						     uint64_t id);
const struct tapir_rec_stack *tapir_stack_store__before(const struct tapir_stack_store *s,
							uint64_t id);
/* Copies a well-formed record into this generation, in place of one with its id. 0 or -ENOMEM. */
int tapir_stack_store__put(struct tapir_stack_store *s, const struct tapir_rec_stack *rec);
/* Forgets the generation before. */
void tapir_stack_store__next_generation(struct tapir_stack_store *s);

#endif
