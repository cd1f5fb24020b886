/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * process_use.h - what each process used of the machine, as a listener of a timeline: CPU time, by
 * context switches or their sums where they were recorded, else by samples; time in which its
 * threads waited; bytes of block devices; system calls, page faults. CPU time by switches is
 * divided among the processes CPU by CPU, so that it adds up to the machine's. One thread.
 */
#ifndef TAPIR_USER_PROCESS_USE_H
#define TAPIR_USER_PROCESS_USE_H

#include "base/keyed.h"
#include "analyze/view.h"

#define TAPIR_PROCESS_USE_MAX 65536u /* processes */

struct tapir_used {
	uint64_t cpu_ns, sample_ns, runnable_ns, asleep_ns, read_bytes, written_bytes;
	uint64_t call_cnt, failed_call_cnt; /* system calls that returned */
	uint64_t fault_cnt, major_fault_cnt;
};

struct tapir_process_used {
	uint32_t pid, cnt;		  /* cnt: of processes; several have pid 0 */
	char comm[TAPIR_COMM_TEXT_BYTES]; /* for those who show it */
	struct tapir_used used;
};

struct tapir_used_cpu {
	uint64_t last_ns; /* of its last switch; 0: none was seen */
	uint32_t in_pid;
};

/* Set tl, and zero the others. */
struct tapir_process_use {
	struct tapir_timeline *tl;
	struct tapir_keyed(struct tapir_process_used) rows;
	struct tapir_vec(struct tapir_used_cpu) cpus; /* by number; none: no switch was seen */
	uint64_t first_ns, last_ns;		      /* of all switches */
	uint64_t more;				      /* records of processes without a row */
	bool has_samples, has_sums, failed;
	bool has_ended; /* a thread has: no part of the time is asked for */
};

extern const struct tapir_timeline_fns tapir_process_use_fns; /* ctx: the use */
/* Call it after the timeline is finished. Returns the CPU time of all, in ns. */
uint64_t tapir_process_use__finish(struct tapir_process_use *use);
uint64_t tapir_process_use__cpu_ns(const struct tapir_process_use *use,
				   const struct tapir_used *used);
/* Returns true if switches, or their sums, were recorded. */
bool tapir_process_use__has_switches(const struct tapir_process_use *use);
void tapir_process_use__fini(struct tapir_process_use *use);

#endif
