/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * archive.h - the debug files of what occurs in the stacks of a recording, to be put into it
 * (trace/stored_files.h): for --lines and --inline on a machine without the binaries. Which files
 * occur is seen while the recording is read, by the source that the reader's catalog asks for
 * lines. One thread.
 */
#ifndef TAPIR_USER_ARCHIVE_H
#define TAPIR_USER_ARCHIVE_H

#include "symbol/symbol_files.h"
#include "trace/catalog.h"
#include "trace/stored_files.h"

#define TAPIR_ARCHIVE_FILES_MAX 256u /* as many as --lines reads of one recording */

struct tapir_archive;

/* files: borrowed. fd: of the recording, for what it has already. 0 or -errno; *out is yours. */
int tapir_archive__new(struct tapir_symbol_files *files, int fd, struct tapir_archive **out);
void tapir_archive__free(struct tapir_archive *a);

/* The source for tapir_reader__use_lines; it finds no lines. Valid until __free. */
struct tapir_line_source tapir_archive__source(struct tapir_archive *a);

struct tapir_archive_counts {
	uint64_t file_cnt, bytes; /* to be put, without compression */
	uint64_t stored_cnt;	  /* that the recording has already */
	uint64_t lacking_cnt;	  /* whose debug information was not found */
	uint64_t no_build_id_cnt; /* that cannot be looked for */
	uint64_t dropped_cnt;	  /* beyond a limit */
};
/* After the last record. */
struct tapir_archive_counts tapir_archive__counts(const struct tapir_archive *a);

/* Puts them behind the records. 0, or -errno of the writer, of check, or of reading one. */
int tapir_archive__write(const struct tapir_archive *a, struct tapir_writer *w,
			 const struct tapir_stored_check *check);

#endif
