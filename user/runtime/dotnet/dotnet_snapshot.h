/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dotnet_snapshot.h - the names of all code a running CoreCLR has made or prepared, JIT and
 * ReadyToRun, as a jitdump file.
 *
 * The runtime is requested to write its jitdump (EnablePerfMap, .NET 8 and later: all existing code
 * is written at once), the file is opened, and writing is switched off again: what it would write
 * later is malformed on .NET 10 (a truncated stub block). The times in it are those of the writing.
 * This costs 20 to 120 ms of one thread of the process, and a file of its code's size, which is
 * removed at once if it did not exist before.
 *
 * Nothing is requested from a process that already writes a perf map or jitdump, because of its
 * environment or of another tool; two tapirs take turns (by a lock on its /proc/PID/environ, which
 * only a user who may trace it can open). A process that stops or hangs between on and off receives
 * the off when it continues; its file may remain then.
 *
 * tapir creates the file, with the process's uid, before the runtime is asked to write it: the
 * runtime follows links, and no other user can put one where that file is (peer_helper.h). Where no
 * such file is possible (an older .NET; a directory that is full, read-only, noexec, or in which
 * other users can replace files), the names come from the runtime's rundown.
 */
#ifndef TAPIR_USER_DOTNET_SNAPSHOT_H
#define TAPIR_USER_DOTNET_SNAPSHOT_H

#include "runtime/dotnet/dotnet_client.h"
#include "runtime/runtime_ops.h"

/*
 * -EALREADY, without a line: the process writes such files itself. Else as dotnet_client.h and
 * dotnet_rundown.h. On success out needs __fini.
 */
int tapir_dotnet__snapshot(const struct tapir_dotnet_opts *opts, struct tapir_jitdump_answer *out);
void tapir_dotnet_snapshot__fini(struct tapir_jitdump_answer *snapshot); /* twice is fine */

#endif
