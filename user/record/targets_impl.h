/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * targets_impl.h - the processes that are traced and what they map; for targets.c and
 * target_maps.c. Main thread.
 */
#ifndef TAPIR_USER_TARGETS_IMPL_H
#define TAPIR_USER_TARGETS_IMPL_H

#include "base/map.h"
#include "record/cgroup_paths.h"
#include "record/images/mapped_files.h"
#include "record/lane_handover.h"
#include "record/late_attach.h"
#include "record/second_mapping.h"
#include "record/targets.h"
#include "record/titles.h"
#include "record/unopened_lanes.h"
#include "trace/recbuf.h"

struct tapir_targets {
	struct tapir_targets_opts opts;
	struct tapir_map live;	   /* tgids that are traced and run */
	struct tapir_map reported; /* mappings; without programs only */
	struct tapir_mapped_files files;
	struct tapir_map
		ended;	     /* tgids, and when they began (0: unknown), until they are forgotten */
	size_t sweep_at;     /* a slot of live */
	bool has_seen_one;   /* process of these rules */
	uint32_t comms_seen; /* globs of the rules that are the name of some process, by index */
	uint64_t dropped_cnt;
	uint64_t scan_ns; /* when the scan began: what it finds was there before */
	struct tapir_late_attach late_attach; /* with a holder: what may have been held */
	uint64_t last_poll_ns; /* what a poll finds joined after it; 0: this is the first scan */
	struct tapir_second_mappings seconds;
	struct tapir_lane_handover handover;
	struct tapir_unopened_lanes unopened;
	struct tapir_ring_scan looks;
	struct tapir_titles titles;
	struct tapir_cgroup_paths cgroups;
	struct tapir_recbuf recbuf;
};

/* ---- target_maps.c ---------------------------------------------------------------------------- */

/*
 * Posts a record to the session. rec: NULL when there was no memory for it, which is counted; takes
 * fd.
 */
void tapir_targets__post(struct tapir_targets *t, const struct tapir_rec *rec, int fd);

/*
 * Turns the lines of what went wrong while a recording runs into warnings (and a GAP record): it is
 * not the recording's end.
 */
void tapir_targets__warn_from(int diag_mark);

/* Reads the mappings of a process; at the one at only_va if that is not 0. */
int tapir_targets__see_mappings(struct tapir_targets *t, uint32_t tgid, uint64_t from_ns,
				uint64_t only_va);

/*
 * Handles a process that has become a target: its earlier mappings were skipped. From that moment
 * its hits count, and those on probes that are attached only now were missed.
 */
int tapir_targets__see_joined(struct tapir_targets *t, uint32_t tgid, uint64_t joined_ns);

/* Attaches probes that came to be in files that are mapped. */
void tapir_targets__see_growth(struct tapir_targets *t);

/* Posts the GAP of a process whose ring ended without its probes; a tapir_handover_gap_fn. */
void tapir_targets__post_handover_gap(void *targets, uint32_t tgid, const struct tapir_image *image,
				      uint64_t since_ns);

/* Posts the GAP of a process that ended before its ring was open; a tapir_unopened_fn. */
void tapir_targets__post_unopened(void *targets, uint32_t tgid, const struct tapir_image *image,
				  uint64_t since_ns, uint64_t until_ns);

/* Posts the GAP of a target that was not held after all; a tapir_late_fn, ctx is the targets. */
void tapir_targets__post_late(void *targets, const struct tapir_late_mapping *late);

#endif
