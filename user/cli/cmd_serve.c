// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tapir serve: its options and its page, which tapir has with and without the agent. What runs is
 * serve_exec.c in tapir, and serve_here.c in tapir-agent and tapir-static.
 */
#include "cli/commands.h"
#include "cli/serve.h"

static const struct tapir_option options[] = {
	TAPIR_LIST("listen", 'l', "ADDRESS",
		   "HOST:PORT or unix:PATH (mode 0600); repeatable (default: " TAPIR_SERVE_LISTEN
		   ")",
		   struct tapir_serve_args, listen),
	TAPIR_STRING("config", 'c', "FILE", "the configuration, JSON", struct tapir_serve_args,
		     config),
	TAPIR_STRING("state", 0, "DIR",
		     "directory for traces and the token; 'memory': nothing is written to disk",
		     struct tapir_serve_args, state),
	TAPIR_U64(
		"continuous", 0, "MB",
		"record all processes at 20 Hz, or what the configuration says, and keep the last "
		"MB: POST /v1/continuous/freeze, SIGUSR2 and triggers write a session",
		struct tapir_serve_args, continuous_mb, 8, 65536),
	TAPIR_FLAG("stdio", 0,
		   "serve only the program that started it: read requests from standard input, as "
		   "the packages for .NET send them, until its end",
		   struct tapir_serve_args, stdio),
	{}};

const struct tapir_command tapir_cmd_serve = {
	.name = "serve",
	.summary = "answer requests over HTTP: processes, profiles, traces",
	.synopsis = "[--listen ADDRESS]... [--config FILE] [--state DIR|memory] | --stdio",
	.text = "Makes what tapir can do reachable over HTTP, for people and programs without a "
		"shell on this machine. Without options it listens on loopback and requires the "
		"token that its first start writes to DIR/token. On a unix socket, the socket's "
		"mode decides who may connect, and no token is required. GET /v1/openapi.json "
		"lists all resources and their parameters.\n\n"
		"With --stdio it does not listen: it serves the program that started it, which has "
		"an HTTP server of its own, and touches no other process.\n\n"
		"What it runs is tapir-agent, a program in the directory of tapir's own executable "
		"(Debian: a package of that name). It is executed only if it belongs to root, to "
		"this user or to the owner of tapir, if no other user may write to it, and if it "
		"is of the same version. tapir-static needs no second program.\n\n"
		"HTTP is parsed by a process without capabilities, files or tokens. When the agent "
		"ends, in whatever way, its recordings end, and nothing stays in any process.",
	.groups = (const struct tapir_option_group[]){{NULL, options, 0}, {}},
	.examples =
		(const struct tapir_example[]){
			{"serve", "on loopback, with a token"},
			{"serve --listen unix:/run/tapir.sock", "for this user and root only"},
			{"serve --config /etc/tapir/serve.json", "with a configuration file"},
			{}},
	.args_bytes = sizeof(struct tapir_serve_args),
	.run = tapir_serve__run,
};
