/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * output_file.h - the output of an export or a picture: -o OUT, or standard output. A file gets its
 * name only when it is complete: until then, and after a failure, the previous file remains. Like a
 * recording, it replaces a file only with --force. Main thread.
 */
#ifndef TAPIR_USER_OUTPUT_FILE_H
#define TAPIR_USER_OUTPUT_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/atomic_file.h"
#include "base/str.h"

struct tapir_output_file {
	const char *path; /* borrowed; NULL: standard output */
	struct tapir_atomic_file file;
	int fd;		    /* of file, or standard output */
	uint64_t bytes;	    /* written */
	bool is_unwritable; /* a write failed, and a line says so */
};

struct tapir_output_file_opts {
	const char *path; /* NULL or "-" is standard output */
	bool force;	  /* replace a file that is there */
	mode_t mode;	  /* of a new file, less the umask; 0: the recording's, 0600 */
};

/* Is OUT the recording that is read? Never by force. */
bool tapir_output_file__is_same(const char *path, const char *recording);

/*
 * Opens the output. A path that is not a regular file (a FIFO, /dev/null) is written to as it is.
 * -errno, with a line.
 */
int tapir_output_file__open(struct tapir_output_file *file,
			    const struct tapir_output_file_opts *opts);
/* Writes out and empties it; __flush_much: when it is worth a write. -errno, with a line. */
int tapir_output_file__flush(struct tapir_output_file *file, struct tapir_str *out);
int tapir_output_file__flush_much(struct tapir_output_file *file, struct tapir_str *out);
/* Gives the output, which is complete, its name. */
int tapir_output_file__finish(struct tapir_output_file *file);
/*
 * Says how writing ended: the size, followed by advice (or ""); after an interruption, in place of
 * the lines since mark, what was not written. Other failures have their line already.
 */
void tapir_output_file__report_end(const struct tapir_output_file *file, const char *advice,
				   int mark, int err);
/* Closes it; without __finish, nothing is left. */
void tapir_output_file__close(struct tapir_output_file *file);

#endif
