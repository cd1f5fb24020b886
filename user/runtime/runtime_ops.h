/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * runtime_ops.h - what tapir does with the processes of a runtime, beyond what runtime_db/ says of
 * it: how they are recognized, what is printed of them, how the names of their generated code are
 * requested, what their memory says of locks, what they add to a recording. One file, NAME_ops.c,
 * and its word in the table (spec/runtime_db/runtimes.h). Members that a runtime lacks are NULL.
 */
#ifndef TAPIR_USER_RUNTIME_OPS_H
#define TAPIR_USER_RUNTIME_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/code_ops.h"
#include "runtime/lock_ops.h"
#include "spec/runtime_db/runtimes.h"
#include "trace/catalog.h"

struct tapir_checkup;
struct tapir_event_ops;
struct tapir_heap_ops;

struct tapir_runtime_info {
	char name[32];	       /* ".NET", "OpenJDK", "CPython", "PostgreSQL", ...; "" if unknown */
	char version[64];      /* "10.0.12", "3.11", "15"; "" not known */
	char description[400]; /* "a HotSpot JVM 17.0.15: /usr/lib/..."; "": of others */
	bool has_events;       /* without USDT probes */
	bool declares_events;  /* and lists them when asked */
};

typedef void tapir_runtime_put_fn(void *ctx, const struct tapir_rec *rec);

/* Makes records of what its processes hold while they are recorded; session thread. */
struct tapir_runtime_watch_ops {
	/* put: takes the records. NULL: out of memory. */
	void *(*start)(tapir_runtime_put_fn *put, void *ctx);
	void (*stop)(void *watch);
	/* Takes a record that describes something, in the order of the recording. */
	void (*learn)(void *watch, const struct tapir_rec *rec);
	/* Takes an event, after the catalog has it; NULL: it needs none. */
	void (*add_event)(void *watch, const struct tapir_catalog *catalog,
			  const struct tapir_rec_event *ev);
	/* Reads what is due, at the end all. Returns the time of the next call; UINT64_MAX: none.
	 */
	uint64_t (*poll)(void *watch, uint64_t now_ns, bool is_last);
};

/* The names of all code of a process at one moment. */
struct tapir_jitdump_answer {
	int fd;			   /* of the jitdump, for reading */
	uint64_t dev, inode;	   /* which file it is */
	uint64_t begin_ns, end_ns; /* when it was taken */
	bool is_rundown;	   /* tapir wrote it, of events: it is no file of the process */
};

/* Compiled code that an event reports. */
struct tapir_code_method {
	uint64_t start_va, size;
	bool has_ended; /* it is no more there */
};

struct tapir_runtime_ops {
	/* A mapping of this path makes its process a likely one. Cheap, not a proof. */
	bool (*is_path)(const char *path, size_t len);

	/* With is_path. 1: it is one, and out is filled; 0: not. -errno with a line. Any thread. */
	int (*inspect)(uint32_t tgid, struct tapir_runtime_info *out);

	/*
	 * Requests the names of its code; blocks until the answer, a timeout, or until cancel_fd is
	 * readable. answer: answer_bytes of zeros, a perf map or a jitdump. 0,
	 * or -errno with a line; -EALREADY: the names come without being requested.
	 */
	int (*ask_names)(uint32_t tgid, int cancel_fd, void *answer);
	/* An answer that is a perf map: the path of its file, as the process names it; or NULL. */
	void (*path_of_answer)(const void *answer, char *out, size_t max);
	bool answers_jitdump; /* an answer is a struct tapir_jitdump_answer */
	/* Discards an answer that is no longer needed: removes what the runtime wrote for tapir. */
	void (*discard_names)(uint32_t tgid, void *answer);
	size_t answer_bytes;
	const char *kind;     /* "JVM", in messages */
	const char *no_names; /* "its methods have no names": after a failure */

	/* Events that report compiled methods: true, of its PROBE record; then of one of its
	 * events, whose name is added. -EINVAL: it has none, -ENOMEM; outputs are as before then.
	 */
	bool (*reports_methods)(const struct tapir_probe_view *probe);
	int (*read_method)(const struct tapir_probe_view *probe,
			   const struct tapir_event_view *event, struct tapir_code_method *out,
			   struct tapir_str *name);
	/*
	 * A mapping of this path has compiled code, which events report, and begins with code that
	 * has no frames.
	 */
	bool (*is_code_memory)(const char *path, size_t len);
	/*
	 * Adds what the doctor says of one of its processes; nothing where it is none. What is
	 * missing, but not for this runtime, becomes a limit.
	 */
	void (*check)(struct tapir_checkup *checkup, uint32_t tgid);
	/*
	 * Asks one of its processes who holds locks, where that makes it stop; other processes are
	 * left alone. Failures are warnings.
	 */
	void (*ask_owners)(uint32_t tgid, struct tapir_lock_waits *out);

	const struct tapir_code_ops *code;
	const struct tapir_event_ops *events; /* event_ops.h */
	const struct tapir_heap_ops *heap;    /* heap/heap_ops.h */
	const struct tapir_lock_ops *locks;
	const struct tapir_runtime_watch_ops *watch;
};

extern const struct tapir_runtime_ops *const tapir_runtimes[]; /* ended by NULL */

#define TAPIR_RUNTIME_ONE(name) +1
#define TAPIR_RUNTIME_OPS_CNT                                                                      \
	(0 TAPIR_RUNTIMES(TAPIR_NO_COLUMN, TAPIR_RUNTIME_ONE, TAPIR_NO_COLUMN))

/* Returns the runtime whose file that path is; NULL: none. */
const struct tapir_runtime_ops *tapir_runtimes__of_path(struct tapir_sv path);

/* Returns true for a mapping of generated code by its path (is_code_memory). */
bool tapir_runtimes__is_code_memory(struct tapir_sv path);

/* Fills out by the first runtime that recognizes the process: 1, 0: none, or -errno with a line. */
int tapir_runtimes__inspect(uint32_t tgid, struct tapir_runtime_info *out);

#endif
