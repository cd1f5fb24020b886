/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dotnet_port.h - a port of tapir to which .NET runtimes that it starts connect by themselves
 * (DOTNET_DiagnosticPorts) as soon as they accept requests: none of their first events is missed
 * because their own socket was found late. A connection begins with what the runtime advertises and
 * takes one request; for the next one the runtime connects again.
 *
 * The port is a socket of mode 0600 in tapir's directory (run_dir.h), which is removed however
 * tapir ends and whose path no other user can create. The variable contains "nosuspend": a runtime
 * that waits to be resumed would hang with its children if tapir died. A program that outlives
 * tapir tries to reach the port every 0.5 s.
 *
 * Privileges: none; the program must run as tapir's user to connect. Runtime: .NET 5; "nosuspend"
 * and the form of the list were checked with 8 to 10.
 */
#ifndef TAPIR_USER_DOTNET_PORT_H
#define TAPIR_USER_DOTNET_PORT_H

#include "base/str.h"
#include "runtime/peer/peer_helper.h"
#include "runtime/peer/run_dir.h"

struct tapir_dotnet_port;

/*
 * Creates the port in dir, which is borrowed for the call and removes the socket. 0 or -errno with
 * a line.
 */
int tapir_dotnet_port__new(const struct tapir_run_dir *dir, struct tapir_dotnet_port **out);
void tapir_dotnet_port__free(struct tapir_dotnet_port *port); /* NULL is fine */

/*
 * Adds the variable, "NAME=VALUE" with its NUL, that makes a program use the port; ports in
 * existing (its value so far, NULL: none) are kept. 0 or -ENOMEM.
 */
int tapir_dotnet_port__put_environment(const struct tapir_dotnet_port *port, struct tapir_str *out,
				       const char *existing);

/*
 * Takes a connection of the job's process into *fd, not blocking, which awaits one request: one
 * that is there, or comes until the job's deadline. -ETIMEDOUT, -ECANCELED, -ENOMEM; no line.
 * Connections of other processes are kept until requested, at most 64. Thread-safe: callers wait
 * for each other.
 */
int tapir_dotnet_port__take(struct tapir_dotnet_port *port, const struct tapir_peer_helper *job,
			    uint64_t until_ns, int *fd);

#endif
