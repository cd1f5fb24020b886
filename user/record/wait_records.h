/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * wait_records.h - short waits of threads and the time for which they ran, which BPF programs sum
 * (bpf/waits.bpf.c), as WAITS records: of what was added since the last ones (kernel_sums.h), and
 * when a thread ends.
 *
 * One thread, the session's.
 */
#ifndef TAPIR_USER_WAIT_RECORDS_H
#define TAPIR_USER_WAIT_RECORDS_H

#include "tapir/abi.h"

#include <stdbool.h>

struct tapir_wait_records;

typedef void (*tapir_wait_records_fn)(void *ctx, const struct tapir_rec *waits);

/* fd: of the table, borrowed. NULL: out of memory. */
struct tapir_wait_records *tapir_wait_records__new(int fd, tapir_wait_records_fn fn, void *ctx);
void tapir_wait_records__free(struct tapir_wait_records *w); /* accepts NULL */

/*
 * Takes the last values of a thread that ended: TAPIR_REC_WAIT_TOTAL. False: it is malformed. w may
 * be NULL here and below.
 */
bool tapir_wait_records__end(struct tapir_wait_records *w, const struct tapir_rec *total);
/* Writes what was added since the last time, if it is time for it or must is set. */
void tapir_wait_records__poll(struct tapir_wait_records *w, uint64_t now_ns, bool must);

#endif
