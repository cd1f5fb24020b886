/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * named_copy.h - a recording copied with the names that it lacks, for 'symbolize' and 'archive':
 * read once, in which the names are looked up, then written. In place it replaces only a recording
 * of which nothing would be lost, and which no process is writing. Main thread.
 */
#ifndef TAPIR_USER_NAMED_COPY_H
#define TAPIR_USER_NAMED_COPY_H

#include "cli/long_read.h"
#include "output/export/symbolize.h"
#include "trace/stored_files.h"

struct tapir_named_copy {
	const char *path, *out; /* out NULL: in place; both borrowed */
	bool force;
	/* Puts more behind the records; NULL: nothing. */
	int (*write_more)(void *ctx, struct tapir_writer *w,
			  const struct tapir_stored_check *check);
	void *ctx;
	bool is_written; /* the copy has its name; set by __write */
	/* Used by the copy alone. */
	struct tapir_long_read read;
	struct tapir_symbolize symbolize;
};

struct tapir_symbol_args;
struct tapir_symbol_count;

/* Options of a command that makes such a copy; args has output, force and json. */
#define TAPIR_NAMED_COPY_OPTIONS(args)                                                             \
	TAPIR_STRING("output", 'o', "OUT",                                                         \
		     "write to OUT; default: FILE itself, which is replaced atomically", args,     \
		     output),                                                                      \
		TAPIR_FLAG("force", 'f', "replace OUT if it exists", args, force),                 \
		TAPIR_FLAG("json", 0,                                                              \
			   "print what was added and what is missing as one JSON document", args,  \
			   json)
/*
 * Runs such a command: checks -o OUT before anything is read, then calls make with the recording.
 * Its exit status. json: standard output has the document, and OUT cannot be there.
 */
int tapir_named_copy__run(struct tapir_cli *cli, const char *out, bool json,
			  const struct tapir_symbol_args *symbols,
			  int (*make)(struct tapir_reader *reader, struct tapir_cli *cli));
/* Reads the recording, with the names of --symbols. 0 or -errno with a line; __fini either way. */
int tapir_named_copy__read(struct tapir_named_copy *copy, struct tapir_reader *reader,
			   const struct tapir_cli *cli);
/* 0, or -errno with a line: then the file that was there remains. */
int tapir_named_copy__write(struct tapir_named_copy *copy);
/*
 * Prints for --json what __read and __write did: counts of table are the member `key`. table NULL:
 * the names alone. 0 or -errno with a line.
 */
int tapir_named_copy__print_json(const struct tapir_named_copy *copy, const char *key,
				 const struct tapir_symbol_count *table, const void *counts);
void tapir_named_copy__fini(struct tapir_named_copy *copy);

#endif
