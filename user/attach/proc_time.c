// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Processes whose clocks have an offset to tapir's (time_namespaces(7)). The kernel shows the
 * offsets only as text of a file, and only those that a process's children will have.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach/proc.h"
#include "base/clock.h"
#include "base/file.h"

static bool same_link(const char *a, const char *b)
{
	struct stat x, y;

	return !stat(a, &x) && !stat(b, &y) && x.st_ino == y.st_ino && x.st_dev == y.st_dev;
}

/*
 * timens_offsets are those of the namespace its children will be in (kernel/time/namespace.c): its
 * own, except for a process that has created one and not executed anything since.
 */
int tapir_proc__clock_offset(uint32_t tgid, int64_t *offset_ns)
{
	tapir_autofree char *text = NULL;
	char path[64];
	long long seconds, ns;
	const char *line;
	size_t len;
	int err;

	snprintf(path, sizeof(path), "/proc/%u/ns/time", tgid);
	if (same_link(path, "/proc/self/ns/time") || access(path, F_OK)) {
		*offset_ns = 0; /* the same as tapir's, or a kernel without them (before 5.6) */
		return 0;
	}
	snprintf(path, sizeof(path), "/proc/%u/timens_offsets", tgid);
	err = tapir_file__read(path, 4096, &text, &len);
	if (err)
		return err;
	line = strstr(text, "monotonic");
	if (!line || sscanf(line, "monotonic %lld %lld", &seconds, &ns) != 2 ||
	    __builtin_mul_overflow(seconds, (long long)TAPIR_NS_PER_SEC, &seconds) ||
	    __builtin_add_overflow(seconds, ns, &seconds))
		return -EINVAL;
	*offset_ns = seconds;
	return 0;
}
