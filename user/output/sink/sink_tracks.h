/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sink_tracks.h - for sinks of timelines: records as what such formats have, one track per thread
 * with its events and samples, intervals, and values over time, to which losses belong. Nothing is
 * held back: a sink is called as records come. One thread.
 */
#ifndef TAPIR_USER_SINK_TRACKS_H
#define TAPIR_USER_SINK_TRACKS_H

#include "analyze/offcpu.h"
#include "analyze/timeline.h"
#include "output/export/event_lines.h"
#include "output/sink/sink.h"

/* A value of a counter, or how much of a cause is lost so far. */
struct tapir_track_value {
	uint32_t tgid; /* 0: of a loss */
	uint64_t time_ns;
	struct tapir_sv name, unit; /* name: "System.Runtime cpu-usage", "lost: ring_full" */
	double value;
};

struct tapir_tracks_fns {
	/* Before the first of a thread, and when its name changes. process: empty unless it is new.
	 */
	void (*thread)(void *ctx, uint32_t tgid, uint32_t tid, struct tapir_sv name,
		       struct tapir_sv process);
	/* probe NULL: it is not described. */
	void (*event)(void *ctx, const struct tapir_rec_event *event,
		      const struct tapir_probe_view *probe);
	/* node: of its stack in the tree; UINT32_MAX: none. */
	void (*sample)(void *ctx, const struct tapir_rec_sample *sample, uint32_t node);
	/* A time off the CPU has ended. node: of its stack, with the reason on top; NULL: not
	 * called */
	void (*wait)(void *ctx, const struct tapir_offcpu_span *wait, uint32_t node);
	/* value and its texts are borrowed for the call. */
	void (*value)(void *ctx, const struct tapir_track_value *value);
	void (*begin)(void *ctx, struct tapir_interval *interval); /* NULL: not called */
	void (*end)(void *ctx, struct tapir_interval *interval,
		    const struct tapir_interval_kind *kind);
};

struct tapir_tracks {
	struct tapir_export *x;
	const struct tapir_tracks_fns *fns;
	void *ctx;
	struct tapir_event_lines *lines;
	struct tapir_stack_tree tree;
	uint64_t start_ns;
	uint64_t skipped_cnt; /* which a sink counts */
	bool failed;	      /* out of memory; a sink may set it */
	/* for the tracks alone */
	struct tapir_timeline *tl;
	struct tapir_offcpu *offcpu; /* NULL: waits are not wanted */
	struct tapir_pairs pairs;
	struct tapir_map names; /* process and thread -> hash of its name */
	struct tapir_map lost;	/* cause -> count so far */
};

/* x, fns and ctx are borrowed until __fini. 0 or -ENOMEM; call __fini also then. */
int tapir_tracks__init(struct tapir_tracks *t, struct tapir_export *x,
		       const struct tapir_tracks_fns *fns, void *ctx);
/*
 * Adds a record, in the order of the file, descriptions included; fns are called for what it
 * completes. 0 or -ENOMEM.
 */
int tapir_tracks__add(struct tapir_tracks *t, const struct tapir_rec *rec);
/* Ends intervals and waits that are open, at the last record's time. 0 or -ENOMEM. */
int tapir_tracks__finish(struct tapir_tracks *t);
void tapir_tracks__fini(struct tapir_tracks *t);

/* Returns, while an interval ends, the event that ended it; NULL: not known. */
const struct tapir_rec *tapir_tracks__ending(const struct tapir_tracks *t);

/* Returns true for an interval that is not within the work of one thread: others of its kind may
 * overlap it there. */
static inline bool tapir_interval__is_loose(const struct tapir_interval *i)
{
	return i->is_request || i->activity || i->flags & TAPIR_INTERVAL_MIGRATED;
}

static inline uint64_t tapir_tracks__since_start(const struct tapir_tracks *t, uint64_t time_ns)
{
	return time_ns > t->start_ns ? time_ns - t->start_ns : 0;
}

#endif
