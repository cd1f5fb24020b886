/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd_help.h - what a command line without a command, or with --help or --version, runs. Main
 * thread.
 */
#ifndef TAPIR_USER_CMD_HELP_H
#define TAPIR_USER_CMD_HELP_H

#include "cli/options.h"

/* Prints what cli asks for: help, version or man pages. 0 or -errno. */
int tapir_help__run(const struct tapir_cli *cli);

#endif
