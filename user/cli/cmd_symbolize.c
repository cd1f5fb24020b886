// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tapir symbolize: names into a recording that lacks them. In place it replaces only a recording of
 * which nothing would be lost, and which no process is writing.
 */
#include <errno.h>
#include <string.h>

#include "base/diag.h"
#include "base/log.h"
#include "cli/commands.h"
#include "cli/long_read.h"
#include "cli/output_file.h"
#include "cli/recording_copy.h"
#include "cli/recording_file.h"
#include "cli/symbol_options.h"
#include "output/export/symbolize.h"

struct args {
	const char *output;
	bool force;
	struct tapir_symbol_args symbols;
};

static const struct tapir_option options[] = {
	TAPIR_SYMBOLS_OPTION(struct args),
	TAPIR_STRING("output", 'o', "OUT",
		     "write to OUT; default: FILE itself, which is replaced atomically",
		     struct args, output),
	TAPIR_FLAG("force", 'f', "replace OUT if it exists", struct args, force),
	{}};

static int read_all(struct tapir_long_read *read, struct tapir_symbolize *s)
{
	const struct tapir_rec *rec;
	int err;

	while ((err = tapir_long_read__next(read, &rec)) > 0)
		tapir_symbolize__add(s, read->reader, rec);
	/* A download may have been interrupted after the last check. */
	if (!err)
		err = tapir_long_read__check(read);
	return err ? err : tapir_symbolize__read_end(s);
}

static int check_read(void *ctx)
{
	return tapir_long_read__check(ctx);
}

static int write_all(struct tapir_long_read *read, struct tapir_symbolize *s, const char *path,
		     bool force)
{
	struct tapir_recording_copy copy = {.path = path, .force = force};
	int err = tapir_recording_copy__open(&copy, read->reader);

	if (err)
		return err;
	err = tapir_symbolize__write(s, read->reader, copy.w, check_read, read);
	return tapir_recording_copy__close(&copy, err);
}

/* In place, only a recording of which nothing would be lost, and which no process is writing. */
static int check_in_place(const struct args *args, const char *path,
			  const struct tapir_reader_stats *stats)
{
	if (args->output)
		return 0;
	if (stats->cut)
		return tapir_diag__fail(
			-EBUSY, "%s is incomplete or still being written: use -o OUT", path);
	if (tapir_reader_stats__is_damaged(stats))
		return tapir_diag__fail(-EBADMSG, "%s is damaged and is not replaced: use -o OUT",
					path);
	return 0;
}

static int symbolize(struct tapir_reader *reader, struct tapir_cli *cli)
{
	const struct args *args = cli->args;
	const char *path = cli->words.data[0], *out = args->output ? args->output : path;
	struct tapir_symbolize s = {.names = tapir_symbols_option__names(cli)};
	struct tapir_offline_counts counts = {};
	struct tapir_long_read read;
	int err;

	tapir_long_read__start(&read, reader, cli);
	err = read_all(&read, &s);
	if (!err)
		err = check_in_place(args, path, tapir_reader__stats(reader));
	counts = tapir_offline_symbols__counts(s.names);
	if (!err && !counts.name_cnt && counts.nameless_cnt)
		err = tapir_diag__fail(
			-ENOENT,
			"no symbols were found for %s; nothing was written ('tapir help symbols')",
			path);
	else if (!err && (counts.name_cnt || args->output))
		err = write_all(&read, &s, out, args->force || !args->output);
	tapir_long_read__stop(&read);
	tapir_symbolize__fini(&s);
	return err;
}

static int run(struct tapir_cli *cli)
{
	const struct args *args = cli->args;
	int err = tapir_recording_file__choose(cli, false);

	if (err)
		return err;
	if (!strcmp(cli->words.data[0], "-") && !args->output)
		return tapir_cli__usage(cli,
					"-o OUT is required for a recording on standard input");
	if (tapir_output_file__is_same(args->output, cli->words.data[0]))
		return tapir_cli__usage(cli, "-o %s is the recording itself: omit -o to replace it",
					args->output);
	err = tapir_symbols_option__start_always(cli, &args->symbols);
	return err ? err : tapir_recording_file__read(cli, symbolize);
}

const struct tapir_command tapir_cmd_symbolize = {
	.name = "symbolize",
	.summary = "add names of functions to a recording",
	.synopsis = "[FILE] [--symbols [DIR|URL]]... [-o OUT] [-f]",
	.text = "Looks for the symbols of files whose functions have no names in the "
		"recording (libcoreclr.so!fn_5cd7f0), and writes the names into it. The "
		"files themselves need not be there: their build IDs were recorded, and "
		"only symbols of the same build are used. Debug files on this machine are "
		"always considered (/usr/lib/debug, FILE.debug, FILE.dbg); --symbols adds "
		"directories and servers. Source lines and inlined functions are not written: "
		"for --lines and --inline, a reader on another machine needs --symbols, too.",
	.groups = (const struct tapir_option_group[]){{NULL, options, 0}, {}},
	.positionals = (const struct tapir_positional[]){TAPIR_FILE_POSITIONAL, {}},
	.examples =
		(const struct tapir_example[]){
			{"symbolize s.tapir --symbols https://debuginfod.debian.net",
			 "names of Debian's libraries"},
			{"symbolize s.tapir --symbols https://msdl.microsoft.com/download/symbols",
			 "names of the .NET runtime"},
			{"symbolize slow.tapir --symbols build/symbols -o named.tapir",
			 "names from a directory, into another file"},
			{}},
	.args_bytes = sizeof(struct args),
	.run = run,
};
