/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * import_tasks.h - the processes and threads of an imported file, which names them when it knows
 * them: each has a record before the first one that is about it. One thread.
 */
#ifndef TAPIR_USER_IMPORT_TASKS_H
#define TAPIR_USER_IMPORT_TASKS_H

#include "base/keyed.h"
#include "output/import/import_sink.h"

struct tapir_import_tasks {
	struct tapir_import_sink *sink; /* borrowed */
	struct tapir_map tgid_by_tid;
	struct tapir_keyed(struct tapir_import_name {
		char comm[TAPIR_COMM_BYTES];
	}) names;      /* by tgid */
	uint64_t more; /* threads that found no room */
	bool failed;   /* out of memory for one */
};

/*
 * Frees what it knows; zeroed but for sink it is ready to use. The calls below put records into the
 * sink, which keeps their failures; times are those of records.
 */
void tapir_import_tasks__fini(struct tapir_import_tasks *t);

/* A thread has a name from now on; is_exec: its process executes another program. */
void tapir_import_tasks__name(struct tapir_import_tasks *t, uint32_t tgid, uint32_t tid,
			      const char *name, size_t len, bool is_exec, uint64_t time_ns);
/*
 * A thread was begun by another one, whose name it has; of a new process if the tgids differ.
 * has_started_before: it ran when the recording began, and this says whose child it is.
 */
void tapir_import_tasks__fork(struct tapir_import_tasks *t, uint32_t tgid, uint32_t tid,
			      uint32_t parent_tgid, bool has_started_before, uint64_t time_ns);
/* A thread ended. That of a process's first thread is the process's end; no other is recorded. */
void tapir_import_tasks__exit(struct tapir_import_tasks *t, uint32_t tgid, uint32_t tid,
			      uint64_t time_ns);
/* A record is about this thread. */
void tapir_import_tasks__see(struct tapir_import_tasks *t, uint32_t tgid, uint32_t tid,
			     uint64_t time_ns);
/* After the last of these: sentences about what found no room. */
void tapir_import_tasks__add_limits(const struct tapir_import_tasks *t);
/* The process of a thread; 0: not known. */
uint32_t tapir_import_tasks__tgid(const struct tapir_import_tasks *t, uint32_t tid);

#endif
