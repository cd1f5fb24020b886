/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * import.h - files of other tools as recordings: every command then reads them. What a format does
 * not have is written into the recording as a limit (TAPIR_META_LACKS), which a report prints.
 *
 * The format is recognized by how the file begins, whatever its name is. Files are hostile input.
 * One thread; no privileges but for reading the file and those that it names.
 */
#ifndef TAPIR_USER_IMPORT_H
#define TAPIR_USER_IMPORT_H

#include "trace/family.h"
#include "trace/writer.h"

struct tapir_import_opts {
	/* Makes the recording, when its beginning is known. 0 or -errno with a line. */
	int (*open)(void *ctx, uint64_t created_ns, uint64_t created_utc_ns,
		    struct tapir_writer **out);
	int (*check)(void *ctx); /* called now and then: an error of it ends the import */
	void *ctx;
};

/* The file: a regular one, borrowed. */
struct tapir_import_input {
	int fd;
	const char *name;    /* in messages */
	uint64_t bytes;	     /* its size */
	uint64_t changed_ns; /* UTC: when it was written last */
};

struct tapir_import_result {
	const char *format; /* "perf.data", which is set before the format's function is called */
	uint64_t captured[TAPIR_FAMILY_CNT];
	uint64_t malformed_cnt; /* records that were skipped, a loss of the recording */
	uint64_t tail_bytes;	/* at the end, of no whole record */
};

/*
 * -EOPNOTSUPP with a line: a format that is not known, or a form of it that cannot be read; others
 * with a line.
 */
int tapir_import__file(const struct tapir_import_input *input, const struct tapir_import_opts *opts,
		       struct tapir_import_result *out);

/*
 * For the formats: adds a line of why the file cannot be read. what: "a nettrace", of -EPROTO;
 * refused: of -EOPNOTSUPP, "is of a machine with the other byte order".
 */
int tapir_import__fail(const struct tapir_import_input *input, int err, const char *what,
		       const char *refused);
/* For the formats: pread(2) of a struct tapir_import_input, which is ctx. */
int64_t tapir_import_input__read(void *ctx, void *buf, size_t len, uint64_t off);

#endif
