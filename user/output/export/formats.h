/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * formats.h - the formats of other tools that a recording is written in: the one list of them, for
 * the command line, its help, the agent and its pages.
 */
#ifndef TAPIR_USER_FORMATS_H
#define TAPIR_USER_FORMATS_H

#include <stdbool.h>
#include <stddef.h>

enum tapir_format_id {
	TAPIR_FORMAT_NETTRACE,
	TAPIR_FORMAT_SPEEDSCOPE,
	TAPIR_FORMAT_FOLDED,
	TAPIR_FORMAT_PPROF,
	TAPIR_FORMAT_OTLP,
	TAPIR_FORMAT_PERFSCRIPT,
	TAPIR_FORMAT_CNT,
};

enum tapir_format_content { TAPIR_FORMAT_IS_BINARY, TAPIR_FORMAT_IS_TEXT, TAPIR_FORMAT_IS_JSON };

struct tapir_format {
	const char *name;
	const char *what;   /* half a line, for help */
	const char *suffix; /* of a file's name */
	enum tapir_format_content content;
	bool is_whole; /* it holds the whole recording, not stacks of one kind of records */
	bool has_head; /* a place for the finding */
};

extern const struct tapir_format tapir_formats[TAPIR_FORMAT_CNT];

/* The name of the i-th format; NULL after the last. */
const char *tapir_format__name(size_t i);
/* NULL: no such format, or name is NULL. */
const struct tapir_format *tapir_format__find(const char *name);

#endif
