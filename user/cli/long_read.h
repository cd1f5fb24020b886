/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * long_read.h - reads a file with progress (on a terminal, after a second); Ctrl-C ends it with an
 * error, a second Ctrl-C at once. Main thread: the signal's handler sets a flag of the process.
 */
#ifndef TAPIR_USER_LONG_READ_H
#define TAPIR_USER_LONG_READ_H

#include <signal.h>

#include "cli/options.h"
#include "trace/reader.h"

struct tapir_long_read {
	struct tapir_reader *reader;	    /* borrowed */
	struct sigaction old_int, old_term; /* where has_handlers */
	bool has_handlers;
	bool is_shown, has_line; /* progress is wanted; a line is shown */
	uint64_t records, began_ns, shown_ns;
};

/* Begins: reader and cli are borrowed until __stop; SIGINT and SIGTERM are handled from here on.
 * reader NULL: of a file of another kind, for which __check is called alone. */
void tapir_long_read__start(struct tapir_long_read *read, struct tapir_reader *reader,
			    const struct tapir_cli *cli);
void tapir_long_read__stop(struct tapir_long_read *read);

/* Reads as tapir_reader__next does; -EINTR, with a line: it was interrupted. */
int tapir_long_read__next(struct tapir_long_read *read, const struct tapir_rec **rec);
bool tapir_long_read__was_interrupted(void);
/* Call it while nothing is read, but written: 0, or -EINTR with a line. */
int tapir_long_read__check(struct tapir_long_read *read);
/* Replaces that line, the one after the first mark lines, by one that names what was not written.
 */
void tapir_long_read__name_output(const char *path, int mark, int err);

#endif
