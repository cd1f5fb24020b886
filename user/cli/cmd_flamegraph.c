// SPDX-License-Identifier: GPL-2.0-or-later
/* tapir flamegraph: where a file's events, or its CPU samples, came from, as one picture. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/stack_tree.h"
#include "base/diag.h"
#include "base/file.h"
#include "base/log.h"
#include "cli/commands.h"
#include "cli/event_choice.h"
#include "cli/flamegraph_svg.h"
#include "cli/recording_file.h"
#include "cli/terminal.h"

struct args {
	const char *output;
	const char *event;
	struct tapir_pids pids;
};

static const struct tapir_option options[] = {
	TAPIR_STRING("output", 'o', "OUT.svg", "write to OUT.svg; without it, or '-': stdout",
		     struct args, output),
	TAPIR_STRING("event", 'e', "GLOB", "stacks of these events; none: CPU samples, else all",
		     struct args, event),
	TAPIR_PIDS("pid", 'p', "PID", "of this process only; more than once, or PID,PID",
		   struct args, pids),
	{}};

struct folding {
	const struct args *args;
	struct tapir_event_choice choice;
	struct tapir_stack_tree samples, events;
	uint64_t without_stack_cnt;
};

static bool is_wanted(const struct args *args, uint32_t tgid)
{
	const uint32_t *pid;

	tapir_vec_for_each (pid, &args->pids)
		if (*pid == tgid)
			return true;
	return !args->pids.cnt;
}

static void add(struct folding *f, const struct tapir_catalog *catalog, const struct tapir_rec *rec)
{
	const struct tapir_rec_event *ev = (const void *)rec;
	const struct tapir_rec_sample *sample = (const void *)rec;

	if (rec->type == TAPIR_REC_SAMPLE && !f->args->event && is_wanted(f->args, sample->tgid))
		tapir_stack_tree__add_record(&f->samples, catalog, rec);
	if (rec->type == TAPIR_REC_EVENT && is_wanted(f->args, ev->tgid) &&
	    tapir_event_choice__has(&f->choice, catalog, ev) &&
	    !tapir_stack_tree__add_record(&f->events, catalog, rec))
		f->without_stack_cnt++;
}

static int fold(struct tapir_reader *reader, struct folding *f)
{
	const struct tapir_rec *rec;
	int err;

	while ((err = tapir_reader__next(reader, &rec)) > 0)
		add(f, tapir_reader__catalog(reader), rec);
	return err ? err : f->samples.failed || f->events.failed ? -ENOMEM : 0;
}

static int write_svg(const struct args *args, struct tapir_str *svg)
{
	tapir_autofd int fd = -1;
	int err;

	if (!args->output || !strcmp(args->output, "-"))
		return tapir_terminal__flush(svg);
	fd = open(args->output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0644);
	err = fd < 0 ? -errno : tapir_file__write_all(fd, svg->data, svg->len);
	if (err)
		return tapir_diag__fail(err, "Cannot write %s: err=-%s", args->output,
					tapir_errno__name(err));
	tapir_info("open %s in a browser; click a frame to zoom, / to search", args->output);
	return 0;
}

static int draw(struct folding *f, const char *path)
{
	bool of_samples = f->samples.nodes.cnt;
	struct tapir_stack_tree *tree = of_samples ? &f->samples : &f->events;
	struct tapir_str svg = {}, title = {};
	int err;

	if (!tree->nodes.cnt)
		return tapir_diag__fail(-ENODATA,
					"%s has no stacks%s: record with --stack to have them",
					path, f->args->event ? " of such events" : "");
	if (f->without_stack_cnt && !of_samples)
		tapir_warn("%llu events have no stack and are not in the picture",
			   (unsigned long long)f->without_stack_cnt);
	tapir_str__addf(&title, "%s%s%s", of_samples ? "CPU samples" : "events",
			f->args->event ? " " : "", f->args->event ? f->args->event : "");
	tapir_str__addf(&title, " of %s", path);
	tapir_stack_tree__sort(tree);
	tapir_flamegraph__write(tree, title.data ? title.data : "",
				of_samples ? "samples" : "events", &svg);
	err = svg.failed ? -ENOMEM : write_svg(f->args, &svg);
	tapir_str__fini(&title);
	tapir_str__fini(&svg);
	return err;
}

static int fold_and_draw(struct tapir_reader *reader, struct tapir_cli *cli)
{
	const struct args *args = cli->args;
	struct folding f = {.args = args, .choice = {.glob = args->event}};
	int err = fold(reader, &f);

	if (!err)
		err = draw(&f, cli->words.data[0]);
	tapir_event_choice__fini(&f.choice);
	tapir_stack_tree__fini(&f.samples);
	tapir_stack_tree__fini(&f.events);
	return err;
}

static int run(struct tapir_cli *cli)
{
	return tapir_recording_file__read(cli, fold_and_draw);
}

const struct tapir_command tapir_cmd_flamegraph = {
	.name = "flamegraph",
	.summary = "a file's stacks as one picture (SVG)",
	.synopsis = "FILE [-o OUT.svg] [--event GLOB] [--pid PID]",
	.text = "Draws which functions called which until an event fired, or a CPU sample was "
		"taken:\n"
		"the wider, the more often. The file needs nothing but a browser; clicking a "
		"frame\n"
		"zooms in on it, '/' searches by regular expression.",
	.groups = (const struct tapir_option_group[]){{NULL, options, 0}, {}},
	.positionals =
		(const struct tapir_positional[]){
			{.name = "FILE",
			 .help = "a recording with stacks; '-' is standard input",
			 .required = true,
			 .is_path = true},
			{}},
	.examples =
		(const struct tapir_example[]){
			{"flamegraph slow.tapir -o slow.svg", "everything that has a stack"},
			{"flamegraph slow.tapir --event 'query__start' -o queries.svg",
			 "who asks the database"},
			{}},
	.args_bytes = sizeof(struct args),
	.run = run,
};
