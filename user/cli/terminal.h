/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * terminal.h - the two streams: data on stdout, words for a person on stderr. Colour only on
 * a terminal, and never when NO_COLOR is set (no-color.org).
 */
#ifndef TAPIR_USER_TERMINAL_H
#define TAPIR_USER_TERMINAL_H

#include <stdbool.h>
#include <stdio.h>

#include "base/str.h"
#include "cli/options.h"

/* Logs to stderr as asked by -v and -q. */
void tapir_terminal__start_log(const struct tapir_cli *cli);

/*
 * Prints the diagnostic list on stderr, one "tapir: LINE" each; prints at least one line for any
 * err < 0.
 */
void tapir_terminal__print_diag(int err);

/* Writes out to stdout and empties it. -errno with a line: closed pipe, full disk. */
int tapir_terminal__flush(struct tapir_str *out);
/* The same, but only when so much has come together that it is worth a write; or out failed. */
int tapir_terminal__flush_much(struct tapir_str *out);

/*
 * The program was asked to end: output whose reader takes nothing for half a second is given up
 * (-ETIMEDOUT) from now on. Any thread, or a signal handler. __wait_again ends that.
 */
void tapir_terminal__stop_waiting(void);
void tapir_terminal__wait_again(void);
/* Writes output of a command to stdout or to a file of its own, on these terms. */
int tapir_terminal__write(int fd, const void *data, size_t len);

#endif
