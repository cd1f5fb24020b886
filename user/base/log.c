// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One callback for all log lines, which the CLI sets before there are threads. A line is formatted
 * on the stack: logging works without memory, and a longer line is cut.
 */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static tapir_log_fn log_fn;
static enum tapir_log_level log_max;
static bool is_silent;

void tapir_log__set(tapir_log_fn fn, enum tapir_log_level max_level)
{
	log_fn = fn;
	log_max = max_level;
}

void tapir_log__mute(bool is_muted)
{
	is_silent = is_muted;
}

void tapir_log(enum tapir_log_level level, const char *fmt, ...)
{
	char line[1024];
	va_list ap;

	if (!log_fn || is_silent || level > log_max)
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	log_fn(level, line);
}

void tapir_log__last_lines(enum tapir_log_level level, char *text, unsigned max_lines)
{
	char *end = text + strlen(text), *from = end, *line, *rest;

	for (unsigned cnt = 0; from > text; from--)
		if (from < end && from[-1] == '\n' && *from != '\n' && ++cnt == max_lines)
			break;
	for (line = strtok_r(from, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		tapir_log(level, "%s", line);
}
