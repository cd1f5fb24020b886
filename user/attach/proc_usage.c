// SPDX-License-Identifier: GPL-2.0-or-later
/* /proc/PID/stat for the CPU, statm for memory. */
#include "attach/proc_usage.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "attach/proc.h"
#include "base/file.h"

#define MAX_BYTES 4096

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
