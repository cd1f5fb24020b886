// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tapir report: a file in numbers. What is counted is in analyze/summary.c; here the form is
 * chosen: the first screen, tables, one view, JSON, and the exit status of --fail-on.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "cli/commands.h"
#include "cli/recording_file.h"
#include "cli/symbol_options.h"
#include "output/render/fail_on.h"
#include "output/render/finding_page.h"
#include "output/render/report_read.h"
#include "output/render/views.h"
#include "output/render/report_view.h"
#include "output/render/help_text.h"
#include "output/render/screen.h"
#include "cli/terminal.h"
#include "cli/view_run.h"

struct args {
	bool json, jsonl, csv;
	bool all;
	uint64_t top;
	struct tapir_pids pids, tids;
	const char *view, *trace_id, *explain, *where;
	struct tapir_words pairs;
	uint64_t from_ns, until_ns;
	bool raw_names, is_async;
	struct tapir_symbol_args symbols;
	struct tapir_words manifests;
	bool stacks;
	bool unfold;
	struct tapir_words fail_on;
};

static const struct tapir_option options[] = {
	TAPIR_FLAG("json", 0, "one JSON document, with every row", struct args, json),
	TAPIR_FLAG("jsonl", 0, "with --view: one JSON object per row", struct args, jsonl),
	TAPIR_FLAG(
		"csv", 0,
		"with --view: its tables as comma-separated values, an empty line between two; a "
		"text that a spreadsheet would calculate begins with an apostrophe",
		struct args, csv),
	TAPIR_TOP(
		"show N rows of each table, 0: all; with --json, of functions, modules and stacks",
		struct args, top),
	TAPIR_FLAG("all", 'a', "show all tables, and all rows of each", struct args, all),
	TAPIR_UNFOLD_OPTION(struct args),
	TAPIR_FLAG("stacks", 's', "show the hottest stacks of each event, innermost function first",
		   struct args, stacks),
	TAPIR_PIDS("pid", 'p', "PID", "only this process; repeatable, or PID,PID", struct args,
		   pids),
	TAPIR_CHOICE("view", 'V', "VIEW",
		     "show one view, which answers one question ('tapir help views')", struct args,
		     view, tapir_view__usage),
	TAPIR_PIDS("thread", 't', "TID", "only this thread; repeatable", struct args, tids),
	TAPIR_WHERE_OPTION(struct args),
	TAPIR_STRING("trace-id", 0, "ID",
		     "with --view cpu, offcpu, slow, contention, exceptions, allocations or "
		     "requests: only what was done for this trace (32 hex digits)",
		     struct args, trace_id),
	TAPIR_DURATION("from", 0, "TIME", "start at this time of the recording", struct args,
		       from_ns, 0, UINT64_MAX / 4),
	TAPIR_DURATION("to", 0, "TIME", "end at this time of the recording", struct args, until_ns,
		       1, UINT64_MAX / 4),
	TAPIR_LIST(
		"pair", 0, "A,B[,key=ARG]",
		"events A and B begin and end an interval, on one thread, or across threads where ARG is equal",
		struct args, pairs),
	TAPIR_LIST(
		"fail-on", 0, "CONDITION[,CONDITION]",
		"for scripts: exit with status 1 if one of the conditions holds: lost, gap, "
		"finding, the kind of a finding (deadlock), its limit (exceptions>100, in the "
		"unit of --json), that of an interval's longest one (gc:pause>50ms, query>1s), or an "
		"expression of these ('\"gc:pause\" > 50ms && lost == 0', 'tapir help where')",
		struct args, fail_on),
	TAPIR_CHOICE(
		"explain", 0, "KIND",
		"show what was measured for one kind of finding, with the numbers from which it is "
		"reported, also where nothing was found ('tapir help findings')",
		struct args, explain, tapir_finding_kind__name),
	TAPIR_SYMBOLS_OPTIONS(struct args),
	TAPIR_ASYNC_OPTION(struct args),
	TAPIR_RAW_NAMES_OPTION(struct args),
	TAPIR_MANIFEST_OPTION(struct args),
	{}};

static enum tapir_view_form form_of(const struct args *args)
{
	return args->json    ? TAPIR_VIEW_JSON
	       : args->jsonl ? TAPIR_VIEW_JSONL
	       : args->csv   ? TAPIR_VIEW_CSV
			     : TAPIR_VIEW_TEXT;
}

static int print_view(struct tapir_reader *reader, struct tapir_cli *cli, struct tapir_where *where)
{
	const struct args *args = cli->args;
	struct tapir_view_request rq = {.path = cli->words.data[0],
					.pairs = &args->pairs,
					.pids = &args->pids,
					.tids = &args->tids,
					.trace_id = args->trace_id,
					.from_ns = args->from_ns,
					.until_ns = args->until_ns,
					.where = where,
					.top = args->all ? UINT32_MAX : args->top,
					.form = form_of(args),
					.unfold = args->unfold};

	rq.view = tapir_view__find(args->view, &rq.arg);
	if (!rq.view)
		return tapir_cli__usage(cli, "--view %s: an event is required, as in slow=query",
					args->view);
	if (args->trace_id && !rq.view->is_of_traces)
		return tapir_cli__usage(
			cli, "--trace-id cannot be used with --view %s: it shows the whole process",
			rq.view->name);
	return tapir_view__run(reader, cli, &rq);
}

/* An option about rows selects the tables. */
static bool wants_tables(const struct args *args)
{
	return args->all || args->top || args->stacks;
}

static void explain(const struct args *args, const struct tapir_report_view *view,
		    struct tapir_str *out)
{
	unsigned kind;

	if (!tapir_finding_kind__find(args->explain, strlen(args->explain), &kind))
		return; /* the option has only names of kinds */
	if (args->json)
		tapir_finding_page__explain_json(view, kind, out);
	else
		tapir_finding_page__explain(view, kind, out);
}

static int print(const struct args *args, struct tapir_report_view *view)
{
	struct tapir_str out = {};
	int err;

	view->top = args->all ? UINT64_MAX : args->top;
	view->with_stacks = args->stacks;
	view->unfold = args->unfold;
	if (args->explain) {
		explain(args, view, &out);
	} else if (args->json) {
		tapir_report__write_json(view, &out);
	} else if (wants_tables(args)) {
		tapir_report__write_text(view, tapir_screen__palette(stdout), &out);
		tapir_text__fit(&out, tapir_screen__fit_columns());
	} else {
		tapir_report__write_first_screen(view, tapir_screen__palette(stdout),
						 tapir_screen__fit_columns(), &out);
	}
	err = tapir_terminal__flush(&out);
	tapir_str__fini(&out);
	return err;
}

static int parse_conditions(const struct tapir_cli *cli, const struct tapir_words *words,
			    struct tapir_fail_conditions *out)
{
	const char *const *word;
	struct tapir_str why = {};
	int err = 0;

	tapir_vec_for_each (word, words) {
		err = tapir_fail_on__parse(*word, out, &why);
		if (err)
			break;
	}
	if (err == -EINVAL)
		err = why.len ? tapir_cli__usage(cli, "--fail-on: %s", why.data) : TAPIR_CLI_USAGE;
	tapir_str__fini(&why);
	return err;
}

static int summarize(struct tapir_reader *reader, struct tapir_cli *cli, struct tapir_where *where)
{
	const struct args *args = cli->args;
	struct tapir_report_request rq = {.path = cli->words.data[0],
					  .pids = &args->pids,
					  .tids = &args->tids,
					  .from_ns = args->from_ns,
					  .until_ns = args->until_ns,
					  .where = where};
	struct tapir_report report = {};
	struct tapir_pairs pairs = {};
	struct tapir_fail_conditions conditions = {};
	int err;

	err = parse_conditions(cli, &args->fail_on, &conditions);
	if (!err)
		err = tapir_pair_option__name(cli, &args->pairs, &pairs);
	if (!err)
		err = tapir_report__read(&report, reader, &pairs, &rq);
	if (!err && args->from_ns && !tapir_report__duration_ns(&report.view))
		err = tapir_diag__fail(-ENODATA, "--from is after the end of %s", rq.path);
	if (!err)
		err = tapir_pair_option__check(&pairs, rq.path);
	if (!err)
		err = print(args, &report.view);
	if (!err)
		err = tapir_fail_on__evaluate(&conditions, &report.view);
	tapir_fail_on__fini(&conditions);
	tapir_report__fini(&report);
	tapir_pairs__fini(&pairs);
	return err;
}

static int report(struct tapir_reader *reader, struct tapir_cli *cli)
{
	const struct args *args = cli->args;
	struct tapir_where *where;
	int err = tapir_where_option__parse(args->where, &where);

	if (!err)
		err = args->view ? print_view(reader, cli, where) : summarize(reader, cli, where);
	tapir_where__free(where);
	return tapir_where_option__status(args->where, err);
}

static int check_report_options(const struct tapir_cli *cli, const struct args *args)
{
	if (args->until_ns && args->until_ns <= args->from_ns)
		return tapir_cli__usage(cli, "--to must be later than --from");
	if (args->unfold && !args->view && !args->stacks)
		return tapir_cli__usage(cli, "--unfold requires --view or --stacks");
	if (args->trace_id && !args->view)
		return tapir_cli__usage(cli, "--trace-id requires --view, as in --view cpu");
	if ((args->jsonl || args->csv) && !args->view)
		return tapir_cli__usage(cli, "--jsonl and --csv require --view, as in --view gc");
	if (args->json + args->jsonl + args->csv > 1)
		return tapir_cli__usage(cli, "one of --json, --jsonl and --csv");
	if (args->stacks && args->view)
		return tapir_cli__usage(cli, "--stacks cannot be used with --view");
	if (args->explain && (args->view || wants_tables(args)))
		return tapir_cli__usage(cli, "--explain cannot be used with --view, --stacks, "
					     "--all and --top");
	if (args->fail_on.cnt && args->view)
		return tapir_cli__usage(cli, "--fail-on cannot be used with --view");
	if (tapir_trace_option__check(cli, args->trace_id))
		return TAPIR_CLI_USAGE;
	return tapir_where_option__check(args->where);
}

static int run_report(struct tapir_cli *cli)
{
	const struct args *args = cli->args;
	int err = check_report_options(cli, args);

	if (!err)
		err = tapir_recording_file__choose(cli, false);
	if (err)
		return err;
	return tapir_recording_file__show(
		cli,
		&(struct tapir_show_opts){.symbols = &args->symbols,
					  .manifests = &args->manifests,
					  .raw_names = args->raw_names,
					  .is_async = args->is_async,
					  .has_pager = form_of(args) == TAPIR_VIEW_TEXT},
		report);
}

const struct tapir_command tapir_cmd_report = {
	.name = "report",
	.summary = "summarize a recording, or answer one question about it",
	.synopsis =
		"[FILE] [--view VIEW | --stacks | --explain KIND] [--json | --jsonl | --csv] [--top N | --all] [--pid PID] "
		"[--thread TID] [--where EXPR] [--trace-id ID] [--from TIME] [--to TIME] "
		"[--pair A,B[,key=ARG]]...",
	.text = "Shows one screen: what was recorded, up to three findings, each with the command "
		"that shows what is behind it, and the largest figures: the processes that used "
		"most CPU, the requests that took most time, the program's own functions with most "
		"CPU time, and where its threads waited longest, for what, and who ended it.\n\n"
		"--all, --top and --stacks show all that was counted: the findings in a sentence "
		"each, how the recording was made, what "
		"was lost and why, the hottest functions and modules, events, intervals, "
		"processes and threads. SELF is CPU time in a function itself, TOTAL "
		"includes what it calls. --stacks adds the hottest stacks of each event; "
		"consecutive frames of the kernel, of a runtime and of files without names are one, "
		"'[futex wait]', '[.NET: collection, 9 frames]' (--unfold shows each). "
		"Digits in brackets show when records were lost: one digit per part of "
		"the recording, 9 where most were lost. --from, --to, --pid and --thread "
		"restrict all figures to that time, process or thread; intervals count if "
		"they overlap that time. --where restricts them to records for which a condition "
		"is true; a record that lacks one of its fields does not count, and an interval does "
		"if the event that begins it, or the one that ends it, does.\n\n"
		"A view joins events, samples and switches on one timeline. Each thread "
		"is running, runnable or asleep, inside the intervals that events begin "
		"and end (table INTERVAL); the parts of an interval add up to the whole. "
		"--trace-id restricts a view to records with that id, and to what happened on "
		"a thread inside an interval that began with it, unless that carries another "
		"id.",
	.groups = (const struct tapir_option_group[]){{NULL, options, 0}, {}},
	.positionals = (const struct tapir_positional[]){TAPIR_FILE_POSITIONAL, {}},
	.examples =
		(const struct tapir_example[]){
			{"report slow.tapir", "the first look at a recording"},
			{"report --all slow.tapir", "all that was counted, in tables"},
			{"report --top 5 --pid 4514 slow.tapir",
			 "one process, five rows of each table"},
			{"report --stacks --from 10 --to 20 slow.tapir",
			 "second 10 to second 20, with the hottest stacks"},
			{"report --view slow=query slow.tapir",
			 "the slowest queries, and where their time went"},
			{"report --view slow=sold --pair shop:sold,shop:shipped,key=order s.tapir",
			 "the time between two events of your own"},
			{"report --view cpu --trace-id 4bf92f3577b34da6a3ce929d0e0e4736 slow.tapir",
			 "what the CPU did for one request"},
			{"report --where 'comm == \"postgres\" && cpu < 4' slow.tapir",
			 "what was counted of some processes, on some CPUs"},
			{"report --view slow=request --where 'status >= 500' slow.tapir",
			 "the slowest of the requests that failed"},
			{"report --view gc --from 10 --to 20 slow.tapir",
			 "collections between second 10 and second 20"},
			{"report --fail-on 'lost,gc:pause>50ms,exceptions>100' ci.tapir",
			 "a test that fails on what a recording shows"},
			{"report --explain locks slow.tapir",
			 "why the report says that threads wait for locks, or does not"},
			{"report --json slow.tapir | jq '.events[] | select(.lost > 0)'",
			 "events with losses"},
			{}},
	.args_bytes = sizeof(struct args),
	.run = run_report,
};
