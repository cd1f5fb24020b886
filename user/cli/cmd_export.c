// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tapir export: a recording in the forms other tools read. The formats are output/sink/sinks.h's;
 * cli/export_job.c writes a sink's bytes to a file, or to standard output.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "output/render/offcpu_tree.h"
#include "cli/commands.h"
#include "cli/export_job.h"
#include "cli/output_file.h"
#include "cli/recording_file.h"
#include "cli/symbol_options.h"
#include "output/render/screen.h"
#include "output/sink/sinks.h"

struct args {
	const char *format;
	const char *output;
	const char *event, *trace_id;
	bool force;
	bool fold;
	bool raw_names, is_async;
	struct tapir_symbol_args symbols;
};

static const struct tapir_option options[] = {
	TAPIR_CHOICE("format", 0, "FORMAT", "output format ('tapir help formats')", struct args,
		     format, tapir_sink__name),
	TAPIR_STRING("output", 'o', "OUT",
		     "write to OUT, which is replaced atomically; default, or '-': standard output",
		     struct args, output),
	TAPIR_FLAG("force", 'f', "replace OUT if it exists", struct args, force),
	TAPIR_STRING(
		"event", 'e', "GLOB",
		"stacks of these events instead of CPU samples; 'offcpu' (folded only): off-CPU microseconds by stack and reason",
		struct args, event),
	TAPIR_STRING("trace-id", 0, "ID",
		     "only samples, events and off-CPU times of this trace (32 hex digits); not "
		     "nettrace",
		     struct args, trace_id),
	TAPIR_FLAG(
		"fold", 0,
		"with folded and pprof: runs of frames of the kernel, of a runtime and of a file "
		"without names are one, as 'tapir flamegraph' draws them",
		struct args, fold),
	TAPIR_SYMBOLS_OPTIONS(struct args),
	TAPIR_ASYNC_OPTION(struct args),
	TAPIR_RAW_NAMES_OPTION(struct args),
	{}};

static bool is_stdout(const struct args *args)
{
	return !args->output || !strcmp(args->output, "-");
}

static bool is_offcpu(const struct args *args)
{
	return args->event && !strcmp(args->event, TAPIR_OFFCPU_EVENT);
}

/*
 * The finding is read from the whole recording first: not for a part of it, and not where symbols
 * change its names.
 */
static bool wants_head(const struct args *args)
{
	return !args->event && !args->trace_id && !args->symbols.sources.words.cnt &&
	       !args->symbols.sources.has_default;
}

static int write_format(struct tapir_reader *reader, struct tapir_cli *cli)
{
	const struct args *args = cli->args;

	return tapir_export_job__run(&(struct tapir_export_job){.format = args->format,
								.output = args->output,
								.event = args->event,
								.trace_id = args->trace_id,
								.force = args->force,
								.folds = args->fold,
								.has_head = wants_head(args)},
				     reader, cli);
}

static int check_export_options(struct tapir_cli *cli, const struct args *args,
				const struct tapir_sink *sink)
{
	int err;

	if (!sink)
		return tapir_cli__usage(cli, "--format FORMAT is required ('tapir help formats')");
	if (args->trace_id && sink->no_trace)
		return tapir_cli__usage(
			cli,
			"--trace-id cannot be used with --format %s: it holds the whole "
			"recording, with ids",
			sink->name);
	if (args->fold && !sink->can_fold)
		return tapir_cli__usage(cli,
					"--fold cannot be used with --format %s: it is for "
					"folded and pprof",
					sink->name);
	if (args->event && sink->is_complete)
		return tapir_cli__usage(
			cli,
			"--event cannot be used with --format %s: it holds the whole recording",
			sink->name);
	if (is_offcpu(args) && sink != tapir_sink__find("folded"))
		return tapir_cli__usage(cli, "--event offcpu requires --format folded");
	/* Bytes for a program would set the terminal's modes. */
	if (sink->content == TAPIR_SINK_IS_BINARY && is_stdout(args) &&
	    tapir_screen__is_tty(stdout))
		return tapir_cli__usage(cli, "%s is binary: use -o OUT", sink->name);
	err = tapir_trace_option__check(cli, args->trace_id);
	return err ? err : tapir_recording_file__choose(cli, false);
}

static int run_export(struct tapir_cli *cli)
{
	const struct args *args = cli->args;
	int err = check_export_options(cli, args, tapir_sink__find(args->format));

	if (err)
		return err;
	if (!is_stdout(args) && tapir_output_file__is_same(args->output, cli->words.data[0]))
		return tapir_cli__usage(cli, "-o %s is the recording itself", args->output);
	return tapir_recording_file__show(cli,
					  &(struct tapir_show_opts){.symbols = &args->symbols,
								    .raw_names = args->raw_names,
								    .is_async = args->is_async},
					  write_format);
}

const struct tapir_command tapir_cmd_export = {
	.name = "export",
	.summary = "convert a recording for other tools",
	.synopsis = "--format FORMAT [FILE] [--trace-id ID] [-o OUT] [-f]",
	.text = "nettrace (version 6) holds everything: runtime events with payloads, "
		"USDT events with typed arguments, CPU samples, context switches, "
		"processes, names and losses. PerfView and tools built on the TraceEvent "
		"library open it. chrome, firefox and perfetto hold events, intervals, samples and counters; ctf all records; sqlite the tables of 'tapir query'. The "
		"other formats hold CPU samples with their stacks, "
		"or the events that have stacks if the recording has no samples.",
	.groups = (const struct tapir_option_group[]){{NULL, options, 0}, {}},
	.positionals = (const struct tapir_positional[]){TAPIR_FILE_POSITIONAL, {}},
	.examples =
		(const struct tapir_example[]){
			{"export --format nettrace slow.tapir -o slow.nettrace", "for PerfView"},
			{"export --format speedscope slow.tapir -o slow.json",
			 "for https://www.speedscope.app"},
			{"export --format folded slow.tapir | sort -rnk2 | head",
			 "the most frequent stacks"},
			{"export --format folded --event offcpu slow.tapir",
			 "off-CPU microseconds by stack"},
			{"export --format pprof slow.tapir -o slow.pb.gz",
			 "for go tool pprof and other readers of its format"},
			{"export --format otlp slow.tapir -o slow.pb",
			 "for OpenTelemetry's receivers (POST /v1development/profiles)"},
			{"export --format folded --trace-id TRACE slow.tapir",
			 "the stacks of one request, by its id of 32 hexadecimal digits"},
			{"export --format perfscript slow.tapir > slow.perf",
			 "for Firefox Profiler"},
			{"export --format chrome slow.tapir -o slow.trace.json",
			 "for chrome://tracing"},
			{"export --format firefox slow.tapir -o slow.firefox.json",
			 "for https://profiler.firefox.com"},
			{"export --format perfetto slow.tapir -o slow.pftrace",
			 "for https://ui.perfetto.dev"},
			{"export --format ctf slow.tapir | tar x -C slow.ctf",
			 "for babeltrace2 slow.ctf"},
			{"export --format sqlite slow.tapir -o slow.sqlite",
			 "for sqlite3, pandas and other tools that read SQL"},
			{}},
	.args_bytes = sizeof(struct args),
	.run = run_export,
};
