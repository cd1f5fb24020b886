// SPDX-License-Identifier: GPL-2.0-or-later
/* tapir report: a file in numbers. What is counted is in analyze/summary.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "cli/commands.h"
#include "cli/recording_file.h"
#include "cli/report_view.h"
#include "cli/terminal.h"

struct args {
	bool json;
	bool all;
};

static const struct tapir_option options[] = {
	TAPIR_FLAG("json", 0, "one JSON document", struct args, json),
	TAPIR_FLAG("all", 'a', "every row of every table", struct args, all),
	{}};

static int read_all(struct tapir_reader *reader, struct tapir_summary *summary)
{
	const struct tapir_rec *rec;
	int err;

	tapir_reader__deliver_descriptions(reader, true);
	while ((err = tapir_reader__next(reader, &rec)) > 0)
		tapir_summary__add(summary, tapir_reader__catalog(reader), rec);
	return err ? err : summary->failed ? -ENOMEM : 0;
}

static int report(struct tapir_reader *reader, struct tapir_cli *cli)
{
	const struct args *args = cli->args;
	struct tapir_summary summary = {};
	struct tapir_str out = {};
	int err = read_all(reader, &summary);

	if (!err)
		err = tapir_summary__sort(&summary);
	if (!err) {
		struct tapir_report_view view = {.path = cli->words.data[0],
						 .summary = &summary,
						 .catalog = tapir_reader__catalog(reader),
						 .stats = tapir_reader__stats(reader),
						 .all_rows = args->all};

		if (args->json)
			tapir_report__write_json(&view, &out);
		else
			tapir_report__write_text(&view, tapir_terminal__palette(stdout), &out);
		err = tapir_terminal__flush(&out);
	}
	tapir_str__fini(&out);
	tapir_summary__fini(&summary);
	return err;
}

static int run(struct tapir_cli *cli)
{
	return tapir_recording_file__read(cli, report);
}

const struct tapir_command tapir_cmd_report = {
	.name = "report",
	.summary = "what a file holds, in numbers",
	.synopsis = "FILE [--json]",
	.text = "How often each event fired and how many were lost, whose they were, and from "
		"which\n"
		"stacks they came (innermost function first). Nothing is lost in silence: each "
		"cause\n"
		"of a loss is said with its number.",
	.groups = (const struct tapir_option_group[]){{NULL, options, 0}, {}},
	.positionals = (const struct tapir_positional[]){TAPIR_FILE_POSITIONAL, {}},
	.examples =
		(const struct tapir_example[]){
			{"report slow.tapir", "the first look at a recording"},
			{"report --json slow.tapir | jq '.events[] | select(.lost > 0)'",
			 "which events are not complete?"},
			{}},
	.args_bytes = sizeof(struct args),
	.run = run,
};
