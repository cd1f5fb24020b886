// SPDX-License-Identifier: GPL-2.0-or-later
/* The file is the JVM's user's, who may put anything in its place: symbol/jit_file.h opens it. */
#include "runtime/jvm/heap/jvm_file.h"

#include <stdio.h>

#include "base/file.h"
#include "base/foreign/foreign_file.h"
#include "symbol/jit_file.h"

int tapir_jvm_file__read(uint32_t tgid, const struct tapir_jvm_perf_map *file, size_t max_bytes,
			 char **data, size_t *len)
{
	char path[64];
	struct tapir_jit_file_opts opts = {
		.sz = sizeof(opts), .tgid = tgid, .uid = file->uid, .path = path};
	tapir_autofd int handle = -1, fd = -1;

	snprintf(path, sizeof(path), "/tmp/%s", file->name);
	handle = tapir_jit_file__open(&opts);
	if (handle < 0)
		return handle;
	fd = tapir_foreign__content(handle);
	return fd < 0 ? fd : tapir_file__read_fd(fd, max_bytes, data, len);
}
