/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ring_drain_impl.h - what a lane being recorded is; for ring_drain.c and ring_catalog.c only. One
 * thread at a time, as ring_drain.h.
 */
#ifndef TAPIR_USER_RING_DRAIN_IMPL_H
#define TAPIR_USER_RING_DRAIN_IMPL_H

#include "attach/rings/event_budget.h"
#include "attach/rings/ring_drain.h"
#include "attach/rings/ring_records.h"
#include "attach/rings/ring_session.h"
#include "attach/rings/ring_tids.h"

#define RING_CAUSES 7 /* of enum tapir_ring_cause */

/* An event of the process. */
struct ring_event {
	uint64_t cover_key;  /* of its name, while it is on; 0 */
	uint64_t kind;	     /* ring_kinds.h; of a probe_id */
	uint32_t probe_id;   /* of the recording; 0: not requested, or not known yet */
	uint32_t generation; /* of its entry */
	uint32_t cost_bytes;
	uint32_t gone_round;	    /* the drain that saw its entry given back; 0: it was not */
	bool is_known;		    /* its entry was read and judged */
	bool was_known;		    /* it, or another event in its place: `lost` is from then */
	bool is_brief;		    /* requested as long as there are few */
	bool is_refused;	    /* requested, but there is no room for its description */
	uint64_t lost[RING_CAUSES]; /* by enum tapir_ring_cause: reported until now */
};

struct tapir_ring_process {
	struct tapir_ring_sink *sink;
	uint32_t tgid;
	struct tapir_ring_lane lane;
	struct tapir_ring_control control;
	struct tapir_ring_tids tids;
	struct tapir_ring_scan scan;
	struct ring_event *events; /* event_cnt of them */
	uint32_t event_cnt, event_cap;
	uint64_t changes;	    /* of the entries, as last read */
	bool must_scan;		    /* one of them could not be read, or may be forgotten soon */
	uint32_t round;		    /* drains of all slots so far, and 1 */
	bool has_refused;	    /* was reported */
	uint64_t unserved_reported; /* providers */
	uint32_t counted_cnt;	    /* events that may have lost something before we came */
	uint64_t cost_bytes;	    /* of the descriptions */
	uint64_t unlisted[RING_CAUSES], refused_cnt, refused_reported;
	uint64_t child_fired; /* before we came */
	size_t wanted_cnt;
	struct tapir_event_budget budget;
	uint32_t slots_used[TAPIR_RING_ARENAS];
	uint64_t *tails;      /* TAPIR_RING_SLOTS; ctl has copies that are never read back */
	unsigned cursor;      /* the slot at which a drain begins: the last one ended there */
	uint64_t round_bytes; /* that a drain may still take */
	uint32_t ended_reads; /* of entries that were given back: that a drain may still make */
	unsigned arena_tries;
	uint64_t next_arena_ns, losses_ns, malformed_reported;
};

/* The values of one read of a shared header, range-checked. */
struct ring_counters {
	uint32_t arena_cnt, event_cnt, slots_used;
	uint64_t changes;
};
/* Reads the counters of an arena. False: they are out of range, the lane is damaged. */
bool tapir_ring_process__counters(const struct tapir_ring_process *p, unsigned arena,
				  struct ring_counters *out);

/*
 * Reads the entries up to event_cnt that have been filled since: each is judged by the SPECs,
 * described and switched on. 0 or -ENOMEM.
 */
int tapir_ring_process__see_events(struct tapir_ring_process *p, uint32_t event_cnt,
				   uint64_t changes);
void tapir_ring_process__forget_events(struct tapir_ring_process *p); /* at the end */
/* Withdraws events that were requested as long as there are few. */
void tapir_ring_process__end_budget(struct tapir_ring_process *p);

/* Losses of events without an entry from before this session do not count. */
void tapir_ring_process__begin_losses(struct tapir_ring_process *p);

/*
 * Returns true if all that is wanted of it, and there is something, is recorded by probes as well.
 */
bool tapir_ring_process__is_probed(const struct tapir_ring_process *p);

/* Ends the coverage of the lane's events: they arrive only by their probes from now on. */
void tapir_ring_process__uncover(struct tapir_ring_process *p);

/* For struct tapir_ring_scan; ctx is the process. */
uint32_t tapir_ring_process__probe_of(void *ctx, uint32_t event_id);

#endif
