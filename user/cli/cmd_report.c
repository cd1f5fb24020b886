// SPDX-License-Identifier: GPL-2.0-or-later
/* tapir report: a file in numbers. What is counted is in analyze/summary.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/finding.h"
#include "base/diag.h"
#include "cli/commands.h"
#include "cli/newest_file.h"
#include "cli/pager.h"
#include "cli/pids_seen.h"
#include "cli/recording_file.h"
#include "cli/report_view.h"
#include "cli/terminal.h"
#include "cli/view_run.h"

struct args {
	bool json;
	bool all;
	uint64_t top;
	struct tapir_pids pids, tids;
	const char *view;
	struct tapir_words pairs;
	uint64_t from_ns, until_ns;
	bool raw_names;
	struct tapir_words manifests;
};

static const struct tapir_option options[] = {
	TAPIR_FLAG("json", 0, "one JSON document, with every row", struct args, json),
	TAPIR_U64("top", 'n', "N", "show N rows of each table", struct args, top, 1, UINT32_MAX),
	TAPIR_FLAG("all", 'a', "show all rows of each table", struct args, all),
	TAPIR_PIDS("pid", 'p', "PID", "only this process; repeatable, or PID,PID", struct args,
		   pids),
	TAPIR_CHOICE("view", 'V', "VIEW", "answer one question ('tapir help views')", struct args,
		     view, tapir_view__usage),
	TAPIR_PIDS("thread", 't', "TID", "with --view: only this thread; repeatable", struct args,
		   tids),
	TAPIR_DURATION("from", 0, "TIME", "with --view: start at this time of the recording",
		       struct args, from_ns, 0, UINT64_MAX / 4),
	TAPIR_DURATION("to", 0, "TIME", "with --view: end at this time of the recording",
		       struct args, until_ns, 1, UINT64_MAX / 4),
	TAPIR_LIST(
		"pair", 0, "A,B[,key=ARG]",
		"with --view: events A and B begin and end an interval, on one thread, or across threads where ARG is equal",
		struct args, pairs),
	TAPIR_RAW_NAMES_OPTION(struct args),
	TAPIR_MANIFEST_OPTION(struct args),
	{}};

/* What belongs to no process is everybody's. */
static bool is_wanted(const struct args *args, const struct tapir_rec *rec)
{
	uint32_t owner = args->pids.cnt ? tapir_rec__owner(rec) : 0;
	const uint32_t *pid;

	if (!owner)
		return true;
	tapir_vec_for_each (pid, &args->pids)
		if (*pid == owner)
			return true;
	return false;
}

static int read_all(struct tapir_reader *reader, const struct args *args,
		    struct tapir_summary *summary, struct tapir_timeline *tl,
		    struct tapir_pids_seen *seen)
{
	const struct tapir_rec *rec;
	int err, added = 0;

	tapir_reader__deliver_descriptions(reader, true);
	summary->start_ns = tapir_reader__stats(reader)->created_ns;
	while (!added && (err = tapir_reader__next(reader, &rec)) > 0) {
		tapir_pids_seen__add(seen, rec);
		if (is_wanted(args, rec))
			tapir_summary__add(summary, tapir_reader__catalog(reader), rec);
		added = tapir_timeline__add(tl, rec);
	}
	if (added)
		return added;
	return err ? err : summary->failed ? -ENOMEM : tapir_timeline__finish(tl);
}

static int answer(struct tapir_reader *reader, struct tapir_cli *cli)
{
	const struct args *args = cli->args;
	struct tapir_view_request rq = {.pairs = &args->pairs,
					.pids = &args->pids,
					.tids = &args->tids,
					.from_ns = args->from_ns,
					.until_ns = args->until_ns,
					.top = args->all ? UINT32_MAX : args->top,
					.json = args->json};

	rq.view = tapir_view__find(args->view, &rq.arg);
	if (!rq.view)
		return tapir_cli__usage(cli, "--view %s: an event is required, as in slow=query",
					args->view);
	return tapir_view__run(reader, cli, &rq);
}

static int print(struct tapir_reader *reader, struct tapir_cli *cli, struct tapir_summary *summary,
		 const struct tapir_finding *finding)
{
	const struct args *args = cli->args;
	struct tapir_str out = {}, found = {};
	struct tapir_report_view view = {.path = cli->words.data[0],
					 .summary = summary,
					 .pairs = tapir_timeline__pairs(finding->tl),
					 .catalog = tapir_reader__catalog(reader),
					 .stats = tapir_reader__stats(reader),
					 .top = args->all ? UINT64_MAX : args->top};
	int err;

	tapir_finding__add_text(finding, &found);
	view.finding = found.data ? found.data : "";
	if (args->json)
		tapir_report__write_json(&view, &out);
	else
		tapir_report__write_text(&view, tapir_terminal__palette(stdout), &out);
	out.failed |= found.failed;
	err = tapir_terminal__flush(&out);
	tapir_str__fini(&out);
	tapir_str__fini(&found);
	return err;
}

static int report(struct tapir_reader *reader, struct tapir_cli *cli)
{
	const struct args *args = cli->args;
	struct tapir_timeline_opts opts = {.tgids = args->pids.data, .tgid_cnt = args->pids.cnt};
	struct tapir_summary summary = {};
	struct tapir_finding finding = {};
	struct tapir_pids_seen seen = {.asked = &args->pids};
	struct tapir_pairs pairs = {};
	int err;

	if (args->view)
		return answer(reader, cli);
	finding.tl = tapir_timeline__new(tapir_reader__catalog(reader), &pairs, &opts);
	err = finding.tl ? tapir_timeline__listen(finding.tl, &tapir_finding_fns, &finding)
			 : -ENOMEM;
	if (!err)
		err = read_all(reader, args, &summary, finding.tl, &seen);
	if (!err)
		err = tapir_pids_seen__check(&seen, tapir_reader__catalog(reader),
					     cli->words.data[0]);
	if (!err)
		err = tapir_summary__sort(&summary);
	if (!err)
		err = print(reader, cli, &summary, &finding);
	tapir_timeline__free(finding.tl);
	tapir_finding__fini(&finding);
	tapir_pairs__fini(&pairs);
	tapir_pids_seen__fini(&seen);
	tapir_summary__fini(&summary);
	return err;
}

static int run(struct tapir_cli *cli)
{
	const struct args *args = cli->args;

	int err = tapir_newest_file__choose(cli, false);

	if (err)
		return err;
	if (!args->json)
		tapir_pager__start(cli);
	return tapir_recording_file__show(cli, args->raw_names, &args->manifests, report);
}

const struct tapir_command tapir_cmd_report = {
	.name = "report",
	.summary = "summarize a recording, or answer one question about it",
	.synopsis = "[FILE] [--view VIEW] [--json] [--top N | --all] [--pid PID] [--thread TID] "
		    "[--from TIME] [--to TIME] [--pair A,B[,key=ARG]]...",
	.text = "Begins with the finding, followed by how the recording was made, what "
		"was lost and why, the hottest functions and modules (SELF: on the CPU in "
		"it; TOTAL: in it or its callees), events, processes, threads, and the "
		"hottest stacks of each event, innermost function first. Digits in "
		"brackets show when records were lost: one digit per part of the "
		"recording, 9 where most were lost.\n\n"
		"A view joins events, samples and switches on one timeline. Each thread "
		"is running, runnable or asleep, inside the intervals that events begin "
		"and end (table INTERVAL); the parts of an interval add up to the whole.",
	.groups = (const struct tapir_option_group[]){{NULL, options, 0}, {}},
	.positionals = (const struct tapir_positional[]){TAPIR_FILE_POSITIONAL, {}},
	.examples =
		(const struct tapir_example[]){
			{"report slow.tapir", "the first look at a recording"},
			{"report --top 5 --pid 4514 slow.tapir",
			 "one process, five rows of each table"},
			{"report --view slow=query slow.tapir",
			 "the slowest queries, and where their time went"},
			{"report --view slow=sold --pair shop:sold,shop:shipped,key=order s.tapir",
			 "the time between two events of your own"},
			{"report --view gc --from 10 --to 20 slow.tapir",
			 "collections between second 10 and second 20"},
			{"report --json slow.tapir | jq '.events[] | select(.lost > 0)'",
			 "events with losses"},
			{}},
	.args_bytes = sizeof(struct args),
	.run = run,
};
