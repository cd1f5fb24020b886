/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * go_table.h - names of the functions of a Go program by its .gopclntab (Go 1.16 and newer), which
 * stripping does not remove: the runtime itself needs it.
 *
 * The section may be hostile: every read is checked, and work is bounded by its size. Not
 * thread-safe, as the image.
 */
#ifndef TAPIR_USER_GO_TABLE_H
#define TAPIR_USER_GO_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tapir_elf;

struct tapir_go_table {
	const uint8_t *data; /* borrowed from the image */
	size_t bytes;
	uint64_t text_va; /* addresses in the table are relative to it */
	uint64_t names_off, functions_off;
	uint32_t function_cnt;
	uint64_t steps_off;  /* where pcsp of a function's record counts from */
	unsigned word_bytes; /* of an entry of the table of functions: 4, before Go 1.18: 8 */
	unsigned version;    /* of the layout: 116, 118, 120 */
	uint32_t quantum;    /* bytes of code that a step counts */
};

struct tapir_go_function {
	uint64_t start_va, size;
	uint64_t record_off; /* of its struct _func, in the table */
	const char *name;    /* borrowed from the image, terminated */
};

bool tapir_go_table__is_in(const struct tapir_elf *elf); /* Does the file have such a section? */

/*
 * Reads the header of the table. False: the file has none, one of an unknown version, or the
 * address of its code is not known. out borrows from the image.
 */
bool tapir_go_table__open(struct tapir_elf *elf, struct tapir_go_table *out);

/* Reads the entry at idx < function_cnt. False: that entry is malformed. */
bool tapir_go_table__function(const struct tapir_go_table *t, uint32_t idx,
			      struct tapir_go_function *out);

#endif
