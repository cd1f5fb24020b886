/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * runtime_ops.h - a runtime that can be asked: how its processes are recognized, what is printed of
 * them, and how the names of their generated code are requested. One file, NAME_ops.c, and a row in
 * runtime_ops.c. Runtimes that cannot be asked are in spec/runtime_db/.
 */
#ifndef TAPIR_USER_RUNTIME_OPS_H
#define TAPIR_USER_RUNTIME_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tapir_runtime_info {
	char name[32];	       /* ".NET", "OpenJDK", "CPython", "PostgreSQL", ...; "" if unknown */
	char version[64];      /* "10.0.12", "3.11", "15"; "" not known */
	char description[400]; /* "a HotSpot JVM 17.0.15: /usr/lib/..."; "": of others */
	bool has_events;       /* without USDT probes */
	bool declares_events;  /* and lists them when asked */
};

struct tapir_runtime_ops {
	/* A mapping of this path makes its process a likely one. Cheap, not a proof. */
	bool (*is_path)(const char *path, size_t len);

	/* 1: it is one, and out is filled; 0: not. -errno with a line. Any thread. */
	int (*inspect)(uint32_t tgid, struct tapir_runtime_info *out);

	/*
	 * Requests the names of its code; blocks until the answer, a timeout, or until cancel_fd is
	 * readable. answer: answer_bytes of zeros, in a format that its reader in names/ knows. 0,
	 * or -errno with a line; -EALREADY: the names come without being requested.
	 */
	int (*ask_names)(uint32_t tgid, int cancel_fd, void *answer);
	/* Discards an answer that is no longer needed: removes what the runtime wrote for tapir. */
	void (*discard_names)(uint32_t tgid, void *answer);
	size_t answer_bytes;
	const char *kind;     /* "JVM", in messages */
	const char *no_names; /* "its methods have no names": after a failure */
};

extern const struct tapir_runtime_ops tapir_runtime_jvm, tapir_runtime_dotnet;
extern const struct tapir_runtime_ops *const tapir_runtimes[]; /* ended by NULL */

/* Fills out by the first runtime that recognizes the process: 1, 0: none, or -errno with a line. */
int tapir_runtimes__inspect(uint32_t tgid, struct tapir_runtime_info *out);

#endif
