/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * command_line.h - one run of tapir or tapir-agent, from its words to its exit status. Main thread.
 */
#ifndef TAPIR_USER_COMMAND_LINE_H
#define TAPIR_USER_COMMAND_LINE_H

#include "cli/options.h"

/*
 * Parses, runs the command, prints errors. name: of the program, as ps(1) shows it: one that is
 * executed by its descriptor has a number there. commands: all, ended by NULL. default_command:
 * what runs where no command is named; NULL: help. To be called once, by main(). The exit status.
 */
int tapir_command_line__run(const char *name, const struct tapir_command *const *commands,
			    const char *default_command, int argc, char **argv);

/*
 * These are of the system: command_line_linux.c, or, where nothing can be recorded,
 * reader_parts.c. The process takes the program's name; __meet_processes prepares a command that
 * reads files of other processes, 0 or -errno with a line; __end ends what that began.
 */
void tapir_command_line__name(const char *name);
int tapir_command_line__meet_processes(void);
void tapir_command_line__end(void);

#endif
