// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Table fragments shared by the commands that trace. "tapir record sleep 1" without "--" is a
 * mistake that many make, so a word that is a program and not a provider gets an error that shows
 * the "--".
 */
#include "cli/target_options.h"

#include <string.h>

#include "base/clock.h"
#include "record/command.h"
#include "record/counter_choice.h"
#include "decode/profiles.h"
#include "spec/runtime_db/lore.h"

const struct tapir_option tapir_target_options[] = {
	TAPIR_PIDS("pid", 'p', "PID", "this process; repeatable, or PID,PID",
		   struct tapir_target_args, pids),
	TAPIR_LIST(
		"comm", 0, "GLOB",
		"all processes of this name, including later ones; where none has it, those that execute a file of it",
		struct tapir_target_args, comms),
	TAPIR_LIST("cgroup", 0, "PATH", "all processes in this cgroup and below it",
		   struct tapir_target_args, cgroups),
	TAPIR_FLAG("all", 'a', "all processes of the machine", struct tapir_target_args, all),
	{}};

const struct tapir_option tapir_capture_options[] = {
	TAPIR_FLAG("stack", 'g', "record the user stack of every event", struct tapir_capture_args,
		   stack),
	TAPIR_FLAG("no-stack", 0, "ring lane: record events without stacks",
		   struct tapir_capture_args, no_stack),
	TAPIR_U64("frames", 0, "N",
		  "record at most N frames of a user stack, up to 512 (default: 127)",
		  struct tapir_capture_args, frames, 1, TAPIR_MAX_FRAMES),
	TAPIR_CHOICES("profile", 0, "NAME[,NAME]", "events by purpose ('tapir help profiles')",
		      struct tapir_capture_args, profiles, tapir_profile__name),
	TAPIR_LIST_OR_DEFAULT("counters", 0, "[GLOB]",
			      ".NET: values of EventCounters and meters, by PROVIDER or "
			      "PROVIDER/COUNTER (default: System.Runtime)",
			      struct tapir_capture_args, counters),
	TAPIR_DURATION(
		"interval", 0, "SEC",
		"seconds between values of --counters (default: 1), or between tables of a question (default: one table at the end)",
		struct tapir_capture_args, interval_ns, TAPIR_COUNTER_MIN_NS,
		24 * 3600 * TAPIR_NS_PER_SEC),
	TAPIR_CHOICE("lane", 0, "LANE",
		     "how events are captured; auto: the program's own rings where it has them, "
		     "probes elsewhere, .NET's event stream where no library can be loaded",
		     struct tapir_capture_args, lane, tapir_lane__name),
	TAPIR_U64("rate", 0, "N",
		  "ring lane: at most N events per second per thread; the rest is counted, not "
		  "recorded",
		  struct tapir_capture_args, rate_hz, 1, UINT32_MAX),
	TAPIR_CHOICE("publish", 0, "usdt",
		     ".NET: also make each EventSource event a USDT probe for bpftrace, bcc and "
		     "other tools ('tapir help publish')",
		     struct tapir_capture_args, publish, tapir_publish__name),
	TAPIR_DURATION("duration", 'd', "TIME",
		       "stop after this time: 5, 0.5, 500ms, 1m30s, 00:01:30",
		       struct tapir_capture_args, duration_ns, 1, UINT64_MAX),
	{}};

/* The number of kinds of targets given; a program is not one. */
static int kind_cnt(const struct tapir_target_args *target)
{
	return (target->pids.cnt > 0) + (target->comms.cnt > 0) + (target->cgroups.cnt > 0) +
	       target->all;
}

/*
 * "sleep 1" without the "--" before it. Not one word alone, nor one that a runtime's provider has:
 * commands and providers share names, such as python.
 */
static bool is_command_line(const struct tapir_words *words)
{
	const char *const *word;
	char path[PATH_MAX];

	if (!words->cnt || (words->cnt == 1 && !strchr(words->data[0], '/')))
		return false;
	tapir_vec_for_each (word, words)
		if (strpbrk(*word, ":*?["))
			return false;
	return tapir_lore__of_provider(words->data[0], strlen(words->data[0])) < 0 &&
	       tapir_command__find(words->data[0], path);
}

int tapir_target_args__check(const struct tapir_target_args *target, const struct tapir_cli *cli)
{
	int kinds = kind_cnt(target);
	char path[PATH_MAX];

	if (kinds && !cli->program && cli->command->takes_program && is_command_line(&cli->words))
		return tapir_cli__usage(
			cli,
			"'%s' is a command: write -- before it to record while it runs, or '%s:*' for a provider of that name",
			cli->words.data[0], cli->words.data[0]);
	/* A first word that is a program in PATH was most likely meant as what to run. */
	if (!kinds && !cli->program && cli->command->takes_program && cli->words.cnt &&
	    tapir_command__find(cli->words.data[0], path))
		return tapir_cli__usage(cli, "a target is required; to run %s: tapir %s -- %s%s",
					cli->words.data[0], cli->command->name, cli->words.data[0],
					cli->words.cnt > 1 ? " ..." : "");
	if (!kinds && !cli->program)
		return tapir_cli__usage(
			cli, "a target is required: -p PID, --comm GLOB, --cgroup PATH, -a%s",
			cli->command->takes_program ? ", or -- CMD ARGS" : "");
	for (size_t i = 0; i < target->comms.cnt; i++)
		if (!*target->comms.data[i])
			return tapir_cli__usage(cli,
						"--comm '': a process name or a glob is required");
	if (target->all && kinds > 1)
		return tapir_cli__usage(
			cli, "-a already traces every process: remove -a, or the other target");
	if (kinds > 1)
		return tapir_cli__usage(
			cli, "only one kind of target can be given: -p, --comm or --cgroup");
	return 0;
}

int tapir_target_options__request(const struct tapir_cli *cli,
				  const struct tapir_target_args *target,
				  const struct tapir_capture_args *capture,
				  struct tapir_request *out)
{
	*out = (struct tapir_request){
		.sz = sizeof(*out),
		.rules = {.pids = target->pids,
			  .comms = target->comms,
			  .cgroups = target->cgroups,
			  .all = target->all},
		.program = cli->program,
		.specs = cli->words,
		.profiles = capture->profiles,
		.has_no_default = capture->has_no_default,
		.has_counters = capture->counters.is_given,
		.counters = capture->counters.words,
		.interval_ns = capture->interval_ns,
		.lane = capture->lane,
		.publish = capture->publish,
		.rate_hz = capture->rate_hz,
		.stack = capture->stack,
		.no_stack = capture->no_stack,
		.frames = (uint32_t)capture->frames,
		.duration_ns = capture->duration_ns,
	};
	return tapir_target_args__check(target, cli);
}
