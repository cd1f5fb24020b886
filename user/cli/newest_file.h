/* SPDX-License-Identifier: GPL-2.0-or-later */
/* newest_file.h - the default recording of commands without a FILE. */
#ifndef TAPIR_USER_NEWEST_FILE_H
#define TAPIR_USER_NEWEST_FILE_H

#include "cli/options.h"

/*
 * Puts the newest *.tapir of the current directory in front of cli->words when they name no file,
 * and prints its name: a regular file of the calling user (under sudo, of the user who ran sudo). A
 * usage error if there is none. has_glob: a word that names no file is another argument of the
 * command.
 */
int tapir_newest_file__choose(struct tapir_cli *cli, bool has_glob);

#endif
