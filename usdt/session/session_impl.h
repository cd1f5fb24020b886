/* SPDX-License-Identifier: MIT */
/*
 * session_impl.h - a session into a file (tapir/file_session.h):
 *
 *	session_file	the session: its listener, its thread, records of events
 *	session_chunks	the file: chunks of records (tapir/trace_format.h), segments, its end
 *	session_env	the session that the environment requests
 *
 * One thread at a time writes: the session's, and when that has ended the one that closes it.
 */
#ifndef TAPIR_USDT_SESSION_IMPL_H
#define TAPIR_USDT_SESSION_IMPL_H

#include <time.h>

#include "../provider/provider_impl.h"
#include "tapir/file_session.h"
#include "tapir/trace_format.h"

/* Records of one kind of chunk that are not written yet. */
struct session_chunk {
	uint8_t *bytes;
	size_t used, room;
	uint32_t record_cnt, pad0;
	uint64_t first_ns, last_ns;
};

struct session_file {
	int fd;
	int err; /* of the first write that failed: then nothing more is written */
	uint32_t seq, is_segment_new;
	uint64_t max_bytes, written;
	uint64_t unwritten; /* events that were put, and are not in the file */
	struct session_chunk descriptions, records;
};

static inline uint64_t session_clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

#pragma GCC visibility push(hidden)

/* 0 or -errno; the file did not exist. */
int session_file__open(struct session_file *f, const char *path, uint64_t max_bytes);
/*
 * Returns room for a record, a multiple of 8 bytes, filled with 0 after its head; NULL: no memory,
 * or the file can no longer be written. is_description: see trace_format.h.
 */
void *session_file__put(struct session_file *f, int is_description, uint16_t type, size_t bytes,
			uint64_t time_ns);
/* Writes what was put. The first chunk after __begin_segment begins a segment. */
void session_file__flush(struct session_file *f);
/* The next chunk begins a segment: everything is described again. */
void session_file__begin_segment(struct session_file *f);
/*
 * losses: at most two, written before the end if their counts are not 0; NULL: no end is written.
 * Where they do not fit there is no end, and the file is incomplete. Closes the descriptor and
 * frees the memory. 0 or the first -errno.
 */
int session_file__close(struct session_file *f, const struct tapir_rec_loss *losses, uint32_t cnt);

#pragma GCC visibility pop

#endif
