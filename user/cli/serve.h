/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * serve.h - `tapir serve` in the programs that have it. The table (cmd_serve.c) is in all of them,
 * with its help; which definition of tapir_serve__run is linked says what the program does
 * (scripts/mk/user.mk). Main thread.
 */
#ifndef TAPIR_USER_SERVE_H
#define TAPIR_USER_SERVE_H

#include "cli/options.h"

#define TAPIR_SERVE_LISTEN "127.0.0.1:9747"

struct tapir_serve_args {
	struct tapir_words listen;
	const char *config;
	const char *state;
	uint64_t continuous_mb;
	bool stdio;
};

/*
 * serve_exec.c, in tapir: becomes tapir-agent, with the same words and environment; returns on
 * failure only. serve_here.c, in tapir-agent and tapir-static: runs the agent until it ends. 0,
 * -errno with a line, or TAPIR_CLI_USAGE.
 */
int tapir_serve__run(struct tapir_cli *cli);

#endif
