// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tapir-reader: the commands of tapir that read recordings, and nothing that records: it is built
 * without libbpf and the headers of Linux (make reader), for people who look at recordings on
 * another machine. A line says what it lacks.
 */
#include <stdio.h>
#include <string.h>

#include "cli/command_line.h"
#include "cli/commands.h"

#define COMMAND(name) &tapir_cmd_##name,
#define NAME(name)    #name,
#define NOTHING(name)
static const struct tapir_command *const commands[] = {TAPIR_COMMANDS(COMMAND, NOTHING) NULL};
static const char *const lacking[] = {TAPIR_COMMANDS(NOTHING, NAME)};

static int print_lacking_command(const char *name)
{
	for (size_t i = 0; i < sizeof(lacking) / sizeof(lacking[0]); i++) {
		if (strcmp(name, lacking[i]) != 0)
			continue;
		fprintf(stderr, "tapir-reader: '%s' is a command of tapir; this reads recordings\n",
			name);
		return 3; /* unsupported */
	}
	return 0;
}

int main(int argc, char **argv)
{
	int status = argc > 1 ? print_lacking_command(argv[1]) : 0;

	if (status)
		return status;
	return tapir_command_line__run("tapir-reader", commands, NULL, argc, argv);
}
