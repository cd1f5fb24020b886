// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Walks the records of a jitdump by their lengths alone, through a window that is read a bounded
 * number of times: a file that is longer than that counts as whole.
 */
#include "runtime/dotnet/dotnet_dump.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include "decode/jitdump_format.h"
#include "base/foreign/foreign_file.h"

#define WINDOW_BYTES (64u << 10)
#define MAX_WINDOWS  16384u /* beyond: it would take too long */

struct walk {
	char bytes[WINDOW_BYTES];
	size_t len;
	uint64_t begin; /* in the file */
	unsigned window_cnt;
};

/* False: the file has it not, or it takes too long. */
static bool read_walk(struct walk *w, int fd, uint64_t off, void *out, size_t bytes)
{
	ssize_t got;

	if (off < w->begin || off + bytes > w->begin + w->len) {
		got = w->window_cnt++ < MAX_WINDOWS
			      ? tapir_foreign__pread(fd, w->bytes, sizeof(w->bytes), off)
			      : -1;
		w->begin = off;
		w->len = got > 0 ? (size_t)got : 0;
	}
	if (off + bytes > w->begin + w->len)
		return false;
	memcpy(out, w->bytes + (off - w->begin), bytes);
	return true;
}

bool tapir_dotnet_dump__is_truncated(int fd)
{
	struct walk w;
	struct tapir_jitdump_header header;
	struct tapir_jitdump_prefix record;
	struct stat st;
	uint64_t at, size;

	w.len = w.begin = w.window_cnt = 0;
	if (tapir_foreign__stat(fd, &st) || !read_walk(&w, fd, 0, &header, sizeof(header)) ||
	    header.magic != TAPIR_JITDUMP_MAGIC)
		return false;
	size = (uint64_t)st.st_size;
	for (at = header.total_bytes; at < size; at += record.total_bytes) {
		if (size - at < sizeof(record))
			return true;
		if (!read_walk(&w, fd, at, &record, sizeof(record)) ||
		    record.total_bytes < sizeof(record))
			return false; /* who reads it complains */
		if (record.total_bytes > size - at)
			return true;
	}
	return false;
}
