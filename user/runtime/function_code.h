/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * function_code.h - addresses in the instructions of a function that an interpreter exports: where
 * the function reads what the interpreter does not export. As gcc and clang make them on x86-64;
 * other instructions lead nowhere. Pure but for reads.
 */
#ifndef TAPIR_USER_FUNCTION_CODE_H
#define TAPIR_USER_FUNCTION_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/process_memory.h"

/* The address that an instruction of the function at va means by its last 4 bytes, those at `at`.
 */
uint64_t tapir_function_code__relative(uint64_t va, const uint8_t *code, size_t at);

/*
 * Finds the thread-local variable that the function reads first. *root: TAPIR_INTERP_TLS or
 * TAPIR_INTERP_INDEX (bpf/interp.h). False: there is none.
 */
bool tapir_function_code__thread_local(const struct tapir_process_memory *memory, uint64_t fn_va,
				       uint8_t *root, uint64_t *root_va);

/* The address that the function returns: lea disp(%rip),%rax; ret. 0: it does something else. */
uint64_t tapir_function_code__returned(const struct tapir_process_memory *memory, uint64_t fn_va);

/*
 * The function that it ends with, whose caller is then its own: a jump behind the last register
 * that is restored. 0: none, or not within its first TAPIR_FUNCTION_CODE_BYTES.
 */
#define TAPIR_FUNCTION_CODE_BYTES 192u
uint64_t tapir_function_code__tail_call(const struct tapir_process_memory *memory, uint64_t fn_va);

#endif
