/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * symbols.h - the functions of a file by file offset, for naming stack frames.
 *
 * Offsets in the file, not addresses: with them a mapping's start and offset are enough, and
 * the program headers are not needed again. Names are as the linker has them (demangle.h).
 */
#ifndef TAPIR_USER_SYMBOLS_H
#define TAPIR_USER_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tapir_elf;
struct tapir_symtab;

struct tapir_symbol {
	uint64_t start_off;
	uint64_t size;	  /* an unsized symbol reaches to the next one or its section's end */
	const char *name; /* borrowed from the table until it is freed or added to */
};

/*
 * Loads .symtab, .dynsym and .gnu_debugdata, merged. A file without symbols has an empty table. 0,
 * -ENOMEM or -errno; the table is the caller's to free and keeps nothing of the image.
 */
int tapir_symtab__load(struct tapir_elf *elf, struct tapir_symtab **out);
/*
 * Loads symbols from a debug file or another copy of the file, whose own program headers do not
 * describe the file: an address as linked less bias is the offset in the file.
 */
int tapir_symtab__load_biased(struct tapir_elf *elf, uint64_t bias, struct tapir_symtab **out);
void tapir_symtab__free(struct tapir_symtab *symtab);

/* Merges in the file's separate debug information: debug_file.h. 1: merged, 0: there is none. */
struct tapir_debug_location;
int tapir_symtab__load_debug(struct tapir_symtab *symtab, struct tapir_elf *elf,
			     const struct tapir_debug_location *location);

/*
 * The innermost function that covers the offset. False: there is none, *out is untouched. Any
 * thread.
 */
bool tapir_symtab__find(const struct tapir_symtab *symtab, uint64_t file_off,
			struct tapir_symbol *out);
/* Returns the number of functions in the table. */
size_t tapir_symtab__cnt(const struct tapir_symtab *symtab);

/*
 * Symbols, or whole tables of them, that were left out: more than a million, longer than 16 KB, or
 * of a file that takes more work than any real one. Counted, not reported.
 */
size_t tapir_symtab__dropped(const struct tapir_symtab *symtab);

#endif
