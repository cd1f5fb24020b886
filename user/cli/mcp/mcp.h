/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mcp.h - the Model Context Protocol on standard input and output: an assistant's program lists the
 * tools and calls them, one JSON-RPC 2.0 message per line. Each tool is a command of tapir, and its
 * result is what that command prints with --json. It changes nothing in a process but what
 * `tapir record` does; recordings are files without a name, gone with this process.
 *
 * Source of the protocol: modelcontextprotocol.io, specification 2025-06-18, "Transports" (stdio),
 * "Lifecycle", "Tools", "Cancellation", "Progress", and 2025-03-26 for batches; JSON-RPC 2.0 for
 * the errors' numbers.
 */
#ifndef TAPIR_USER_MCP_H
#define TAPIR_USER_MCP_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

#define TAPIR_MCP_MAX_RECORDINGS 8
#define TAPIR_MCP_MAX_ANSWER	 (8u << 20)

/* One run of tapir (mcp_tools.c), and what came of it. */
struct tapir_mcp_call {
	const char *const *argv; /* after "tapir"; ended by NULL */
	int input_fd;		 /* a recording; -1: none */
	int other_fd;		 /* the one to compare with; 0: none */
	int output_fd;		 /* where a recording goes; -1: into out */
	int stop_fd;		 /* readable: the call has ended; -1: never */
	struct tapir_str *out;
	struct tapir_str why; /* out: what it printed as an error; the caller frees it */
	int exit_code;
};

/* The recordings of all requests, shared by threads: fds and cnt under the lock. */
struct tapir_mcp_recordings {
	pthread_mutex_t lock;
	int fds[TAPIR_MCP_MAX_RECORDINGS];
	unsigned cnt; /* that were made; the last ones are kept */
};

/* Closes the recordings, which have no name and go with it. */
void tapir_mcp_recordings__fini(struct tapir_mcp_recordings *recordings);

/* For the requests of one thread. */
struct tapir_mcp {
	/* Runs tapir once more: 0, or -errno; -ECANCELED: by stop_fd. */
	int (*run)(struct tapir_mcp_call *call);
	struct tapir_mcp_recordings *recordings;
	int stop_fd;
};

/*
 * Answers one message; out: the answer without a line end, empty for a notification. -ENOMEM;
 * -ECANCELED: the client no longer waits for the answer.
 */
int tapir_mcp__answer(struct tapir_mcp *mcp, const char *line, size_t len, struct tapir_str *out);

/* Answers a message of which not even the id is known. 0 or -ENOMEM. */
int tapir_mcp__refuse(struct tapir_str *out, const char *why);

#endif
