/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * snapshot.h - what every thread of some processes does at one moment: its stacks as a SWITCH
 * record with the flag SNAPSHOT, so that threads that sleep throughout a recording are in it.
 *
 * No thread is stopped. Registers and kernel stacks come from a BPF iterator, stack memory from
 * process_vm_readv(2); a thread whose switch count is the same before and after has not run in
 * between, and what was read belongs together. A thread that ran is copied again, a few times.
 *
 * Copies of named processes are taken at once, on the caller's thread; unwind tables are read and
 * stacks are walked by a thread of its own, so that a recording does not wait for them.
 */
#ifndef TAPIR_USER_SNAPSHOT_H
#define TAPIR_USER_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tapir_programs;
struct tapir_queue;
struct tapir_snapshot;

#define TAPIR_SNAPSHOT_LOOKS 6u /* that find nearly every thread of a busy process asleep */

struct tapir_snapshot_opts {
	size_t sz;
	struct tapir_programs *programs; /* loaded with_threads; borrowed until __free */
	struct tapir_queue *queue;	 /* borrowed until __free, too */
	const uint32_t *tgids;		 /* borrowed for the call */
	size_t tgid_cnt;
	unsigned round_cnt;  /* 1: nothing is waited for; each further one takes up to 2 ms */
	bool is_end;	     /* of the recording, not its start */
	bool with_jvm_locks; /* JVMs are asked who holds their locks, at a safepoint */
	bool is_deferred;    /* the thread copies, too: for many processes */
};

/*
 * Requires CAP_SYS_PTRACE, or the user of the processes. Posts THREAD, STACK and SWITCH records to
 * the queue. A process that ended has no threads to show; one whose threads cannot be listed is
 * left out with a warning. 0 or -errno.
 */
int tapir_snapshot__start(const struct tapir_snapshot_opts *opts, struct tapir_snapshot **out);

/*
 * Returns the number of threads that were not asleep at any copy, of processes that were copied at
 * once.
 */
size_t tapir_snapshot__running_cnt(const struct tapir_snapshot *s);

/* Waits until all that was copied is posted. Accepts NULL. */
void tapir_snapshot__free(struct tapir_snapshot *s);

#endif
