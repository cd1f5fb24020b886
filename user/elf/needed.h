/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * needed.h - what an ELF file makes the dynamic loader open: its interpreter, the libraries it
 * needs and where to search for them. One image, one thread.
 */
#ifndef TAPIR_USER_NEEDED_H
#define TAPIR_USER_NEEDED_H

#include "elf/image.h"

#define TAPIR_NEEDED_MAX 256 /* libraries of one file */

/* Borrowed from the image, all of them. */
struct tapir_needed {
	const char *interpreter;     /* NULL: none */
	const char *rpath, *runpath; /* directories separated by ':'; NULL: none */
	const char *names[TAPIR_NEEDED_MAX];
	size_t cnt;
};

/*
 * Reads what a file needs; what cannot be read counts as absent. The file must have section
 * headers.
 */
void tapir_needed__read(struct tapir_elf *elf, struct tapir_needed *out);

#endif
