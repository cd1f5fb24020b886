/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ring_reader.h - the thread that empties the rings which traced processes write in memory of their
 * own (tapir/ring.h) into blocks, as the drain thread does for the BPF rings.
 *
 * It drains every 10 ms, at once if a ring is over a quarter full, and when a process ends: what
 * that had written is read to the last event.
 */
#ifndef TAPIR_USER_RING_READER_H
#define TAPIR_USER_RING_READER_H

#include "spec/spec.h"
#include "attach/flow/seen_names.h"
#include "attach/flow/queue.h"
#include "attach/rings/ring_session.h"

#define TAPIR_RING_PROBE_ID_MIN 0x10000u    /* the probe ids of BPF sites are below (SITE_CAP) */
#define TAPIR_RING_PROBE_ID_MAX 0x3fffffffu /* those of streams are above */

struct tapir_ring_reader_opts {
	size_t sz;
	struct tapir_queue *queue;	     /* borrowed until __stop, like specs */
	const struct tapir_spec_list *specs; /* what is requested */
	struct tapir_lane_coverage *cover; /* updated with what is enabled; borrowed, may be NULL */
	uint32_t rate_hz;		   /* events a second of each thread; 0: all */
	bool with_stack;
	bool with_every_stack; /* also of events whose stacks show nothing (lore) */
	const struct tapir_ring_request
		*private_request; /* of lanes of our own (__own); NULL: by specs */
	bool with_children;	  /* forked children of a traced process are traced, too */
	bool has_probes; /* events that have USDT sites are recorded there, too, also in children */
	bool with_probes; /* lanes of our own: events as probes, too (TAPIR_RING_WANTS_PROBES) */
	uint32_t wait_ms; /* lanes of our own: threads wait for room, at most this long (ring.h) */
	/* Events that are on for names of code alone: TAPIR_PROBE_FOR_NAMES. Borrowed, may be NULL.
	 */
	const struct tapir_spec *name_spec;
	const struct tapir_spec
		*budget_spec; /* the same of events that are recorded while they are few */
};

struct tapir_ring_reader_stats {
	size_t lane_cnt;    /* that were opened */
	size_t process_cnt; /* whose they are */
	size_t wanted_cnt;  /* their events that were requested */
	uint64_t event_cnt, malformed_cnt;
};

struct tapir_ring_reader;

/* Starts the thread; opts' pointers are borrowed until __stop. 0 or -errno. */
int tapir_ring_reader__start(const struct tapir_ring_reader_opts *opts,
			     struct tapir_ring_reader **out);

/* The id of its sessions in all lanes. Never 0. Any thread. */
uint64_t tapir_ring_reader__session_id(const struct tapir_ring_reader *r);

/*
 * Allows the reader to sleep until a thread that may fire runs: asleep is a word that such a thread
 * clears, after which a thread calls __wake. Borrowed until __stop. NULL: the reader polls every 10
 * ms again.
 */
void tapir_ring_reader__sleep_by(struct tapir_ring_reader *r, volatile uint32_t *asleep);
void tapir_ring_reader__wake(struct tapir_ring_reader *r); /* any thread; costs nothing if awake */

/*
 * Takes over a key given to a lane that is created for this recording alone. Private lanes under
 * other keys are left to their owners. Any thread; 0 or -ENOMEM.
 */
int tapir_ring_reader__own(struct tapir_ring_reader *r, uint64_t key);

/*
 * Opens the lanes that the process offers and that are not open yet, ends those it no longer
 * offers. Returns their number; 0: it has none; -errno without a line: it cannot be inspected. Any
 * thread but the reader's.
 */
int tapir_ring_reader__add(struct tapir_ring_reader *r, uint32_t tgid);

/* Returns true if the process has a lane that is open. Any thread. */
bool tapir_ring_reader__has(struct tapir_ring_reader *r, uint32_t tgid);

/*
 * Returns true if what was requested is enabled in the lanes of that key; also true if there is
 * none. Any thread.
 */
bool tapir_ring_reader__is_applied(struct tapir_ring_reader *r, uint32_t tgid, uint64_t key);

/*
 * Returns true if some process's library has not yet applied what was requested: events that it
 * fires now may be missed. Any thread.
 */
bool tapir_ring_reader__is_lagging(struct tapir_ring_reader *r);

/*
 * The result of TAPIR_RING_WANTS_PROBES in the lane under this key. false: there is none. Any
 * thread.
 */
bool tapir_ring_reader__published(struct tapir_ring_reader *r, uint32_t tgid, uint64_t key,
				  struct tapir_ring_published *out);

/* Returns true if the process has a lane under this key that is open. Any thread. */
bool tapir_ring_reader__has_key(struct tapir_ring_reader *r, uint32_t tgid, uint64_t key);

/*
 * Changes has_probes of the options, for lanes that are open and those that will be: a child that
 * is forked while it is false has its events in its ring alone from the first one on. Any thread.
 */
void tapir_ring_reader__set_has_probes(struct tapir_ring_reader *r, bool has);

/* Drains what was written until now, counts what was lost, ends every session and the thread. */
void tapir_ring_reader__stop(struct tapir_ring_reader *r);
void tapir_ring_reader__free(struct tapir_ring_reader *r); /* stops it, too; NULL is fine */

/* Any thread; also after __stop. */
void tapir_ring_reader__stats(struct tapir_ring_reader *r, struct tapir_ring_reader_stats *out);
/* Returns true if the SPEC with this index selected an event of any lane. Any thread. */
bool tapir_ring_reader__spec_matched(struct tapir_ring_reader *r, size_t spec_idx);

/* Adds the names of all events that were met, asked for or not. Any thread. */
void tapir_ring_reader__add_seen(struct tapir_ring_reader *r, struct tapir_seen_names *out);

#endif
