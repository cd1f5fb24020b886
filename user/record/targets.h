/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * targets.h - the processes that are traced: those named, those that match a rule, and what they
 * start. Describes them (PROCESS) and what they map (MAPPING), and attaches probes to what they
 * map, in time or with a GAP for the time missed.
 *
 * One thread, the control thread.
 */
#ifndef TAPIR_USER_TARGETS_H
#define TAPIR_USER_TARGETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/cgroup.h"
#include "attach/holder.h"
#include "attach/programs.h"
#include "attach/sideband.h"
#include "base/vec.h"
#include "runtime/event_lanes.h"
#include "record/images/images.h"
#include "attach/flow/queue.h"
#include "attach/rings/ring_scan.h"
#include "attach/rings/ring_reader.h"

/* The processes to trace; exactly one kind is set. */
struct tapir_target_rules {
	struct tapir_pids pids;
	struct tapir_words comms;   /* globs over the process's name */
	struct tapir_words cgroups; /* paths below the cgroup mount, or absolute */
	bool all;
	bool children; /* what a named process starts is traced too */
};

/*
 * Returns true if processes are named one by one (or started by us), so that there is an end to
 * them.
 */
bool tapir_target_rules__are_named(const struct tapir_target_rules *rules);

/* Fills the BPF filter. -errno with a line: a glob too long, no such cgroup. */
int tapir_target_rules__filter(const struct tapir_target_rules *rules, struct tapir_filter *out);

struct tapir_targets_opts {
	size_t sz;
	const struct tapir_target_rules *rules; /* borrowed until __free, all of these */
	struct tapir_programs *programs;
	struct tapir_images *images;
	struct tapir_queue *queue;
	struct tapir_ring_reader *rings;	/* NULL: probes alone */
	struct tapir_lane_coverage *ring_cover; /* no probe has what rings have; NULL: they do */
	struct tapir_event_lanes *events;	/* NULL: no runtime is asked for its events */
	struct tapir_holder *holder;		/* NULL: nothing is held */
	bool link_by_pid;			/* attach in each process alone, not everywhere */
	bool hands_over;	/* probes are detached while rings have their events */
	bool no_command_lines;	/* the arguments of processes are left out */
	bool coalesces_wakeups; /* records of processes are in time with the next block of events */
};

struct tapir_targets;

/*
 * Options are copied, what they point to is borrowed until __free. No process is traced yet. 0 or
 * -errno with a line.
 */
int tapir_targets__new(const struct tapir_targets_opts *opts, struct tapir_targets **out);
void tapir_targets__free(struct tapir_targets *t);

/* Finds every process that the rules name now. -ESRCH with a line: a pid is no process. */
int tapir_targets__scan(struct tapir_targets *t);

/*
 * Twice a second: finds processes that were moved into a cgroup, and ring lanes that were made
 * since.
 */
void tapir_targets__poll(struct tapir_targets *t);

/* At the end: what may still have turned out to be held, but did not, becomes a GAP. */
void tapir_targets__finish(struct tapir_targets *t);

/*
 * Scans for ring lanes, soon after something that may have created some, and for probes that came
 * to be in mapped files; when to call it again.
 */
void tapir_targets__scan_lanes(struct tapir_targets *t);
uint64_t tapir_targets__next_scan_ns(const struct tapir_targets *t);

/*
 * Reads all processes' mappings to find new ones, where mappings are not reported (without
 * programs). Costs a millisecond per thousand mappings.
 */
void tapir_targets__scan_mappings(struct tapir_targets *t);

/* Adds a process that is about to run and belongs to us, listed before it does. */
int tapir_targets__add(struct tapir_targets *t, uint32_t tgid);

/*
 * Attaches in advance the probes of a file that a process started by tapir is going to map. 0 or
 * -errno.
 */
int tapir_targets__prepare_file(struct tapir_targets *t, int fd, const char *path);

/* Take a record of the control ring, and a mapping of the side-band. */
void tapir_targets__on_control(struct tapir_targets *t, const struct tapir_rec *rec, uint32_t len);
void tapir_targets__on_mmap(struct tapir_targets *t, const struct tapir_sideband_mmap *mmap);

/* Returns the number of mappings left out because they came faster than they could be reported. */
uint64_t tapir_targets__dropped(const struct tapir_targets *t);

/* Forgets processes that ended, after their mappings were passed on. */
void tapir_targets__forget_ended(struct tapir_targets *t);

/* After a recording that is empty: prints a warning if no process matched the rules. */
void tapir_targets__warn_of_none(const struct tapir_targets *t);

/*
 * Adds up to max of those that are traced now to out; returns how many found no room. What was
 * added is the caller's.
 */
size_t tapir_targets__list_live(const struct tapir_targets *t, size_t max, struct tapir_pids *out);

/*
 * Returns how many named or started processes still run; with other rules there is no end:
 * SIZE_MAX.
 */
size_t tapir_targets__live_cnt(struct tapir_targets *t);

#endif
