// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Names of compiled code, for case_dotnet_compiled.py: `compiled_names told PID` writes what the
 * runtime tells, as a jitdump; `compiled_names file PATH` a line for each method that an assembly
 * says it has: its place in the file and its size in hex, and its name.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/file.h"
#include "runtime/dotnet/dotnet_rundown.h"
#include "symbol/dotnet_r2r.h"

static int told(const char *pid)
{
	const struct tapir_dotnet_opts opts = {.tgid = (uint32_t)strtoul(pid, NULL, 10),
					       .cancel_fd = -1,
					       .timeout_ns = 20 * TAPIR_NS_PER_SEC};
	tapir_autofd int fd = -1;
	int err = tapir_dotnet_rundown__take(&opts, &fd);
	struct stat st;
	off_t at = 0;

	if (err || fstat(fd, &st))
		return err ? err : -errno;
	while (at < st.st_size)
		if (sendfile(STDOUT_FILENO, fd, &at, (size_t)(st.st_size - at)) <= 0)
			return -EIO;
	return 0;
}

static int of_file(const char *path)
{
	tapir_autofd int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct tapir_r2r_method method;
	struct tapir_r2r *r;
	struct stat st;
	int err = fd < 0 || fstat(fd, &st) ? -errno : tapir_r2r__load(fd, &r);

	if (err)
		return err;
	for (uint64_t off = 0; off < (uint64_t)st.st_size; off++) {
		struct tapir_str name = {};

		if (!tapir_r2r__find(r, off, &method))
			continue;
		tapir_r2r__put_name(r, &method, &name);
		printf("%x %x %.*s\n", method.start_off, method.size, (int)name.len, name.data);
		tapir_str__fini(&name);
		off = method.start_off + (uint64_t)method.size - 1;
	}
	tapir_r2r__free(r);
	return 0;
}

int main(int argc, char **argv)
{
	int err = argc != 3 ? -EINVAL : !strcmp(argv[1], "told") ? told(argv[2]) : of_file(argv[2]);

	if (err)
		fprintf(stderr, "compiled_names: %s\n", strerror(-err));
	return err != 0;
}
