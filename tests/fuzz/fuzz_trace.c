// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The reader over any bytes. The input is repaired first (magics, CRCs), or no mutation
 * would come behind them; what the repaired file says is still the fuzzer's.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include "base/diag.h"
#include "tapir/trace_format.h"
#include "trace/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len);

static void repair(uint8_t *data, size_t len)
{
	struct tapir_file_header *f = (struct tapir_file_header *)data;
	size_t at = sizeof(*f);

	if (len < at)
		return;
	f->magic = TAPIR_FILE_MAGIC;
	f->version = TAPIR_FILE_VERSION;
	f->header_bytes = sizeof(*f);
	f->crc = 0;
	f->crc = (uint32_t)crc32(0, data, sizeof(*f));
	while (len - at >= sizeof(struct tapir_chunk_header)) {
		struct tapir_chunk_header h;
		size_t left = len - at - sizeof(h);

		memcpy(&h, data + at, sizeof(h));
		h.magic = TAPIR_CHUNK_MAGIC;
		if (h.stored_bytes > left)
			h.stored_bytes = (uint32_t)left;
		if (!(h.flags & TAPIR_CHUNK_ZSTD))
			h.raw_bytes = h.stored_bytes;
		h.data_crc = (uint32_t)crc32(0, data + at + sizeof(h), h.stored_bytes);
		h.header_crc = 0;
		h.header_crc = (uint32_t)crc32(0, (const Bytef *)&h, sizeof(h));
		memcpy(data + at, &h, sizeof(h));
		at += sizeof(h) + h.stored_bytes;
	}
}

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
	return 0;
}
