// SPDX-License-Identifier: GPL-2.0-or-later
/* Table fragments shared by the commands that trace. */
#include "cli/target_options.h"

#include "base/clock.h"
#include "collect/counter_choice.h"

const struct tapir_option tapir_target_options[] = {
	TAPIR_PIDS("pid", 'p', "PID", "this process; more than once, or PID,PID",
		   struct tapir_target_args, pids),
	TAPIR_LIST("comm", 0, "GLOB", "every process of this name, those that start later too",
		   struct tapir_target_args, comms),
	TAPIR_LIST("cgroup", 0, "PATH", "every process in this cgroup and those below it",
		   struct tapir_target_args, cgroups),
	TAPIR_FLAG("all", 'a', "every process of the machine", struct tapir_target_args, all),
	{}};

const struct tapir_option tapir_capture_options[] = {
	TAPIR_FLAG("stack", 0, "take the user stack with every event", struct tapir_capture_args,
		   stack),
	TAPIR_FLAG("no-stack", 0, "ring lane: leave out the stacks of events",
		   struct tapir_capture_args, no_stack),
	TAPIR_STRING("profile", 0, "NAME",
		     "events by what they are for: gc, cpu, exceptions, contention,\n"
		     "allocations, threadpool, http, everything ('tapir help profiles')",
		     struct tapir_capture_args, profile),
	TAPIR_LIST_OR_DEFAULT("counters", 0, "[GLOB]",
			      ".NET: values of EventCounters and of meters' instruments, by\n"
			      "PROVIDER or PROVIDER/COUNTER; none: System.Runtime",
			      struct tapir_capture_args, counters),
	TAPIR_DURATION("interval", 0, "SEC", "how often counters tell their values (1)",
		       struct tapir_capture_args, interval_ns, TAPIR_COUNTER_MIN_NS,
		       24 * 3600 * TAPIR_NS_PER_SEC),
	TAPIR_STRING("lane", 0, "LANE",
		     "auto: rings of the program's own where it offers them, probes\n"
		     "elsewhere, .NET's event streams where it takes no library;\n"
		     "probe, ring or stream: these alone",
		     struct tapir_capture_args, lane),
	TAPIR_U64("rate", 0, "N",
		  "ring lane: at most N events a second of each thread; the rest is left out\n"
		  "and counted, not lost",
		  struct tapir_capture_args, rate_hz, 1, UINT32_MAX),
	TAPIR_STRING("publish", 0, "usdt",
		     ".NET: its EventSources' events as USDT probes, too, for bpftrace, bcc\n"
		     "and others: one for each, with typed arguments ('tapir help publish')",
		     struct tapir_capture_args, publish),
	TAPIR_DURATION("duration", 'd', "SEC", "stop after this time: 5, 0.5, 500ms, 1m30s",
		       struct tapir_capture_args, duration_ns, 1, UINT64_MAX),
	{}};

int tapir_target_args__check(const struct tapir_target_args *target, const struct tapir_cli *cli)
{
	int kinds = (target->pids.cnt > 0) + (target->comms.cnt > 0) + (target->cgroups.cnt > 0) +
		    target->all + (cli->program != NULL);

	if (!kinds)
		return tapir_cli__usage(
			cli,
			"whom? name a process (-p PID), a name (--comm GLOB), "
			"a cgroup (--cgroup PATH), all (-a)%s",
			cli->command->takes_program ? ", or a program to run (-- CMD ARGS)" : "");
	for (size_t i = 0; i < target->comms.cnt; i++)
		if (!*target->comms.data[i])
			return tapir_cli__usage(cli, "--comm '': a process's name, or a glob");
	if (target->all && kinds > 1)
		return tapir_cli__usage(cli, "-a traces every process: leave out -p, --comm, "
					     "--cgroup and the program, or leave out -a");
	if (kinds > 1)
		return tapir_cli__usage(cli, "one kind of target at a time: -p, --comm, --cgroup "
					     "or a program");
	return 0;
}
