/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * recording_copy.h - the file of a command that writes a recording from the one that it reads. It
 * has its name when it is complete; after an error or Ctrl-C the previous file remains. Main
 * thread.
 */
#ifndef TAPIR_USER_RECORDING_COPY_H
#define TAPIR_USER_RECORDING_COPY_H

#include <sys/stat.h>

#include "trace/reader.h"
#include "trace/writer.h"

struct tapir_recording_copy {
	const char *path; /* borrowed */
	bool force;	  /* replace a file that exists */
	uint64_t from_ns; /* its start, since the start of the recording */
	/* When it began, of a copy that is a recording of its own; 0, for __open: as the recording,
	 * and from_ns. */
	uint64_t created_ns, created_utc_ns;
	/* Set by __open and __create. */
	struct tapir_writer *w;
	int diag_cnt; /* lines before the copy */
};

/* 0, or -errno with a line: __close is not called. */
int tapir_recording_copy__open(struct tapir_recording_copy *copy,
			       const struct tapir_reader *reader);
/* The same for what is made of other files. st: of one of them, whose owner has what root writes;
 * NULL: not known. is_cut: one lacks its end. */
int tapir_recording_copy__create(struct tapir_recording_copy *copy, const struct stat *st,
				 bool is_truncated);
/*
 * Ends the copy. err: of the records that were written; without one, completes the file. 0 or
 * -errno with a line.
 */
int tapir_recording_copy__close(struct tapir_recording_copy *copy, int err);

#endif
