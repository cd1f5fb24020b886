// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tapir record: events into a file. Without -o the name has the time and the target: several
 * recordings a day in one directory sort and do not collide.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "attach/proc.h"
#include "attach/sampler.h"
#include "base/clock.h"
#include "base/diag.h"
#include "base/file.h"
#include "base/log.h"
#include "base/sudo_user.h"
#include "cli/archive_file.h"
#include "cli/commands.h"
#include "cli/recorder.h"
#include "cli/recording_file.h"
#include "cli/start_time.h"
#include "cli/target_options.h"
#include "flight/flight.h"
#include "flight/judge.h"
#include "output/render/record_finding.h"
#include "trace/native_memory.h"

struct args {
	struct tapir_target_args target;
	struct tapir_capture_args capture;
	const char *output;
	const char *where;
	const char *at;
	uint64_t sample_hz;
	const char *sample_event;
	bool no_samples;
	bool jvm_locks, activities;
	const char *sched; /* NULL: not given */
	bool no_sched;
	bool captures[TAPIR_FAMILY_CNT];
	bool syscall_files;
	struct tapir_words_or_default syscalls, kernel, native_memory;
	uint64_t native_rate;
	uint64_t max_size;
	uint64_t buffer_mb;
	uint64_t unwind_mb;
	bool no_compress;
	bool force;
	bool children;
	bool archive, debug_files;
	struct {
		uint64_t mb; /* 0: one file */
		struct tapir_words triggers;
		uint64_t window_ns, cooldown_ns, max_files;
		const char *dir;
	} flight;
};

static const struct args defaults = {
	.native_rate = TAPIR_NATIVE_LIMIT_HZ,
	.flight = {.window_ns = 30 * TAPIR_NS_PER_SEC,
		   .cooldown_ns = 60 * TAPIR_NS_PER_SEC,
		   .max_files = 10},
};

static const struct tapir_option options[] = {
	TAPIR_STRING("output", 'o', "FILE", "write the recording to FILE; '-': standard output",
		     struct args, output),
	TAPIR_STRING("where", 0, "EXPR",
		     "record only events for which it is true; the others are counted ('tapir help "
		     "where')",
		     struct args, where),
	TAPIR_U64("frequency", 'F', "HZ", "CPU samples per second (default: 999, with -a 99)",
		  struct args, sample_hz, 1, TAPIR_SAMPLER_MAX_HZ),
	TAPIR_CHOICE("event", 'e', "EVENT", "sample on this event instead of the CPU clock",
		     struct args, sample_event, tapir_sample_event__name),
	TAPIR_FLAG("no-samples", 0, "take no CPU samples", struct args, no_samples),
	TAPIR_CHOICE_OR_DEFAULT(
		"sched", 0, "[=HOW]",
		"record context switches, which -a does not by itself; sums: waits below 1 ms are "
		"added up by thread, so that a switch costs a tenth ('tapir help waits')",
		struct args, sched, tapir_sched__name),
	TAPIR_FLAG("no-sched", 0, "record no context switches", struct args, no_sched),
	TAPIR_LIST_OR_DEFAULT(
		"syscalls", 0, "[LIST]",
		"count system calls: errors and times by process, thread and call; LIST: of which, "
		"as in openat,'*sync' ('tapir help syscalls')",
		struct args, syscalls),
	TAPIR_FLAG("syscall-files", 0,
		   "count system calls by the file or peer of their descriptor, too ('tapir help "
		   "syscalls')",
		   struct args, syscall_files),
	TAPIR_LIST_OR_DEFAULT(
		"kernel", 0, "[LIST]",
		"count the kernel's work: page faults by process and stack, interrupts, waits for "
		"its locks, pressure; LIST: of faults,irqs,locks,pressure ('tapir help kernel')",
		struct args, kernel),
	TAPIR_LIST_OR_DEFAULT(
		"native-memory", 0, "[BYTES]",
		"record each mapping, and samples of blocks of malloc and its like: one per BYTES "
		"(default: 524288; 'tapir help native')",
		struct args, native_memory),
	TAPIR_U64("native-memory-rate", 0, "N",
		  "stop probing malloc where it and free are called more than N times per second "
		  "(default: 400,000; 0: never)",
		  struct args, native_rate, 0, UINT32_MAX),
	TAPIR_FLAG("activities", 0,
		   ".NET: follow Start and Stop events of EventSources across awaits; the runtime "
		   "keeps part of this switched on afterwards ('tapir help dotnet')",
		   struct args, activities),
	TAPIR_FLAG("jvm-locks", 0,
		   "ask JVMs at the start and at the end for the owners of their locks; all Java "
		   "threads stop at a safepoint meanwhile",
		   struct args, jvm_locks),
	TAPIR_STRING(
		"at", 0, "TIME",
		"begin at 14:30[:05] (14:30Z: UTC), or /10s: the next multiple of 10 s of UTC; many hosts begin at one instant",
		struct args, at),
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
	TAPIR_FLAG("archive", 0,
		   "when the recording has ended, make FILE complete for a machine without these "
		   "binaries ('tapir help archives')",
		   struct args, archive),
	TAPIR_DEBUG_FILES_OPTION(struct args),
	TAPIR_FLAG("no-compress", 0, "write FILE uncompressed: less CPU, more disk", struct args,
		   no_compress),
	{}};

static const struct tapir_option flight_options[] = {
	TAPIR_U64(
		"continuous", 0, "MB",
		"keep the last MB of the recording in memory; write a file when a trigger fires, at "
		"SIGUSR2, and at the end ('tapir help continuous')",
		struct args, flight.mb, TAPIR_SEGMENTS_MIN_BYTES >> 20, 65536),
	TAPIR_LIST(
		"trigger", 0, "TRIGGER",
		"event=SPEC, counter=NAME>NUMBER, slow=EVENT>TIME, finding, exit, exit=failed; repeatable",
		struct args, flight.triggers),
	TAPIR_DURATION("window", 0, "TIME",
		       "begin each file this long before its trigger (default: 30)", struct args,
		       flight.window_ns, TAPIR_NS_PER_SEC / 10, 24 * 3600 * TAPIR_NS_PER_SEC),
	TAPIR_DURATION("cooldown", 0, "TIME",
		       "after a trigger, ignore others for this time (default: 60)", struct args,
		       flight.cooldown_ns, TAPIR_NS_PER_SEC / 10, 24 * 3600 * TAPIR_NS_PER_SEC),
	TAPIR_U64("max-files", 0, "N", "write at most N files (default: 10)", struct args,
		  flight.max_files, 1, 100000),
	TAPIR_STRING("segments", 0, "DIR",
		     "keep the segments in files of DIR, which stay readable if tapir is killed",
		     struct args, flight.dir),
	{}};

/* A flag for each family that names one. */
static struct tapir_option family_options[TAPIR_FAMILY_CNT + 1];

static void make_family_options(void)
{
	struct tapir_option *option = family_options;

	for (size_t i = 0; i < TAPIR_FAMILY_CNT; i++)
		if (tapir_families[i].flag)
			*option++ = (struct tapir_option){.name = tapir_families[i].flag,
							  .help = tapir_families[i].flag_help,
							  .type = TAPIR_OPTION_FLAG,
							  .offset = i * sizeof(bool)};
}

static const struct tapir_option_group groups[] = {
	{"Targets", tapir_target_options, offsetof(struct args, target)},
	{"What to record", tapir_capture_options, offsetof(struct args, capture)},
	{"Flight recorder", flight_options, 0},
	{NULL, options, 0},
	{"Further records", family_options, offsetof(struct args, captures)},
	{}};

static const struct tapir_positional positionals[] = {
	{.name = "SPEC", .help = "events to record ('tapir help spec')", .many = true}, {}};

static const struct tapir_example examples[] = {
	{"record -p 4711", "CPU time, waits and runtime events of process 4711, until Ctrl-C"},
	{"record 'hotspot:gc__*' -p 4711 --duration 30",
	 "garbage collections of a JVM for 30 seconds"},
	{"record 'postgresql:query__*' --comm postgres --stack -o slow.tapir",
	 "queries of every PostgreSQL backend, with stacks; new backends included"},
	{"record postgresql:query__start --where 'query ~ \"UPDATE*\"' -a",
	 "statements that begin with UPDATE; how many others there were is counted"},
	{"record -p 4711 'Microsoft-Windows-DotNETRuntime:GC' 'MyCompany-*'",
	 "events of a .NET runtime and of EventSources"},
	{"record -a --at /10s -d 30 -o $(hostname).tapir",
	 "on each of several hosts: they begin at one instant"},
	{"record --profile allocations -p 4711 -d 30", "allocations by stack: .NET, JVM, Ruby"},
	{"record -p 4711 --counters 'System.Net.*' --counters 'MyCompany.*'",
	 "the default profile, and counter values every second"},
	{"record -a -d 10", "CPU time of the whole machine, 99 samples per second per CPU"},
	{"record -p 4711 --no-samples --no-sched", "events only"},
	{"record -p 4711 --continuous 64 --trigger 'slow=gc>200ms'",
	 "the last 30 seconds before each collection that takes longer than 200 ms"},
	{"record -- java -jar app.jar", "a program from its first instruction on"},
	{"record --comm postgres -- pgbench -T 10 bench",
	 "every PostgreSQL backend while pgbench runs"},
	{}};

/* Adds the target, as the first part of a file's name. */
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

/* PATH of PATH.tapir, or the name that a file would have, without its time. NULL: no memory. */
static const char *choose_stem(struct tapir_str *out, const struct args *args, char *const *program)
{
	const char *path = args->output, *suffix;
	struct stat st;

	if (path && (stat(path, &st) || !S_ISDIR(st.st_mode))) {
		suffix = strstr(path, ".tapir");
		tapir_str__add(out, path,
			       suffix && !suffix[6] ? (size_t)(suffix - path) : strlen(path));
	} else {
		if (path)
			tapir_str__addf(out, "%s%s", path,
					path[strlen(path) - 1] == '/' ? "" : "/");
		add_subject(out, &args->target, program);
	}
	return out->failed ? NULL : out->data;
}

/* Before anything is recorded: the first file may be due much later. */
static int check_directory(const char *stem)
{
	const char *slash = strrchr(stem, '/');
	tapir_autofree char *dir = slash ? strndup(stem, (size_t)(slash - stem) + 1) : strdup(".");

	if (!dir)
		return -ENOMEM;
	return access(dir, W_OK | X_OK)
		       ? tapir_diag__fail(-errno, "cannot write files to %s: %s (-o)", dir,
					  tapir_errno__text(errno))
		       : 0;
}

static void print_flight_files(const struct tapir_recorder *r,
			       const struct tapir_flight_stats *stats, const char *path)
{
	tapir_info("%" PRIu64 " file%s, %" PRIu64 " trigger%s ignored, %" PRIu64
		   " segment%s discarded (%.1f MB)",
		   stats->file_cnt, stats->file_cnt == 1 ? "" : "s", stats->ignored_cnt,
		   stats->ignored_cnt == 1 ? "" : "s", stats->segments.discarded_cnt,
		   stats->segments.discarded_cnt == 1 ? "" : "s",
		   (double)stats->segments.discarded_bytes / 1e6);
	if (stats->missed_cnt)
		tapir_warn("%" PRIu64 " intervals were not followed by slow=: too many at once",
			   stats->missed_cnt);
	if (path && !r->is_quiet)
		tapir_record_finding__print(path, r->plan.opts.sampling.hz);
}

/* Keeps the last part; files appear when triggers fire. */
static int record_ring(struct tapir_recorder *r, const struct args *args,
		       struct tapir_writer_opts *file, struct tapir_triggers *triggers,
		       struct tapir_cli *cli)
{
	struct tapir_str stem = {};
	const struct tapir_flight_opts flight = {
		.sz = sizeof(flight),
		.stem = choose_stem(&stem, args, r->plan.opts.program),
		.dir = args->flight.dir,
		.ring_bytes = args->flight.mb << 20,
		.window_ns = args->flight.window_ns,
		.cooldown_ns = args->flight.cooldown_ns,
		.max_files = args->flight.max_files,
		.triggers = triggers,
		.file = file,
		.judge = tapir_flight__judge,
	};
	struct tapir_recording_result result = {};
	struct tapir_flight_stats stats = {};
	tapir_autofree char *path = NULL;
	int err = flight.stem ? check_directory(flight.stem) : -ENOMEM;

	if (!err)
		err = tapir_recorder__run_flight(r, &flight, &result, &stats, &path);
	cli->exit_status = tapir_recorder__exit_status(r, &result);
	/* Also after a failure: files that triggers made are there, and have to be named. */
	if (!err || tapir_captured__sum(result.stats.captured)) {
		tapir_recorder__print_result(r, &result, NULL);
		print_flight_files(r, &stats, path);
	}
	tapir_str__fini(&stem);
	return err;
}

static int record_file(struct tapir_recorder *r, const struct args *args,
		       struct tapir_triggers *triggers, struct tapir_cli *cli)
{
	struct tapir_str name = {};
	struct tapir_writer_opts file = {
		.sz = sizeof(file),
		.path = args->flight.mb ? "" : choose_path(&name, args, r->plan.opts.program),
		.max_bytes = args->max_size << 20,
		.plain = args->no_compress,
		.force = args->force,
	};
	struct tapir_recording_result result = {};
	int err;

	if (!file.path)
		return -ENOMEM;
	/*
	 * Under sudo the file belongs to the user who ran it, and can be read and removed without.
	 */
	file.has_owner = tapir_sudo_user__get(&file.uid, &file.gid);
	r->plan.opts.file = &file;
	r->plan.opts.force = args->force;
	r->plan.opts.max_ring_bytes = args->buffer_mb << 20;
	r->plan.opts.unwind_bytes = args->unwind_mb << 20;
	if (args->flight.mb)
		return record_ring(r, args, &file, triggers, cli);
	err = tapir_recorder__run(r, &result);
	cli->exit_status = tapir_recorder__exit_status(r, &result);
	if (!err || tapir_captured__sum(result.stats.captured))
		tapir_recorder__print_result(r, &result, file.path);
	if (!err && args->archive && !result.is_file_moved)
		err = tapir_archive_file__after_recording(cli, file.path, args->debug_files);
	tapir_str__fini(&name);
	return err;
}

/* A mistake is reported at once, not when the time has come. */
static int check_at(const struct args *args, struct tapir_cli *cli, uint64_t *at_ns)
{
	struct stat st;

	if (!args->at)
		return 0;
	if (!tapir_start_time__parse(args->at, tapir_clock__ns(CLOCK_REALTIME), at_ns))
		return tapir_cli__usage(
			cli, "--at %s: not a time (14:30, 14:30:05, 14:30:05Z) or a step (/10s)",
			args->at);
	if (!args->force && args->output && !stat(args->output, &st) && S_ISREG(st.st_mode))
		return tapir_diag__fail(-EEXIST,
					"cannot create %s: it exists (use --force or "
					"another name)",
					args->output);
	return 0;
}

static void wait_for(const struct tapir_recorder *r, uint64_t at_ns)
{
	char when[TAPIR_UTC_TEXT_BYTES];

	tapir_clock__utc_text(at_ns, when);
	if (!r->is_quiet)
		tapir_info("recording begins at %sZ", when);
	tapir_start_time__wait(at_ns);
}

/* An archive is a copy of a file that is there when the recording has ended. */
static int check_archive(const struct args *args, struct tapir_cli *cli)
{
	if (args->debug_files && !args->archive)
		return tapir_cli__usage(cli, "--debug-files requires --archive");
	if (args->archive && args->flight.mb)
		return tapir_cli__usage(cli, "--continuous excludes --archive: run 'tapir archive' "
					     "on its files");
	if (args->archive && args->output && tapir_writer__is_stdout(args->output))
		return tapir_cli__usage(cli, "--archive requires a file, not standard output");
	return 0;
}

static int check_ring(const struct args *args, struct tapir_cli *cli)
{
	if (!args->flight.mb && (args->flight.triggers.cnt || args->flight.dir))
		return tapir_cli__usage(cli, "--trigger and --segments require --continuous");
	if (args->flight.mb && args->output && tapir_writer__is_stdout(args->output))
		return tapir_cli__usage(cli, "--continuous writes files, not standard output");
	if (args->flight.mb && args->max_size)
		return tapir_cli__usage(cli, "--continuous excludes --max-size");
	return 0;
}

/* Parses the triggers, and adds what has to be recorded for them. */
static int add_triggers(const struct args *args, struct tapir_triggers *triggers,
			struct tapir_request *request)
{
	const char *const *text;
	int err = triggers ? 0 : -ENOMEM;

	tapir_vec_for_each (text, &args->flight.triggers)
		err = err ? err : tapir_triggers__add(triggers, *text);
	if (!err && !tapir_triggers__add_specs(triggers, &request->more_specs))
		err = -ENOMEM;
	return err == -EINVAL ? TAPIR_CLI_USAGE : err;
}

/* The last of several. */
static int choose_native(const struct args *args, struct tapir_cli *cli,
			 struct tapir_native_choice *out)
{
	const struct tapir_words *words = &args->native_memory.words;
	const char *text = words->cnt ? words->data[words->cnt - 1] : NULL;

	out->limit_hz = args->native_rate;
	if (!text || tapir_str__to_u64(text, 1, TAPIR_NATIVE_MAX_BYTES, &out->mean_bytes))
		return 0;
	return tapir_cli__usage(cli, "--native-memory: '%s' is no number of bytes", text);
}

static int run_record(struct tapir_cli *cli)
{
	const struct args *args = cli->args;
	struct tapir_triggers *triggers = NULL;
	struct tapir_recorder r = {};
	struct tapir_request request;
	struct tapir_native_choice native = {};
	uint64_t at_ns = 0;
	int err = tapir_target_options__request(cli, &args->target, &args->capture, &request);

	if (!err)
		err = check_ring(args, cli);
	if (!err)
		err = check_archive(args, cli);
	if (!err)
		err = check_at(args, cli, &at_ns);
	if (!err)
		err = choose_native(args, cli, &native);
	if (!err && args->flight.mb) {
		triggers = tapir_triggers__new();
		err = add_triggers(args, triggers, &request);
	}

	/* Set even if something failed before: the request is only read below if nothing did. */
	request.rules.children = args->children;
	request.where = args->where;
	request.no_samples = args->no_samples;
	request.jvm_locks = args->jvm_locks;
	request.activities = args->activities;
	request.sample_event = args->sample_event;
	request.sample_hz = args->sample_hz;
	request.sched = args->sched;
	request.sum_waits = tapir_sched__sums(args->sched);
	request.no_sched = args->no_sched;
	memcpy(request.captures, args->captures, sizeof(request.captures));
	request.captures[TAPIR_FAMILY_CALLS] = args->syscalls.is_given || args->syscall_files;
	request.syscalls = args->syscalls.words;
	request.syscall_files = args->syscall_files;
	request.captures[TAPIR_FAMILY_KERNEL] = args->kernel.is_given;
	request.kernel = args->kernel.words;
	request.captures[TAPIR_FAMILY_NATIVE] = args->native_memory.is_given;
	request.native = native;
	if (!err)
		err = tapir_recorder__init(&r, cli, &request);
	if (!err && at_ns)
		wait_for(&r, at_ns);
	if (!err)
		err = tapir_where_option__status(args->where, record_file(&r, args, triggers, cli));
	tapir_recorder__fini(&r);
	tapir_triggers__free(triggers);
	tapir_vec__fini(&request.more_specs);
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
	.defaults = &defaults,
	.reads_foreign_files = true,
	.make_options = make_family_options,
	.run = run_record,
};
