// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any two files as one recording: the first byte says where the second begins. What was merged is
 * read to its end without damage, and each host of it is cut out again.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/diag.h"
#include "output/export/host_cut.h"
#include "output/export/merge.h"
#include "repaired_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len);

static int check_merge(void *ctx, uint64_t done_bytes, uint64_t all_bytes)
{
	(void)ctx;
	(void)done_bytes;
	(void)all_bytes;
	return 0;
}

static int check_cut(void *ctx)
{
	(void)ctx;
	return 0;
}

static struct tapir_writer *open_writer(int fd)
{
	struct tapir_writer_opts opts = {
		.sz = sizeof(opts), .path = "out", .plain = true, .has_fd = true, .fd = fd};
	struct tapir_writer *w;

	if (ftruncate(fd, 0) || lseek(fd, 0, SEEK_SET) || tapir_writer__open(&opts, &w))
		abort();
	return w;
}

static void close_writer(struct tapir_writer *w)
{
	if (tapir_writer__close(w))
		abort();
	tapir_writer__free(w);
}

static int add(struct tapir_merge *m, const uint8_t *input, size_t len, int fd, const char *name,
	       uint8_t differs)
{
	uint8_t *data = malloc(len + 1);
	struct tapir_reader *reader;
	int err;

	memcpy(data, input, len);
	if (len >= sizeof(struct tapir_file_header)) /* two that are the same are refused */
		data[sizeof(struct tapir_file_header) - 1] ^= differs;
	repair(data, len);
	if (ftruncate(fd, 0) || pwrite(fd, data, len, 0) != (ssize_t)len)
		abort();
	free(data);
	err = tapir_reader__open_fd(fd, name, &reader);
	return err ? err : tapir_merge__add(m, reader, name, name);
}

static void cut_host(int fd, const char *name, int out_fd)
{
	struct tapir_host_cut cut = {.name = name};
	struct tapir_reader *reader;
	struct tapir_writer *w;

	if (tapir_reader__open_fd(fd, "merged", &reader))
		abort();
	if (!tapir_host_cut__read(&cut, reader, check_cut, NULL)) {
		w = open_writer(out_fd);
		if (tapir_host_cut__write(&cut, w, check_cut, NULL))
			abort();
		close_writer(w);
	}
	tapir_host_cut__fini(&cut);
	tapir_reader__close(reader);
}

static void read_all(int fd)
{
	struct tapir_reader *reader;
	const struct tapir_rec *rec;

	if (tapir_reader__open_fd(fd, "merged", &reader))
		abort();
	while (tapir_reader__next(reader, &rec) > 0)
		;
	if (tapir_reader_stats__is_damaged(tapir_reader__stats(reader)))
		abort();
	tapir_reader__close(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
	static int fds[4] = {-1, -1, -1, -1};
	struct tapir_merge *m = tapir_merge__new();
	size_t first = len ? (len - 1) * input[0] / 256 : 0;
	struct tapir_writer *w;
	int err;

	for (size_t i = 0; i < 4; i++)
		if (fds[i] < 0)
			fds[i] = memfd_create("fuzz", 0);
	tapir_diag__clear();
	err = len ? add(m, input + 1, first, fds[0], "a", 0) : -1;
	err = err ? err : add(m, input + 1 + first, len - 1 - first, fds[1], "b", 1);
	err = err ? err : tapir_merge__plan(m);
	if (!err) {
		w = open_writer(fds[2]);
		err = tapir_merge__write(m, w, &(struct tapir_merge_check){check_merge, NULL});
		close_writer(w);
	}
	tapir_merge__free(m);
	if (!err) {
		read_all(fds[2]);
		cut_host(fds[2], "a", fds[3]);
		cut_host(fds[2], "b", fds[3]);
	}
	return 0;
}
