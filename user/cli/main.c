// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tapir: the table of its commands, in the order in which help lists them. Each is a file
 * cmd_NAME.c with its options, text and examples; under the name tapir-agent the static program is
 * the agent.
 */
#include <string.h>

#include "base/child/sibling.h"
#include "cli/command_line.h"
#include "cli/commands.h"

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
	&tapir_cmd_import,
	&tapir_cmd_cut,
	&tapir_cmd_merge,
	&tapir_cmd_symbolize,
	&tapir_cmd_archive,
	&tapir_cmd_serve, /* static: with --stdio; no HTTP, since GnuTLS is in no static library */
#ifndef TAPIR_STATIC
	&tapir_cmd_mcp,
#endif
	&tapir_cmd_help,
	NULL,
};
/* clang-format on */

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
	return tapir_command_line__run("tapir", commands, default_command(argc ? argv[0] : NULL),
				       argc, argv);
}
