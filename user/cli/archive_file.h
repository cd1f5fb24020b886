/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * archive_file.h - a recording made complete for a machine without the binaries: for 'archive', and
 * for 'record --archive' when the recording has ended. Sizes are printed before anything is
 * written. Main thread.
 */
#ifndef TAPIR_USER_ARCHIVE_FILE_H
#define TAPIR_USER_ARCHIVE_FILE_H

#include "cli/options.h"
#include "trace/reader.h"

#define TAPIR_ARCHIVE_DEFAULT_MB 1024

/* The option of both commands; args has a bool debug_files. */
#define TAPIR_DEBUG_FILES_OPTION(args)                                                             \
	TAPIR_FLAG("debug-files", 0,                                                               \
		   "with the archive: also the debug files that --lines and --inline read", args,  \
		   debug_files)

struct tapir_archive_opts {
	const char *path, *out; /* out NULL: in place */
	bool force, debug_files;
	bool json;	    /* prints what was added and what is missing */
	uint64_t max_bytes; /* of the debug files, without compression */
};

/* reader: at its beginning, with the names of --symbols. 0 or -errno with a line. */
int tapir_archive_file__make(struct tapir_cli *cli, struct tapir_reader *reader,
			     const struct tapir_archive_opts *opts);
/* The same for a file that was recorded just now, in place and from this machine alone. */
int tapir_archive_file__after_recording(struct tapir_cli *cli, const char *path, bool debug_files);

#endif
