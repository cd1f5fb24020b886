/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * request.h - turns a request to record, as texts and numbers, into options of a recording. The
 * caller, a command line or a service, fills a struct tapir_request; errors are in the diagnostic
 * list, in the words of the command line's options. Nothing is attached here, but named processes
 * are inspected for the names that .NET SPECs use.
 *
 * One thread; borrowed texts and lists must outlive the recording.
 */
#ifndef TAPIR_USER_REQUEST_H
#define TAPIR_USER_REQUEST_H

#include "base/str.h"
#include "record/recording.h"
#include "record/counter_choice.h"
#include "decode/event_sources.h"

struct tapir_request {
	size_t sz;
	struct tapir_target_rules rules; /* at most one kind */
	char *const *program;	  /* NULL: none; together with rules: how long they are recorded */
	struct tapir_words specs; /* SPEC or source of the machine; none: the default profile */
	struct tapir_words more_specs; /* added to those or the default profile */
	struct tapir_words profiles;
	const char *where;	     /* a condition that events must meet ('tapir help where') */
	bool has_no_default;	     /* no SPEC and no profile: no events */
	bool has_counters;	     /* of .NET */
	struct tapir_words counters; /* globs; none: TAPIR_COUNTER_DEFAULT */
	uint64_t interval_ns;	     /* of counters; 0: a second */
	const char *lane;	     /* tapir_lane__name; NULL: auto */
	const char *publish;	     /* tapir_publish__name; NULL: no tool needs probes */
	uint64_t rate_hz;	     /* of ring lanes; 0: all */
	bool stack, no_stack;
	uint32_t frames; /* of a user stack, at most TAPIR_MAX_FRAMES; 0: TAPIR_FRAMES */
	bool activities; /* ids of EventSources' Start and Stop over awaits: lore's */
	bool jvm_locks;	 /* owners of Java locks: struct tapir_recording_opts */
	bool no_samples, sched, no_sched;  /* neither of the last two: unless rules.all */
	bool sum_waits;			   /* short ones, in place of a record of each switch */
	bool captures[TAPIR_FAMILY_CNT];   /* families that are no default (tapir_families) */
	struct tapir_words syscalls;	   /* of the family CALLS: names, globs, lists; none: all */
	bool syscall_files;		   /* by file and peer, too */
	struct tapir_native_choice native; /* of the family NATIVE; mean_bytes 0: a default */
	struct tapir_words kernel;	   /* of the family KERNEL: lists of kinds; none: all */
	const char *sample_event;	   /* NULL: the CPU clock */
	uint64_t sample_hz;		   /* 0: a default */
	bool no_command_lines;		   /* arguments of processes may have passwords */
	uint64_t duration_ns;		   /* 0: no end */
};

/* Options, and what they point to. */
struct tapir_recording_plan {
	struct tapir_recording_opts opts;
	struct tapir_spec_list specs;
	struct tapir_machine_source_list machine;
	struct tapir_event_sources sources; /* of the processes that are named */
	struct tapir_counter_choice counters;
	struct tapir_call_choice calls;
	struct tapir_native_choice native;
	struct tapir_str command_line;
};

/*
 * Fills plan->opts except the sink, the callbacks and what a request does not contain. -EINVAL with
 * a line: the request is wrong; any other -errno with lines. __fini in any case.
 */
int tapir_request__plan(const struct tapir_request *request, struct tapir_recording_plan *plan);
void tapir_recording_plan__fini(struct tapir_recording_plan *plan);

/* Returns the i-th lane, in the order of enum tapir_lanes; NULL after the last. */
const char *tapir_lane__name(size_t i);
/* Returns the i-th kind of probes that --publish makes; NULL after the last. */
const char *tapir_publish__name(size_t i);

/* Returns the i-th way to record switches; NULL after the last. */
const char *tapir_sched__name(size_t i);
/* Returns true for the name of the one that sums short waits. NULL: false. */
bool tapir_sched__sums(const char *name);

#endif
