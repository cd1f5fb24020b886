/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * reader.h - the records of a .tapir file, also of one that is cut, damaged, hostile, or still
 * being written (read up to now).
 *
 * A segment's descriptions go to the reader's catalog before the first of its records comes out.
 * Within a chunk records come in the order of their times; chunks come as they were written, so
 * that between them time may step back by what a ring held (milliseconds).
 *
 * Memory is bounded by the format: two chunks, and the descriptions of two segments. One thread for
 * each reader, which has another one of its own for a large file (chunk_ahead.h).
 */
#ifndef TAPIR_USER_READER_H
#define TAPIR_USER_READER_H

#include <stdbool.h>

#include "tapir/abi.h"
#include "trace/catalog.h"
#include "trace/family.h"

struct tapir_reader;

struct tapir_reader_stats {
	uint64_t created_utc_ns; /* from the file header */
	uint64_t created_ns;
	uint64_t file_bytes;
	uint64_t read_bytes;		     /* how far reading has got, for progress lines */
	uint64_t chunks;		     /* whole and undamaged, END included */
	uint64_t bad_chunks;		     /* header sound, data not: skipped */
	uint64_t bytes_skipped;		     /* skipped in search of a chunk header */
	uint64_t tail_bytes;		     /* after the last complete chunk */
	uint64_t segments;		     /* begun */
	uint64_t records;		     /* delivered, and descriptions taken in */
	uint64_t malformed_records;	     /* skipped; one with a wrong size ends its chunk */
	uint64_t missing_chunks;	     /* by their sequence numbers */
	uint64_t captured[TAPIR_FAMILY_CNT]; /* delivered so far */
	uint64_t last_ns;		     /* of these: the time of the latest */
	bool is_truncated;		     /* no END chunk: cut, killed, or still being written */
};

/* Something in it could not be read; an end that is missing is not damage. */
static inline bool tapir_reader_stats__is_damaged(const struct tapir_reader_stats *stats)
{
	return stats->bad_chunks || stats->bytes_skipped || stats->malformed_records ||
	       stats->missing_chunks;
}

/* All that is unreadable is a part of a chunk at its end: it was cut there. */
static inline bool tapir_reader_stats__is_cut_short(const struct tapir_reader_stats *stats)
{
	return stats->is_truncated && stats->tail_bytes &&
	       stats->bytes_skipped == stats->tail_bytes && !stats->bad_chunks &&
	       !stats->malformed_records && !stats->missing_chunks;
}

/*
 * path: "-" for stdin. A pipe is spooled to a file without a name in TMPDIR first. 0, or -errno
 * with a line; *out is the caller's to close.
 */
int tapir_reader__open(const char *path, struct tapir_reader **out);
/* A regular file, borrowed for the call; name is what messages call it. */
int tapir_reader__open_fd(int fd, const char *name, struct tapir_reader **out);
/* The same recording from its beginning, which a pipe's reader has spooled. */
int tapir_reader__open_again(const struct tapir_reader *r, struct tapir_reader **out);
/* Frees the reader and its catalog: every record that is borrowed ends with it. Accepts NULL. */
void tapir_reader__close(struct tapir_reader *r);

/*
 * Call before the first next: descriptions are delivered too, those of a segment before its
 * records, each once, although the file repeats it in every segment.
 */
void tapir_reader__deliver_descriptions(struct tapir_reader *r, bool on);

/*
 * For a caller that copies descriptions: call __leave_descriptions before the first next. The
 * catalog stays empty, __next delivers records alone, and on_part, if there is one, is called when
 * reading has come to another segment (of a very long one, to its next part); an error of it is
 * that of __next. __put_descriptions gives all descriptions of that part, as often as it is called;
 * room is for one chunk. __next_part continues with the next part and leaves out what was not read:
 * 1, 0 at the end, or -errno.
 */
struct tapir_chunk;
void tapir_reader__leave_descriptions(struct tapir_reader *r, int (*on_part)(void *ctx), void *ctx);
int tapir_reader__next_part(struct tapir_reader *r);
int tapir_reader__put_descriptions(struct tapir_reader *r, struct tapir_chunk *room,
				   int (*put)(void *ctx, const struct tapir_rec *rec), void *ctx);

/*
 * Call before the first next: each PROBE record is what complete makes of it (itself, or another in
 * buf; NULL: out of memory) before any caller gets it. For names the recorder did not know.
 */
struct tapir_recbuf;
void tapir_reader__complete_probes(
	struct tapir_reader *r,
	const struct tapir_rec *(*complete)(struct tapir_recbuf *buf, const struct tapir_rec *rec));

/*
 * Call before the first next: names and source lines that the recording lacks come from there
 * (catalog.h). The source is borrowed until the reader is closed.
 */
void tapir_reader__use_source(struct tapir_reader *r, const struct tapir_offline_source *source);
void tapir_reader__use_lines(struct tapir_reader *r, const struct tapir_line_source *source);

/*
 * A filter between the file and the caller of __next: its `next` calls __take for the file's
 * records, and returns these or others as __next does. NULL: no filter. Set it before the first
 * next; it is copied, its ctx borrowed.
 */
struct tapir_reader_stage {
	int (*next)(void *ctx, const struct tapir_rec **rec);
	void *ctx;
};
void tapir_reader__use_stage(struct tapir_reader *r, const struct tapir_reader_stage *stage);
/* The record that will probably be taken after `ahead` others; NULL: not loaded. A hint. */
const struct tapir_rec *tapir_reader__peek(const struct tapir_reader *r, size_t ahead);
/* The file's next record, for a stage; returns as __next. */
int tapir_reader__take(struct tapir_reader *r, const struct tapir_rec **rec);
/* Puts a describing record that the stage made into the catalog: as tapir_catalog__describe. */
int tapir_reader__describe(struct tapir_reader *r, const struct tapir_rec *rec);

/*
 * 1: *rec is the next record, well-formed, borrowed until the next call; 0: the end; -errno:
 * reading failed. Damage is counted and skipped.
 */
int tapir_reader__next(struct tapir_reader *r, const struct tapir_rec **rec);

/*
 * The record that __next gave is the last of its segment: the one after it may come when the
 * catalog has forgotten what this one refers to.
 */
bool tapir_reader__is_segment_end(const struct tapir_reader *r);

/* Returns the file; borrowed, to be read by pread(2). */
int tapir_reader__fd(const struct tapir_reader *r); /* borrowed; read it by pread(2) */
/* The catalog of what was read so far; borrowed, and changed by __next. */
const struct tapir_catalog *tapir_reader__catalog(const struct tapir_reader *r);
/* Counts of what was read so far, and of damage; borrowed. */
const struct tapir_reader_stats *tapir_reader__stats(const struct tapir_reader *r);

#endif
