/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * watch.h - watches the runtimes of processes: their counters, once per interval, and how long
 * collections stop them, into a page (watch_shm.h). A .NET runtime sends both by one event stream
 * of its own; a JVM's are in the file that it keeps for them. Nothing is loaded into a process, and
 * no probe is attached.
 */
#ifndef TAPIR_USER_WATCH_H
#define TAPIR_USER_WATCH_H

#include "base/vec.h"
#include "agent/watch/watch_shm.h"

struct tapir_watch_choice {
	struct tapir_words comms;    /* of processes, globs; none: nothing is watched */
	struct tapir_words counters; /* as of a request; none: those of System.Runtime */
	uint64_t interval_ms;	     /* 0: a second */
};

/*
 * Watches until SIGTERM, in the only thread of a process. choice and page are borrowed. 0 or -errno
 * with lines.
 */
int tapir_watch__run(const struct tapir_watch_choice *choice, struct tapir_watch_shm *page);

#endif
