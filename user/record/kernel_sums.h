/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kernel_sums.h - a hash table of the kernel's whose numbers BPF programs only let grow: read once
 * a second, before each new segment and at the end, so that records with what was added since the
 * last reading add up over any part of a recording. Nothing has to stop or be cleared while it is
 * read; a value that is read while it changes is complete the next time.
 *
 * One thread, the session's. Reading takes 1 us for each element; where that is more than a
 * hundredth of a second, it is done less often.
 */
#ifndef TAPIR_USER_KERNEL_SUMS_H
#define TAPIR_USER_KERNEL_SUMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tapir_kernel_sums;

/*
 * Is given an element as it is now, and what it was when it was given last (zeros at first): writes
 * the difference, and then copies now there, or not, and has it with the next one.
 */
typedef void (*tapir_kernel_sums_fn)(void *ctx, const void *key, const void *now, void *before,
				     uint64_t now_ns);

struct tapir_kernel_sums_opts {
	int fd; /* of the table, borrowed; -1: there is none to read */
	/*
	 * An array that is mapped, in place of a table; borrowed. The key of a row is its number,
	 * and one whose first 8 bytes are 0 is left out.
	 */
	const void *rows;
	size_t row_cnt;
	const char *description; /* "the numbers of system calls", for a warning */
	size_t key_bytes, value_bytes;
	tapir_kernel_sums_fn fn;
	void *ctx;
};

/* NULL: out of memory. */
struct tapir_kernel_sums *tapir_kernel_sums__new(const struct tapir_kernel_sums_opts *opts);
void tapir_kernel_sums__free(struct tapir_kernel_sums *k); /* accepts NULL */

/* Reads all, if it is time for it or must is set. */
void tapir_kernel_sums__poll(struct tapir_kernel_sums *k, uint64_t now_ns, bool must);
/* Takes the last value of an element that is no longer in the table; it is forgotten. */
void tapir_kernel_sums__end(struct tapir_kernel_sums *k, const void *key, const void *value,
			    uint64_t now_ns);
/* When the table was read last, or __new was called; now_ns if that is earlier. */
uint64_t tapir_kernel_sums__since_ns(const struct tapir_kernel_sums *k, uint64_t now_ns);

#endif
