/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kernel_rows.h - sums of the kernel's work, which BPF programs keep (bpf/kernel.bpf.c), as KERNEL
 * records of what was added since the last ones (kernel_sums.h), each after the STACK record of its
 * caller in the kernel. Rows of processes that are gone are given back.
 *
 * One thread, the session's.
 */
#ifndef TAPIR_USER_KERNEL_ROWS_H
#define TAPIR_USER_KERNEL_ROWS_H

#include "attach/programs.h"

struct tapir_kernel_rows;

/* Is given KERNEL records, and before them STACK, and THREAD of a process that may be unknown. */
typedef void (*tapir_kernel_rows_fn)(void *ctx, const struct tapir_rec *rec);

/* rows: of tapir_programs__kernel_rows, borrowed. NULL: out of memory. */
struct tapir_kernel_rows *tapir_kernel_rows__new(struct tapir_kernel_row *rows, size_t cnt,
						 tapir_kernel_rows_fn fn, void *ctx);
void tapir_kernel_rows__free(struct tapir_kernel_rows *k); /* accepts NULL */

/* Writes what was added since the last time, if it is time for it or must is set. k may be NULL. */
void tapir_kernel_rows__poll(struct tapir_kernel_rows *k, uint64_t now_ns, bool must);

#endif
