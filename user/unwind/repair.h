/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * repair.h - a file's table of the functions that hide their caller (bpf/repair_logic.bpf.h),
 * from its .eh_frame by tapir/eh_rows.h.
 *
 * x86-64. The file may be hostile: work and memory are bounded, and the worst a table can do is to
 * add a word of the process's own stack to its stacks. Any thread.
 */
#ifndef TAPIR_USER_REPAIR_H
#define TAPIR_USER_REPAIR_H

#include "bpf/control.h"

struct tapir_elf;

struct tapir_repair_table {
	uint64_t start_va; /* as linked: where the file's offsets count from */
	uint32_t size;
	uint32_t row_cnt;
	struct tapir_repair_file file;
};

/*
 * only: the one function, of the dynamic symbols, that the table is to be of; NULL: of all.
 * *out is yours, free(). -ENOENT: it has no such functions, no .eh_frame, or is not for x86-64;
 * -EFBIG: over 64 MB of it, or code over 4 GB; -ENOMEM.
 */
int tapir_repair_table__make(struct tapir_elf *elf, const char *only,
			     struct tapir_repair_table **out);

/* Of code that is leaves without a frame, all of it: nothing but a return address on the stack. */
void tapir_repair_file__set_leaves(struct tapir_repair_file *file);

#endif
