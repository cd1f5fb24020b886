/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * snapshot.h - what every thread of a process does at one moment: its stacks as a SWITCH record
 * with the flag SNAPSHOT, so that threads that sleep throughout a recording are in it.
 *
 * Nobody is stopped. Registers and kernel stacks come from a BPF iterator, stack memory from
 * process_vm_readv(2); a thread whose switch count is the same before and after has not run in
 * between, and what was read belongs together. One that ran is looked at again, some times.
 *
 * Copies are taken at once, on the caller's thread; unwind tables are read and stacks are walked by
 * a thread of its own, so that a recording does not wait for them.
 */
#ifndef TAPIR_USER_SNAPSHOT_H
#define TAPIR_USER_SNAPSHOT_H

#include <stddef.h>
#include <stdint.h>

struct tapir_programs;
struct tapir_queue;
struct tapir_snapshot;

/*
 * programs: loaded with_threads. Requires CAP_SYS_PTRACE, or the user of the process. Returns 0
 * with *out, also for a process without threads to show; -errno of the iterator, without a line.
 */
int tapir_snapshot__take(struct tapir_programs *programs, uint32_t tgid,
			 struct tapir_snapshot **out);

/* Posts THREAD, STACK and SWITCH records to queue, which outlives it. */
int tapir_snapshot__start_posting(struct tapir_snapshot *s, struct tapir_queue *queue);

/* Waits until all is posted. Accepts NULL. */
void tapir_snapshot__free(struct tapir_snapshot *s);

#endif
