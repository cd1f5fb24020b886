// SPDX-License-Identifier: GPL-2.0-or-later
/* tapir record: events into a file. */
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "attach/sampler.h"
#include "cli/commands.h"
#include "cli/recorder.h"

struct args {
	struct tapir_target_args target;
	struct tapir_capture_args capture;
	const char *output;
	uint64_t sample_hz;
	uint64_t max_size;
	uint64_t buffer_mb;
	bool no_compress;
	bool force;
	bool children;
};

static const struct tapir_option options[] = {
	TAPIR_STRING("output", 'o', "FILE", "write to FILE; '-' is standard output", struct args,
		     output),
	TAPIR_U64("frequency", 'F', "HZ", "also sample what each CPU runs, HZ times a second",
		  struct args, sample_hz, 1, TAPIR_SAMPLER_MAX_HZ),
	TAPIR_FLAG("force", 'f',
		   "replace FILE; any number of probes on a kernel without uprobe_multi",
		   struct args, force),
	TAPIR_FLAG("children", 0, "with -p: trace what the process starts, too", struct args,
		   children),
	TAPIR_U64("max-size", 0, "MB", "stop when the file has this size", struct args, max_size, 1,
		  UINT64_MAX >> 20),
	TAPIR_U64("buffer", 0, "MB", "ring buffers may grow to this size together (64)",
		  struct args, buffer_mb, 1, 4096),
	TAPIR_FLAG("no-compress", 0, "larger file, less CPU", struct args, no_compress),
	{}};

static const struct tapir_option_group groups[] = {
	{"Whom to trace", tapir_target_options, offsetof(struct args, target)},
	{"What to take", tapir_capture_options, offsetof(struct args, capture)},
	{NULL, options, 0},
	{}};

static const struct tapir_positional positionals[] = {
	{"SPEC",
	 "which events; none: the default profile of each known runtime ('tapir help spec')", false,
	 true, false},
	{}};

static const struct tapir_example examples[] = {
	{"record -p 4711", "the default profile of the runtime in process 4711, until Ctrl-C"},
	{"record 'hotspot:gc__*' -p 4711 --duration 30", "30 seconds of a JVM's collections"},
	{"record 'postgresql:query__*' --comm postgres --stack -o slow.tapir",
	 "every backend's queries, with stacks; new backends, too"},
	{"record -F 99 -p 4711 -d 10", "where process 4711 spends its CPU time, user and kernel"},
	{"record -- java -jar app.jar", "a program from its first instruction on"},
	{}};

/* Several recordings a day in one directory: a name that sorts and does not collide. */
static void default_name(char *out, size_t out_bytes)
{
	time_t now = time(NULL);
	struct tm tm;

	localtime_r(&now, &tm);
	strftime(out, out_bytes, "tapir-%Y%m%d-%H%M%S.tapir", &tm);
}

static bool env_id(const char *name, uint64_t *id)
{
	const char *text = getenv(name);

	return text && tapir_str__to_u64(text, 0, UINT32_MAX, id);
}

/* The file belongs to the person who typed sudo. */
static void set_owner(struct tapir_writer_opts *file)
{
	uint64_t uid, gid;

	if (geteuid() || !env_id("SUDO_UID", &uid) || !env_id("SUDO_GID", &gid))
		return;
	file->has_owner = true;
	file->uid = (uid_t)uid;
	file->gid = (gid_t)gid;
}

static int record(struct tapir_recorder *r, const struct args *args)
{
	char name[64];
	struct tapir_writer_opts file = {
		.sz = sizeof(file),
		.path = args->output,
		.max_bytes = args->max_size << 20,
		.plain = args->no_compress,
		.force = args->force,
	};
	struct tapir_recording_result result = {};
	int err;

	if (!file.path) {
		default_name(name, sizeof(name));
		file.path = name;
	}
	set_owner(&file);
	r->opts.file = &file;
	r->opts.force = args->force;
	r->opts.sample_hz = (unsigned)args->sample_hz;
	r->opts.max_ring_bytes = args->buffer_mb << 20;
	r->opts.rules.children = args->children;
	err = tapir_recorder__run(r, &result);
	if (!err || result.stats.event_cnt)
		tapir_recorder__say_result(r, &result, file.path);
	return err;
}

static int run(struct tapir_cli *cli)
{
	const struct args *args = cli->args;
	struct tapir_recorder r;
	int err = tapir_recorder__init(&r, cli, &args->target, &args->capture);

	if (!err)
		err = record(&r, args);
	tapir_recorder__fini(&r);
	return err;
}

const struct tapir_command tapir_cmd_record = {
	.name = "record",
	.summary = "record events with payloads and stacks into a file",
	.synopsis = "[SPEC...] [-p PID | --comm GLOB | --cgroup PATH | -a] [-o FILE] [-- CMD ARGS]",
	.text = "Puts probes on, writes what they see into one portable file, and takes them off "
		"at\n"
		"the end: after --duration, on Ctrl-C, or when the traced processes are gone. The "
		"file\n"
		"is readable up to its last second even when tapir is killed. The processes are "
		"not\n"
		"restarted and not changed.",
	.groups = groups,
	.positionals = positionals,
	.examples = examples,
	.takes_program = true,
	.args_bytes = sizeof(struct args),
	.run = run,
};
