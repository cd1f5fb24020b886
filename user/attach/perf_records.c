// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The kernel wrote the records, but paths in them are chosen by processes, and a tracer that reads
 * too late finds others' bytes: every size is checked first.
 */
#include "attach/perf_records.h"

#include <linux/perf_event.h>
#include <stdbool.h>
#include <string.h>

/*
 * The fixed part of PERF_RECORD_MMAP2; the path follows, then the sample id. No build IDs were
 * requested: PERF_RECORD_MISC_MMAP_BUILD_ID means nothing here, the kernel leaves it set when
 * another tracer gets them (seen: 6.18).
 */
struct mmap2_record {
	struct perf_event_header h;
	uint32_t pid, tid;
	uint64_t addr, len, pgoff;
	uint32_t maj, min;
	uint64_t ino, ino_generation;
	uint32_t prot, flags;
};

struct lost_record {
	struct perf_event_header h;
	uint64_t id, cnt;
};

/* The fields that sample_id_all appends with PERF_SAMPLE_TID | PERF_SAMPLE_TIME. */
struct sample_id {
	uint32_t pid, tid;
	uint64_t time_ns;
};

/* len bytes from position pos on, unwrapped. */
static void copy_out(const struct tapir_perf_records *span, uint64_t pos, size_t len, void *out)
{
	size_t at = pos & (span->ring_bytes - 1);
	size_t first = len < span->ring_bytes - at ? len : span->ring_bytes - at;

	memcpy(out, span->ring + at, first);
	memcpy((char *)out + first, span->ring, len - first);
}

/* false: it is malformed. */
static bool deliver_mmap2(const struct mmap2_record *rec, tapir_sideband_fn fn, void *ctx)
{
	struct tapir_sideband_mmap mmap = {
		.tgid = rec->pid,
		.tid = rec->tid,
		.start_va = rec->addr,
		.len_bytes = rec->len,
		.file_off = rec->pgoff,
		.inode = rec->ino,
		.dev_major = rec->maj,
		.dev_minor = rec->min,
	};
	struct sample_id id;
	const char *path = (const char *)(rec + 1);
	size_t path_room;

	if (rec->h.size < sizeof(*rec) + sizeof(id))
		return false;
	path_room = rec->h.size - sizeof(*rec) - sizeof(id);
	memcpy(&id, path + path_room, sizeof(id));
	if (!memchr(path, '\0', path_room))
		return false;
	mmap.time_ns = id.time_ns;
	mmap.path = path;
	fn(ctx, &mmap);
	return true;
}

struct taker {
	tapir_sideband_fn fn;
	void *ctx;
};

static uint64_t take_record(void *ctx, struct perf_event_header *h)
{
	const struct taker *taker = ctx;

	if (h->type == PERF_RECORD_MMAP2)
		return !deliver_mmap2((const void *)h, taker->fn, taker->ctx);
	if (h->type == PERF_RECORD_LOST)
		return h->size < sizeof(struct lost_record)
			       ? 1
			       : ((const struct lost_record *)(const void *)h)->cnt;
	return 0;
}

uint64_t tapir_perf_records__each(const struct tapir_perf_records *span,
				  struct tapir_perf_scratch *scratch, tapir_sideband_fn fn,
				  void *ctx)
{
	struct taker taker = {fn, ctx};

	return tapir_perf_records__each_record(span, scratch, take_record, &taker);
}

uint64_t tapir_perf_records__each_record(const struct tapir_perf_records *span,
					 struct tapir_perf_scratch *scratch,
					 tapir_perf_record_fn fn, void *ctx)
{
	uint64_t lost_cnt = 0, left = span->head - span->tail;

	if (left > span->ring_bytes)
		return 1;
	while (left) {
		struct perf_event_header h;

		if (left < sizeof(h))
			return lost_cnt + 1;
		copy_out(span, span->head - left, sizeof(h), &h);
		if (h.size < sizeof(h) || h.size > left)
			return lost_cnt + 1;
		copy_out(span, span->head - left, h.size, scratch->words);
		lost_cnt += fn(ctx, (void *)scratch->words);
		left -= h.size;
	}
	return lost_cnt;
}
