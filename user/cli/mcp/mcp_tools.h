/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mcp_tools.h - the tools of `tapir mcp`: what they take, and which command each is. One thread. */
#ifndef TAPIR_USER_MCP_TOOLS_H
#define TAPIR_USER_MCP_TOOLS_H

#include <jansson.h>

#include "cli/mcp/mcp.h"

/* For tools/list: a new array. NULL: out of memory. */
json_t *tapir_mcp_tools__list(void);
/*
 * Calls one. arguments: an object, or NULL for none. out: its text. 0; 1: the tool failed, and out
 * is why; -EINVAL: no such tool or a wrong argument, and out is what is wrong; -ENOMEM;
 * -ECANCELED.
 */
int tapir_mcp_tools__call(struct tapir_mcp *mcp, const char *name, const json_t *arguments,
			  struct tapir_str *out);
/* Returns true if a tool of this name makes a recording, or reads one. */
bool tapir_mcp_tools__makes(const char *name);
bool tapir_mcp_tools__reads(const char *name);

#endif
