/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * diag.h - what went wrong, in words, on its way up to the one place that prints.
 *
 * A function returns -errno; the lowest layer that knows the fact adds one line here, the layers
 * above add nothing or a line of context. The CLI prints the list. A line reads "cannot attach
 * hotspot:gc__begin: requires CAP_BPF and CAP_PERFMON (run as root)": subject first, then the
 * reason, then what to do where that is known; no trailing newline, no "Error:".
 *
 * Thread safety: one list a thread. A worker's lines reach the main thread by tapir_diag__take /
 * tapir_diag__give.
 */
#ifndef TAPIR_USER_DIAG_H
#define TAPIR_USER_DIAG_H

#include <stdarg.h>

/* Adds one line (at most 1,023 bytes; longer is cut). Keeps the first 32 lines. */
void tapir_diag__add(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Adds the line and returns err, so that a failure is one statement. */
int tapir_diag__fail(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * tapir_diag__cnt returns the number of lines of this thread, 0 to 32; __rewind takes it as a mark.
 * __clear drops all lines.
 */
int tapir_diag__cnt(void);
const char *tapir_diag__line(int idx); /* borrowed until the list changes; NULL past the end */
void tapir_diag__clear(void);
/* Drops all lines after the first cnt: the failure they describe does not matter to the caller. */
void tapir_diag__rewind(int cnt);

/* "ENOENT" for 2 or -2, "unknown error" for others: what -v adds. Borrowed, static. */
const char *tapir_errno__name(int err);

/* "No such file or directory" for 2 or -2, the text for messages. Borrowed, static. */
const char *tapir_errno__text(int err);

/* Moves this thread's list into a heap object / appends one to this thread's list and frees it. */
struct tapir_diag;
struct tapir_diag *tapir_diag__take(void);
void tapir_diag__give(struct tapir_diag *diag);

#endif
