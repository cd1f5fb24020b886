/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pids_seen.h - finds out whether the processes and threads that --pid and --thread name are in the
 * file. One thread.
 */
#ifndef TAPIR_USER_PIDS_SEEN_H
#define TAPIR_USER_PIDS_SEEN_H

#include "base/map.h"
#include "base/vec.h"
#include "trace/catalog.h"

struct tapir_pids_seen {
	const struct tapir_pids *requested;	 /* borrowed; none: no process is counted */
	const struct tapir_pids *requested_tids; /* borrowed; NULL or empty: no thread is */
	struct tapir_map cnt_by_tgid;		 /* records of each */
	struct tapir_map cnt_by_tid;
};

/* Counts the record for its process and thread; call it with every record, also descriptions. */
void tapir_pids_seen__add(struct tapir_pids_seen *seen, const struct tapir_rec *rec);
/*
 * Call it after the last record. -ESRCH with a line that names the busiest that are there: one that
 * was requested is not in the file.
 */
int tapir_pids_seen__check(const struct tapir_pids_seen *seen, const struct tapir_catalog *catalog,
			   const char *path);
/* Frees the counts. */
void tapir_pids_seen__fini(struct tapir_pids_seen *seen);

#endif
