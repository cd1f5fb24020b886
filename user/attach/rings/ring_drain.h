/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ring_drain.h - one ring lane of one process while it is recorded: its session, its events and
 * which of them were requested, the positions in its threads' rings, what was lost.
 *
 * One thread at a time. Bounded whatever the process writes: a drain ends at the heads it saw.
 */
#ifndef TAPIR_USER_RING_DRAIN_H
#define TAPIR_USER_RING_DRAIN_H

#include "attach/ring_find.h"
#include "base/map.h"
#include "spec/spec.h"
#include "attach/flow/lane_coverage.h"
#include "attach/flow/queue.h"
#include "attach/rings/ring_kinds.h"
#include "attach/rings/ring_session.h"
#include "attach/flow/seen_names.h"
#include "trace/recbuf.h"

/* Shared by all lanes of a recording, owned by the reader. */
struct tapir_ring_sink {
	struct tapir_queue *queue;	      /* borrowed */
	const struct tapir_spec_list *specs;  /* borrowed */
	const struct tapir_spec *name_spec;   /* borrowed; NULL: none */
	const struct tapir_spec *budget_spec; /* borrowed; NULL: none (event_budget.h) */
	bool *spec_matched;		      /* one a SPEC; may be NULL */
	bool with_stack, with_every_stack;
	struct tapir_lane_coverage *cover; /* borrowed; NULL: not wanted */
	uint32_t rate_hz;		   /* events a second of a thread; 0: all */
	struct tapir_seen_names seen;	   /* of all catalogs; owned, like recbuf */
	struct tapir_recbuf recbuf;
	struct tapir_ring_kinds kinds;		  /* of events; owned */
	const struct tapir_ring_request *request; /* of lanes that are for all; borrowed */
	const struct tapir_ring_request
		*private_request; /* of private lanes; borrowed; NULL: the SPECs' */
	uint64_t start_ns;	  /* of the recording: lanes that are made later are opened late */
	uint64_t session_id;	  /* of all our sessions, by which children know us */
	bool with_children;
	bool has_probes;	   /* TAPIR_RING_HAS_PROBES */
	bool with_probes;	   /* lanes of our own: TAPIR_RING_WANTS_PROBES */
	uint32_t wait_ms;	   /* lanes of our own: how long threads wait for room (ring.h) */
	struct tapir_block *block; /* being filled; NULL */
};

struct tapir_ring_process;

/* Opens a session in the lane, whose files are taken, also on failure. -EBUSY: no session left. */
int tapir_ring_process__open(struct tapir_ring_sink *sink, uint32_t tgid,
			     struct tapir_ring_lane *lane, struct tapir_ring_process **out);

struct tapir_ring_drained {
	bool any;	 /* records were there */
	bool is_lagging; /* no empty block for what is there */
	bool is_filling; /* a ring was over a quarter full: come again at once */
	bool has_more;	 /* it wrote more than one drain takes */
	bool is_ended;	 /* the process took us for dead */
};
/* Reads all rings of the lane up to the heads that it sees, as far as there are blocks. */
struct tapir_ring_drained tapir_ring_process__drain(struct tapir_ring_process *p);

/* Posts LOSS records of what was added since the last time; once a second, and at the end. */
void tapir_ring_process__report_losses(struct tapir_ring_process *p);

/* has: forked children leave events to probes until their lane is open (ring.h). */
void tapir_ring_process__set_has_probes(struct tapir_ring_process *p, bool has);

/*
 * Withdraws all that was requested: nothing more is to be written. Call it for all lanes before the
 * first is closed.
 */
void tapir_ring_process__want_nothing(struct tapir_ring_process *p);

/*
 * Removes our bits, waits for what is being written, drains it all, reports. The session thread
 * must still be taking blocks: up to 5 s.
 */
void tapir_ring_process__finish(struct tapir_ring_process *p, bool is_alive);
void tapir_ring_process__close(struct tapir_ring_process *p); /* frees the session; NULL is fine */

/* Returns true if a runtime with a source of its own has enabled what was requested. */
bool tapir_ring_process__is_applied(const struct tapir_ring_process *p);
/* Returns true if a thread of the program's library is still to apply what was requested. */
bool tapir_ring_process__is_lagging(const struct tapir_ring_process *p);
/* Writes what came of events that are to be probes as well, as the process claims. */
void tapir_ring_process__published(const struct tapir_ring_process *p,
				   struct tapir_ring_published *out);
/*
 * __child_fired: events of forked children that counted for our session since it was opened;
 * __inherited: those of them that this lane, a child's, had before we came; __children: writes up
 * to max pids of children that made a lane since the last call, and returns how many.
 */
uint64_t tapir_ring_process__child_fired(const struct tapir_ring_process *p);
uint64_t tapir_ring_process__inherited(const struct tapir_ring_process *p);
unsigned tapir_ring_process__children(struct tapir_ring_process *p, uint32_t *pids, unsigned max);
uint64_t tapir_ring_process__key(const struct tapir_ring_process *p); /* of the lane */
size_t tapir_ring_process__wanted_cnt(const struct tapir_ring_process *p);
uint64_t tapir_ring_process__event_cnt(const struct tapir_ring_process *p);
uint64_t tapir_ring_process__malformed_cnt(const struct tapir_ring_process *p);

#endif
