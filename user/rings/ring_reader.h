/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ring_reader.h - the thread that empties the rings which traced processes write in memory of
 * their own (tapir/ring.h) into blocks, beside the drain thread of the BPF rings.
 *
 * It comes by every 10 ms, at once where a ring is over a quarter full, and when a process ends:
 * what that had written is read to the last event.
 */
#ifndef TAPIR_USER_RING_READER_H
#define TAPIR_USER_RING_READER_H

#include "spec/spec.h"
#include "flow/seen_names.h"
#include "flow/queue.h"
#include "rings/ring_session.h"

#define TAPIR_RING_PROBE_ID_MIN 0x10000u    /* the probe ids of BPF sites lie below (SITE_CAP) */
#define TAPIR_RING_PROBE_ID_MAX 0x3fffffffu /* those of streams lie above */

struct tapir_ring_reader_opts {
	size_t sz;
	struct tapir_queue *queue;	     /* borrowed until __stop, like specs */
	const struct tapir_spec_list *specs; /* what is asked for */
	struct tapir_lane_coverage *cover;   /* told what is on; borrowed, may be NULL */
	uint32_t rate_hz;		     /* events a second of each thread; 0: all */
	bool with_stack;
	const struct tapir_ring_ask *own_ask; /* of lanes of our own (__own); NULL: by specs */
	bool with_children; /* forked children of a traced process are traced, too */
	bool with_probes;   /* lanes of our own: events as probes, too (TAPIR_RING_WANTS_PROBES) */
	/* Events that are on for names of code alone: TAPIR_PROBE_FOR_NAMES. Borrowed, may be NULL.
	 */
	const struct tapir_spec *name_spec;
};

struct tapir_ring_reader_stats {
	size_t lane_cnt;    /* that were opened */
	size_t process_cnt; /* whose they are */
	size_t wanted_cnt;  /* events of theirs that were asked for */
	uint64_t event_cnt, malformed_cnt;
};

struct tapir_ring_reader;

int tapir_ring_reader__start(const struct tapir_ring_reader_opts *opts,
			     struct tapir_ring_reader **out);

/*
 * A key we gave to a lane that is made for us alone. Private lanes under other keys are left to
 * those who know them. Any thread; 0 or -ENOMEM.
 */
int tapir_ring_reader__own(struct tapir_ring_reader *r, uint64_t key);

/*
 * Opens the lanes the process offers that are not open yet, ends those it offers no more. Their
 * number; 0: it has none; -errno without a line: it cannot be looked at. Any thread but ours.
 */
int tapir_ring_reader__add(struct tapir_ring_reader *r, uint32_t tgid);

/* Has the process a lane that is open? Any thread. */
bool tapir_ring_reader__has(struct tapir_ring_reader *r, uint32_t tgid);

/* Is what we asked for on in the lanes of that key? true: there is none, too. Any thread. */
bool tapir_ring_reader__is_followed(struct tapir_ring_reader *r, uint32_t tgid, uint64_t key);

/* What the lane under this key says of TAPIR_RING_WANTS_PROBES. false: there is none. Any thread.
 */
bool tapir_ring_reader__published(struct tapir_ring_reader *r, uint32_t tgid, uint64_t key,
				  struct tapir_ring_published *out);

/* Has it one under this key that is open? Any thread. */
bool tapir_ring_reader__has_key(struct tapir_ring_reader *r, uint32_t tgid, uint64_t key);

/* Drains what was written until now, counts what was lost, ends every session and the thread. */
void tapir_ring_reader__stop(struct tapir_ring_reader *r);
void tapir_ring_reader__free(struct tapir_ring_reader *r); /* stops it, too; NULL is fine */

/* Any thread; also after __stop. */
void tapir_ring_reader__stats(struct tapir_ring_reader *r, struct tapir_ring_reader_stats *out);
bool tapir_ring_reader__spec_matched(struct tapir_ring_reader *r, size_t spec_idx);

/* Adds the names of all events that were met, asked for or not. Any thread. */
void tapir_ring_reader__add_seen(struct tapir_ring_reader *r, struct tapir_seen_names *out);

#endif
