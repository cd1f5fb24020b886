/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dotnet_facts.h - what must be known of a .NET process before it is spoken to, by /proc alone;
 * for dotnet_client.c and dotnet_snapshot.c only. Any thread.
 */
#ifndef TAPIR_USER_DOTNET_FACTS_H
#define TAPIR_USER_DOTNET_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/peer/peer_facts.h"
#include "runtime/peer/peer_helper.h"

struct tapir_dotnet_facts {
	struct tapir_peer_facts peer;
	uint64_t start_ns;
	char tmp_dir[TAPIR_PEER_DIR_BYTES];  /* where its socket is: its TMPDIR */
	char dump_dir[TAPIR_PEER_DIR_BYTES]; /* where it writes jitdumps: not there */
	bool is_off;	  /* DOTNET_EnableDiagnostics=0 or _IPC=0: it has no socket */
	bool writes_maps; /* DOTNET_PerfMapEnabled */
	/*
	 * The process starts suspended: DOTNET_DefaultDiagnosticPortSuspend, or a port of
	 * DOTNET_DiagnosticPorts without nosuspend.
	 */
	bool waits_at_start;
};

/* Failures as tapir_peer_facts__read's; on success out needs __fini. */
int tapir_dotnet_facts__read(uint32_t tgid, struct tapir_dotnet_facts *out);
/* Closes the descriptors and frees the texts. */
void tapir_dotnet_facts__fini(struct tapir_dotnet_facts *facts);

/* Reads variables; text: NAME=VALUE, each with its NUL. */
void tapir_dotnet_facts__read_environ(struct tapir_dotnet_facts *facts, const char *text,
				      size_t len);

/*
 * Returns true while the runtime waits for a tool's resume command: it answers, but loads nothing,
 * collects nothing and runs no program. A runtime maps its core library only after that.
 */
bool tapir_dotnet_facts__is_suspended(const struct tapir_dotnet_facts *facts);

/* Returns true if it has a perf map or jitdump of its own open now. */
bool tapir_dotnet_facts__has_open_map(const struct tapir_dotnet_facts *facts);

#endif
