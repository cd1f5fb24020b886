// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tapir query: a recording as SQL tables, which output/query/query_tables.c describes. Rows are
 * written as they come, so that `head` ends a long query.
 */
#include <errno.h>
#include <inttypes.h>

#include "base/log.h"
#include "cli/commands.h"
#include "cli/export_job.h"
#include "cli/output_file.h"
#include "cli/recording_file.h"
#include "cli/symbol_options.h"
#include "cli/terminal.h"
#include "output/query/query.h"
#include "output/query/query_output.h"
#include "output/render/screen.h"

struct args {
	bool json, jsonl, csv, force;
	const char *export;
	bool raw_names;
	uint64_t timeout_ns;
	struct tapir_symbol_args symbols;
	struct tapir_words manifests;
};

static const struct tapir_option options[] = {
	TAPIR_FLAG("json", 0, "one JSON array, an object for each row", struct args, json),
	TAPIR_FLAG("jsonl", 0, "one JSON object per line", struct args, jsonl),
	TAPIR_FLAG("csv", 0,
		   "comma-separated values; a text that a spreadsheet would calculate begins with "
		   "an apostrophe",
		   struct args, csv),
	TAPIR_STRING("export", 0, "OUT",
		     "write all tables to OUT, a database of SQLite, instead of a statement's rows",
		     struct args, export),
	TAPIR_FLAG("force", 'f', "replace OUT if it exists", struct args, force),
	TAPIR_DURATION("timeout", 0, "TIME", "end the query after this time", struct args,
		       timeout_ns, 1, UINT64_MAX / 4),
	TAPIR_SYMBOLS_OPTION(struct args),
	TAPIR_RAW_NAMES_OPTION(struct args),
	TAPIR_MANIFEST_OPTION(struct args),
	{}};

struct again {
	struct tapir_cli *cli;
	struct tapir_reader *first;
};

static int reopen_for_query(void *ctx, struct tapir_reader **out)
{
	const struct again *again = ctx;

	return tapir_recording_file__open_again(again->cli, again->first, out);
}

static enum tapir_query_format format_of(const struct args *args)
{
	return args->json    ? TAPIR_QUERY_JSON
	       : args->jsonl ? TAPIR_QUERY_JSONL
	       : args->csv   ? TAPIR_QUERY_CSV
			     : TAPIR_QUERY_TABLE;
}

static int print_rows(struct tapir_query *query, const struct args *args)
{
	struct tapir_query_output output;
	struct tapir_str out = {};
	int err = tapir_query_output__init(&output, query, format_of(args), &out), more = 1;

	while (!err && (more = tapir_query__step(query)) > 0) {
		tapir_query_output__add(&output, &out);
		err = output.failed ? -ENOMEM : tapir_terminal__flush_much(&out);
	}
	if (!err && !more)
		tapir_query_output__end(&output, tapir_screen__palette(stdout),
					tapir_screen__fit_columns(), &out);
	if (!err)
		err = tapir_terminal__flush(&out);
	if (!err && !more && output.format == TAPIR_QUERY_TABLE &&
	    output.row_cnt > TAPIR_QUERY_TABLE_ROWS)
		tapir_warn("%" PRIu64
			   " more rows are not shown (--json, --jsonl and --csv have all)",
			   output.row_cnt - TAPIR_QUERY_TABLE_ROWS);
	tapir_query_output__fini(&output);
	tapir_str__fini(&out);
	return err ? err : more;
}

static int print_tables(struct tapir_query *query)
{
	struct tapir_str out = {};
	int err = tapir_query__list(query, &out);

	if (!err)
		err = tapir_terminal__flush(&out);
	tapir_str__fini(&out);
	return err;
}

static int run_statement(struct tapir_reader *reader, struct tapir_cli *cli)
{
	const struct args *args = cli->args;
	const char *sql = cli->words.cnt > 1 ? cli->words.data[1] : NULL;
	struct again again = {cli, reader};
	struct tapir_query_opts opts = {
		.open_again = reopen_for_query, .ctx = &again, .timeout_ns = args->timeout_ns};
	struct tapir_query *query;
	bool has_read_all;
	int err = tapir_query__new(reader, &opts, &query);

	if (err)
		return err;
	err = sql ? tapir_query__prepare(query, sql) : 0;
	if (err == -EINVAL)
		err = TAPIR_CLI_USAGE;
	if (!err)
		err = sql ? print_rows(query, args) : print_tables(query);
	has_read_all = tapir_query__has_read_all(query);
	tapir_query__free(query);
	return err ? err : has_read_all ? 0 : TAPIR_RECORDING_IS_READ_IN_PART;
}

static int export_tables(struct tapir_reader *reader, struct tapir_cli *cli)
{
	const struct args *args = cli->args;

	return tapir_export_job__run(&(struct tapir_export_job){.format = "sqlite",
								.output = args->export,
								.force = args->force},
				     reader, cli);
}

static int check_export(struct tapir_cli *cli, const struct args *args)
{
	if (!args->export)
		return args->force ? tapir_cli__usage(cli, "--force requires --export") : 0;
	if (cli->words.cnt > 1)
		return tapir_cli__usage(cli,
					"--export writes all tables: SQL cannot be used with it");
	if (args->json + args->jsonl + args->csv || args->timeout_ns)
		return tapir_cli__usage(
			cli, "--json, --jsonl, --csv and --timeout cannot be used with --export");
	if (tapir_output_file__is_same(args->export, cli->words.data[0]))
		return tapir_cli__usage(cli, "--export %s is the recording itself", args->export);
	return 0;
}

static int run_query(struct tapir_cli *cli)
{
	const struct args *args = cli->args;
	int err;

	if (args->json + args->jsonl + args->csv > 1)
		return tapir_cli__usage(cli, "one of --json, --jsonl and --csv");
	err = tapir_recording_file__choose(cli, true);
	if (!err)
		err = check_export(cli, args);
	if (err)
		return err;
	return tapir_recording_file__show(
		cli,
		&(struct tapir_show_opts){.symbols = &args->symbols,
					  .manifests = &args->manifests,
					  .raw_names = args->raw_names,
					  .has_pager = !args->export &&
						       format_of(args) == TAPIR_QUERY_TABLE},
		args->export ? export_tables : run_statement);
}

const struct tapir_command tapir_cmd_query = {
	.name = "query",
	.summary = "ask a recording in SQL",
	.synopsis = "[FILE] [SQL] [--json | --jsonl | --csv] [--timeout TIME] | --export OUT [-f]",
	.text = "SQL is one statement of SQLite that reads: SELECT or WITH. A recording is a set of "
		"tables ('tapir help tables'), and each kind of event is one, with its fields as "
		"columns; without SQL all are listed. Times are nanoseconds of the recording's "
		"clock (time_ns, begin_ns) and seconds since it began (time_s, begin_s). Limits on "
		"these, on pid and tid, and on provider and event are applied while the file is "
		"read. A statement writes nothing to a file. 'tapir help queries' has statements to paste.",
	.groups = (const struct tapir_option_group[]){{NULL, options, 0}, {}},
	.positionals =
		(const struct tapir_positional[]){
			TAPIR_FILE_POSITIONAL,
			{.name = "SQL", .help = "a statement ('tapir help queries')"},
			{}},
	.examples =
		(const struct tapir_example[]){
			{"query slow.tapir", "the tables of a recording"},
			{"query slow.tapir 'SELECT event, count(*) FROM events GROUP BY event'",
			 "how many of each event"},
			{"query slow.tapir 'SELECT * FROM intervals ORDER BY took_ns DESC LIMIT 5'",
			 "the longest intervals"},
			{"query slow.tapir --export slow.sqlite",
			 "all tables as a database, as 'tapir export --format sqlite'"},
			{}},
	.args_bytes = sizeof(struct args),
	.run = run_query,
};
