/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dotnet_stream.h - the runtime's own event stream (nettrace over the diagnostics port): what is
 * left where no library can be loaded, of NativeAOT for one. Reading it: decode/nettrace_stream.h.
 *
 * Privileges and kernel: as dotnet_client.h. Thread-safe. Blocks up to the timeout.
 */
#ifndef TAPIR_USER_DOTNET_STREAM_H
#define TAPIR_USER_DOTNET_STREAM_H

#include "runtime/dotnet/dotnet_client.h"

struct tapir_dotnet_stream {
	int fd; /* not blocking; yours to close, which ends the session, too */
	uint64_t session_id;
	bool has_stacks; /* those before .NET 8 have them always */
};

/*
 * Opens a session by the newest command the runtime knows. Failures: those of dotnet_client.h.
 */
int tapir_dotnet_stream__open(const struct tapir_dotnet_opts *opts,
			      const struct tapir_dotnet_session *session,
			      struct tapir_dotnet_stream *out);

/*
 * Asks the runtime to send what it has and end the session. Its answer may arrive only while the
 * stream is being read. No line: it may have ended by itself.
 */
int tapir_dotnet_stream__stop(const struct tapir_dotnet_opts *opts, uint64_t session_id);

#endif
