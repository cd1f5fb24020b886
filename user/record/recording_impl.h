/* SPDX-License-Identifier: GPL-2.0-or-later */
/* recording_impl.h - what a recording owns; for recording*.c only. */
#ifndef TAPIR_USER_RECORDING_IMPL_H
#define TAPIR_USER_RECORDING_IMPL_H

#include <pthread.h>
#include <signal.h>

#include "attach/bpf_ring.h"
#include "attach/holder.h"
#include "attach/sampler.h"
#include "attach/sideband.h"
#include "record/hit_watch.h"
#include "record/native_watch.h"
#include "record/pressure_watch.h"
#include "record/command.h"
#include "record/drain.h"
#include "record/unprivileged_samples.h"
#include "record/machine.h"
#include "record/match_report.h"
#include "record/recording.h"
#include "attach/rings/ring_reader.h"
#include "tapir/ring.h"

struct tapir_otel_watch;
struct tapir_usage_watch;

struct recording {
	const struct tapir_recording_opts *opts;
	struct tapir_target_rules rules;
	struct tapir_writer *writer;
	struct tapir_programs *programs;
	struct tapir_queue *queue;
	struct tapir_command_run *command; /* NULL: nothing was started */
	struct tapir_command_run *program; /* the same where it is a target; else NULL */
	struct tapir_holder *holder;	   /* NULL: nothing is held */
	struct tapir_sampler *sampler;
	struct tapir_unprivileged_samples *unprivileged_samples; /* instead, without programs */
	struct tapir_spec *name_spec;  /* for the names of generated code; NULL: no stacks */
	struct tapir_machine *machine; /* NULL: no sources of the machine */
	struct tapir_images *images;
	struct tapir_targets *targets;
	struct tapir_sideband *sideband;
	uint64_t sideband_lost_cnt, sideband_ns; /* losses that were reported, and when */
	struct tapir_bpf_ring control;
	struct tapir_drain *drain;
	struct tapir_ring_reader *rings;   /* NULL: probes alone */
	struct tapir_lane_coverage *cover; /* what rings have; NULL: one lane alone */
	struct tapir_session *session;
	struct tapir_vec(struct tapir_snapshot *) snapshots;
	size_t running_cnt;		 /* threads of snapshots that were not asleep at any look */
	struct tapir_usage_watch *usage; /* NULL: CPUs are not watched */
	struct tapir_otel_watch *publishers; /* of their resources; NULL: not requested */
	struct tapir_event_lanes events;     /* of runtimes that send them without probes */
	char lanes[96];			     /* their entry in the file */
	int signal_fd, sink_fd, clock_fd;
	int freeze_fd; /* SIGUSR2; -1: there is no ring */
	bool use_multi, use_sessions, link_by_pid;
	struct tapir_native_watch native;
	struct tapir_hit_watch hit_watch;
	struct tapir_pressure_watch pressure;
	bool is_unprivileged; /* no programs: rings, and samples of our own, alone; or they would
				 not know our pids */
	uint64_t start_ns, end_ns; /* end: 0 none */
	uint64_t targets_ended_ns; /* 0: some run, for all we know */
	sigset_t old_mask;
};

/* No probes are attached, except those that samples and names need. */
bool tapir_recording__is_without_probes(const struct recording *r);

/* Returns the request, for the report that nothing of it was found. */
struct tapir_match_report tapir_recording__match_report(const struct recording *r);

/*
 * Returns true if all processes are traced and the records go into a file: then wake-ups of the
 * session thread are coalesced, since processes start all the time.
 */
bool tapir_recording__coalesces_wakeups(const struct recording *r);

/* -ENOENT with a line: a function that was requested is in no file that a process maps. */
int tapir_recording__check_functions(const struct recording *r);

/* Returns how many events of rings match a SPEC. */
size_t tapir_recording__ring_events(const struct recording *r);

/* Says by which lanes events come, when that has changed: "ring 2 processes, probe". */
int tapir_recording__post_lanes(struct recording *r);

/* Reads the kernel's reports of processes, and releases those held: call it while waiting. */
void tapir_recording__drain_control(struct recording *r);

/* ---- recording_programs.c -------------------------------------------------------------------- */

/* Sets r->programs, even if none can be loaded and none is needed. */
int tapir_recording__load_programs(struct recording *r);

/* Returns true if a program is started, and is a target. */
bool tapir_recording__traces_program(const struct recording *r);

/* Returns the largest size of one ring. */
size_t tapir_recording__ring_bytes(const struct recording *r);

/* ---- capture_sources.c ------------------------------------------------------------------------ */

/* Samples or switches were requested. */
bool tapir_recording__has_samplers(const struct recording *r);

/* Starts them, then takes the first snapshot. */
int tapir_recording__start_samplers(struct recording *r);
/* Call it before programs are disabled: what is open in the kernel reaches the rings. */
void tapir_recording__end_samplers(struct recording *r);

/* ---- recording_threads.c --------------------------------------------------------------------- */

/* Snapshots the threads of each process that is traced by now, where switches are recorded. */
int tapir_recording__begin_snapshots(struct recording *r);
/* Snapshots the threads of processes that are still traced; while programs and targets exist. */
void tapir_recording__end_snapshots(struct recording *r);
/* Waits until both are in the queue. */
void tapir_recording__free_snapshots(struct recording *r);

/*
 * Does everything up to the moment at which probes are on and the program runs. On failure, what
 * was made is in r all the same, for the caller to stop.
 */
int tapir_recording__set_up(struct recording *r);

#endif
