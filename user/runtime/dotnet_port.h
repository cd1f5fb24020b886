/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dotnet_port.h - a port of ours to which .NET runtimes that we start connect by themselves
 * (DOTNET_DiagnosticPorts), as soon as they can be asked: none of their first events is missed
 * because their own socket was found late. A connection begins with what the runtime advertises
 * and takes one request; for the next one the runtime connects again.
 *
 * The port is a socket of mode 0600 in a directory of ours (run_dir.h), which goes with us however
 * we end and whose path nobody else can create. The variable says "nosuspend": a runtime that
 * waits to be resumed would hang with its children if we die. While the program outlives us it
 * looks for the port each 0.5 s.
 *
 * Privileges: none; the program must run as our user to connect. Runtime: .NET 5; "nosuspend" and
 * the form of the list were seen on 8 to 10.
 */
#ifndef TAPIR_USER_DOTNET_PORT_H
#define TAPIR_USER_DOTNET_PORT_H

#include "base/str.h"
#include "runtime/peer_helper.h"
#include "runtime/run_dir.h"

struct tapir_dotnet_port;

/* In dir, which is borrowed for the call and removes the socket. -errno with a line. */
int tapir_dotnet_port__new(const struct tapir_run_dir *dir, struct tapir_dotnet_port **out);
void tapir_dotnet_port__free(struct tapir_dotnet_port *port); /* NULL is fine */

/*
 * Adds the variable, "NAME=VALUE" with its NUL, that tells a program of the port; whom existing
 * names (its value so far, NULL: none) stays. 0 or -ENOMEM.
 */
int tapir_dotnet_port__put_environment(const struct tapir_dotnet_port *port, struct tapir_str *out,
				       const char *existing);

/*
 * *fd becomes a connection of the job's process, not blocking, which awaits one request: one that
 * is there, or comes until then. -ETIMEDOUT, -ECANCELED, -ENOMEM; no line. Connections of others
 * are kept for who asks for them, 64 at most. Thread-safe: one waits for the other.
 */
int tapir_dotnet_port__take(struct tapir_dotnet_port *port, const struct tapir_peer_helper *job,
			    uint64_t until_ns, int *fd);

#endif
