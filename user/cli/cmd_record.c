// SPDX-License-Identifier: GPL-2.0-or-later
/* tapir record: events into a file. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "attach/proc.h"
#include "attach/sampler.h"
#include "base/log.h"
#include "base/sudo_user.h"
#include "cli/commands.h"
#include "cli/recorder.h"
#include "cli/target_options.h"

struct args {
	struct tapir_target_args target;
	struct tapir_capture_args capture;
	const char *output;
	uint64_t sample_hz;
	const char *sample_event;
	bool no_samples;
	bool jvm_locks;
	bool sched, no_sched;
	uint64_t max_size;
	uint64_t buffer_mb;
	uint64_t unwind_mb;
	bool no_compress;
	bool force;
	bool children;
};

static const struct tapir_option options[] = {
	TAPIR_STRING("output", 'o', "FILE", "write the recording to FILE; '-': standard output",
		     struct args, output),
	TAPIR_U64("frequency", 'F', "HZ", "CPU samples per second (default: 999, with -a 99)",
		  struct args, sample_hz, 1, TAPIR_SAMPLER_MAX_HZ),
	TAPIR_CHOICE("event", 'e', "EVENT", "sample on this event instead of the CPU clock",
		     struct args, sample_event, tapir_sample_event__name),
	TAPIR_FLAG("no-samples", 0, "take no CPU samples", struct args, no_samples),
	TAPIR_FLAG("sched", 0, "record context switches with -a, too", struct args, sched),
	TAPIR_FLAG("no-sched", 0, "record no context switches", struct args, no_sched),
	TAPIR_FLAG("jvm-locks", 0,
		   "ask JVMs at the begin and at the end for the owners of their locks; all Java "
		   "threads stop at a safepoint for it",
		   struct args, jvm_locks),
	TAPIR_FLAG("force", 'f',
		   "replace FILE; attach any number of probes on kernels without uprobe_multi",
		   struct args, force),
	TAPIR_FLAG("children", 0, "with -p: also trace processes it starts", struct args, children),
	TAPIR_U64("max-size", 0, "MB", "stop when FILE has reached this size", struct args,
		  max_size, 1, UINT64_MAX >> 20),
	TAPIR_U64("buffer", 0, "MB", "limit for all ring buffers together (default: 64)",
		  struct args, buffer_mb, 1, 4096),
	TAPIR_U64(
		"unwind-memory", 0, "MB",
		"limit for the tables that find callers in code without frame pointers (default: 100)",
		struct args, unwind_mb, 1, 65536),
	TAPIR_FLAG("no-compress", 0, "write FILE uncompressed: less CPU, more disk", struct args,
		   no_compress),
	{}};

static const struct tapir_option_group groups[] = {
	{"Targets", tapir_target_options, offsetof(struct args, target)},
	{"What to record", tapir_capture_options, offsetof(struct args, capture)},
	{NULL, options, 0},
	{}};

static const struct tapir_positional positionals[] = {
	{.name = "SPEC", .help = "events to record ('tapir help spec')", .many = true}, {}};

static const struct tapir_example examples[] = {
	{"record -p 4711", "CPU time, waits and runtime events of process 4711, until Ctrl-C"},
	{"record 'hotspot:gc__*' -p 4711 --duration 30",
	 "garbage collections of a JVM for 30 seconds"},
	{"record 'postgresql:query__*' --comm postgres --stack -o slow.tapir",
	 "queries of every PostgreSQL backend, with stacks; new backends included"},
	{"record -p 4711 'Microsoft-Windows-DotNETRuntime:GC' 'MyCompany-*'",
	 "events of a .NET runtime and of EventSources"},
	{"record --profile allocations -p 4711 -d 30", "allocations by stack: .NET, JVM, Ruby"},
	{"record -p 4711 --counters 'System.Net.*' --counters 'MyCompany.*'",
	 "the default profile, and counter values every second"},
	{"record -a -d 10", "CPU time of the whole machine, 99 samples per second per CPU"},
	{"record -p 4711 --no-samples --no-sched", "events only"},
	{"record -- java -jar app.jar", "a program from its first instruction on"},
	{"record --comm postgres -- pgbench -T 10 bench",
	 "every PostgreSQL backend while pgbench runs"},
	{}};

/* What is recorded, as the first part of a file's name. */
static void add_subject(struct tapir_str *out, const struct tapir_target_args *target,
			char *const *program)
{
	const char *name = "tapir", *slash;
	struct tapir_thread leader = {};

	if (target->comms.cnt)
		name = target->comms.data[0];
	else if (target->cgroups.cnt)
		name = target->cgroups.data[0];
	else if (target->all)
		name = "machine";
	else if (target->pids.cnt &&
		 !tapir_thread__read(target->pids.data[0], target->pids.data[0], &leader))
		name = leader.comm;
	else if (program && !target->pids.cnt)
		name = program[0];
	slash = strrchr(name, '/');
	for (name = slash && slash[1] ? slash + 1 : name; *name; name++)
		tapir_str__addc(out, isalnum((unsigned char)*name) || strchr("._+", *name) ? *name
											   : '-');
}

/* Several recordings a day in one directory: names that sort and do not collide. */
static void add_file_name(struct tapir_str *out, const struct tapir_target_args *target,
			  char *const *program)
{
	char when[32];
	time_t now = time(NULL);
	struct tm tm;

	add_subject(out, target, program);
	localtime_r(&now, &tm);
	strftime(when, sizeof(when), "-%Y%m%d-%H%M%S.tapir", &tm);
	tapir_str__adds(out, when);
}

/* The file of -o; below it where that is a directory. NULL: out of memory. */
static const char *choose_path(struct tapir_str *out, const struct args *args, char *const *program)
{
	struct stat st;

	if (args->output && (stat(args->output, &st) || !S_ISDIR(st.st_mode)))
		return args->output;
	if (args->output)
		tapir_str__addf(out, "%s%s", args->output,
				args->output[strlen(args->output) - 1] == '/' ? "" : "/");
	add_file_name(out, &args->target, program);
	return out->failed ? NULL : out->data;
}

static int record(struct tapir_recorder *r, const struct args *args, struct tapir_cli *cli)
{
	struct tapir_str name = {};
	struct tapir_writer_opts file = {
		.sz = sizeof(file),
		.path = choose_path(&name, args, r->plan.opts.program),
		.max_bytes = args->max_size << 20,
		.plain = args->no_compress,
		.force = args->force,
	};
	struct tapir_recording_result result = {};
	int err;

	if (!file.path)
		return -ENOMEM;
	file.has_owner = tapir_sudo_user__get(&file.uid, &file.gid);
	r->plan.opts.file = &file;
	r->plan.opts.force = args->force;
	r->plan.opts.max_ring_bytes = args->buffer_mb << 20;
	r->plan.opts.unwind_bytes = args->unwind_mb << 20;
	err = tapir_recorder__run(r, &result);
	cli->exit_status = tapir_recorder__exit_status(r, &result);
	if (!err || tapir_captured__sum(result.stats.captured))
		tapir_recorder__say_result(r, &result, file.path);
	tapir_str__fini(&name);
	return err;
}

static int run(struct tapir_cli *cli)
{
	const struct args *args = cli->args;
	struct tapir_recorder r = {};
	struct tapir_request request;
	int err = tapir_target_options__request(cli, &args->target, &args->capture, &request);

	request.rules.children = args->children;
	request.no_samples = args->no_samples;
	request.jvm_locks = args->jvm_locks;
	request.sample_event = args->sample_event;
	request.sample_hz = args->sample_hz;
	request.sched = args->sched;
	request.no_sched = args->no_sched;
	if (!err)
		err = tapir_recorder__init(&r, cli, &request);
	if (!err)
		err = record(&r, args, cli);
	tapir_recorder__fini(&r);
	return err;
}

const struct tapir_command tapir_cmd_record = {
	.name = "record",
	.summary = "record events, CPU samples and context switches into a file",
	.synopsis = "[SPEC...] [-p PID | --comm GLOB | --cgroup PATH | -a] [-o FILE] [-- CMD "
		    "ARGS]",
	.text = "Attaches probes, samples the CPUs, records context switches (not with "
		"-a) and writes everything into one portable file. Recording ends after "
		"--duration, on Ctrl-C, or when the traced processes have exited. The "
		"traced processes are not restarted. If tapir is killed, the file is "
		"readable up to the last second.\n\n"
		"With CMD, records CMD and what it starts. With CMD and a target (-p, --comm, "
		"--cgroup, -a), records the target until CMD exits, and CMD only if it "
		"matches. The exit status is that of CMD ('tapir help exit').\n\n"
		"Without SPEC, records the default profile of each known runtime it finds "
		"('tapir help profiles').",
	.groups = groups,
	.positionals = positionals,
	.examples = examples,
	.takes_program = true,
	.args_bytes = sizeof(struct args),
	.reads_foreign_files = true,
	.run = run,
};
