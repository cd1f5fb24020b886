/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * functions.h - where the functions of a file begin and end, by its .eh_frame: what is left of them
 * when their symbols were stripped. A function that a compiler split has several ranges.
 *
 * The section may be hostile: work and memory are bounded by its size. A table is independent of
 * the file it was made from; any thread may search it.
 */
#ifndef TAPIR_USER_FUNCTIONS_H
#define TAPIR_USER_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tapir_elf;
struct tapir_functions;

/*
 * Lists the functions; *out is the caller's, to __free. -ENOENT: the file has no unwind data
 * (eh_source.h), or is not for x86-64; -EFBIG: over 64 MB of it; -ENOMEM. No diagnostic line.
 */
int tapir_functions__load(struct tapir_elf *elf, struct tapir_functions **out);
void tapir_functions__free(struct tapir_functions *functions);

struct tapir_function_range {
	uint64_t start_off; /* in the file */
	uint64_t size;
	uint64_t start_va; /* as linked */
	bool is_signal;	   /* the C library's trampoline, to which signal handlers return */
};

/* Finds the range that holds an offset of the file. False: none does, *out is untouched. */
bool tapir_functions__find(const struct tapir_functions *functions, uint64_t file_off,
			   struct tapir_function_range *out);

/* The number of ranges. */
size_t tapir_functions__cnt(const struct tapir_functions *functions);

#endif
