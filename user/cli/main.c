// SPDX-License-Identifier: GPL-2.0-or-later
/* tapir: parse, run, report errors. What a command does is in its cmd_NAME.c. */
#include "attach/proc.h"
#include "base/file.h"
#include "base/log.h"
#include "cli/cmd_help.h"
#include "cli/commands.h"
#include "cli/pager.h"
#include "cli/terminal.h"
#include "base/foreign/file_system.h"

/* In the order a newcomer needs them. */
/* clang-format off */
static const struct tapir_command *const commands[] = {
	&tapir_cmd_doctor,
	&tapir_cmd_ps,
	&tapir_cmd_top,
	&tapir_cmd_stacks,
	&tapir_cmd_heap,
	&tapir_cmd_list,
	&tapir_cmd_record,
	&tapir_cmd_trace,
	&tapir_cmd_report,
	&tapir_cmd_events,
	&tapir_cmd_query,
	&tapir_cmd_diff,
	&tapir_cmd_flamegraph,
	&tapir_cmd_html,
	&tapir_cmd_export,
	&tapir_cmd_cut,
	&tapir_cmd_symbolize,
	&tapir_cmd_serve, /* static: with --stdio; no HTTP, since GnuTLS is in no static library */
#ifndef TAPIR_STATIC
	&tapir_cmd_mcp,
#endif
	&tapir_cmd_help,
	NULL,
};
/* clang-format on */

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

int main(int argc, char **argv)
{
	struct tapir_cli cli = {.commands = commands};
	int err;

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
