// SPDX-License-Identifier: GPL-2.0-or-later
/* tapir symbolize: names into a recording that lacks them. */
#include <errno.h>

#include "base/diag.h"
#include "cli/commands.h"
#include "cli/named_copy.h"
#include "cli/recording_file.h"
#include "cli/symbol_options.h"

struct args {
	const char *output;
	bool force, json;
	struct tapir_symbol_args symbols;
};

static const struct tapir_option options[] = {
	TAPIR_SYMBOLS_OPTION(struct args), TAPIR_NAMED_COPY_OPTIONS(struct args), {}};

static int symbolize(struct tapir_reader *reader, struct tapir_cli *cli)
{
	const struct args *args = cli->args;
	struct tapir_named_copy copy = {
		.path = cli->words.data[0], .out = args->output, .force = args->force};
	struct tapir_offline_counts counts;
	int err = tapir_named_copy__read(&copy, reader, cli);
	bool is_read = !err;

	counts = tapir_offline_symbols__counts(tapir_symbols_option__names(cli));
	if (!err && !counts.name_cnt && counts.nameless_cnt)
		err = tapir_diag__fail(
			-ENOENT,
			"no symbols were found for %s; nothing was written ('tapir help symbols')",
			copy.path);
	else if (!err && (counts.name_cnt || args->output))
		err = tapir_named_copy__write(&copy);
	if (args->json && is_read)
		err = tapir_named_copy__print_json(&copy, NULL, NULL, NULL) ?: err;
	tapir_named_copy__fini(&copy);
	return err;
}

static int run_symbolize(struct tapir_cli *cli)
{
	const struct args *args = cli->args;

	return tapir_named_copy__run(cli, args->output, args->json, &args->symbols, symbolize);
}

const struct tapir_command tapir_cmd_symbolize = {
	.name = "symbolize",
	.summary = "add names of functions to a recording",
	.synopsis = "[FILE] [--symbols [DIR|URL]]... [-o OUT] [-f] [--json]",
	.text = "Looks for the symbols of files whose functions have no names in the "
		"recording (libcoreclr.so!fn_5cd7f0), and writes the names into it. The "
		"files themselves need not be there: their build IDs were recorded, and "
		"only symbols of the same build are used. Debug files on this machine are "
		"always considered (/usr/lib/debug, FILE.debug, FILE.dbg); --symbols adds "
		"directories and servers. Source lines and inlined functions are not written: "
		"'tapir archive --debug-files' makes a recording complete for --lines and "
		"--inline on another machine.",
	.groups = (const struct tapir_option_group[]){{NULL, options, 0}, {}},
	.positionals = (const struct tapir_positional[]){TAPIR_FILE_POSITIONAL, {}},
	.examples =
		(const struct tapir_example[]){
			{"symbolize s.tapir --symbols https://debuginfod.debian.net",
			 "names of Debian's libraries"},
			{"symbolize s.tapir --symbols microsoft", "names of the .NET runtime"},
			{"symbolize slow.tapir --symbols build/symbols -o named.tapir",
			 "names from a directory, into another file"},
			{}},
	.args_bytes = sizeof(struct args),
	.run = run_symbolize,
};
