/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * go_rows.h - the functions of a Go program, by its .gopclntab (Go 1.18 and newer), which stays in
 * stripped programs: how deep the stack is at each instruction, and which functions are the first
 * ones of a stack (runtime.goexit, runtime.mstart). What systemstack calls on its thread's own
 * stack leads on to the goroutine's (go_switch.h); of other functions that change stacks (calls of
 * C) the callers are not found, and the stack says so.
 */
#ifndef TAPIR_USER_GO_ROWS_H
#define TAPIR_USER_GO_ROWS_H

struct tapir_elf;
struct tapir_file_code;
struct tapir_unwind_rows;

/*
 * Fills gaps of rows; nothing in programs that are not Go's, or of an unknown version. code: the
 * file's. 0 or -ENOMEM.
 */
int tapir_go_rows__add(struct tapir_elf *elf, struct tapir_file_code *code,
		       struct tapir_unwind_rows *rows);

#endif
