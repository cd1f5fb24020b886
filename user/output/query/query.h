/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * query.h - a recording as SQL tables: SQLite reads them as virtual tables (query_module.c) that
 * are described once (query_tables.c). One statement, which only reads: the authorizer refuses all
 * else, nothing is written to a file, and memory and time are limited. Rows of records are read
 * from the file as SQLite asks for them.
 *
 * Statements come from people and from other programs, values from traced processes. One thread.
 */
#ifndef TAPIR_USER_QUERY_H
#define TAPIR_USER_QUERY_H

#include "base/str.h"
#include "trace/reader.h"

struct tapir_query;

struct tapir_query_opts {
	/* Opens the recording once more: a statement may read it several times. */
	int (*open_again)(void *ctx, struct tapir_reader **out);
	void *ctx;
	uint64_t timeout_ns; /* 0: none */
};

enum tapir_sql_type { TAPIR_SQL_NULL, TAPIR_SQL_INT, TAPIR_SQL_REAL, TAPIR_SQL_TEXT };

/* One value; text is not NUL-terminated and borrowed until the next row. */
struct tapir_sql_value {
	uint32_t len; /* of text */
	uint8_t type; /* enum tapir_sql_type */
	union {
		int64_t i64;
		double f64;
		const char *text;
	};
};

/*
 * reader: before its first record, borrowed; the first table that is read is read from it. 0 or
 * -errno with a line.
 */
int tapir_query__new(struct tapir_reader *reader, const struct tapir_query_opts *opts,
		     struct tapir_query **out);
void tapir_query__free(struct tapir_query *q);

/*
 * Compiles a statement, copied. -EINVAL with lines: the statement is wrong, or may not be run;
 * -ENOMEM; -errno.
 */
int tapir_query__prepare(struct tapir_query *q, const char *sql);
/*
 * Return the number of columns, and the name of one below that; borrowed until the next __prepare.
 */
unsigned tapir_query__column_cnt(const struct tapir_query *q);
const char *tapir_query__column_name(const struct tapir_query *q, unsigned column);
/* Returns 1: the next row is there, 0: the end, -errno with a line. */
int tapir_query__step(struct tapir_query *q);
/* Writes a value of the current row. */
void tapir_query__cell(const struct tapir_query *q, unsigned column, struct tapir_sql_value *out);
/* Returns true if the reader of __new was read to the end of the file. */
bool tapir_query__has_read_all(const struct tapir_query *q);

/* Adds the tables, those of the recording's events with them, as people read them. 0 or -errno. */
int tapir_query__list(struct tapir_query *q, struct tapir_str *out);
/* Adds every table with its columns: the text of `tapir help tables`. */
void tapir_query__add_schema(struct tapir_str *out);

#endif
