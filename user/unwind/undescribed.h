/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * undescribed.h - code that needs no .eh_frame to be understood: stubs that the linker writes (lld
 * describes none), the entry point (no caller), trampolines of signals (musl, Go), functions of Go
 * (go_rows.h).
 */
#ifndef TAPIR_USER_UNDESCRIBED_H
#define TAPIR_USER_UNDESCRIBED_H

struct tapir_elf;
struct tapir_file_code;
struct tapir_unwind_rows;

/* Fills gaps of rows only; code: the file's (file_code.h). 0 or -ENOMEM. */
int tapir_undescribed__add(struct tapir_elf *elf, const struct tapir_file_code *code,
			   struct tapir_unwind_rows *rows);

#endif
