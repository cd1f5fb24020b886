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

/* .symtab, .dynsym and .gnu_debugdata, merged. No symbols at all is an empty table. */
int tapir_symtab__load(struct tapir_elf *elf, struct tapir_symtab **out);
void tapir_symtab__free(struct tapir_symtab *symtab);

/*
 * Merges in the file's separate debug information: root/usr/lib/debug/.build-id/..., then
 * the .gnu_debuglink beside path, in its .debug/ and below root/usr/lib/debug (CRC checked).
 * root: "" for the host's. path: elf's as seen below root. 1: merged, 0: there is none.
 */
int tapir_symtab__load_debug(struct tapir_symtab *symtab, struct tapir_elf *elf, const char *root,
			     const char *path);

bool tapir_symtab__find(const struct tapir_symtab *symtab, uint64_t file_off,
			struct tapir_symbol *out);
size_t tapir_symtab__cnt(const struct tapir_symtab *symtab);

#endif
