/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * loop_busy.h - how long an event loop did not sleep (finding_loop.h), whether it was in one long
 * call or in many short ones: what performance.eventLoopUtilization() of Node.js measures. One
 * thread.
 */
#ifndef TAPIR_USER_LOOP_BUSY_H
#define TAPIR_USER_LOOP_BUSY_H

#include "diagnose/weights.h"

struct tapir_finding;
struct tapir_str;

struct tapir_loop_busy {
	uint64_t ns, longest_ns;			/* between two sleeps */
	uint64_t runnable_ns;				/* of that, waiting for a CPU */
	uint64_t attributed_ns, attributed_runnable_ns; /* since it slept */
	struct tapir_weights own;
};

/* The thread ran, or slept in a call, for that long in a function of the program. */
void tapir_loop_busy__add(struct tapir_finding *f, struct tapir_loop_busy *busy, uint32_t own,
			  uint64_t ns);
void tapir_loop_busy__add_runnable(struct tapir_loop_busy *busy, uint64_t ns);
/*
 * Takes a turn: from the end of a sleep to the beginning of the next, unless records of it are
 * missing.
 */
void tapir_loop_busy__turn(struct tapir_loop_busy *busy, uint64_t from_ns, uint64_t until_ns);
void tapir_loop_busy__fini(struct tapir_loop_busy *busy);

#endif
