// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes as a jitdump that grows in two steps: it ends, and what it read is the same as when
 * it is read at once.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbol/jitdump.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SEC 1000000000ull

static struct tapir_jitdump_stats read_in_steps(const uint8_t *data, size_t size, size_t cut)
{
	int fd = memfd_create("jit-1.dump", MFD_CLOEXEC);
	struct tapir_jitdump_opts opts = {.sz = sizeof(opts), .fd = fd, .uid = getuid()};
	struct tapir_jitdump_stats stats;
	struct tapir_jitdump *d;
	struct tapir_jit_table *t;
	struct tapir_jit_name n;

	if (fd < 0 || tapir_jit_table__new(&t) || tapir_jitdump__open(&opts, &d))
		abort();
	for (size_t end = cut;; end = size) {
		if (pwrite(fd, data, end, 0) != (ssize_t)end)
			abort();
		while (tapir_jitdump__read(d, 5 * SEC, 1000, t))
			;
		for (uint64_t va = 0; va < 256; va++)
			if (tapir_jit_table__find(t, va, va * SEC / 64, &n) &&
			    va - n.start_va >= n.size)
				abort();
		if (end == size)
			break;
	}
	stats = *tapir_jitdump__stats(d);
	tapir_jitdump__close(d);
	tapir_jit_table__free(t);
	close(fd);
	return stats;
}

/* 1 byte: where it is cut, in 255ths; then the records behind a good header, or all of it. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint32_t header[10] = {0x4a695444, 1, 40, 62};
	struct tapir_jitdump_stats once, twice;
	bool with_header;
	uint8_t *file;
	size_t len;

	if (!size)
		return 0;
	with_header = data[0] & 1;
	len = size - 1 + (with_header ? sizeof(header) : 0);
	file = malloc(len + 1);
	memcpy(file, header, sizeof(header) < len ? sizeof(header) : len);
	memcpy(file + (len - (size - 1)), data + 1, size - 1);
	once = read_in_steps(file, len, len);
	twice = read_in_steps(file, len, len * data[0] / 255);
	if (once.records != twice.records || once.bytes != twice.bytes)
		abort();
	free(file);
	return 0;
}
