/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * child_run.h - runs tapir as a command line would, and takes what it prints: what a client gets is
 * what `tapir ps`, `report` or `export` prints. A command that reads a recording
 * runs without capabilities: the recording is made of what other processes said.
 *
 * Blocks. The command is killed when the calling thread ends.
 */
#ifndef TAPIR_USER_CHILD_RUN_H
#define TAPIR_USER_CHILD_RUN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"
#include "base/vec.h"

/* The path by which a command opens its second recording. */
#define TAPIR_CHILD_RUN_OTHER "/proc/self/fd/3"

struct tapir_child_run {
	const char *const *argv; /* after "tapir"; ended by NULL */
	int input_fd;		 /* its standard input; -1: nothing */
	int other_fd;		 /* a second recording, TAPIR_CHILD_RUN_OTHER there; 0: none */
	bool has_privileges;	 /* keeps the agent's capabilities */
	/* When it becomes readable the command gets SIGINT, and SIGKILL 5 s later; NULL: never. */
	const int *stop_fd;
	/* Called with what it prints; anything but 0 ends it. */
	int (*on_output)(void *ctx, const char *data, size_t len);
	void *ctx;
	struct tapir_str errors; /* out: its lines on stderr, one text; __fini is the caller's */
	int exit_code;		 /* out: 128 + a signal */
};

/*
 * Says which program to run: fd, of base/child/sibling.h, above 2; borrowed until the process ends.
 * Without it, and with -1, it is this one. For a program that is not tapir itself; for all calls
 * that follow, also of children, which may give it another number.
 */
void tapir_child_run__use_program(int fd);
int tapir_child_run__program(void); /* -1: this program */

/*
 * Commands that read a recording get names from there as well (--symbols), and keep what they fetch
 * in the cache of this user; root's is below /var/cache. Borrowed; for all calls that follow, also
 * of children.
 */
void tapir_child_run__use_symbols(const struct tapir_words *sources);

/*
 * Runs a tapir command and waits for it. 0 when it has run, however it ended, or -errno: of
 * on_output, it could not be started, or -ECANCELED by stop_fd.
 */
int tapir_child_run__do(struct tapir_child_run *run);

#define TAPIR_CHILD_RUN_MAX_CAPTURE (32u << 20) /* bytes */

/*
 * Captures what a command prints, which keeps its privileges unless it has an input (input_fd; -1:
 * none). allowed: the exit code apart from 0 with which the output is complete. 0, or -errno with a
 * line unless it could not be started; out is added to, also on failure.
 */
int tapir_child_run__capture(const char *const *argv, int input_fd, int allowed,
			     struct tapir_str *out);
/* Does the same with two recordings. */
int tapir_child_run__capture_two(const char *const *argv, int input_fd, int other_fd, int allowed,
				 struct tapir_str *out);

#endif
