// SPDX-License-Identifier: GPL-2.0-or-later
/* The reader over any bytes, and the files that came with a recording. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/diag.h"
#include "repaired_file.h"
#include "trace/reader.h"
#include "trace/stored_files.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len);

static void look_up(const struct tapir_catalog *c, const struct tapir_rec *rec)
{
	const struct tapir_rec_event *ev = (const struct tapir_rec_event *)rec;
	const struct tapir_rec_mapping *m;

	if (rec->type != TAPIR_REC_EVENT)
		return;
	tapir_catalog__probe(c, ev->probe_id);
	tapir_catalog__thread(c, ev->tid, rec->time_ns);
	tapir_catalog__process(c, ev->tgid, rec->time_ns);
	tapir_catalog__jit(c, ev->tgid, ev->stack_id, rec->time_ns);
	m = tapir_catalog__mapping(c, ev->tgid, ev->stack_id, rec->time_ns);
	if (m)
		tapir_catalog__symbol(c, m->file_id, ev->stack_id - m->start_va + m->file_off);
}

static void unpack_files(int fd)
{
	struct tapir_stored_files *files;
	struct tapir_stored_file file;

	if (tapir_stored_files__open(fd, &files))
		return;
	for (size_t i = 0; tapir_stored_files__get(files, i, &file); i++) {
		int out = tapir_stored_files__unpack(files, file.build_id, file.build_id_bytes);

		if (out >= 0 && lseek(out, 0, SEEK_END) != (off_t)file.bytes)
			abort();
		if (out >= 0)
			close(out);
	}
	tapir_stored_files__close(files);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
	static int fd = -1;
	static char path[64];
	struct tapir_reader *r;
	const struct tapir_rec *rec;
	uint8_t *data = malloc(len + 1);

	if (fd < 0) {
		fd = memfd_create("fuzz", 0);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	}
	memcpy(data, input, len);
	if (len && !(input[len - 1] & 1))
		repair(data, len);
	if (ftruncate(fd, 0) || pwrite(fd, data, len, 0) != (ssize_t)len)
		abort();
	free(data);
	tapir_diag__clear();
	if (tapir_reader__open(path, &r))
		return 0;
	tapir_reader__deliver_descriptions(r, true);
	while (tapir_reader__next(r, &rec) == 1)
		look_up(tapir_reader__catalog(r), rec);
	tapir_reader__close(r);
	unpack_files(fd);
	return 0;
}
