/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * target_options.h - the options that choose what to trace, the same in every command that traces.
 *
 * Put a struct tapir_target_args into the command's arguments and
 *  {"Targets", tapir_target_options, offsetof(struct args, target)}
 * into its groups; the program after "--" is cli->program (takes_program). Main thread.
 */
#ifndef TAPIR_USER_TARGET_OPTIONS_H
#define TAPIR_USER_TARGET_OPTIONS_H

#include "cli/options.h"
#include "record/request.h"

struct tapir_target_args {
	struct tapir_pids pids;
	struct tapir_words comms;   /* globs */
	struct tapir_words cgroups; /* paths, below /sys/fs/cgroup or absolute */
	bool all;
};

extern const struct tapir_option tapir_target_options[];

/* A usage error unless exactly one kind of target is named, or a program, or both. */
int tapir_target_args__check(const struct tapir_target_args *target, const struct tapir_cli *cli);

/* The options that record and trace share in addition to the target. */
struct tapir_capture_args {
	bool stack, no_stack;
	uint64_t frames;     /* of a stack; 0: TAPIR_FRAMES */
	const char *lane;    /* NULL: auto */
	uint64_t rate_hz;    /* 0: all */
	const char *publish; /* NULL: not published */
	struct tapir_words profiles;
	struct tapir_words_or_default counters;
	uint64_t interval_ns; /* of counters; 0: a second */
	bool has_no_default;  /* nothing was named, and nothing more is wanted: no profile */
	uint64_t duration_ns; /* 0: no end */
};

extern const struct tapir_option tapir_capture_options[];

/* Fills a request from these options, borrowed from them. Checks them, too: a usage error. */
int tapir_target_options__request(const struct tapir_cli *cli,
				  const struct tapir_target_args *target,
				  const struct tapir_capture_args *capture,
				  struct tapir_request *out);

#endif
