// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tapir flamegraph: where a file's events, or its CPU samples, came from, as one picture. The
 * picture carries what it is of (counter, rate, time, host), because it is passed on without the
 * recording.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/folded_tree.h"
#include "output/render/offcpu_tree.h"
#include "base/clock.h"
#include "base/diag.h"
#include "base/file.h"
#include "base/log.h"
#include "cli/commands.h"
#include "output/export/event_filter.h"
#include "output/render/human_units.h"
#include "output/render/flamegraph_svg.h"
#include "output/render/record_finding.h"
#include "cli/output_file.h"
#include "trace/pids_seen.h"
#include "trace/trace_filter.h"
#include "cli/recording_file.h"
#include "cli/symbol_options.h"
#include "cli/terminal.h"

struct args {
	const char *output;
	const char *event;
	const char *trace_id;
	bool force;
	struct tapir_pids_or_each pid;
	bool raw_names, is_async;
	bool unfold;
	struct tapir_symbol_args symbols;
};

static const struct tapir_option options[] = {
	TAPIR_STRING("output", 'o', "OUT.svg", "write to OUT.svg; default, or '-': standard output",
		     struct args, output),
	TAPIR_FLAG("force", 'f', "replace OUT.svg if it exists", struct args, force),
	TAPIR_STRING(
		"event", 'e', "GLOB",
		"stacks of these events (default: CPU samples, or all events if there are none); 'offcpu': off-CPU microseconds",
		struct args, event),
	TAPIR_STRING("trace-id", 0, "ID", "stacks of this trace only (32 hex digits)", struct args,
		     trace_id),
	TAPIR_PIDS_OR_EACH(
		"pid", 'p',
		"without a value: one root frame per process, not per process name; with one: only this process; repeatable, or PID,PID",
		struct args, pid),
	TAPIR_UNFOLD_OPTION(struct args),
	TAPIR_SYMBOLS_OPTIONS(struct args),
	TAPIR_ASYNC_OPTION(struct args),
	TAPIR_RAW_NAMES_OPTION(struct args),
	{}};

struct folding {
	const struct args *args;
	struct tapir_output_file file;
	struct tapir_event_filter choice;
	struct tapir_trace_filter trace;
	struct tapir_stack_tree samples, events;
	struct tapir_folded_tree drawn;	    /* of one of them */
	struct tapir_offcpu_tree *offcpu;   /* adds to events; NULL: not requested */
	uint64_t bare_samples, bare_events; /* without a stack */
	uint64_t period;		    /* of the last sample */
	uint64_t first_ns, last_ns;	    /* of what happened */
	uint64_t any_ns;		    /* of the last record */
	struct tapir_pids_seen seen;
};

static bool is_wanted_pid(const struct args *args, uint32_t tgid)
{
	const uint32_t *pid;

	tapir_vec_for_each (pid, &args->pid.pids)
		if (*pid == tgid)
			return true;
	return !args->pid.pids.cnt;
}

static bool is_offcpu(const struct args *args)
{
	return args->event && !strcmp(args->event, TAPIR_OFFCPU_EVENT);
}

static bool is_wanted_tgid(void *folding, uint32_t tgid)
{
	const struct folding *f = folding;

	return is_wanted_pid(f->args, tgid);
}

static void fold_record(struct folding *f, const struct tapir_catalog *catalog,
			const struct tapir_rec *rec)
{
	const struct tapir_rec_event *ev = (const void *)rec;
	const struct tapir_rec_sample *sample = (const void *)rec;

	if (rec->time_ns > f->any_ns)
		f->any_ns = rec->time_ns;
	if (tapir_family__of(rec->type) >= 0 && (!f->first_ns || rec->time_ns < f->first_ns))
		f->first_ns = rec->time_ns;
	if (tapir_family__of(rec->type) >= 0 && rec->time_ns > f->last_ns)
		f->last_ns = rec->time_ns;
	if (!tapir_trace_filter__has(&f->trace, rec))
		return;
	if (rec->type == TAPIR_REC_SAMPLE && !f->args->event &&
	    is_wanted_pid(f->args, sample->tgid)) {
		f->period = sample->period;
		f->bare_samples += !tapir_stack_tree__add_record(&f->samples, catalog, rec);
	}
	if (rec->type == TAPIR_REC_EVENT && !f->offcpu && is_wanted_pid(f->args, ev->tgid) &&
	    tapir_event_filter__has(&f->choice, catalog, ev))
		f->bare_events += !tapir_stack_tree__add_record(&f->events, catalog, rec);
}

static int fold_stacks(struct tapir_reader *reader, struct folding *f)
{
	const struct tapir_rec *rec;
	int err;

	if (is_offcpu(f->args)) {
		f->offcpu = tapir_offcpu_tree__new(&f->events, tapir_reader__catalog(reader),
						   &f->trace);
		if (!f->offcpu)
			return -ENOMEM;
	}
	tapir_reader__deliver_descriptions(reader, f->args->pid.pids.cnt);
	while ((err = tapir_reader__next(reader, &rec)) > 0) {
		tapir_pids_seen__add(&f->seen, rec);
		if (tapir_rec_type__describes(rec->type))
			continue;
		fold_record(f, tapir_reader__catalog(reader), rec);
		if (f->offcpu)
			err = tapir_offcpu_tree__add(f->offcpu, rec, is_wanted_tgid, f);
		if (err < 0)
			break;
	}
	if (!err && f->offcpu)
		err = tapir_offcpu_tree__finish(f->offcpu);
	return err ? err : f->samples.failed || f->events.failed ? -ENOMEM : 0;
}

static int write_svg(struct folding *f, struct tapir_str *svg)
{
	int err = tapir_output_file__flush(&f->file, svg);

	if (!err)
		err = tapir_output_file__finish(&f->file);
	if (!err && f->file.path)
		tapir_info("open %s in a browser; click a frame to zoom, / to search",
			   f->file.path);
	return err;
}

/* "CPU samples of slow.tapir"; of standard input, "CPU samples". */
static void add_title(const struct folding *f, const char *path, struct tapir_str *out)
{
	const char *slash = strrchr(path, '/');

	tapir_str__adds(out, f->offcpu		    ? "Off-CPU time"
			     : f->samples.nodes.cnt ? "CPU samples"
						    : "Events");
	if (f->args->event && !f->offcpu)
		tapir_str__addf(out, " %s", f->args->event);
	if (strcmp(path, "-") != 0)
		tapir_str__addf(out, " of %s", slash ? slash + 1 : path);
	if (f->args->pid.pids.cnt)
		tapir_str__adds(out, f->args->pid.pids.cnt == 1 ? ", process" : ", processes");
	for (size_t i = 0; i < f->args->pid.pids.cnt; i++)
		tapir_str__addf(out, "%s %u", i ? "," : "", f->args->pid.pids.data[i]);
}

static const char dot[] = " \xc2\xb7 ";

/* Adds the sampling event and rate from META; the period of cpu-clock is a time. */
static void add_sampling(const struct folding *f, const struct tapir_catalog *catalog,
			 struct tapir_str *out)
{
	struct tapir_sv event = tapir_catalog__meta_value(catalog, "sample_event");
	struct tapir_sv hz = tapir_catalog__meta_value(catalog, "sample_hz");

	if (event.len && hz.len) {
		tapir_str__add_printable(out, event.data, event.len);
		tapir_str__adds(out, " at ");
		tapir_str__add_printable(out, hz.data, hz.len);
		tapir_str__addf(out, " Hz%s", dot);
	} else if (f->period) {
		tapir_str__addf(out, "cpu-clock at %.0f Hz%s",
				(double)TAPIR_NS_PER_SEC / (double)f->period, dot);
	}
}

/* "cpu-clock at 997 Hz · 12.4 s from 2026-08-05T10:11:12Z · on web3 · 12 without a stack" */
static void add_about(const struct folding *f, struct tapir_reader *reader, struct tapir_str *out)
{
	const struct tapir_reader_stats *stats = tapir_reader__stats(reader);
	bool of_samples = f->samples.nodes.cnt;
	uint64_t no_stack_cnt = of_samples ? f->bare_samples : f->bare_events;
	uint64_t from_ns = f->first_ns, until_ns = f->last_ns;
	struct tapir_sv host = tapir_catalog__meta_value(tapir_reader__catalog(reader), "host");

	if (of_samples)
		add_sampling(f, tapir_reader__catalog(reader), out);
	tapir_catalog__widen_span(tapir_reader__catalog(reader), f->any_ns, &from_ns, &until_ns);
	tapir_human__add_duration(out, until_ns - from_ns);
	tapir_str__adds(out, " from ");
	tapir_human__add_utc(out, stats->created_utc_ns);
	if (host.len) {
		tapir_str__addf(out, "%son ", dot);
		tapir_str__add_printable(out, host.data, host.len);
	}
	if (no_stack_cnt)
		tapir_str__addf(out, "%s%" PRIu64 " without a stack", dot, no_stack_cnt);
}

/*
 * Adds the finding of the whole recording: a part of it has others. So have functions with symbols
 * that are fetched.
 */
static int add_finding(const struct folding *f, const char *path, struct tapir_str *out)
{
	const struct args *args = f->args;

	if (args->event || args->trace_id || args->pid.pids.cnt ||
	    args->symbols.sources.words.cnt || args->symbols.sources.has_default)
		return 0;
	return tapir_record_finding__add(path, false, out);
}

static int draw(struct folding *f, struct tapir_reader *reader, const char *path,
		const struct tapir_stack_tree *tree)
{
	bool of_samples = f->samples.nodes.cnt;
	struct tapir_str svg = {}, title = {}, about = {}, finding = {};
	int err;

	add_title(f, path, &title);
	add_about(f, reader, &about);
	err = add_finding(f, path, &finding);
	if (!err)
		tapir_flamegraph__write(
			&(struct tapir_flamegraph){.tree = tree,
						   .title = title.data ? title.data : "",
						   .about = about.data ? about.data : "",
						   .finding = finding.data,
						   .unit = f->offcpu	? "microseconds"
							   : of_samples ? "samples"
									: "events"},
			&svg);
	if (!err)
		err = svg.failed ? -ENOMEM : write_svg(f, &svg);
	tapir_str__fini(&finding);
	tapir_str__fini(&about);
	tapir_str__fini(&title);
	tapir_str__fini(&svg);
	return err;
}

static int sort_and_draw(struct folding *f, struct tapir_reader *reader, const char *path)
{
	bool of_samples = f->samples.nodes.cnt;
	struct tapir_stack_tree *tree = of_samples ? &f->samples : &f->events;
	uint64_t no_stack_cnt = of_samples ? f->bare_samples : f->bare_events;

	if (f->offcpu && tapir_catalog__sums_waits(tapir_reader__catalog(reader)))
		tapir_warn("%s: " TAPIR_WAITS_ARE_SUMMED ", so these are not in it", path);
	if (!tree->nodes.cnt && f->offcpu)
		return tapir_diag__fail(
			-ENODATA,
			"%s has no context switches: record with --sched (off with -a by default)",
			path);
	if (!tree->nodes.cnt)
		return tapir_diag__fail(-ENODATA, "%s has no stacks%s%s: record with --stack", path,
					f->args->event ? " of such events" : "",
					f->trace.is_set ? " of this trace" : "");
	if (no_stack_cnt)
		tapir_warn("%" PRIu64 " %s have no stack and are left out", no_stack_cnt,
			   of_samples ? "samples" : "events");
	if (!f->args->unfold) {
		tapir_folded_tree__add(&f->drawn, tree);
		tree = &f->drawn.tree;
	}
	tapir_stack_tree__sort(tree);
	return tree->failed ? -ENOMEM : draw(f, reader, path, tree);
}

static int fold_and_draw(struct tapir_reader *reader, struct tapir_cli *cli)
{
	const struct args *args = cli->args;
	struct folding f = {
		.args = args, .choice = {.glob = args->event}, .seen.requested = &args->pid.pids};
	int err;

	(void)tapir_trace_filter__parse(args->trace_id, &f.trace); /* which run has checked */
	f.samples.process_frame = f.events.process_frame =
		args->pid.each ? TAPIR_PROCESS_FRAME_EACH : TAPIR_PROCESS_FRAME_NAME;
	/* For others' browsers, too. */
	err = tapir_output_file__open(
		&f.file, &(struct tapir_output_file_opts){
				 .path = args->output, .force = args->force, .mode = 0644});
	if (!err)
		err = fold_stacks(reader, &f);
	if (!err)
		err = tapir_pids_seen__check(&f.seen, tapir_reader__catalog(reader),
					     cli->words.data[0]);
	if (!err)
		err = sort_and_draw(&f, reader, cli->words.data[0]);
	tapir_output_file__close(&f.file);
	tapir_offcpu_tree__free(f.offcpu);
	tapir_event_filter__fini(&f.choice);
	tapir_pids_seen__fini(&f.seen);
	tapir_stack_tree__fini(&f.samples);
	tapir_stack_tree__fini(&f.events);
	tapir_folded_tree__fini(&f.drawn);
	return err;
}

static int run_flamegraph(struct tapir_cli *cli)
{
	const struct args *args = cli->args;
	int err = tapir_trace_option__check(cli, args->trace_id);

	if (err)
		return err;
	err = tapir_recording_file__choose(cli, false);
	if (err)
		return err;
	if (tapir_output_file__is_same(args->output, cli->words.data[0]))
		return tapir_cli__usage(cli, "-o %s is the recording itself", args->output);
	return tapir_recording_file__show(cli,
					  &(struct tapir_show_opts){.symbols = &args->symbols,
								    .raw_names = args->raw_names,
								    .is_async = args->is_async},
					  fold_and_draw);
}

const struct tapir_command tapir_cmd_flamegraph = {
	.name = "flamegraph",
	.summary = "draw stacks as a flame graph (SVG)",
	.synopsis = "[FILE] [-o OUT.svg] [-f] [--event GLOB] [--trace-id ID] [--pid [PID]] "
		    "[--unfold]",
	.text = "Draws which functions called which when a CPU sample was taken or an "
		"event fired; the width of a frame shows how often. Below the root is one frame per "
		"process name. Runs of frames of the kernel and of runtimes are one frame, such as '[futex "
		"wait]' and '[.NET: collection]' (--unfold shows each). Colors separate kernel, "
		"JIT-compiled, interpreted, runtime and native code. The file needs only "
		"a browser: click a frame to zoom, press '/' or Ctrl-F to search by "
		"regular expression.",
	.groups = (const struct tapir_option_group[]){{NULL, options, 0}, {}},
	.positionals = (const struct tapir_positional[]){TAPIR_FILE_POSITIONAL, {}},
	.examples =
		(const struct tapir_example[]){
			{"flamegraph slow.tapir -o slow.svg", "CPU time"},
			{"flamegraph machine.tapir --pid -o machine.svg",
			 "a machine-wide recording, process by process"},
			{"flamegraph slow.tapir --event 'query__start' -o queries.svg",
			 "the callers of the database"},
			{"flamegraph slow.tapir --event offcpu -o waits.svg",
			 "what threads waited for, and for how long"},
			{}},
	.args_bytes = sizeof(struct args),
	.run = run_flamegraph,
};
