/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pressure_watch.h - how long threads of the machine waited because CPU, memory or disk were scarce
 * (/proc/pressure), as COUNTER records: "memory full", milliseconds in each second.
 *
 * One thread, the control thread.
 */
#ifndef TAPIR_USER_PRESSURE_WATCH_H
#define TAPIR_USER_PRESSURE_WATCH_H

#include <stdbool.h>

#include "attach/flow/queue.h"

#define TAPIR_PRESSURES 6 /* some and full, of three files */

/* Zero it. */
struct tapir_pressure_watch {
	uint64_t total_us[TAPIR_PRESSURES], last_ns; /* 0: not yet read */
	bool has_warned;
};

/* Reads, if it is time, once a second, or must is set: each record has what was added. */
void tapir_pressure_watch__poll(struct tapir_pressure_watch *w, struct tapir_queue *queue,
				uint64_t now_ns, bool must);

/* Finds the total of the line "some" or "full". False: there is none, or it is malformed. */
bool tapir_pressure__parse(const char *text, const char *line, uint64_t *total_us);

#endif
