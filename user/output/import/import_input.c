// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads the file that is imported, at any offset. Fewer bytes than requested mean that it ends
 * before: the parsers report how much was missing.
 */
#include "output/import/import.h"

#include <errno.h>
#include <unistd.h>

int64_t tapir_import_input__read(void *ctx, void *buf, size_t len, uint64_t off)
{
	const struct tapir_import_input *input = ctx;
	size_t got = 0;

	while (got < len) {
		ssize_t n = pread(input->fd, (char *)buf + got, len - got, (off_t)(off + got));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			break;
		got += (size_t)n;
	}
	return (int64_t)got;
}
