/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * query_file.h - the tables of a recording (query_table.h) as a database file of SQLite: each
 * record becomes a row as it is given, the lists follow at the end. It has the columns of `tapir
 * query`, but for "stack" of records, which the tables stacks and frames have once. The file has no
 * name; no other file is made. One thread.
 */
#ifndef TAPIR_USER_QUERY_FILE_H
#define TAPIR_USER_QUERY_FILE_H

#include "output/query/query.h"

struct tapir_query_file;

struct tapir_query_file_opts {
	/* Opens the recording once more: lists are read from it. */
	int (*open_again)(void *ctx, struct tapir_reader **out);
	/* Called every few thousand records; false: -EINTR. */
	bool (*should_continue)(void *ctx);
	void *ctx;
};

/* reader and opts->ctx are borrowed. 0 or -errno with a line. */
int tapir_query_file__new(struct tapir_reader *reader, const struct tapir_query_file_opts *opts,
			  struct tapir_query_file **out);
void tapir_query_file__free(struct tapir_query_file *f);
/* Adds a well-formed record, descriptions included. 0 or -errno with a line. */
int tapir_query_file__add(struct tapir_query_file *f, const struct tapir_rec *rec);
/* Adds the lists, and views of the kinds of events. 0; -EINTR; -errno with a line. */
int tapir_query_file__finish(struct tapir_query_file *f);
/* Returns the file after finish, borrowed; read it by pread(2). */
int tapir_query_file__fd(const struct tapir_query_file *f);

#endif
