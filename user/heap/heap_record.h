/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * heap_record.h - has a running .NET process describe its heap, and records that.
 *
 * tapir's library opens a session that makes the runtime collect (blocking, all generations) and
 * list what survived, on one thread, while all others of the process are suspended. That thread
 * waits where its ring of 4 MB is full, so nothing is lost and the process needs no memory for the
 * list; it waits for at most max_pause_ns altogether, then what has no room is dropped and counted.
 *
 * Privileges: as for any recording of .NET. Blocks until the collection has ended.
 */
#ifndef TAPIR_USER_HEAP_RECORD_H
#define TAPIR_USER_HEAP_RECORD_H

#include "record/session.h"
#include "trace/writer.h"

#define TAPIR_HEAP_MAX_PAUSE_NS 10000000000ull /* unless it is requested otherwise */

struct tapir_heap_record_opts {
	uint32_t tgid;
	uint64_t max_pause_ns;
	/*
	 * 0: the collection comes at once. Else what is allocated (samples, with stacks) and what
	 * collections move (heap_follow.h) is recorded for this long before it.
	 */
	uint64_t follow_ns;
	const struct tapir_writer_opts *file; /* where it is recorded; NULL: nowhere */
	tapir_session_fn on_record;	      /* receives each record; NULL: not needed */
	void *ctx;
};

/* lost_cnt, which may be NULL: of all records. 0, also when the snapshot is incomplete, or Ctrl-C
 * came before it; -errno with lines. */
int tapir_heap__record(const struct tapir_heap_record_opts *opts, uint64_t *lost_cnt);

#endif
