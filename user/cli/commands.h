/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * commands.h - every command, each in cmd_NAME.c, in the order a newcomer needs them. READS: it
 * reads recordings and tapir-reader has it, too; ASKS: it records, or asks what runs. Constant.
 */
#ifndef TAPIR_USER_COMMANDS_H
#define TAPIR_USER_COMMANDS_H

#include "cli/options.h"

#ifdef TAPIR_STATIC
#define TAPIR_MCP(ASKS)
#else
#define TAPIR_MCP(ASKS) ASKS(mcp)
#endif

/* The static program has serve with --stdio alone: GnuTLS is in no static library. */
#define TAPIR_COMMANDS(READS, ASKS)                                                                \
	ASKS(doctor)                                                                               \
	ASKS(ps)                                                                                   \
	ASKS(top)                                                                                  \
	ASKS(stacks)                                                                               \
	ASKS(heap)                                                                                 \
	ASKS(list)                                                                                 \
	ASKS(record)                                                                               \
	ASKS(trace)                                                                                \
	READS(report)                                                                              \
	READS(events)                                                                              \
	READS(query)                                                                               \
	READS(diff)                                                                                \
	READS(flamegraph)                                                                          \
	READS(html)                                                                                \
	READS(export)                                                                              \
	READS(import)                                                                              \
	READS(cut)                                                                                 \
	READS(merge)                                                                               \
	ASKS(symbolize)                                                                            \
	ASKS(archive)                                                                              \
	ASKS(serve)                                                                                \
	TAPIR_MCP(ASKS)                                                                            \
	READS(help)                                                                                \
	/* A command is a row above this line. */

#define TAPIR_X(name) extern const struct tapir_command tapir_cmd_##name;
TAPIR_COMMANDS(TAPIR_X, TAPIR_X)
#undef TAPIR_X

#endif
