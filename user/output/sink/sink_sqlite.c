// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The tables of `tapir query` as a database of SQLite. SQLite writes to files only, and reads back
 * what it wrote, so the database is made in a file without a name.
 */
#include <errno.h>
#include <unistd.h>

#include "output/query/query_file.h"
#include "output/query/query_source.h"
#include "output/sink/sink.h"

static int reopen_for_sqlite(void *ctx, struct tapir_reader **out)
{
	const struct tapir_export *x = ctx;

	return x->host->open_again(x->host->ctx, out);
}

static bool should_continue_tables(void *ctx)
{
	struct tapir_export *x = ctx;

	return !x->host->write(x->host->ctx, &x->out); /* nothing, but it sees Ctrl-C */
}

static int begin_sqlite(struct tapir_export *x)
{
	const struct tapir_query_file_opts opts = {.open_again = reopen_for_sqlite,
						   .should_continue = should_continue_tables,
						   .ctx = x};
	struct tapir_query_file *file = NULL;
	int err = tapir_query_file__new(x->reader, &opts, &file);

	x->state = file;
	return err;
}

static int sqlite_add(struct tapir_export *x, const struct tapir_rec *rec)
{
	return tapir_query_file__add(x->state, rec);
}

static int end_sqlite(struct tapir_export *x)
{
	int err = tapir_query_file__finish(x->state);
	off_t at = 0;
	ssize_t n = 1;

	while (!err && n > 0) {
		if (!tapir_str__reserve(&x->out, TAPIR_SINK_MUCH_BYTES))
			return -ENOMEM;
		n = pread(tapir_query_file__fd(x->state), x->out.data + x->out.len,
			  TAPIR_SINK_MUCH_BYTES, at);
		if (n < 0)
			return -errno;
		x->out.len += (size_t)n;
		at += n;
		err = tapir_sink__flush_much(x);
	}
	return err;
}

static void free_file(struct tapir_export *x)
{
	tapir_query_file__free(x->state);
}

const struct tapir_sink tapir_sink_sqlite = {
	.name = "sqlite",
	.description = "the tables of 'tapir query' as a database of SQLite",
	.lacks = "the column stack, which stacks and frames have",
	.suffix = "sqlite",
	.content = TAPIR_SINK_IS_BINARY,
	.has_switches = true,
	.is_complete = true,
	.no_trace = true,
	.takes_all = true,
	.describes = true,
	.begin = begin_sqlite,
	.add = sqlite_add,
	.end = end_sqlite,
	.free = free_file,
};
