// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tapir mcp: tools for assistants, as lines of JSON on standard input and output. The protocol is
 * in mcp/mcp.h, the tools in mcp/mcp_tools.c; each tool runs a command of tapir with --json.
 */
#include "cli/commands.h"
#include "cli/mcp/mcp_serve.h"

static int run_mcp(struct tapir_cli *cli)
{
	(void)cli;
	return tapir_mcp__serve();
}

const struct tapir_command tapir_cmd_mcp = {
	.name = "mcp",
	.summary = "offer processes, recordings and stacks as tools to an assistant",
	.synopsis = "",
	.text = "Speaks the Model Context Protocol on standard input and output. An assistant's "
		"program starts it and calls its tools: processes, record, findings, report, view, "
		"stacks. Each result is what the command of that name prints with --json. It does "
		"nothing to a process that 'tapir record' does not do, neither reads nor writes a "
		"file that a message names, and keeps the last 8 recordings until it ends. Up to 4 "
		"tools run at the same time; a recording ends early when its request is cancelled "
		"or the client has gone.\n\n"
		"Recording requires the privileges of 'tapir record'. The entry in the "
		"configuration of many assistants is:\n\n"
		"  \"mcpServers\": {\"tapir\": {\"command\": \"sudo\",\n"
		"                           \"args\": [\"-n\", \"tapir\", \"mcp\"]}}",
	.examples =
		(const struct tapir_example[]){
			{"mcp", "the server; messages are read from standard input"}, {}},
	.run = run_mcp,
};
