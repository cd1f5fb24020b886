/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * watch_report.h - what the shared memory of watched runtimes (watch_shm.h) holds, for Prometheus
 * and as JSON. It is written by another process while it is read: each slot is copied first. One
 * thread.
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
	const struct tapir_pids *pids; /* borrowed; an empty list: all */
	const char *name;	       /* of counters, a glob; NULL: all */
	uint64_t history_ms;	       /* how far back values go; 0: the newest value alone */
	uint64_t now_utc_ms;	       /* since 1970, as history counts from it */
	uint64_t started_ms;	       /* when the one process of pids began, since 1970; 0: any */
};

/*
 * Returns 1 if all processes of the query are watched, 0 if not. -EEXIST, without a line: the pid
 * belongs to another process by now.
 */
int tapir_watch_report__has(const struct tapir_watch_shm *page,
			    const struct tapir_watch_query *query);
/* Appends {"watched": true, "processes": [...], "counters": [...]}; out.failed: no memory. */
void tapir_watch_report__counters(const struct tapir_watch_shm *page,
				  const struct tapir_watch_query *query, struct tapir_str *out);

#endif
