/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mcp.h - the Model Context Protocol on standard input and output: an assistant's program lists the
 * tools and calls them, one JSON-RPC 2.0 message a line. Each tool is a command of tapir, and its
 * result is what that command prints with --json. It changes nothing in a process but what
 * `tapir record` does; recordings are files without a name, gone with this process.
 *
 * Source of the protocol: modelcontextprotocol.io, specification 2025-06-18, "Transports" (stdio),
 * "Lifecycle", "Tools"; JSON-RPC 2.0 for the errors' numbers. One thread.
 */
#ifndef TAPIR_USER_MCP_H
#define TAPIR_USER_MCP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

#define TAPIR_MCP_MAX_RECORDINGS 8
#define TAPIR_MCP_MAX_LINE	 (1u << 20)
#define TAPIR_MCP_MAX_ANSWER	 (8u << 20)

/* One run of tapir (mcp_tools.c), and what came of it. */
struct tapir_mcp_call {
	const char *const *argv; /* after "tapir"; ended by NULL */
	int input_fd;		 /* a recording; -1: none */
	int output_fd;		 /* where a recording goes; -1: into out */
	struct tapir_str *out;
	struct tapir_str why; /* out: what it printed as an error */
	int exit_code;
};

struct tapir_mcp {
	/* Runs tapir once more: 0, or -errno. */
	int (*run)(struct tapir_mcp_call *call);
	int recordings[TAPIR_MCP_MAX_RECORDINGS]; /* descriptors */
	unsigned recording_cnt;			  /* that were made; the last ones are kept */
};

/* Answers messages until standard input ends: 0, or -errno with a line. */
int tapir_mcp__serve(void);

/* One message; out: the answer without a line end, empty for a notification. -ENOMEM. */
int tapir_mcp__answer(struct tapir_mcp *mcp, const char *line, size_t len, struct tapir_str *out);
void tapir_mcp__fini(struct tapir_mcp *mcp);

#endif
