/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * unopened_lanes.h - processes that execute a file with events of libtapir and end before a ring
 * of theirs has any of them. Where no probe has these events, it is not known whether there were
 * some: a GAP that names the process and the provider.
 *
 * A process has no ring until it makes a provider, a forked child until its first event, so one
 * that lives for milliseconds may have ended when tapir looks for it. What a process does is noted
 * as it is reported and settled in order of time, because the kernel reports mappings and lives of
 * processes in different buffers.
 *
 * A child is reported for the time until it executes another file as well. Children that run in
 * their parent's memory (vfork(2), posix_spawn(3)) are not: every program that starts others would
 * have gaps. One thread.
 */
#ifndef TAPIR_USER_UNOPENED_LANES_H
#define TAPIR_USER_UNOPENED_LANES_H

#include "attach/flow/lane_coverage.h"
#include "attach/rings/ring_reader.h"
#include "base/keyed.h"
#include "record/images/images.h"

/* The process maps code of the image, is forked from parent_tgid, executes a file, or ends. */
struct tapir_lane_step {
	enum {
		TAPIR_LANE_STEP_FORK,
		TAPIR_LANE_STEP_EXEC,
		TAPIR_LANE_STEP_MAP,
		TAPIR_LANE_STEP_EXIT,
	} kind;
	uint32_t tgid, parent_tgid;
	uint64_t time_ns;
	const struct tapir_image *image; /* MAP: with ring_keys */
	size_t seq;
};

struct tapir_unopened_lane {
	uint32_t tgid;
	uint64_t since_ns, mapped_ns;	 /* mapped_ns: the last time */
	const struct tapir_image *image; /* NULL: a row that is free */
	size_t next;			 /* of the same process, index + 1 */
};

/* Takes a process of which is not known what it fired from since_ns until until_ns. */
typedef void (*tapir_unopened_fn)(void *ctx, uint32_t tgid, const struct tapir_image *image,
				  uint64_t since_ns, uint64_t until_ns);

struct tapir_unopened_lanes {
	struct tapir_ring_reader *rings;   /* borrowed; NULL: nothing is noted */
	struct tapir_lane_coverage *cover; /* borrowed, of rings */
	tapir_unopened_fn fn;
	void *ctx;
	struct tapir_vec(struct tapir_lane_step) steps; /* that are not settled */
	struct tapir_vec(struct tapir_unopened_lane) rows;
	struct tapir_map first; /* by tgid: index + 1 of its first row */
	size_t free_row;	/* index + 1 of the first free one */
};

void tapir_unopened_lanes__note(struct tapir_unopened_lanes *u, struct tapir_lane_step step);

/* Settles what was noted: everything was reported that happened before. */
void tapir_unopened_lanes__settle(struct tapir_unopened_lanes *u);

/* At the end, before rings are stopped: processes that run and have a ring are opened now. */
void tapir_unopened_lanes__finish(struct tapir_unopened_lanes *u);
void tapir_unopened_lanes__fini(struct tapir_unopened_lanes *u);

#endif
