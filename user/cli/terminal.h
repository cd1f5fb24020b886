/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * terminal.h - the two streams: data on stdout, words for a person on stderr. Colour only on
 * a terminal, and never when NO_COLOR is set (no-color.org). Main thread, but where it says more.
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

/*
 * Writes out to stdout and empties it, also if that fails. Blocks while the reader takes nothing.
 * 0, or -errno with a line: a closed pipe, a full disk, -ENOMEM if out failed.
 */
int tapir_terminal__flush(struct tapir_str *out);
/* Does the same once out holds so much that a write is worth it, or if out failed; else 0. */
int tapir_terminal__flush_much(struct tapir_str *out);

/*
 * The program was asked to end: output whose reader takes nothing for half a second is given up
 * (-ETIMEDOUT) from now on. Any thread, or a signal handler. __wait_again ends that.
 */
void tapir_terminal__stop_waiting(void);
void tapir_terminal__wait_again(void);
/* Writes all len bytes to fd, and gives up as __stop_waiting says. 0, or -errno without a line. */
int tapir_terminal__write(int fd, const void *data, size_t len);

#endif
