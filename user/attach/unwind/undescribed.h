/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * undescribed.h - code that needs no .eh_frame to be understood: stubs that the linker writes (lld
 * describes none), the entry point (no caller), trampolines of signals (musl, Go), functions of Go
 * (go_rows.h), functions that keep frame pointers where nothing else describes them. One file, one
 * thread.
 */
#ifndef TAPIR_USER_UNDESCRIBED_H
#define TAPIR_USER_UNDESCRIBED_H

struct tapir_elf;
struct tapir_unwind_rows;

/*
 * Makes all rows of a file: those of .eh_frame (rows.h), and in their gaps these. -ENOENT: the file
 * has no unwind data, or is not for x86-64; -EFBIG: too much of it; -ENOMEM. No line.
 */
int tapir_unwind_rows__make(struct tapir_elf *elf, struct tapir_unwind_rows *out);

#endif
