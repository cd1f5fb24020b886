// SPDX-License-Identifier: GPL-2.0-or-later
/* tapir export: a recording in the forms other tools read. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "output/render/offcpu_tree.h"
#include "base/diag.h"
#include "base/log.h"
#include "cli/commands.h"
#include "cli/export_job.h"
#include "output/render/record_finding.h"
#include "output/render/human_units.h"
#include "cli/recording_file.h"
#include "cli/symbol_options.h"
#include "output/export/formats.h"
#include "output/render/screen.h"

struct args {
	const char *format;
	const char *output;
	const char *event, *trace_id;
	bool force;
	bool raw_names, is_async;
	struct tapir_symbol_args symbols;
};

/* Each reads all of a recording and leaves the last bytes in job->out. 0 or -errno, with a line. */
static int (*const writers[TAPIR_FORMAT_CNT])(struct tapir_export_job *job) = {
	[TAPIR_FORMAT_NETTRACE] = tapir_export__nettrace,
	[TAPIR_FORMAT_SPEEDSCOPE] = tapir_export__speedscope,
	[TAPIR_FORMAT_FOLDED] = tapir_export__folded,
	[TAPIR_FORMAT_PPROF] = tapir_export__pprof,
	[TAPIR_FORMAT_OTLP] = tapir_export__otlp,
	[TAPIR_FORMAT_PERFSCRIPT] = tapir_export__perf_script,
};

static const struct tapir_option options[] = {
	TAPIR_CHOICE("format", 0, "FORMAT", "output format ('tapir help formats')", struct args,
		     format, tapir_format__name),
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

/* One line a failure: that of a write names the file already. */
static void say_end(const struct tapir_export_job *job, int mark, int err)
{
	struct tapir_str size = {};

	tapir_human__add_bytes(&size, job->file.bytes);
	if (!err && job->file.path && size.data)
		tapir_info("%s: %s", job->file.path, size.data);
	else if (job->file.path)
		tapir_long_read__name_output(job->file.path, mark, err);
	else if (err && job->file.bytes && !job->file.is_unwritable)
		tapir_diag__add("the data on standard output is incomplete");
	tapir_str__fini(&size);
}

static int write_format(struct tapir_reader *reader, struct tapir_cli *cli)
{
	const struct args *args = cli->args;
	const char *slash = strrchr(cli->words.data[0], '/');
	struct tapir_export_job job = {.reader = reader,
				       .title = slash ? slash + 1 : cli->words.data[0],
				       .of_offcpu = is_offcpu(args),
				       .choice.glob = is_offcpu(args) ? NULL : args->event};
	const struct tapir_format *format = tapir_format__find(args->format);
	int mark = tapir_diag__cnt();
	int err = tapir_output_file__open(
		&job.file,
		&(struct tapir_output_file_opts){.path = args->output, .force = args->force});

	if (err)
		return err;
	tapir_long_read__start(&job.read, reader, cli);
	(void)tapir_trace_filter__parse(args->trace_id, &job.trace); /* which run has checked */
	/* With symbols to fetch, it would have other names than the stacks. */
	if (format->has_head && !args->trace_id && !args->symbols.places.words.cnt &&
	    !args->symbols.places.has_default)
		err = tapir_record_finding__add(cli->words.data[0], true, &job.head);
	if (!err)
		err = writers[format - tapir_formats](&job);
	if (!err && job.choice.glob && !job.chosen_cnt)
		tapir_warn("no event of %s matches %s", cli->words.data[0], job.choice.glob);
	if (!err && args->trace_id && !job.chosen_cnt)
		err = tapir_diag__fail(-ENODATA, "%s has no records with trace id %s",
				       cli->words.data[0], args->trace_id);
	if (!err) /* names may have been fetched after the last record */
		err = tapir_long_read__check(&job.read);
	if (!err)
		err = tapir_output_file__flush(&job.file, &job.out);
	tapir_long_read__stop(&job.read);
	if (!err)
		err = tapir_output_file__finish(&job.file);
	say_end(&job, mark, err);
	tapir_output_file__close(&job.file);
	tapir_event_filter__fini(&job.choice);
	tapir_str__fini(&job.head);
	tapir_str__fini(&job.out);
	return err;
}

static int check(struct tapir_cli *cli, const struct args *args, const struct tapir_format *format)
{
	int err;

	if (!format)
		return tapir_cli__usage(cli, "--format FORMAT is required ('tapir help formats')");
	if (args->trace_id && format == &tapir_formats[TAPIR_FORMAT_NETTRACE])
		return tapir_cli__usage(
			cli,
			"--trace-id cannot be used with --format %s: it holds the whole "
			"recording, with ids",
			format->name);
	if (args->event && format->is_whole)
		return tapir_cli__usage(
			cli,
			"--event cannot be used with --format %s: it holds the whole recording",
			format->name);
	if (is_offcpu(args) && format != &tapir_formats[TAPIR_FORMAT_FOLDED])
		return tapir_cli__usage(cli, "--event offcpu requires --format folded");
	if (format->content == TAPIR_FORMAT_IS_BINARY && is_stdout(args) &&
	    tapir_screen__is_tty(stdout))
		return tapir_cli__usage(cli, "%s is binary: use -o OUT", format->name);
	err = tapir_trace_option__check(cli, args->trace_id);
	return err ? err : tapir_recording_file__choose(cli, false);
}

static int run(struct tapir_cli *cli)
{
	const struct args *args = cli->args;
	int err = check(cli, args, tapir_format__find(args->format));

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
		"library open it. The other formats hold CPU samples with their stacks, "
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
			{}},
	.args_bytes = sizeof(struct args),
	.run = run,
};
