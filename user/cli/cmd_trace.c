// SPDX-License-Identifier: GPL-2.0-or-later
/* tapir trace: events as they happen, on stdout; nothing is written to a file. */
#include <errno.h>

#include "base/clock.h"
#include "base/diag.h"
#include "base/log.h"
#include "cli/commands.h"
#include "output/render/counter_table.h"
#include "cli/recorder.h"
#include "cli/target_options.h"
#include "output/render/live_lines.h"
#include "output/render/screen.h"
#include "cli/terminal.h"
#include "cli/recording_file.h"
#include "decode/dotnet_tables.h"
#include "symbol/frame.h"

struct args {
	struct tapir_target_args target;
	struct tapir_capture_args capture;
	bool json;
	bool force;
	bool raw_names;
	struct tapir_words manifests;
};

static const struct tapir_option options[] = {
	TAPIR_FLAG("json", 0, "one JSON object per line", struct args, json),
	TAPIR_FLAG("force", 'f', "attach any number of probes on kernels without uprobe_multi",
		   struct args, force),
	TAPIR_RAW_NAMES_OPTION(struct args),
	TAPIR_MANIFEST_OPTION(struct args),
	{}};

static const struct tapir_option_group groups[] = {
	{"Targets", tapir_target_options, offsetof(struct args, target)},
	{"What to trace", tapir_capture_options, offsetof(struct args, capture)},
	{NULL, options, 0},
	{}};

/* Starts with the recorder, whose callbacks get the whole of it. */
struct tracer {
	struct tapir_recorder recorder;
	struct tapir_live_lines live;
	struct tapir_counter_table *table; /* NULL: one line per value */
};

/* ---- session thread --------------------------------------------------------------------- */

static int on_record(void *ctx, const struct tapir_catalog *catalog, const struct tapir_rec *rec)
{
	struct tracer *t = ctx;

	if (t->table && rec->type == TAPIR_REC_COUNTER)
		return tapir_counter_table__add(t->table, rec);
	return tapir_live_lines__add(&t->live, catalog, rec);
}

static int on_flush(void *ctx, enum tapir_session_flush when)
{
	struct tracer *t = ctx;
	bool will_draw = t->table &&
			 tapir_counter_table__draw(t->table, tapir_clock__now_ns(), &t->live.out);
	bool is_held = tapir_live_lines__take(&t->live, when);
	int err = tapir_terminal__flush(&t->live.out);

	return err ? err : will_draw || is_held;
}

/* ---- the command ------------------------------------------------------------------------ */

static int trace(struct tracer *t, struct tapir_cli *cli)
{
	struct tapir_recording_result result = {};
	int err;

	t->recorder.plan.opts.on_record = on_record;
	t->recorder.plan.opts.on_flush = on_flush;
	t->live.start_ns = tapir_clock__now_ns();
	t->recorder.is_quiet = true; /* a line of progress between the events would be in the way */
	err = tapir_recorder__run(&t->recorder, &result);
	cli->exit_status = tapir_recorder__exit_status(&t->recorder, &result);
	if (err != -EPIPE) {
		int flush_err = tapir_terminal__flush(&t->live.out);

		err = err ? err : flush_err;
	}
	if (err == -EPIPE) { /* `| head` has seen enough */
		tapir_diag__clear();
		return 0;
	}
	if (!err || result.stats.captured[TAPIR_FAMILY_EVENT])
		tapir_recorder__say_result(&t->recorder, &result, NULL);
	return err;
}

static int run(struct tapir_cli *cli)
{
	struct args *args = cli->args;
	struct tracer t = {.live = {.format = args->json ? TAPIR_EVENT_JSON : TAPIR_EVENT_TEXT,
				    .hides_counter_events = args->capture.counters.is_given}};
	struct tapir_request request = {};
	int err;

	args->capture.has_no_default = !cli->words.cnt && !args->capture.profiles.cnt;
	if (args->capture.has_no_default && !args->capture.counters.is_given)
		return tapir_cli__usage(
			cli,
			"a SPEC is required, such as 'hotspot:gc__*' ('tapir list -p PID' shows what a process has)");
	if (args->capture.has_no_default && !args->json && tapir_screen__is_tty(stdout))
		t.table = tapir_counter_table__new();
	if (args->raw_names)
		tapir_frame__show_raw_names();
	err = tapir_manifests__add(&args->manifests);
	if (!err)
		err = tapir_target_options__request(cli, &args->target, &args->capture, &request);
	request.no_samples = request.no_sched = true;
	if (!err)
		err = tapir_recorder__init(&t.recorder, cli, &request);
	t.recorder.plan.opts.force = args->force;
	if (!err)
		err = trace(&t, cli);
	if (t.live.lines)
		tapir_manifests__warn_of_odd(t.live.lines);
	tapir_counter_table__free(t.table);
	tapir_live_lines__fini(&t.live);
	tapir_recorder__fini(&t.recorder);
	tapir_dotnet_tables__fini();
	return err;
}

const struct tapir_command tapir_cmd_trace = {
	.name = "trace",
	.summary = "print events as they happen",
	.synopsis = "SPEC... | --profile NAME | --counters [GLOB] [-p PID | --comm GLOB | "
		    "--cgroup PATH | -a] [--stack] [--json] [-- CMD ARGS]",
	.text = "Attaches probes and prints each event, in the format of 'tapir events', "
		"until Ctrl-C, --duration or the exit of the traced processes. Events "
		"that cannot be printed in time are counted and reported; 'tapir record' "
		"sustains higher rates.\n\n"
		"--counters prints values of .NET EventCounters and meters, by default "
		"those of System.Runtime. On a terminal and without SPEC they are a table "
		"that is redrawn every --interval, otherwise one line per value.",
	.groups = groups,
	.positionals =
		(const struct tapir_positional[]){{.name = "SPEC",
						   .help = "events to print ('tapir help spec')",
						   .many = true},
						  {}},
	.examples =
		(const struct tapir_example[]){
			{"trace 'hotspot:gc__*' -p 4711",
			 "collections of a JVM, as they begin and end"},
			{"trace 'postgresql:query__start' --comm postgres",
			 "every SQL statement, as it runs"},
			{"trace 'MyCompany-Demo:OrderPlaced' -p 4711 --json",
			 "an EventSource's event, with its fields by name"},
			{"trace -p 4711 --counters", "the health of a .NET runtime, every second"},
			{"trace -p 4711 --counters 'MyCompany.*/orders*' --interval 5 --json",
			 "your own counters and instruments"},
			{"trace 'python:function__entry' --stack -- python3 app.py",
			 "function calls, each with its native stack"},
			{}},
	.takes_program = true,
	.args_bytes = sizeof(struct args),
	.reads_foreign_files = true,
	.run = run,
};
