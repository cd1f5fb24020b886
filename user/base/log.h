/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * log.h - what tapir is doing, for the person at the terminal: stderr, through one callback.
 *
 * Levels by what they may cost: WARN and INFO a few times a session; DEBUG once per file, process
 * or probe; TRACE may be used on a path that runs per batch, never per event.
 */
#ifndef TAPIR_USER_LOG_H
#define TAPIR_USER_LOG_H

#include <stdbool.h>

enum tapir_log_level { TAPIR_LOG_WARN, TAPIR_LOG_INFO, TAPIR_LOG_DEBUG, TAPIR_LOG_TRACE };

/* Called from any thread with one complete line, without a newline. */
typedef void (*tapir_log_fn)(enum tapir_log_level level, const char *line);

/* NULL: nothing is logged. max_level: the most talkative level that reaches fn. */
void tapir_log__set(tapir_log_fn fn, enum tapir_log_level max_level);
/*
 * For a child process: drops its lines (true), which its parent cannot distinguish from its own, or
 * lets them pass again.
 */
void tapir_log__mute(bool is_muted);
/* Formats one line and calls fn if the level passes. Any thread. */
void tapir_log(enum tapir_log_level level, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Logs the last max_lines lines of a text, such as the output of a failed child; empty ones are
 * left out. text is changed.
 */
void tapir_log__last_lines(enum tapir_log_level level, char *text, unsigned max_lines);

#define tapir_warn(...)	 tapir_log(TAPIR_LOG_WARN, __VA_ARGS__)
#define tapir_info(...)	 tapir_log(TAPIR_LOG_INFO, __VA_ARGS__)
#define tapir_debug(...) tapir_log(TAPIR_LOG_DEBUG, __VA_ARGS__)

#endif
