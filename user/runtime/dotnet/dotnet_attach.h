/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dotnet_attach.h - loading libtapir-coreclr.so into a running .NET process: placed in its file
 * system, loaded by the diagnostics command AttachProfiler, removed again. It is then controlled
 * through its ring lane, which has the key given here (tapir/coreclr.h).
 *
 * Privileges and kernel: as dotnet_client.h. Thread-safe. Blocks up to the timeout, also when the
 * process is stopped, hangs or ends in the middle.
 */
#ifndef TAPIR_USER_DOTNET_ATTACH_H
#define TAPIR_USER_DOTNET_ATTACH_H

#include <stddef.h>

#include "runtime/dotnet/dotnet_client.h"

struct tapir_dotnet_profiler {
	const void *bytes; /* the library; borrowed */
	size_t byte_cnt;
	uint64_t key; /* of the lane it makes; not 0 */
};

/*
 * 0: it is loaded. Failures leave one line, those of dotnet_client.h and:
 *   -EAGAIN      the runtime is starting, or stopped: try again
 *   -EOPNOTSUPP  this runtime loads no profiler (NativeAOT)
 *   -EUSERS      it has too many
 *   -EACCES      no directory can hold the library, or the runtime could not load it from any
 *   -EMFILE      it has few file descriptors left: the runtime itself may abort then
 */
int tapir_dotnet__attach_profiler(const struct tapir_dotnet_opts *opts,
				  const struct tapir_dotnet_profiler *profiler);

/*
 * Returns true if the process maps a library that was placed under this key. Cheap: it reads its
 * maps.
 */
bool tapir_dotnet__has_profiler(uint32_t tgid, uint64_t key);

/*
 * The variables that make a starting program load the library from a path and open its lane under
 * the key: *out gets three "NAME=VALUE", each with its NUL. Profilers in existing (the value of
 * CORECLR_NOTIFICATION_PROFILERS, NULL: none) are kept. 0 or -ENOMEM.
 */
int tapir_dotnet__put_start_environment(struct tapir_str *out, const char *path, uint64_t key,
					const char *existing);
/*
 * Returns true if the process finds at this path what this one finds there, and also where that
 * cannot be known. At once where both have one root directory; else a helper process searches
 * (peer_helper.h).
 */
bool tapir_dotnet__sees(uint32_t tgid, const char *path);
/* Returns true if the process was started with that key in its environment. */
bool tapir_dotnet__was_started_with(uint32_t tgid, uint64_t key);

#endif
