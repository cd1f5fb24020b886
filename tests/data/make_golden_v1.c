// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Wrote golden-v1.tapir, once:
 *
 *	gcc -std=gnu11 -D_GNU_SOURCE -Iinclude -Iuser -I. tests/data/make_golden_v1.c \
 *		build/libtapir-user.a -lzstd -lz -o /tmp/make && /tmp/make
 *tests/data/golden-v1.tapir
 *
 * The file is not made again: it stands for all files of version 1 that exist.
 */
#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include "golden_v1.h"
#include "tapir/trace_format.h"
#include "trace/writer.h"

/* The only bytes that tell when it was made. */
static int fix_header(const char *path)
{
	struct tapir_file_header h = {.magic = TAPIR_FILE_MAGIC,
				      .version = 1,
				      .header_bytes = sizeof(h),
				      .created_utc_ns = GOLDEN_CREATED_UTC_NS,
				      .created_ns = GOLDEN_CREATED_NS};
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	h.crc = (uint32_t)crc32(0, (const Bytef *)&h, sizeof(h));
	return fd < 0 || pwrite(fd, &h, sizeof(h), 0) != sizeof(h) || close(fd);
}

int main(int argc, char **argv)
{
	struct tapir_writer_opts opts = {.sz = sizeof(opts), .path = argv[argc - 1], .force = true};
	struct tapir_recbuf b = {};
	struct tapir_writer *w;

	if (argc != 2 || tapir_writer__open(&opts, &w))
		return 1;
	for (int i = 0; i < GOLDEN_CNT; i++)
		if (tapir_writer__put(w, golden_record(&b, i)))
			return 1;
	if (tapir_writer__close(w))
		return 1;
	tapir_writer__free(w);
	tapir_recbuf__fini(&b);
	return fix_header(argv[1]);
}
