// SPDX-License-Identifier: GPL-2.0-or-later
/* Any bytes as /proc/PID/maps: every line is handed out well-formed, or counted. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "attach/maps.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int check(const struct tapir_mapping_line *m, void *ctx)
{
	size_t *good_cnt = ctx;

	if (m->end_va <= m->start_va || strlen(m->path) != m->path_len)
		abort();
	(*good_cnt)++;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t good_cnt = 0, bad_cnt = 0, line_cnt = 0;
	int fd = memfd_create("maps", MFD_CLOEXEC);

	if (fd < 0)
		return 0;
	for (size_t i = 0; i < size; i++)
		line_cnt += data[i] == '\n' || i + 1 == size;
	if (write(fd, data, size) == (ssize_t)size && !lseek(fd, 0, SEEK_SET)) {
		if (tapir_maps__each(fd, check, &good_cnt, &bad_cnt))
			abort();
		if (good_cnt + bad_cnt != line_cnt)
			abort();
	}
	close(fd);
	return 0;
}
