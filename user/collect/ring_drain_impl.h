/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ring_drain_impl.h - what a lane being recorded is; for ring_drain.c and ring_catalog.c only.
 */
#ifndef TAPIR_USER_RING_DRAIN_IMPL_H
#define TAPIR_USER_RING_DRAIN_IMPL_H

#include "collect/ring_drain.h"
#include "collect/ring_records.h"
#include "collect/ring_session.h"
#include "collect/ring_tids.h"

#define RING_CAUSES 3 /* NO_SPACE, NESTED, LIMITED */

/* An event of the process. */
struct ring_event {
	uint64_t cover_key;	    /* of its name, while it is on; 0 */
	uint32_t probe_id;	    /* of the recording; 0: not asked for, or not known yet */
	bool is_known;		    /* its entry was read and judged */
	uint64_t lost[RING_CAUSES]; /* by enum tapir_ring_cause: reported until now */
};

struct tapir_ring_process {
	struct tapir_ring_sink *sink;
	uint32_t tgid;
	struct tapir_ring_lane lane;
	struct tapir_ring_control control;
	struct tapir_ring_tids tids;
	struct tapir_ring_scan scan;
	struct ring_event *events; /* event_cnt of them, all below are known unless empty */
	uint32_t event_cnt, event_cap;
	uint32_t first_unknown; /* all before it are known */
	uint32_t counted_cnt;	/* events that may have lost something before we came */
	size_t wanted_cnt;
	uint32_t slots_used[TAPIR_RING_ARENAS];
	uint64_t *tails;      /* TAPIR_RING_SLOTS; ctl has copies that are never read back */
	unsigned cursor;      /* the slot at which a drain begins: the last one ended there */
	uint64_t round_bytes; /* that a drain may still take */
	unsigned arena_tries;
	uint64_t next_arena_ns, losses_ns, malformed_reported;
};

/* What one look at a shared header gives, put into bounds. */
struct ring_counters {
	uint32_t arena_cnt, event_cnt, slots_used;
};
bool tapir_ring_process__counters(const struct tapir_ring_process *p, unsigned arena,
				  struct ring_counters *out);

/* Entries up to event_cnt: those that have been filled since are read, judged, switched on. */
int tapir_ring_process__see_events(struct tapir_ring_process *p, uint32_t event_cnt);

/* Its events come by their probes alone from now on. */
void tapir_ring_process__uncover(struct tapir_ring_process *p);

/* For struct tapir_ring_scan; ctx is the process. */
uint32_t tapir_ring_process__probe_of(void *ctx, uint32_t event_idx);

#endif
