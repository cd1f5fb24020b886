/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dotnet_snapshot.h - the names of all code a running CoreCLR has made or prepared, JIT and
 * ReadyToRun, as a jitdump file.
 *
 * The runtime is told to write its jitdump (EnablePerfMap, .NET 8 and later: all that exists
 * comes at once), the file is opened, writing is switched off again: what it would write from then
 * on breaks on .NET 10 (a stub block cut short). The times in it are those of the writing. 20 to
 * 120 ms of one thread of the process, and a file of its code's size that is removed at once where
 * there was none before.
 *
 * Nothing is asked of a process that writes a perf map or jitdump already, by its environment
 * or by another tool's wish; two of us take turns (a lock on its /proc/PID/environ, which only
 * those may open who may trace it). One that stops or hangs in the moment between on and off
 * finds the off when it goes on; its file may stay then.
 *
 * The file is made by us, with the process's uid, before the runtime is asked to write it: the
 * runtime follows links, and nobody can put one where that file is (peer_helper.h). Where no such
 * file can be (an older .NET; a directory that is full, read-only, noexec, or in which other users
 * can replace files) the same comes by the runtime's rundown.
 */
#ifndef TAPIR_USER_DOTNET_SNAPSHOT_H
#define TAPIR_USER_DOTNET_SNAPSHOT_H

#include "runtime/dotnet_client.h"

struct tapir_dotnet_snapshot {
	int fd;			   /* of the jitdump, for reading */
	uint64_t dev, inode;	   /* which file it is */
	uint64_t begin_ns, end_ns; /* when it was taken */
	bool is_rundown;	   /* written by us: dotnet_rundown.h */
};

/*
 * -EALREADY, without a line: the process writes such files itself. Else as dotnet_client.h and
 * dotnet_rundown.h. On success out needs __fini.
 */
int tapir_dotnet__snapshot(const struct tapir_dotnet_opts *opts, struct tapir_dotnet_snapshot *out);
void tapir_dotnet_snapshot__fini(struct tapir_dotnet_snapshot *snapshot); /* twice is fine */

#endif
