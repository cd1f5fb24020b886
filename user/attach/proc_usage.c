// SPDX-License-Identifier: GPL-2.0-or-later
/* /proc/PID/stat for the CPU, statm for memory. */
#include "attach/proc_usage.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"

#define MAX_BYTES 4096

/* "pid (comm) S ppid ...": the comm may hold anything, ')' too. utime and stime are words 14, 15.
 */
static int parse_stat(const char *text, struct tapir_proc_usage *out)
{
	const char *open = strchr(text, '('), *close = strrchr(text, ')');
	unsigned long long user, system;
	size_t len;

	if (!open || !close || close < open ||
	    sscanf(close + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", &user,
		   &system) != 2)
		return -EPROTO;
	len = (size_t)(close - open - 1);
	len = len < TAPIR_COMM_BYTES - 1 ? len : TAPIR_COMM_BYTES - 1;
	memcpy(out->comm, open + 1, len);
	out->cpu_ns = (user + system) * (TAPIR_NS_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK));
	return 0;
}

int tapir_proc_usage__read(uint32_t tgid, struct tapir_proc_usage *out)
{
	tapir_autofree char *stat = NULL, *statm = NULL;
	unsigned long long resident, shared;
	struct tapir_proc_usage usage = {};
	char path[48];
	size_t len;
	int err;

	snprintf(path, sizeof(path), "/proc/%u/stat", tgid);
	err = tapir_file__read(path, MAX_BYTES, &stat, &len);
	if (!err)
		err = parse_stat(stat, &usage);
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
