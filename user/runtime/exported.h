/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * exported.h - what a file exports for others to find (.dynsym): by such names runtimes are
 * recognized, and their variables are read. No lines. One image, one thread.
 */
#ifndef TAPIR_USER_EXPORTED_H
#define TAPIR_USER_EXPORTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/maps.h"

struct tapir_elf;

/* Returns the address as linked; 0: the file exports nothing under this name. */
uint64_t tapir_exported__linked_va(struct tapir_elf *elf, const char *name);

/*
 * Sets *out to what an address in a process, where m maps the file's first executable segment, is
 * more than as linked. False: the file has no such segment.
 */
bool tapir_exported__bias(const struct tapir_elf *elf, const struct tapir_mapping_line *m,
			  uint64_t *out);

/*
 * Returns the address in a process, where m maps the file's first executable segment; 0: not
 * exported, or no such segment.
 */
uint64_t tapir_exported__va(struct tapir_elf *elf, const struct tapir_mapping_line *m,
			    const char *name);

/* The same for several names, in one pass through the file's symbols. */
void tapir_exported__vas(struct tapir_elf *elf, const struct tapir_mapping_line *m,
			 const char *const *names, uint64_t *vas, size_t cnt);

/* Returns its size in bytes; 0: the file exports nothing under this name. */
uint64_t tapir_exported__bytes(struct tapir_elf *elf, const char *name);

#endif
