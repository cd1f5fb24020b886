/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stored_files.h - files within a recording (FILE chunks of trace_format.h): debug information, by
 * build ID, for a machine that has neither the binaries nor their debug files.
 *
 * Readers of records pass over these chunks by their headers. A file is unpacked when it is
 * requested, into one without a name, and is hostile input as the rest of the recording is: each
 * part has a CRC, parts must fit together, and sizes are limited. One thread at a time.
 */
#ifndef TAPIR_USER_STORED_FILES_H
#define TAPIR_USER_STORED_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

struct tapir_writer;
struct tapir_stored_files;

/* Limits of one file, and of all files that are unpacked from one recording. */
#define TAPIR_STORED_FILE_MAX_BYTES (1ull << 30)
#define TAPIR_STORED_MAX_BYTES	    (4ull << 30)

/* Lists those of a recording. fd: a duplicate is kept. 0, or -errno with a line. */
int tapir_stored_files__open(int fd, struct tapir_stored_files **out);
void tapir_stored_files__close(struct tapir_stored_files *files);

/* A file as its first part describes it; all borrowed until __close. */
struct tapir_stored_file {
	const uint8_t *build_id;
	size_t build_id_bytes;
	uint64_t bytes, stored_bytes; /* unpacked, in the recording */
};
/* Fills out with the idx-th file; false: there are fewer. */
bool tapir_stored_files__get(const struct tapir_stored_files *files, size_t idx,
			     struct tapir_stored_file *out);
bool tapir_stored_files__has(const struct tapir_stored_files *files, const uint8_t *build_id,
			     size_t build_id_bytes);

/*
 * Unpacks a file into a temporary one, or into memory where none can be created (at most 512 MB):
 * a descriptor that is the caller's. -ENOENT: there is no such file; -EBADMSG: a part is damaged or
 * missing; -EFBIG: a limit; -ENOSPC: no room in memory; others: of the new file. Without a line.
 */
int tapir_stored_files__unpack(struct tapir_stored_files *files, const uint8_t *build_id,
			       size_t build_id_bytes);

/* Called once a part: an error of it ends the writing. */
struct tapir_stored_check {
	int (*check)(void *ctx);
	void *ctx;
};

/* A file to be stored: its build ID, at most 255 bytes, and its content. */
struct tapir_stored_source {
	const uint8_t *build_id;
	size_t build_id_bytes;
	int fd; /* borrowed, read by pread(2) */
	uint64_t bytes;
};
/* Puts a file behind the records of a recording. -EIO: it became shorter. */
int tapir_stored_files__put(struct tapir_writer *w, const struct tapir_stored_source *source,
			    const struct tapir_stored_check *check);
/*
 * Puts those of the recording fd into another one as they are; damaged parts are left out. have:
 * what the other one has, in which files of several recordings are noted.
 */
int tapir_stored_files__copy(int fd, struct tapir_writer *w, struct tapir_map *have,
			     const struct tapir_stored_check *check);

#endif
