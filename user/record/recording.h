/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * recording.h - one recording, from the first feature probe to the closed file: the state
 * machine that owns all threads, programs and probes of a session.
 *
 *	control thread (the caller's)   signals, processes, mapped files, the end
 *	drain thread                    BPF rings -> blocks
 *	session thread                  blocks -> catalog, names, losses -> writer or live sink
 */
#ifndef TAPIR_USER_RECORDING_H
#define TAPIR_USER_RECORDING_H

#include <stdbool.h>
#include <stdint.h>

#include "attach/sample_events.h"
#include "record/images/images.h"
#include "record/session.h"
#include "record/targets.h"
#include "decode/event_sources.h"
#include "runtime/event_lanes.h"
#include "spec/machine_source.h"
#include "trace/family.h"
#include "trace/writer.h"

struct tapir_recording_progress {
	uint64_t elapsed_ns;
	struct tapir_session_stats stats;
	size_t attached_cnt;	/* probe sites that are on */
	size_t detach_left_cnt; /* stopping: sites still to be detached */
	bool is_stopping;
};

struct tapir_recording_ready {
	size_t probe_cnt;      /* sites that are on */
	size_t ring_event_cnt; /* events of rings that are */
	size_t dotnet_cnt;     /* .NET processes whose events are on: which, shows as they fire */
	uint64_t took_ns;
};

/* CPU samples. */
struct tapir_sampling {
	const struct tapir_sample_event *event;
	unsigned hz;	   /* a CPU; 0: none */
	bool is_a_default; /* not requested: a warning if there can be none */
};

/* The options of a recording that keeps its last part only, and freezes it on request. */
struct tapir_recording_flight {
	struct tapir_flight_sink session;
	int snapshot_fd; /* eventfd: readable when a snapshot of threads is wanted, for a freeze */
	/* On the control thread; ctx as of session. */
	void (*on_signal)(void *ctx);	/* SIGUSR2 */
	void (*on_stopping)(void *ctx); /* before the last snapshot of threads */
};

struct tapir_recording_opts {
	size_t sz; /* of this struct; everything else is borrowed for the call */
	struct tapir_target_rules rules;
	const struct tapir_spec_list *specs;
	const struct tapir_machine_source_list *machine; /* NULL: none */
	/*
	 * The event sources that the assemblies of the named processes define, for near misses;
	 * NULL: not read.
	 */
	const struct tapir_event_sources *sources;
	const struct tapir_counter_choice *counters; /* whose SPECs are among them; NULL: none */
	bool jvm_counters;     /* what JVMs count themselves, also without a file */
	bool no_command_lines; /* the arguments of processes are left out */
	bool no_names;	       /* nothing has a stack: no runtime is asked for names of its code */
	char *const *program;  /* NULL: none is started */
	bool program_is_workload; /* the rules say what is recorded, while the program runs */
	bool with_stack;	  /* with the events of probes */
	bool no_ring_stacks;	  /* those of rings have them otherwise */
	uint32_t frames;	  /* of a user stack; 0: TAPIR_FRAMES. Rings have their own limit */
	enum tapir_lanes lanes;
	uint32_t rate_hz; /* of rings: events a second of each thread; 0: all */
	struct tapir_sampling sampling;
	bool with_switches; /* context switches of the processes, and snapshots of threads */
	uint32_t
		wait_sum_cap; /* threads whose short waits are summed; 0: each switch is recorded */
	bool captures[TAPIR_FAMILY_CNT];       /* families that are no default (tapir_families) */
	const struct tapir_call_choice *calls; /* of the family CALLS; NULL: it is not captured */
	const struct tapir_native_choice *native; /* of the family NATIVE; NULL: not captured */
	uint32_t kernel_kinds;	  /* of the family KERNEL: TAPIR_KERNEL_HAS_*; 0: not captured */
	unsigned snapshot_rounds; /* 0: a recording; else the first snapshot is all that is wanted:
				    threads that run are copied that often */
	bool with_jvm_locks; /* snapshots have the owners of Java locks: each takes a safepoint */
	bool publishes;	     /* .NET's events as probes of other tools, too */
	bool force;	     /* any number of sites without uprobe_multi */
	bool specs_are_defaults; /* not named by the user: it is not an error if some match nothing
				  */
	bool with_budgeted_awaits; /* .NET's, as long as there are few (attach/rings/event_budget.h)
				    */
	bool wants_events;	   /* of a profile that was named: samples alone are no answer */
	uint64_t duration_ns;	   /* 0: no end */
	/*
	 * Threads of .NET processes whose ring is full wait for tapir instead of dropping the
	 * event, together at most this long; 0: they do not. For bursts that a thread produces
	 * while nothing else runs, such as the contents of a heap.
	 */
	uint32_t ring_wait_ms;
	bool has_end_fd; /* end_fd, borrowed: the recording ends when it is readable */
	int end_fd;
	size_t max_ring_bytes;			     /* 0: the default */
	size_t unwind_bytes;			     /* of unwind tables; 0: the default */
	const struct tapir_writer_opts *file;	     /* NULL: live only */
	const struct tapir_recording_flight *flight; /* file is its first segment; NULL: one file */
	const char *command_line;		     /* of this tapir, for the file; may be NULL */
	tapir_session_fn on_record;		     /* live sink, session thread; may be NULL */
	tapir_session_flush_fn on_flush;
	const char *where; /* a condition that events must meet (condition_filter.h); NULL: none */
	bool with_questions; /* tapir_programs__set_question will be called */
	struct tapir_sums_opts sums;
	bool with_uses; /* tapir_programs__iterate_uses will be */
	/* They are there until the recording has ended; control thread; may be NULL. */
	void (*on_programs)(void *ctx, struct tapir_programs *programs);
	void (*on_exit)(void *ctx, uint32_t tgid); /* of a process; session thread; may be NULL */
	void (*on_progress)(void *ctx, const struct tapir_recording_progress *progress);
	void (*on_ready)(void *ctx, const struct tapir_recording_ready *ready); /* probes are on */
	void (*on_stopping)(void *ctx); /* before the last records are delivered; may be NULL */
	void *ctx;
};

/* Returns true if a family is captured that needs no probe: of events, never. */
bool tapir_recording__wants(const struct tapir_recording_opts *opts, enum tapir_family_id family);
bool tapir_recording__wants_any(const struct tapir_recording_opts *opts);

struct tapir_recording_result {
	struct tapir_session_stats stats;
	size_t running_cnt;    /* threads of snapshots that were not asleep at any look */
	size_t site_cnt;       /* that matched a SPEC */
	size_t ring_event_cnt; /* the same of events that rings carry */
	uint64_t elapsed_ns;
	uint64_t targets_ended_ns; /* since its start; 0: that is not why it ended */
	bool is_file_moved;	   /* its path is not where it is */
	bool program_ended;
	int program_status; /* as wait(2) has it */
};

/*
 * Loads programs for the next recording of this process, which begins sooner then; nothing is
 * attached, and no thread stays. 0 or -errno, no line: the recording will load its own.
 */
int tapir_recording__prepare(void);

/*
 * Records until the first of: duration over, program and what it started gone, a workload ended,
 * the last named process gone, SIGINT or SIGTERM, a sink that failed. Returns 0, or -errno with
 * lines; what was recorded until then is in the file in any case. Call it from the only thread of
 * the process. out is filled also on failure.
 */
int tapir_recording__run(const struct tapir_recording_opts *opts,
			 struct tapir_recording_result *out);

#endif
