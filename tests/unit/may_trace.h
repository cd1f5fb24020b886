/* SPDX-License-Identifier: GPL-2.0-or-later */
/* may_trace.h - are we allowed to load BPF programs and open perf events? Root in a container is
 * not. With TAPIR_CHECK_ALL in the environment, as .ci/run has it, a test tries nevertheless and
 * fails: a capability that is missing there is no reason to skip. */
#ifndef TAPIR_TESTS_MAY_TRACE_H
#define TAPIR_TESTS_MAY_TRACE_H

#include <linux/capability.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static inline bool may_trace(void)
{
	const uint64_t needed = 1ull << CAP_BPF | 1ull << CAP_PERFMON | 1ull << CAP_SYS_ADMIN;
	FILE *file = fopen("/proc/self/status", "re");
	unsigned long long effective = 0;
	char line[256];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "CapEff: %llx", &effective) == 1)
			break;
	if (file)
		fclose(file);
	return getenv("TAPIR_CHECK_ALL") || (effective & needed) == needed;
}

#endif
