/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * call_counts.h - numbers of system calls, which BPF programs keep (bpf/syscalls.bpf.c), as CALLS
 * records: of what was added since the last ones, so that those of any part of a recording add up.
 * They are made once a second, before each new segment, and when a thread ends.
 *
 * One thread, the session's. Reading takes 1 us for each thread, call and result; where that is
 * more than a hundredth of a second, it is done less often.
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

/* c of the following may be NULL. The last values of a thread that ended: TAPIR_REC_CALL_TOTAL.
 * False: it is malformed. */
bool tapir_call_counts__end(struct tapir_call_counts *c, const struct tapir_rec *total);
/* must: whether it is time or not. */
void tapir_call_counts__poll(struct tapir_call_counts *c, uint64_t now_ns, bool must);
/* The last time, when the programs count no more: with the calls that have not returned. */
void tapir_call_counts__finish(struct tapir_call_counts *c, uint64_t now_ns);

#endif
