/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * chunk.h - finds chunks in a file and loads one of them: all checks of headers, CRCs, limits and
 * decompression, none of what segments or records mean. A damaged chunk costs itself alone. One
 * thread for each walk and each chunk; pread(2) leaves the descriptor's position alone, so several
 * may read one file.
 */
#ifndef TAPIR_USER_CHUNK_H
#define TAPIR_USER_CHUNK_H

#include <stdbool.h>
#include <stddef.h>

#include "tapir/trace_format.h"

/* The offset of a valid header. */
struct tapir_chunk_ref {
	uint64_t off;
	struct tapir_chunk_header h;
};

/* Walks the headers of a file. */
struct tapir_chunk_walk {
	int fd; /* borrowed */
	uint64_t off, file_bytes;
	uint64_t bytes_skipped;
};

/* Begins at the first chunk of a file. 0, or -errno with a line. */
int tapir_chunk_walk__start(struct tapir_chunk_walk *walk, int fd);
/* 1: the next complete chunk, *out set; 0: no more; -errno. Work is linear in the file. */
int tapir_chunk_walk__next(struct tapir_chunk_walk *walk, struct tapir_chunk_ref *out);

/* A chunk's records with their order in time. */
struct tapir_chunk_order {
	uint64_t time_ns;
	uint32_t off;
	uint32_t pad;
};

struct tapir_chunk {
	char *raw; /* len bytes, 8-aligned */
	size_t len;
	struct tapir_chunk_order *order; /* order_cnt well-formed records, by time */
	size_t order_cnt;
	uint64_t malformed;
	/* inside */
	char *stored;
	size_t raw_cap, stored_cap;
	void *unpacker;
	struct tapir_chunk_order *spare;
	size_t order_cap;
};

/* Frees the buffers; a chunk of zeros is empty, and one that was loaded may be loaded again. */
void tapir_chunk__fini(struct tapir_chunk *chunk);

/*
 * Reads, checks and unpacks the chunk at ref; its records are borrowed until the next load. 1:
 * loaded; 0: damaged; -errno: reading failed or out of memory.
 */
int tapir_chunk__load(struct tapir_chunk *chunk, int fd, const struct tapir_chunk_ref *ref);
/*
 * The three parts of __load, which return the same: room for the chunk; its bytes, without a call
 * of malloc, so that another thread may do it; the list of its records.
 */
int tapir_chunk__prepare(struct tapir_chunk *chunk, const struct tapir_chunk_ref *ref);
int tapir_chunk__unpack(struct tapir_chunk *chunk, int fd, const struct tapir_chunk_ref *ref);
int tapir_chunk__list(struct tapir_chunk *chunk);

static inline const struct tapir_rec *tapir_chunk__record(const struct tapir_chunk *chunk,
							  size_t idx)
{
	return (const struct tapir_rec *)(chunk->raw + chunk->order[idx].off);
}

#endif
