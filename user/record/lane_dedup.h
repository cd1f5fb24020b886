/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lane_dedup.h - events of probes that a ring has, too (lane_coverage.h): recognized, counted by
 * probe, reported as LOSS records of cause LANE_TWICE. One thread, the session's.
 */
#ifndef TAPIR_USER_LANE_DEDUP_H
#define TAPIR_USER_LANE_DEDUP_H

#include "base/map.h"
#include "attach/flow/lane_coverage.h"
#include "record/loss_poll.h"

struct tapir_lane_dedup {
	struct tapir_lane_coverage *cover; /* borrowed; NULL: nothing comes twice */
	struct tapir_map keys;		   /* probe id -> key of its name */
	struct tapir_map cnts;		   /* probe id -> events since the last report */
	uint64_t last_ns;
};

/* cover: which lane has what, borrowed; NULL: nothing is left out. __fini frees the counts. */
void tapir_lane_dedup__init(struct tapir_lane_dedup *t, struct tapir_lane_coverage *cover);
void tapir_lane_dedup__fini(struct tapir_lane_dedup *t);

/* A PROBE record. */
void tapir_lane_dedup__learn(struct tapir_lane_dedup *t, const struct tapir_rec *rec);

/*
 * Returns true if the ring of the event's process has it as well; it was counted then, and is not
 * to be written.
 */
bool tapir_lane_dedup__filter(struct tapir_lane_dedup *t, const struct tapir_rec_event *ev);

/* Calls fn with a LOSS record for each probe with new duplicates since the last call. */
void tapir_lane_dedup__report(struct tapir_lane_dedup *t, tapir_loss_fn fn, void *ctx);

#endif
