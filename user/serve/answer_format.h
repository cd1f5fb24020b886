/* SPDX-License-Identifier: GPL-2.0-or-later */
/* answer_format.h - the forms in which the agent hands out a recording. A table; any thread. */
#ifndef TAPIR_USER_ANSWER_FORMAT_H
#define TAPIR_USER_ANSWER_FORMAT_H

#include <stddef.h>

#include "serve/wire.h"

#define TAPIR_ANSWER_FORMAT_WORDS 4

struct tapir_answer_format {
	const char *name;   /* NULL ends the table */
	const char *suffix; /* of the file's name */
	enum tapir_mime mime;
	/* Of a tapir that reads the recording from standard input; none: the recording itself. */
	const char *argv[TAPIR_ANSWER_FORMAT_WORDS + 1];
};

extern const struct tapir_answer_format tapir_answer_formats[];

/* NULL: the first. */
const struct tapir_answer_format *tapir_answer_format__find(const char *name);
/* The i-th; NULL after the last. */
const char *tapir_answer_format__name(size_t i);

#endif
