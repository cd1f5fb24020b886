/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * function.h - a function of a file by its name, as the linker has it or as people write it: where
 * its first instruction is.
 */
#ifndef TAPIR_USER_FUNCTION_H
#define TAPIR_USER_FUNCTION_H

#include <stdint.h>

struct tapir_elf;

/*
 * Finds a function's offset in the file. -ENOENT: it has none of that name; -EEXIST: several, at
 * different offsets; -EOPNOTSUPP: its code is chosen when the program starts (IFUNC). No line.
 */
int tapir_elf_function__find(struct tapir_elf *elf, const char *name, uint64_t *off);

#endif
