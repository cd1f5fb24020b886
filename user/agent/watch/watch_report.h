/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * watch_report.h - what a page of watched runtimes holds, for Prometheus and as JSON. One thread.
 */
#ifndef TAPIR_USER_WATCH_REPORT_H
#define TAPIR_USER_WATCH_REPORT_H

#include "base/str.h"
#include "base/vec.h"
#include "agent/watch/watch_shm.h"

/*
 * Metrics of runtimes, in Prometheus' text format. Labels are pid, process and, of collections of
 * .NET, generation: at most TAPIR_WATCH_MAX_PROCESSES series times a fixed number.
 */
void tapir_watch_report__metrics(const struct tapir_watch_shm *page, struct tapir_str *out);

struct tapir_watch_query {
	const struct tapir_pids *pids; /* none: all */
	const char *name;	       /* of counters, a glob; NULL: all */
	uint64_t history_ms;	       /* 0: the newest value alone */
	uint64_t now_utc_ms;
	uint64_t started_ms; /* of the one process; 0: any */
};

/*
 * Returns true if all of them are watched and have values. -EEXIST: pid is another process by now.
 */
int tapir_watch_report__has(const struct tapir_watch_shm *page,
			    const struct tapir_watch_query *query);
/* Writes {"watched": true, "processes": [...], "counters": [...]}. */
void tapir_watch_report__counters(const struct tapir_watch_shm *page,
				  const struct tapir_watch_query *query, struct tapir_str *out);

#endif
