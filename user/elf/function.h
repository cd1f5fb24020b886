/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * function.h - a function of a file by its name, as the linker has it or as people write it: where
 * its first instruction is. The cost is that of reading all symbols of the file. One image, one
 * thread.
 */
#ifndef TAPIR_USER_FUNCTION_H
#define TAPIR_USER_FUNCTION_H

#include <stdbool.h>
#include <stdint.h>

struct tapir_elf;
struct tapir_str;

/*
 * Finds a function's offset in the file. name: the linker's, or that of C++ or Rust with or without
 * its parameters. -ENOENT: it has none of that name; -EEXIST: several, at different offsets;
 * -EOPNOTSUPP: its code is chosen when the program starts (IFUNC). No line. Adds to like (may be
 * NULL), printable, the C++ functions that are called so but for their parameters.
 */
int tapir_elf_function__find(struct tapir_elf *elf, const char *name, uint64_t *off,
			     struct tapir_str *like);
/* Returns true for the linker's name of the part of a function that is rarely executed. */
bool tapir_elf_function__is_cold(const char *name);

#endif
