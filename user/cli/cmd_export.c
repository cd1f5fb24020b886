// SPDX-License-Identifier: GPL-2.0-or-later
/* tapir export: a file's stacks in the text forms that other tools read. */
#include <errno.h>
#include <string.h>

#include "analyze/offcpu_tree.h"
#include "base/diag.h"
#include "base/log.h"
#include "cli/commands.h"
#include "cli/recording_file.h"
#include "cli/terminal.h"
#include "symbol/frame.h"
#include "export/perf_script.h"

struct args {
	const char *format;
	const char *event;
	bool raw_names;
};

static const struct tapir_option options[] = {
	TAPIR_STRING("format", 0, "FORMAT",
		     "folded: a stack a line, with its count;\nperfscript: as 'perf script' "
		     "prints samples",
		     struct args, format),
	TAPIR_STRING("event", 'e', "offcpu",
		     "with folded: microseconds that threads did not run, by the stack with "
		     "which\nthey left the CPU and why",
		     struct args, event),
	TAPIR_RAW_NAMES_OPTION(struct args),
	{}};

/* ---- folded ------------------------------------------------------------------------------- */

/* A name may hold what separates: stackcollapse's readers split at ';' and the last space. */
static void add_name(struct tapir_str *out, const char *name)
{
	size_t at = out->len;

	tapir_str__add_printable(out, name, strlen(name));
	for (; at < out->len; at++)
		if (out->data[at] == ';')
			out->data[at] = ':';
}

static int write_node(const struct tapir_stack_tree *tree, uint32_t idx, struct tapir_str *path,
		      struct tapir_str *out)
{
	const struct tapir_tree_node *node = &tree->nodes.data[idx];
	size_t len = path->len;
	int err = 0;

	if (idx != TAPIR_STACK_TREE_ROOT) {
		if (len)
			tapir_str__addc(path, ';');
		add_name(path, tree->names.data[node->name]);
	}
	if (node->self && path->len) {
		tapir_str__add(out, path->data, path->len);
		tapir_str__addc(out, ' ');
		tapir_str__addu(out, node->self);
		tapir_str__addc(out, '\n');
	}
	for (uint32_t c = node->first_child; c && !err; c = tree->nodes.data[c].next_sibling)
		err = write_node(tree, c, path, out);
	if (!err)
		err = tapir_terminal__flush_much(out);
	path->len = len;
	return err;
}

static int fold_offcpu(struct tapir_reader *reader, struct tapir_stack_tree *tree)
{
	struct tapir_offcpu_tree *offcpu =
		tapir_offcpu_tree__new(tree, tapir_reader__catalog(reader));
	const struct tapir_rec *rec;
	int err = -ENOMEM;

	while (offcpu && (err = tapir_reader__next(reader, &rec)) > 0)
		if (rec->type == TAPIR_REC_SWITCH &&
		    (err = tapir_offcpu_tree__add(offcpu, (const void *)rec)))
			break;
	if (!err)
		err = tapir_offcpu_tree__finish(offcpu);
	tapir_offcpu_tree__free(offcpu);
	return err;
}

static int export_folded(struct tapir_reader *reader, struct tapir_cli *cli)
{
	const struct args *args = cli->args;
	struct tapir_stack_tree samples = {}, events = {}, *tree;
	struct tapir_str path = {}, out = {};
	const struct tapir_rec *rec;
	int err = args->event ? fold_offcpu(reader, &events) : 0;

	while (!args->event && (err = tapir_reader__next(reader, &rec)) > 0)
		tapir_stack_tree__add_record(rec->type == TAPIR_REC_SAMPLE ? &samples : &events,
					     tapir_reader__catalog(reader), rec);
	tree = samples.nodes.cnt ? &samples : &events;
	tapir_stack_tree__sort(tree);
	if (!err && (samples.failed || events.failed))
		err = -ENOMEM;
	if (!err && tree->nodes.cnt)
		err = write_node(tree, TAPIR_STACK_TREE_ROOT, &path, &out);
	if (!err)
		err = tapir_terminal__flush(&out);
	if (!err && tree->dropped)
		tapir_warn("%llu stacks are cut: there are more than %u frames",
			   (unsigned long long)tree->dropped, TAPIR_STACK_TREE_MAX_NODES);
	tapir_str__fini(&path);
	tapir_str__fini(&out);
	tapir_stack_tree__fini(&samples);
	tapir_stack_tree__fini(&events);
	return err;
}

/* ---- perfscript ----------------------------------------------------------------------------- */

static int export_perf_script(struct tapir_reader *reader, struct tapir_cli *cli)
{
	struct tapir_perf_script script = {.catalog = tapir_reader__catalog(reader)};
	struct tapir_str out = {};
	const struct tapir_rec *rec;
	int err;

	(void)cli;
	while ((err = tapir_reader__next(reader, &rec)) > 0) {
		tapir_perf_script__add(&script, rec, &out);
		err = tapir_terminal__flush_much(&out);
		if (err)
			break;
	}
	if (!err)
		err = tapir_terminal__flush(&out);
	tapir_perf_script__fini(&script);
	tapir_str__fini(&out);
	return err;
}

/* ---- the command ---------------------------------------------------------------------------- */

static int run(struct tapir_cli *cli)
{
	const struct args *args = cli->args;
	bool folded = args->format && !strcmp(args->format, "folded");

	if (!folded && (!args->format || strcmp(args->format, "perfscript")))
		return tapir_cli__usage(cli, "as what? --format folded or --format perfscript");
	if (args->event && (!folded || strcmp(args->event, TAPIR_OFFCPU_EVENT)))
		return tapir_cli__usage(cli, "--event: only 'offcpu', with --format folded");
	if (args->raw_names)
		tapir_frame__show_raw_names();
	return tapir_recording_file__read(cli, folded ? export_folded : export_perf_script);
}

const struct tapir_command tapir_cmd_export = {
	.name = "export",
	.summary = "a file's stacks in the forms other tools read",
	.synopsis = "--format folded|perfscript FILE",
	.text = "Writes CPU samples with their stacks to standard output, or where a file has "
		"none,\n"
		"the events that have a stack. 'folded' is what flame graph scripts and "
		"speedscope\n"
		"take; 'perfscript' what reads the output of perf script.",
	.groups = (const struct tapir_option_group[]){{NULL, options, 0}, {}},
	.positionals = (const struct tapir_positional[]){TAPIR_FILE_POSITIONAL, {}},
	.examples =
		(const struct tapir_example[]){
			{"export --format folded slow.tapir | sort -rnk2 | head",
			 "the stacks that were seen most"},
			{"export --format folded --event offcpu slow.tapir",
			 "what threads waited for: microseconds by stack"},
			{"export --format perfscript slow.tapir > slow.perf",
			 "for speedscope, or Firefox's profiler"},
			{}},
	.args_bytes = sizeof(struct args),
	.run = run,
};
