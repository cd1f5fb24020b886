/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * loop_sync.h - synchronous calls of an event loop (lore's loop_sync: a file that is read while all
 * others wait): however short each is, the loop serves nothing else during it. One thread.
 */
#ifndef TAPIR_USER_LOOP_SYNC_H
#define TAPIR_USER_LOOP_SYNC_H

#include "diagnose/weights.h"

struct tapir_finding;
struct tapir_str;

struct tapir_loop_sync {
	uint64_t ns, runnable_ns; /* in such calls; of that, waiting for a CPU */
	struct tapir_weights called,
		own; /* functions of the runtime; the program's that call them */
	struct tapir_found_labels reasons; /* of waits */
};

/* Time of a thread with that stack, for a reason (NULL: on a CPU, or waiting for one). called: the
 * runtime's function. */
void tapir_loop_sync__add(struct tapir_finding *f, struct tapir_loop_sync *sync, uint32_t node,
			  uint32_t called, const char *reason, uint64_t ns, uint64_t runnable_ns);
void tapir_loop_sync__fini(struct tapir_loop_sync *sync);

#endif
