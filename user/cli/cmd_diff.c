// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tapir diff: what became slower or more. What is compared is in analyze/diff/. A mistake in a
 * condition is reported before the recordings are read, which may take minutes.
 */
#include <errno.h>
#include <string.h>

#include "base/child/child_run.h"
#include "base/diag.h"
#include "cli/commands.h"
#include "cli/diff_run.h"
#include "cli/recording_file.h"
#include "cli/symbol_options.h"
#include "cli/terminal.h"
#include "output/render/diff_fail_on.h"
#include "output/render/help_text.h"
#include "output/render/screen.h"
#include "output/render/view_result_print.h"

struct args {
	bool json, all, raw_names;
	uint64_t top;
	const char *per, *where;
	struct tapir_words fail_on, manifests;
	struct tapir_symbol_args symbols;
};

static const char *const bases[] = {
	[TAPIR_DIFF_AUTO] = "auto",
	[TAPIR_DIFF_PER_SECOND] = "second",
	[TAPIR_DIFF_PER_REQUEST] = "request",
};

static const char *base_value(size_t i)
{
	return i < sizeof(bases) / sizeof(*bases) ? bases[i] : NULL;
}

static const struct tapir_option options[] = {
	TAPIR_FLAG("json", 0, "one JSON document, with every row", struct args, json),
	TAPIR_TOP("show N rows of each table, 0: all", struct args, top),
	TAPIR_FLAG("all", 'a', "show what has not changed, too", struct args, all),
	TAPIR_CHOICE("per", 0, "UNIT",
		     "rates per second or per request; default, auto: per request if both "
		     "recordings have requests, and not equally many in a time",
		     struct args, per, base_value),
	TAPIR_WHERE_OPTION(struct args),
	TAPIR_LIST("fail-on", 0, "EXPR",
		   "for scripts: exit with status 1 if EXPR is true, such as "
		   "'p99(\"GET /x\") > 1.2x': count, sum, mean, p50, p90, p99 or max of a NAME of "
		   "the tables; repeatable",
		   struct args, fail_on),
	TAPIR_SYMBOLS_OPTIONS(struct args),
	TAPIR_RAW_NAMES_OPTION(struct args),
	TAPIR_MANIFEST_OPTION(struct args),
	{}};

static int read_second(struct tapir_cli *cli, struct tapir_diff_run *run)
{
	const struct args *args = cli->args;
	struct tapir_reader *reader;
	int err = tapir_recording_file__open(cli, cli->words.data[1], &reader);

	if (err)
		return err;
	err = tapir_diff_run__read(run, 1, reader, cli, args->where);
	tapir_reader__close(reader);
	return err;
}

static int check_span(const struct tapir_diff_side *side, const char *path)
{
	return side->span_ns ? 0
			     : tapir_diag__fail(-ENODATA,
						"%s has nothing to compare: no event, "
						"sample, switch or counter",
						path);
}

/* A descriptor says nothing: MCP and the agent name recordings so. */
static const char *compared_file_name(const struct tapir_cli *cli, size_t at)
{
	static const char *const names[] = {"the first recording", "the second recording"};
	const char *path = cli->words.data[at];

	return !strcmp(path, "-") || !strcmp(path, TAPIR_CHILD_RUN_OTHER) ? names[at] : path;
}

static int print(struct tapir_diff_run *run, const struct tapir_cli *cli)
{
	const struct args *args = cli->args;
	struct tapir_view_result result = {.view = "diff"};
	struct tapir_str out = {};
	int err;

	tapir_diff_run__write(run, args->json && !args->top ? UINT64_MAX : args->top, args->all,
			      &result);
	if (args->json)
		tapir_view_result__write_json(&result, &out);
	else
		tapir_view_result__write_text(&result, tapir_screen__palette(stdout), &out);
	if (!args->json)
		tapir_text__fit(&out, tapir_screen__fit_columns());
	err = result.failed ? -ENOMEM : tapir_terminal__flush(&out);
	tapir_str__fini(&out);
	tapir_view_result__fini(&result);
	return err;
}

static int evaluate_conditions(const struct tapir_diff *diff, const struct args *args)
{
	const char *const *text;
	int failed = 0;

	tapir_vec_for_each (text, &args->fail_on) {
		struct tapir_expression *e;
		int err = tapir_diff_fail_on__parse(*text, &e);

		if (!err) {
			err = tapir_diff_fail_on__evaluate(e, diff);
			tapir_expression__free(e);
		}
		failed = err ? err : failed;
	}
	return failed;
}

static enum tapir_diff_base base_of(const struct args *args)
{
	for (unsigned i = 0; args->per && i < sizeof(bases) / sizeof(*bases); i++)
		if (!strcmp(bases[i], args->per))
			return (enum tapir_diff_base)i;
	return TAPIR_DIFF_AUTO;
}

static int check_base(const struct tapir_diff *diff, struct tapir_cli *cli)
{
	for (int i = 0; i < 2; i++)
		if (diff->base == TAPIR_DIFF_PER_REQUEST && !diff->sides[i]->request_cnt)
			return tapir_cli__usage(cli,
						"--per request: %s has no requests ('tapir "
						"record --profile http' records them)",
						cli->words.data[i]);
	return 0;
}

static int compare_recordings(struct tapir_reader *reader, struct tapir_cli *cli)
{
	const struct args *args = cli->args;
	struct tapir_diff_run run = {
		.names = {compared_file_name(cli, 0), compared_file_name(cli, 1)}};
	int err = tapir_diff_run__read(&run, 0, reader, cli, args->where);

	if (!err)
		err = check_span(&run.sides[0], cli->words.data[0]);
	if (!err)
		err = read_second(cli, &run);
	if (!err)
		err = check_span(&run.sides[1], cli->words.data[1]);
	if (!err)
		err = tapir_diff_run__compare(&run, base_of(args));
	if (!err)
		err = check_base(&run.diff, cli);
	if (!err)
		err = print(&run, cli);
	if (!err)
		err = evaluate_conditions(&run.diff, args);
	tapir_diff_run__fini(&run);
	return tapir_where_option__status(args->where, err);
}

/* A mistake in an expression is reported before the recordings are read. */
static int check_conditions(const struct args *args)
{
	const char *const *text;

	tapir_vec_for_each (text, &args->fail_on) {
		struct tapir_expression *e;
		int err = tapir_diff_fail_on__parse(*text, &e);

		if (err)
			return err == -EINVAL ? TAPIR_CLI_USAGE : err;
		tapir_expression__free(e);
	}
	return 0;
}

static int run_diff(struct tapir_cli *cli)
{
	const struct args *args = cli->args;
	int err = check_conditions(args);

	if (!err)
		err = tapir_where_option__check(args->where);

	if (!err && cli->words.cnt != 2)
		err = tapir_cli__usage(cli, "two recordings are required: tapir diff FIRST SECOND");
	if (err)
		return err;
	return tapir_recording_file__show(cli,
					  &(struct tapir_show_opts){.symbols = &args->symbols,
								    .manifests = &args->manifests,
								    .raw_names = args->raw_names,
								    .has_pager = !args->json},
					  compare_recordings);
}

const struct tapir_command tapir_cmd_diff = {
	.name = "diff",
	.summary = "show what became slower or more between two recordings",
	.synopsis =
		"FIRST SECOND [--json] [--top N] [--all] [--per UNIT] [--where EXPR] [--fail-on EXPR]...",
	.text = "Compares requests by route, garbage collection, CPU time by process and function, "
		"waits by reason and function, allocations and exceptions by type, intervals, "
		"counters and events. Figures are rates, so the recordings may be of different "
		"length. The first line has the most important difference, what became slower or "
		"more before what became faster or less.\n\n"
		"NOISE is how much a figure differs without a cause: the halves of each recording "
		"are compared with each other, in 15 ways; where counts are small, chance is as "
		"large as it is; and what was lost may be anything. Only what differs by more, and "
		"by at least 10 %, is shown. Percentiles are compared where enough values make them "
		"known: p99 from some 700 on. What was recorded in one of the two alone is not "
		"compared.\n\n"
		"--fail-on compares a figure of the second recording with a number, or with the "
		"unit x with that of the first: 1.2x is a fifth more; a difference that is noise is "
		"1x. A name that several tables have is of the first that is listed above; "
		"\"cpu:NAME\" says which: requests, gc, processes, cpu (a function itself), total "
		"(with what it calls), waits, allocations, exceptions, intervals, counters, events. "
		"The status is 1 as well if a figure is not known.",
	.groups = (const struct tapir_option_group[]){{NULL, options, 0}, {}},
	.positionals =
		(const struct tapir_positional[]){{.name = "FILE",
						   .help = "two recordings, the earlier one first",
						   .required = true,
						   .many = true,
						   .is_path = true},
						  {}},
	.examples =
		(const struct tapir_example[]){
			{"diff before.tapir after.tapir", "what changed"},
			{"diff before.tapir after.tapir --fail-on 'p99(\"GET /x\") > 1.2x'",
			 "a test that fails when a route becomes slower by a fifth"},
			{"diff a.tapir b.tapir --fail-on 'sum(\"cpu:main.fib\") > 1.5x'",
			 "the same for the CPU time of a function"},
			{"diff a.tapir b.tapir --json | jq '.waits[] | select(.ratio > 2)'",
			 "waits that doubled"},
			{}},
	.args_bytes = sizeof(struct args),
	.run = run_diff,
};
