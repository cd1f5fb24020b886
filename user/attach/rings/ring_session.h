/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ring_session.h - our side of a lane's control file: one of its sessions, owned by a lock that
 * ends with us. The steps and their order are those of tapir/ring.h.
 *
 * The process can write everything here at any time: nothing that is read back is trusted, and
 * positions are kept by the caller, not here. One thread at a time.
 */
#ifndef TAPIR_USER_RING_SESSION_H
#define TAPIR_USER_RING_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "attach/ring_find.h"
#include "attach/rings/ring_request.h"

struct tapir_ring_session_opts {
	size_t sz;
	const struct tapir_ring_request *request; /* copied */
	uint64_t session_id;			  /* the recording's: a child inherits it */
	uint32_t rate_hz;			  /* events a second of a thread; 0: all */
	bool with_stack;
	bool with_probes;   /* TAPIR_RING_WANTS_PROBES */
	bool with_children; /* TAPIR_RING_WANTS_CHILDREN */
	bool has_probes;    /* TAPIR_RING_HAS_PROBES */
	uint32_t wait_ms;   /* threads wait for us, together at most this long, before they drop */
};

struct tapir_ring_control {
	struct tapir_ring_ctl *map; /* NULL: not open */
	int fd;			    /* borrowed; the lock is its description's */
	unsigned session;
	uint64_t bits;	    /* of the events we want */
	uint32_t announced; /* generation */
	bool is_inherited;  /* the lane of a child, which has filled the session */
	uint64_t child_cnt; /* children of the process that __children has given out */
};

/*
 * Takes a free session of the file of fd (O_RDWR, checked, kept open until __close) and fills it
 * (steps 1 and 2); it is not open yet. -EBUSY: all are taken.
 */
int tapir_ring_control__take(struct tapir_ring_control *c, int fd,
			     const struct tapir_ring_session_opts *opts);

/*
 * Step 3: OPENING, the tails, OPEN, the tails again; then the epoch. fill(ctx) puts the heads of
 * all slots that are used into the tails (__set_tail).
 */
void tapir_ring_control__open(struct tapir_ring_control *c, void (*fill)(void *ctx), void *ctx);

/*
 * generation: of the entry by which this was decided. has_stack: its events have stacks if those of
 * the session do.
 */
void tapir_ring_control__want(struct tapir_ring_control *c, uint32_t event, uint32_t generation,
			      bool on, bool has_stack);
/* Withdraws what the session requests of that provider; events that are on stay on. */
void tapir_ring_control__drop(struct tapir_ring_control *c, const char *provider);
void tapir_ring_control__want_nothing(struct tapir_ring_control *c);
/* Changes TAPIR_RING_HAS_PROBES of the session; children that have a lane keep what they saw. */
void tapir_ring_control__set_has_probes(struct tapir_ring_control *c, bool has);
void tapir_ring_control__announce(struct tapir_ring_control *c); /* what changed: a runtime waits */
/* The two below return what the process claims: for display only, nothing may depend on it. */
uint32_t tapir_ring_control__unserved_cnt(const struct tapir_ring_control *c); /* providers */
void tapir_ring_control__published(const struct tapir_ring_control *c,
				   struct tapir_ring_published *out);
/* Returns true if a thread of the process applies what is announced (TAPIR_RING_CTL_FOLLOWS). */
bool tapir_ring_control__has_follower(const struct tapir_ring_control *c);
/* Returns true if a runtime that waits has done what was announced. */
bool tapir_ring_control__is_applied(const struct tapir_ring_control *c);

/* Publishes to the process that everything before tail, in bytes, has been read of that slot's
 * ring. */
void tapir_ring_control__set_tail(struct tapir_ring_control *c, uint32_t slot, uint64_t tail);
/* Shows the process that the session is alive; once a drain. */
void tapir_ring_control__beat(struct tapir_ring_control *c);
void tapir_ring_control__drained(struct tapir_ring_control *c); /* all slots, to their heads */

/* Returns true if the control file of fd has a session that was inherited from this recording. */
bool tapir_ring_control__is_for_us(int fd, uint64_t session_id);

/* Events of forked children that counted for our session, since the process began. */
uint64_t tapir_ring_control__child_fired(const struct tapir_ring_control *c);

/* Children that made a lane since the last call (pids of the process's namespace, unchecked). */
unsigned tapir_ring_control__children(struct tapir_ring_control *c, uint32_t *pids, unsigned max);

/* The process considered us dead. */
bool tapir_ring_control__is_ended(const struct tapir_ring_control *c);

/*
 * FREE, generation, unlock. Before it: __want_nothing, a pause for writers, the last drain. A
 * half-made one is fine.
 */
void tapir_ring_control__close(struct tapir_ring_control *c);

#endif
