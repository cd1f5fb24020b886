/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * proc_usage.h - what a process uses: CPU time and memory, and what the machine does; from /proc.
 * No privileges.
 */
#ifndef TAPIR_USER_PROC_USAGE_H
#define TAPIR_USER_PROC_USAGE_H

#include <stdint.h>

#include "tapir/abi.h"

struct tapir_proc_usage {
	char comm[TAPIR_COMM_BYTES];
	uint64_t cpu_ns; /* user and system, as exact as the kernel's clock tick (10 ms) */
	uint64_t resident_bytes;
	uint64_t file_bytes; /* of these, pages of files and shared memory */
};

/* -errno without a line: processes come and go. */
int tapir_proc_usage__read(uint32_t tgid, struct tapir_proc_usage *out);
/* Without file_bytes, by one reading; -ESRCH also for threads of the kernel. */
int tapir_proc_usage__read_brief(uint32_t tgid, struct tapir_proc_usage *out);
/* CPU time of all processes since the start, also of those that have ended. -errno without a line.
 */
int tapir_proc_usage__read_machine(uint64_t *cpu_ns);

#endif
