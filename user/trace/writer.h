/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * writer.h - records into a .tapir file or pipe (trace_format.h).
 *
 * Records are collected in two buffers, RECORDS and DESCRIPTIONS; a full one becomes a chunk.
 * catalog.h decides what a segment has to repeat. One thread at a time.
 *
 * The caller ignores SIGPIPE and SIGXFSZ: a closed pipe is -EPIPE, a size limit -EFBIG.
 *
 * After a failed write (disk full, pipe closed, max_bytes) the call in which it happens returns the
 * error, once, with a diagnostic line; a partial chunk is cut off a regular file again, and what
 * could not be written is counted. From then on only LOSS and GAP records are kept, to be written
 * by tapir_writer__close if there is room: so the file records what it lacks.
 */
#ifndef TAPIR_USER_WRITER_H
#define TAPIR_USER_WRITER_H

#include <stdbool.h>
#include <sys/types.h>

#include "tapir/abi.h"

struct tapir_writer;

struct tapir_writer_opts {
	size_t sz;	    /* sizeof(struct tapir_writer_opts) */
	const char *path;   /* "-": stdout, which must not be a terminal */
	uint64_t max_bytes; /* of the file; 0: no limit */
	bool plain;	    /* do not compress */
	bool force;	    /* replace an existing file */
	bool is_complete;   /* the file has its name when it is closed, not before */
	bool is_truncated;  /* no END chunk: a copy of a recording that lacks it, too */
	uint64_t created_utc_ns, created_ns; /* of the recording; 0: now */
	bool has_owner; /* give the file to uid and gid: the user who ran sudo */
	bool has_fd;	/* write to fd, borrowed; path is only its name in messages. A regular file
			   is empty and for this recording alone */
	int fd;
	uid_t uid;
	gid_t gid;
};

/*
 * Mode 0600. -EEXIST: there is such a file and force is not set. A file that is replaced keeps its
 * name until __keep and the first data of the new one; the new one is PATH.part-PID until then.
 * -ENXIO: a FIFO without a reader. Also atomic_file.h.
 */
int tapir_writer__open(const struct tapir_writer_opts *opts, struct tapir_writer **out);

/* Returns true if the path is "-", or another name of standard output. */
bool tapir_writer__is_stdout(const char *path);

/*
 * Writes what is buffered and the END chunk. 0, or the error of this or an earlier write. A file
 * that got no data because writing failed is removed.
 */
int tapir_writer__close(struct tapir_writer *w);

/*
 * The recording has started: with its first data from now on, or at close, the file replaces what
 * has its name. Any thread.
 */
void tapir_writer__keep(struct tapir_writer *w);
/* The recording never began: the file is removed, one it would have replaced is unchanged. */
void tapir_writer__abandon(struct tapir_writer *w);

/*
 * The program was asked to end: a pipe's reader that takes nothing for half a second from now on
 * is not waited for (-ETIMEDOUT). Any thread.
 */
void tapir_writer__stop_waiting(struct tapir_writer *w);

/* After close: the file was renamed in the meantime and is not at its path. */
bool tapir_writer__is_moved(const struct tapir_writer *w);

/*
 * For a recording in several files (segments.h), each a segment: __end_file writes what is buffered
 * and the END chunk, as close does, and __continue_in begins another file: fd, which is copied,
 * with its name in messages. A failure to write the file before is forgotten then; what it lost is
 * not, nor what comes between the two. 0, or the error as of close.
 */
int tapir_writer__end_file(struct tapir_writer *w);
int tapir_writer__continue_in(struct tapir_writer *w, int fd, const char *name);

/* Releases everything; without close, the file stays as a killed recorder leaves it. */
void tapir_writer__free(struct tapir_writer *w);

/* One well-formed record (tapir_record__ok), copied, into the buffer of its type. */
int tapir_writer__put(struct tapir_writer *w, const struct tapir_rec *rec);

/*
 * Many well-formed records of RECORDS types, one after the other, copied. first_ns and last_ns:
 * their smallest and largest time.
 */
int tapir_writer__put_span(struct tapir_writer *w, const void *data, size_t len,
			   uint32_t record_cnt, uint64_t first_ns, uint64_t last_ns);

/*
 * A FILE chunk, after all records so far. part: a struct tapir_file_part and what follows it, as in
 * trace_format.h (stored_files.h makes them).
 */
int tapir_writer__put_file(struct tapir_writer *w, const void *part, size_t len);

/* Both buffers become chunks; call it every second. Nothing buffered: nothing written. */
int tapir_writer__flush(struct tapir_writer *w);

/*
 * The segment holds 64 MB or lasts 10 s: time for a new one. Before that, name the stacks
 * that are still unnamed (tapir_catalog__next_unnamed): names may not come in a later
 * segment. After it, tapir_catalog__new_segment.
 */
bool tapir_writer__segment_due(const struct tapir_writer *w, uint64_t now_ns);
/* Writes what is buffered; the next chunk begins a segment. 0 or the writer's error. */
int tapir_writer__begin_segment(struct tapir_writer *w);

/* Bytes of the file so far, without what is buffered. */
uint64_t tapir_writer__bytes_written(const struct tapir_writer *w);
uint64_t tapir_writer__records(const struct tapir_writer *w);	   /* in written chunks */
uint64_t tapir_writer__lost_records(const struct tapir_writer *w); /* not written: DISK loss */
/* The lost records of one type (enum tapir_rec_type). */
uint64_t tapir_writer__lost(const struct tapir_writer *w, unsigned type);

#endif
