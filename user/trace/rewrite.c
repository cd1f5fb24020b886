// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Copies chunk by chunk: what was one chunk is written before the next is read, so that a reader of
 * the copy gets its records in the same order. A file that grows during the copy is copied up to
 * what was complete at its beginning. Files that came with the recording follow at the end.
 */
#include "trace/rewrite.h"

#include "trace/chunk.h"
#include "trace/stored_files.h"

static int copy_chunk(const struct tapir_chunk *chunk, uint64_t segment, struct tapir_writer *w,
		      const struct tapir_rewrite *rewrite)
{
	int err = 0;

	for (size_t i = 0; i < chunk->order_cnt && !err; i++)
		err = rewrite->put(rewrite->ctx, segment, tapir_chunk__record(chunk, i), w);
	return err ? err : tapir_writer__flush(w);
}

static int begin_segment(struct tapir_writer *w, const struct tapir_rewrite *rewrite,
			 uint64_t segment)
{
	int err = segment > 1 ? tapir_writer__begin_segment(w) : 0;

	return err || !rewrite->begin_segment ? err
					      : rewrite->begin_segment(rewrite->ctx, segment, w);
}

static int copy_files(int fd, struct tapir_writer *w, const struct tapir_rewrite *rewrite)
{
	struct tapir_map have = {};
	int err = tapir_stored_files__copy(
		fd, w, &have, &(struct tapir_stored_check){rewrite->check, rewrite->ctx});

	tapir_map__fini(&have);
	return err;
}

int tapir_rewrite__copy(const struct tapir_reader *reader, struct tapir_writer *w,
			const struct tapir_rewrite *rewrite)
{
	int fd = tapir_reader__fd(reader), more = 0;
	struct tapir_chunk_walk walk;
	struct tapir_chunk chunk = {};
	struct tapir_chunk_ref ref;
	uint64_t segment = 0;
	int err = tapir_chunk_walk__start(&walk, fd);

	walk.file_bytes = tapir_reader__stats(reader)->file_bytes;
	while (!err && (more = tapir_chunk_walk__next(&walk, &ref)) > 0) {
		err = rewrite->check(rewrite->ctx);
		if (!err && ref.h.flags & TAPIR_CHUNK_SEGMENT)
			err = begin_segment(w, rewrite, ++segment);
		if (err ||
		    (ref.h.type != TAPIR_CHUNK_RECORDS && ref.h.type != TAPIR_CHUNK_DESCRIPTIONS))
			continue;
		err = tapir_chunk__load(&chunk, fd, &ref);
		err = err > 0 ? copy_chunk(&chunk, segment, w, rewrite) : err;
	}
	tapir_chunk__fini(&chunk);
	err = err ? err : more;
	return err ? err : copy_files(fd, w, rewrite);
}
