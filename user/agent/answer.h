/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * answer.h - small answers to a client: one JSON document or an error; the forms in which the agent
 * hands out a recording. The agent, or its tasks.
 */
#ifndef TAPIR_USER_ANSWER_H
#define TAPIR_USER_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <jansson.h>

#include "base/str.h"
#include "agent/wire.h"

/*
 * HEAD, body, END to the client's socket. flags: of send(2), MSG_DONTWAIT where the caller may not
 * wait. 0 or -errno; with MSG_DONTWAIT, -EAGAIN: part of it did not fit.
 */
int tapir_answer__send(int fd, const struct tapir_wire_head *head, const char *body, size_t len,
		       int flags);
/* Answers {"error": text}. */
int tapir_answer__error(int fd, unsigned status, const char *text, int flags);
/* The same with the lines of the diagnostic list, which is empty afterwards. */
int tapir_answer__diag(int fd, unsigned status, int flags);

/*
 * Parses what a command of tapir printed as JSON; NULL: it cannot be read. Where a number is
 * greater than INT64_MAX, as a traced program can make a sum of its events, all numbers are
 * floating point.
 */
json_t *tapir_answer__parse(const char *text, size_t len);

/* Returns the HTTP status for an -errno of tapir's. */
unsigned tapir_answer__status(int err);

/* ---- forms of a recording: a table; any thread ----------------------------------------------- */

#define TAPIR_ANSWER_FORMAT_WORDS 5

struct tapir_answer_format {
	const char *name;
	const char *suffix; /* of the file's name */
	enum tapir_mime mime;
	/*
	 * The arguments of a tapir that reads the recording from standard input; none: the
	 * recording itself.
	 */
	const char *argv[TAPIR_ANSWER_FORMAT_WORDS + 1];
	/* True where other files of this machine are in it: for role profile, up to a limit. */
	bool has_files;
	/* True for no recording at all: for a client that stops or deletes one and needs no copy.
	 */
	bool is_none;
};

#define TAPIR_ANSWER_NONE_MISPLACED "format: 'none' is for recordings that are stopped or deleted"

/* NULL: the recording itself. false: no such form. */
bool tapir_answer_format__find(const char *name, struct tapir_answer_format *out);
/* Returns the name of the i-th; NULL after the last. */
const char *tapir_answer_format__name(size_t i);

#endif
