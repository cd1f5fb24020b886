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

/* clang-format off */
static const struct tapir_command *const commands[] = {
	&tapir_cmd_report,
	&tapir_cmd_events,
	&tapir_cmd_query,
	&tapir_cmd_diff,
	&tapir_cmd_flamegraph,
	&tapir_cmd_html,
	&tapir_cmd_export,
	&tapir_cmd_import,
	&tapir_cmd_cut,
	&tapir_cmd_merge,
	&tapir_cmd_help,
	NULL,
};
/* clang-format on */

/* The commands of tapir that record, or ask what runs. */
static const char *const lacking[] = {"doctor", "ps",	 "top",	      "stacks",	 "heap",  "list",
				      "record", "trace", "symbolize", "archive", "serve", "mcp"};

static int say_lacking(const char *name)
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
	int status = argc > 1 ? say_lacking(argv[1]) : 0;

	if (status)
		return status;
	return tapir_command_line__run("tapir-reader", commands, NULL, argc, argv);
}
