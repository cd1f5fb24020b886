// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * /proc/PID/stat for the CPU, statm for memory; /proc/stat for the machine. Ticks are of 10 ms: a
 * difference over less than a second is no measure of a busy thread.
 */
#include "attach/proc_usage.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "attach/proc.h"
#include "base/clock.h"
#include "base/file.h"

#define MAX_BYTES	  4096
#define MAX_MACHINE_BYTES (1u << 20) /* lines for CPUs and interrupts follow */

int tapir_proc_usage__read(uint32_t tgid, struct tapir_proc_usage *out)
{
	tapir_autofree char *statm = NULL;
	unsigned long long resident, shared;
	struct tapir_proc_usage usage = {};
	char path[48];
	size_t len;
	int err = tapir_proc__read_cpu(tgid, usage.comm, &usage.cpu_ns);

	snprintf(path, sizeof(path), "/proc/%u/statm", tgid);
	if (!err)
		err = tapir_file__read(path, MAX_BYTES, &statm, &len);
	if (err)
		return err;
	if (sscanf(statm, "%*u %llu %llu", &resident, &shared) != 2)
		return -EPROTO;
	usage.resident_bytes = resident * (uint64_t)sysconf(_SC_PAGESIZE);
	usage.file_bytes = shared * (uint64_t)sysconf(_SC_PAGESIZE);
	*out = usage;
	return 0;
}

int tapir_proc_usage__read_brief(uint32_t tgid, struct tapir_proc_usage *out)
{
	struct tapir_proc_usage usage = {};
	int err = tapir_proc__read_usage(tgid, usage.comm, &usage.cpu_ns, &usage.resident_bytes);

	if (!err)
		*out = usage;
	return err;
}

int tapir_proc_usage__read_machine(uint64_t *cpu_ns)
{
	uint64_t tick_ns = TAPIR_NS_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK);
	unsigned long long user, nice, system, irq, softirq;
	tapir_autofree char *stat = NULL;
	size_t len;
	int err = tapir_file__read("/proc/stat", MAX_MACHINE_BYTES, &stat, &len);

	if (err)
		return err;
	if (sscanf(stat, "cpu %llu %llu %llu %*u %*u %llu %llu", &user, &nice, &system, &irq,
		   &softirq) != 5)
		return -EPROTO;
	*cpu_ns = (user + nice + system + irq + softirq) * tick_ns;
	return 0;
}
