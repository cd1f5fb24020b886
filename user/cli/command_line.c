// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Parses the words, runs the command and reports errors: what the programs of user/cli have in
 * common. Diagnostics are printed here alone, after the pager has ended, so that they stay on the
 * screen.
 */
#include "cli/command_line.h"

#include "base/file.h"
#include "base/log.h"
#include "cli/cmd_help.h"
#include "cli/pager.h"
#include "cli/terminal.h"

static int run_command(struct tapir_cli *cli)
{
	int err;

	tapir_terminal__start_log(cli);
	if (!cli->command || cli->want_help || cli->want_version)
		return tapir_help__run(cli);
	err = cli->command->reads_foreign_files ? tapir_command_line__meet_processes() : 0;
	return err ? err : cli->command->run(cli);
}

int tapir_command_line__run(const char *name, const struct tapir_command *const *commands,
			    const char *default_command, int argc, char **argv)
{
	struct tapir_cli cli = {.name = name,
				.commands = commands,
				.default_command = default_command,
				.argv = argv};
	int err;

	tapir_command_line__name(name);
	tapir_file__raise_limit();
	err = tapir_cli__parse(&cli, argc, argv);
	if (!err)
		err = run_command(&cli);
	tapir_pager__stop();
	tapir_terminal__print_diag(err);
	tapir_command_line__end();
	tapir_cli__fini(&cli);
	return err < 0 ? tapir_cli__exit_code(err) : cli.exit_status;
}
