/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * native_ranges.h - which addresses of a process are mapped, and who mapped them, from records of
 * mmap(2) and its like: ranges that do not overlap, in order. A part of one can be unmapped, made
 * inaccessible or mapped again. What was mapped before the first record is not in it. One thread.
 */
#ifndef TAPIR_USER_NATIVE_RANGES_H
#define TAPIR_USER_NATIVE_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

#define TAPIR_NATIVE_RANGES_MAX 65536u /* of a process: the kernel's own limit is about that */

struct tapir_native_range {
	uint64_t start_va, end_va;
	uint32_t owner;	    /* the caller's number */
	bool is_accessible; /* else it is reserved: it has no memory */
};

struct tapir_native_ranges {
	struct tapir_vec(struct tapir_native_range) all;
	uint64_t more; /* that found no room */
	bool failed;   /* out of memory */
};

/* Maps a range, in the place of whatever is there. */
void tapir_native_ranges__map(struct tapir_native_ranges *r, struct tapir_native_range range);
void tapir_native_ranges__unmap(struct tapir_native_ranges *r, uint64_t start_va, uint64_t end_va);

/*
 * Makes the parts of a range that are known accessible or not; those that become so get the owner.
 * Returns how many bytes became accessible.
 */
uint64_t tapir_native_ranges__protect(struct tapir_native_ranges *r,
				      struct tapir_native_range range);

/* Returns how many bytes of a range are known; *accessible: of those. */
uint64_t tapir_native_ranges__known(const struct tapir_native_ranges *r, uint64_t start_va,
				    uint64_t end_va, uint64_t *accessible);
void tapir_native_ranges__fini(struct tapir_native_ranges *r);

#endif
