/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mcp_serve.h - reads messages from standard input and answers them on standard output, each in a
 * thread of its own: a ping is answered while a recording is made, and a recording ends when its
 * request is cancelled (notifications/cancelled), when the client has gone, or by SIGINT or
 * SIGTERM. Where the input ends and the client still reads, what it asked for is answered first.
 *
 * A call that reads a recording which is not there yet waits for calls that came before it and make
 * one; so does one that reads the latest.
 */
#ifndef TAPIR_USER_MCP_SERVE_H
#define TAPIR_USER_MCP_SERVE_H

#define TAPIR_MCP_MAX_LINE (1u << 20)

/* Until standard input ends: 0, or -errno with a line. */
int tapir_mcp__serve(void);

#endif
