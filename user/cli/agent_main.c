// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tapir-agent: what `tapir serve` executes, with the words of its own command line (serve_exec.c).
 * Started by hand it takes the same words, with or without "serve".
 */
#include "base/child/sibling.h"
#include "cli/command_line.h"
#include "cli/commands.h"

TAPIR_SIBLING_NOTE("tapir-agent");

int main(int argc, char **argv)
{
	static const struct tapir_command *const commands[] = {&tapir_cmd_serve, NULL};

	return tapir_command_line__run("tapir-agent", commands, tapir_cmd_serve.name, argc, argv);
}
