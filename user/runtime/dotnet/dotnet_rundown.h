/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dotnet_rundown.h - the names of all code that a running CoreCLR has compiled or prepared, without
 * a file: at the end of an event session the runtime reports each method once (MethodDCEndVerbose,
 * "rundown").
 *
 * Slower than its jitdump (dotnet_snapshot.h), which it replaces where that is impossible: before
 * .NET 8, and where the directory for it is full, read-only or noexec. Stubs then have no names.
 *
 * Privileges and kernel: as dotnet_client.h. Thread-safe. Blocks up to the timeout.
 */
#ifndef TAPIR_USER_DOTNET_RUNDOWN_H
#define TAPIR_USER_DOTNET_RUNDOWN_H

#include "runtime/dotnet/dotnet_client.h"

/*
 * Requests a rundown; *out_fd is the caller's: a jitdump in memory, with holes where the code would
 * be. Failures: those of dotnet_client.h, and -EIO with a line: the session reported nothing.
 */
int tapir_dotnet_rundown__take(const struct tapir_dotnet_opts *opts, int *out_fd);

#endif
