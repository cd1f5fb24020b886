/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cpu_quota.h - the limit of CPU time that a process runs under: the quota of its cgroup, or of the
 * one above it that has been throttled most. Version 1 and 2. No privileges; thread-safe.
 */
#ifndef TAPIR_USER_CPU_QUOTA_H
#define TAPIR_USER_CPU_QUOTA_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct tapir_cpu_quota {
	char dir[PATH_MAX]; /* of the cgroup */
	bool is_v2;
	uint64_t quota_us, period_us; /* CPU time in each period */
	uint64_t throttled_ns;	      /* since the cgroup was made; of each CPU it was stopped on */
	uint64_t period_cnt, throttled_cnt;
};

/*
 * Finds the quota of a process and reads its numbers. 0; -ENOENT without a line: it has no limit,
 * or its cgroups cannot be seen from here.
 */
int tapir_cpu_quota__find(uint32_t tgid, struct tapir_cpu_quota *out);
/*
 * Returns true if a process has so little CPU time, below 2 % of one CPU, that it could not answer
 * within seconds.
 */
bool tapir_cpu_quota__is_starving(uint32_t tgid);
/* Reads the numbers of quota->dir as they are now. -errno without a line. */
int tapir_cpu_quota__read(struct tapir_cpu_quota *quota);

#endif
