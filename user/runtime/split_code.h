/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * split_code.h - the part of a function that the compiler has put elsewhere: what gcc takes for
 * rare ("NAME.cold"), of which a stripped file has no symbol. Debian's CPython 3.14 runs most
 * instructions there. Any thread.
 */
#ifndef TAPIR_USER_SPLIT_CODE_H
#define TAPIR_USER_SPLIT_CODE_H

#include "attach/maps.h"
#include "runtime/interp_merge.h"
#include "runtime/process_memory.h"

struct tapir_elf;

/*
 * Sets the loop's other part by the jumps of the part that is known: they lead into the middle of
 * what the file's unwind data have as a function. m: maps the file's code. Leaves it as it is where
 * there is none.
 */
void tapir_split_code__find(struct tapir_elf *elf, const struct tapir_mapping_line *m,
			    const struct tapir_process_memory *memory,
			    struct tapir_interp_loop *loop);

#endif
