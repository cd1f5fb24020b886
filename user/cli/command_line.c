// SPDX-License-Identifier: GPL-2.0-or-later
/* Parse, run, report errors: what the programs of user/cli have in common. */
#include "cli/command_line.h"

#include <sys/prctl.h>

#include "attach/proc.h"
#include "base/file.h"
#include "base/foreign/file_system.h"
#include "base/log.h"
#include "cli/cmd_help.h"
#include "cli/pager.h"
#include "cli/terminal.h"

static int run(struct tapir_cli *cli)
{
	tapir_terminal__start_log(cli);
	if (!cli->command || cli->want_help || cli->want_version)
		return tapir_help__run(cli);
	if (cli->command->reads_foreign_files) {
		int err = tapir_proc__check();

		if (err)
			return err;
		(void)tapir_helpers__start(); /* now, while this process is small; else when needed
					       */
	}
	return cli->command->run(cli);
}

static void warn(const char *text)
{
	tapir_warn("%s", text);
}

int tapir_command_line__run(const char *name, const struct tapir_command *const *commands,
			    const char *default_command, int argc, char **argv)
{
	struct tapir_cli cli = {.name = name,
				.commands = commands,
				.default_command = default_command,
				.argv = argv};
	int err;

	(void)prctl(PR_SET_NAME, name);
	tapir_file__raise_limit();
	err = tapir_cli__parse(&cli, argc, argv);
	if (!err)
		err = run(&cli);
	tapir_pager__stop();
	tapir_terminal__print_diag(err);
	tapir_fs__end_all(warn);
	tapir_cli__fini(&cli);
	return err < 0 ? tapir_cli__exit_code(err) : cli.exit_status;
}
