/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dotnet.h - whether a process runs .NET, which kind and version, and what its environment sets for
 * it.
 *
 * CoreCLR: it maps a libcoreclr.so for execution (framework-dependent and self-contained apps);
 * single-file: its executable exports CoreCLR's table for debuggers (g_dacTable); NativeAOT: the
 * executable exports DotNetRuntimeDebugHeader. Nothing is asked of the process. Files are opened as
 * they are mapped; a file system that never answers is waited for, as in jvm.h. Not for a hot path:
 * it reads 7 MB.
 */
#ifndef TAPIR_USER_DOTNET_H
#define TAPIR_USER_DOTNET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tapir_dotnet_kind {
	TAPIR_DOTNET_CORECLR = 1,
	TAPIR_DOTNET_SINGLE_FILE,
	TAPIR_DOTNET_NATIVE_AOT,
};

struct tapir_dotnet_info {
	enum tapir_dotnet_kind kind;
	char path[256];	      /* of its libcoreclr.so or executable, as it sees it; cut if longer */
	char version[64];     /* "10.0.12", or its file's "10.0.1226.42308"; "": not found */
	uint64_t contract_va; /* what it describes to debuggers (dotnet_monitors.h); 0: nothing */
};

/* "CoreCLR", "CoreCLR (single file)", "NativeAOT". Static. */
const char *tapir_dotnet_kind__text(enum tapir_dotnet_kind kind);

/*
 * Returns true if a mapped file of this path makes its process a likely .NET one: libcoreclr.so,
 * and the memory of CoreCLR's generated code, which single-file apps have, too. Cheap, not a proof.
 */
bool tapir_dotnet__is_path(const char *path, size_t len);
bool tapir_dotnet__is_code_memory(const char *path, size_t len); /* the second of the two */

/* The kind of .NET program by its file alone: single-file or NativeAOT; 0: neither. No line. */
enum tapir_dotnet_kind tapir_dotnet__kind_of_file(const char *path);

/*
 * 1: .NET, and out is filled; 0: not. -errno with a line: the process is gone or may not be
 * inspected. Threads: any. Needs CAP_SYS_PTRACE for processes of other users.
 */
int tapir_dotnet__inspect(uint32_t tgid, struct tapir_dotnet_info *out);

/*
 * 0, or -EAGAIN with a line: it cannot answer (peer_ability.h), or it waits for a tool to resume it
 * at its start. task: "list the heap". Other failures as dotnet_client.h has them.
 */
int tapir_dotnet__check_runs(uint32_t tgid, const char *task);

#endif
