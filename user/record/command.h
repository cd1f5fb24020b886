/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * command.h - a program that tapir starts itself: forked, held until the probes are on, then
 * executed.
 */
#ifndef TAPIR_USER_COMMAND_H
#define TAPIR_USER_COMMAND_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

struct tapir_command_run;

/* Searches PATH as execvp does, as far as possible: exec reports other problems. */
bool tapir_command__find(const char *name, char path[PATH_MAX]);

/*
 * Forks; the child waits. argv and env, what is added to its environment ("NAME=VALUE", each with
 * its NUL; may be NULL), are borrowed for the call. Call it before there are threads. -ENOENT with
 * a line: there is no such program.
 */
int tapir_command_run__prepare(char *const *argv, const struct tapir_str *env,
			       struct tapir_command_run **out);

/* Returns the process id of the program. */
uint32_t tapir_command_run__tgid(const struct tapir_command_run *run);

/* Lets the child execute the program. */
int tapir_command_run__go(struct tapir_command_run *run);

/*
 * Returns a descriptor that is readable once it is known whether the program could be executed.
 * Borrowed; never blocks.
 */
int tapir_command_run__error_fd(const struct tapir_command_run *run);
/* Returns 0: it runs; -EAGAIN: not known yet; else execvp's error with a line. */
int tapir_command_run__exec_error(struct tapir_command_run *run);

/*
 * Returns a descriptor that is readable once the program has ended. Borrowed; -1: the kernel has
 * none (Linux before 5.3).
 */
int tapir_command_run__end_fd(const struct tapir_command_run *run);
/* Returns the program's wait(2) status if it has ended; -EAGAIN: it runs. */
int tapir_command_run__status(struct tapir_command_run *run, int *status);

/* Ends a child that never executed; one that runs is left alone. NULL is fine. */
void tapir_command_run__free(struct tapir_command_run *run);

#endif
