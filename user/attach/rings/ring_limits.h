/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ring_limits.h - how many ring lanes a recording opens, and what happens to those it leaves out:
 * each becomes a GAP record, and each cause one line per process or recording.
 *
 * Used under the reader's lock.
 */
#ifndef TAPIR_USER_RING_LIMITS_H
#define TAPIR_USER_RING_LIMITS_H

#include "attach/ring_find.h"
#include "base/map.h"
#include "attach/flow/queue.h"
#include "trace/recbuf.h"

#define TAPIR_RING_LANES_OPEN_MAX 4096u /* at a time, of all processes */
#define TAPIR_RING_OPENINGS_MAX	  256u	/* of one process, and then one more per second */

struct tapir_ring_limits {
	struct tapir_queue *queue; /* borrowed */
	uint64_t start_ns;	   /* of the recording */
	struct tapir_map opens;	   /* by tgid: lanes that were opened, and since when << 32 */
	struct tapir_map warned;   /* by cause and tgid or lane: its line was printed */
	struct tapir_map left;	   /* by lane: since when it is left out */
	bool is_full;		   /* reported; until half of the lanes have ended */
};

enum tapir_ring_left_cause {
	TAPIR_RING_LEFT_FULL,	 /* TAPIR_RING_LANES_OPEN_MAX */
	TAPIR_RING_LEFT_LIMITED, /* TAPIR_RING_OPENINGS_MAX */
	TAPIR_RING_LEFT_BUSY,	 /* no session is free in it */
	TAPIR_RING_LEFT_FAILED,	 /* a call failed */
};

/* Posts a GAP from from_ns to now; what: instead of a path. */
void tapir_ring_limits__post_gap(struct tapir_queue *queue, uint32_t tgid,
				 enum tapir_gap_reason reason, uint64_t from_ns,
				 const char *provider);

/* queue: borrowed, for GAP records. __fini frees what is remembered of processes. */
void tapir_ring_limits__init(struct tapir_ring_limits *l, struct tapir_queue *queue,
			     uint64_t start_ns);
void tapir_ring_limits__fini(struct tapir_ring_limits *l);

/* Returns true if one more lane of this process may be opened; if not, *cause is why. */
bool tapir_ring_limits__allow(struct tapir_ring_limits *l, uint32_t tgid, size_t open_cnt,
			      enum tapir_ring_left_cause *cause);

/* Counts an opening; ends the gap of a lane that was left out. true: the first of its process. */
bool tapir_ring_limits__note_open(struct tapir_ring_limits *l, uint32_t tgid, uint64_t key);

/* Reports a lane that was not opened; err: -errno of FAILED. Repeated calls report nothing. */
void tapir_ring_limits__leave_out(struct tapir_ring_limits *l, uint32_t tgid,
				  const struct tapir_ring_lane *lane,
				  enum tapir_ring_left_cause cause, int err);

/* The same for a lane of another version of ring.h. */
void tapir_ring_limits__refuse_version(struct tapir_ring_limits *l, uint32_t tgid,
				       uint32_t version);

/* The number of times that a lane of the process was opened. */
uint32_t tapir_ring_limits__open_cnt(const struct tapir_ring_limits *l, uint32_t tgid);

/* Removes what is known of a process that has ended; its id may be used again. */
void tapir_ring_limits__forget(struct tapir_ring_limits *l, uint32_t tgid);

/* Notes how many lanes are still open. */
void tapir_ring_limits__note_close(struct tapir_ring_limits *l, size_t open_cnt);

#endif
