// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tapir: the table of its commands, in the order in which help lists them. Each is a file
 * cmd_NAME.c with its options, text and examples; under the name tapir-agent the static program is
 * the agent.
 */
#include <stdlib.h>
#include <string.h>

#include "base/reader_words.h"
#include "base/child/sibling.h"
#include "cli/command_line.h"
#include "cli/commands.h"

#define TAPIR_X(name) &tapir_cmd_##name,
static const struct tapir_command *const commands[] = {TAPIR_COMMANDS(TAPIR_X, TAPIR_X) NULL};
#undef TAPIR_X

TAPIR_SIBLING_NOTE("tapir");
#ifdef TAPIR_STATIC
TAPIR_SIBLING_NOTE("tapir-agent");
#endif

/* Under the name tapir-agent the static program is the agent, unless another command is named. */
static const char *default_command(const char *called)
{
#ifdef TAPIR_STATIC
	if (called && !strcmp(basename(called), "tapir-agent"))
		return tapir_cmd_serve.name;
#endif
	(void)called;
	return NULL;
}

int main(int argc, char **argv)
{
	if (getenv(TAPIR_READER_WORDS_ENV))
		tapir_reader_words__use_parameters();
	return tapir_command_line__run("tapir", commands, default_command(argc ? argv[0] : NULL),
				       argc, argv);
}
