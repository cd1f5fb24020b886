/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * call_counts.h - numbers of system calls, which BPF programs keep (bpf/syscalls.bpf.c), as CALLS
 * records: of what was added since the last ones (kernel_sums.h), and when a thread ends; and where
 * it was requested those of each file (call_files.h).
 *
 * One thread, the session's.
 */
#ifndef TAPIR_USER_CALL_COUNTS_H
#define TAPIR_USER_CALL_COUNTS_H

#include "attach/programs.h"

struct tapir_call_counts;

typedef void (*tapir_call_counts_fn)(void *ctx, const struct tapir_rec *calls);

/* programs is borrowed. NULL: out of memory. */
struct tapir_call_counts *tapir_call_counts__new(struct tapir_programs *programs,
						 tapir_call_counts_fn fn, void *ctx);
void tapir_call_counts__free(struct tapir_call_counts *c); /* accepts NULL */

/*
 * Takes the last values of a thread that ended: TAPIR_REC_CALL_TOTAL. False: it is malformed. c may
 * be NULL here and below.
 */
bool tapir_call_counts__end(struct tapir_call_counts *c, const struct tapir_rec *total);
/* Writes what was added since the last time, if it is time for it or must is set. */
void tapir_call_counts__poll(struct tapir_call_counts *c, uint64_t now_ns, bool must);
/* The last reading, when the programs count no longer: with the calls that have not returned. */
void tapir_call_counts__finish(struct tapir_call_counts *c, uint64_t now_ns);

#endif
