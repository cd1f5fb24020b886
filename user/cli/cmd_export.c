// SPDX-License-Identifier: GPL-2.0-or-later
/* tapir export: a recording in the forms other tools read. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "analyze/offcpu_tree.h"
#include "base/diag.h"
#include "base/log.h"
#include "cli/commands.h"
#include "cli/export_job.h"
#include "cli/figures.h"
#include "cli/recording_file.h"
#include "cli/terminal.h"
#include "symbol/frame.h"

struct args {
	const char *format;
	const char *output;
	const char *event;
	bool force;
	bool raw_names;
};

static const struct tapir_option options[] = {
	TAPIR_STRING("format", 0, "FORMAT",
		     "nettrace: all of it, for PerfView and TraceEvent;\n"
		     "speedscope: stacks of each thread, in time;\n"
		     "folded: a stack a line, with its count;\n"
		     "perfscript: as 'perf script' prints samples",
		     struct args, format),
	TAPIR_STRING("output", 'o', "OUT",
		     "write to OUT, which is there when it is whole; without it, or\n'-': stdout",
		     struct args, output),
	TAPIR_FLAG("force", 'f', "replace OUT", struct args, force),
	TAPIR_STRING("event", 'e', "GLOB",
		     "stacks of these events, not samples; with folded also 'offcpu':\n"
		     "microseconds that threads did not run, by the stack with which they\n"
		     "left the CPU and why",
		     struct args, event),
	TAPIR_RAW_NAMES_OPTION(struct args),
	{}};

struct format {
	const char *name;
	int (*write)(struct tapir_export_job *job);
	bool is_binary;
};

static const struct format formats[] = {
	{"nettrace", tapir_export__nettrace, true},
	{"speedscope", tapir_export__speedscope, false},
	{"folded", tapir_export__folded, false},
	{"perfscript", tapir_export__perf_script, false},
	{},
};

/* NULL: no such format. */
static const struct format *find_format(const char *name)
{
	const struct format *f = formats;

	while (name && f->name && strcmp(f->name, name))
		f++;
	return name && f->name ? f : NULL;
}

static bool is_stdout(const struct args *args)
{
	return !args->output || !strcmp(args->output, "-");
}

static bool is_offcpu(const struct args *args)
{
	return args->event && !strcmp(args->event, TAPIR_OFFCPU_EVENT);
}

/* Whoever waited for a file hears that it is there; whoever did not get it, that it is not. */
static void say_end(const struct tapir_export_job *job, int err)
{
	struct tapir_str size = {};

	tapir_figure__add_bytes(&size, job->file.bytes);
	if (!err && job->file.path && size.data)
		tapir_info("%s: %s", job->file.path, size.data);
	else if (err && job->file.path)
		tapir_diag__add("%s was not written", job->file.path);
	else if (err && job->file.bytes)
		tapir_diag__add("What stands on standard output is not whole");
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
	int err = tapir_output_file__open(
		&job.file,
		&(struct tapir_output_file_opts){.path = args->output, .force = args->force});

	if (err)
		return err;
	tapir_long_read__start(&job.read, reader, cli);
	err = find_format(args->format)->write(&job);
	if (!err)
		err = tapir_output_file__flush(&job.file, &job.out);
	tapir_long_read__stop(&job.read);
	if (!err)
		err = tapir_output_file__finish(&job.file);
	say_end(&job, err);
	tapir_output_file__close(&job.file);
	tapir_event_choice__fini(&job.choice);
	tapir_str__fini(&job.out);
	return err;
}

static int run(struct tapir_cli *cli)
{
	const struct args *args = cli->args;
	const struct format *format = find_format(args->format);

	if (!format)
		return tapir_cli__usage(
			cli, "as what? --format nettrace, speedscope, folded or perfscript");
	if (args->event && format->is_binary)
		return tapir_cli__usage(cli, "--event: %s holds all of a recording", format->name);
	if (is_offcpu(args) && strcmp(format->name, "folded"))
		return tapir_cli__usage(cli, "--event offcpu: only with --format folded");
	if (format->is_binary && is_stdout(args) && tapir_terminal__is_tty(stdout))
		return tapir_cli__usage(cli, "%s is nothing for a terminal: say -o OUT",
					format->name);
	if (!is_stdout(args) && tapir_output_file__is_same(args->output, cli->words.data[0]))
		return tapir_cli__usage(cli, "-o %s is the recording itself", args->output);
	if (args->raw_names)
		tapir_frame__show_raw_names();
	return tapir_recording_file__read(cli, write_format);
}

const struct tapir_command tapir_cmd_export = {
	.name = "export",
	.summary = "a recording in the forms other tools read",
	.synopsis = "--format nettrace|speedscope|folded|perfscript FILE [-o OUT] [-f]",
	.text = "nettrace (version 6) has everything: runtimes' events with their payloads, USDT "
		"events\n"
		"with typed arguments, CPU samples, context switches, processes, names, and what "
		"was "
		"lost.\n"
		"PerfView opens it, and what is built on the TraceEvent library. The others hold "
		"CPU\n"
		"samples with their stacks, or where a file has none, the events that have a "
		"stack:\n"
		"'speedscope' for that viewer, 'folded' for flame graph scripts, 'perfscript' for "
		"what\n"
		"reads the output of perf script.",
	.groups = (const struct tapir_option_group[]){{NULL, options, 0}, {}},
	.positionals = (const struct tapir_positional[]){TAPIR_FILE_POSITIONAL, {}},
	.examples =
		(const struct tapir_example[]){
			{"export --format nettrace slow.tapir -o slow.nettrace", "for PerfView"},
			{"export --format speedscope slow.tapir -o slow.json",
			 "for https://www.speedscope.app"},
			{"export --format folded slow.tapir | sort -rnk2 | head",
			 "the stacks that were seen most"},
			{"export --format folded --event offcpu slow.tapir",
			 "what threads waited for: microseconds by stack"},
			{"export --format perfscript slow.tapir > slow.perf",
			 "for Firefox's profiler"},
			{}},
	.args_bytes = sizeof(struct args),
	.run = run,
};
