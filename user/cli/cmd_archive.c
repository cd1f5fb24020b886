// SPDX-License-Identifier: GPL-2.0-or-later
/* tapir archive: a recording with all that another machine needs to name what is in it. */
#include "cli/archive_file.h"
#include "cli/commands.h"
#include "cli/named_copy.h"
#include "cli/recording_file.h"
#include "cli/symbol_options.h"
#include "trace/stored_files.h"

struct args {
	const char *output;
	bool force, json, debug_files;
	uint64_t max_mb;
	struct tapir_symbol_args symbols;
};

static const struct args defaults = {.max_mb = TAPIR_ARCHIVE_DEFAULT_MB};

static const struct tapir_option options[] = {
	TAPIR_DEBUG_FILES_OPTION(struct args),
	TAPIR_U64("max-size", 0, "MB",
		  "write nothing if the debug files have more, before compression (default: 1024)",
		  struct args, max_mb, 1, TAPIR_STORED_MAX_BYTES >> 20),
	TAPIR_SYMBOLS_OPTION(struct args),
	TAPIR_NAMED_COPY_OPTIONS(struct args),
	{}};

static int archive(struct tapir_reader *reader, struct tapir_cli *cli)
{
	const struct args *args = cli->args;
	const struct tapir_archive_opts opts = {.path = cli->words.data[0],
						.out = args->output,
						.force = args->force,
						.json = args->json,
						.debug_files = args->debug_files,
						.max_bytes = args->max_mb << 20};

	return tapir_archive_file__make(cli, reader, &opts);
}

static int run_archive(struct tapir_cli *cli)
{
	const struct args *args = cli->args;

	return tapir_named_copy__run(cli, args->output, args->json, &args->symbols, archive);
}

const struct tapir_command tapir_cmd_archive = {
	.name = "archive",
	.summary = "make a recording complete for a machine without its binaries",
	.synopsis = "[FILE] [--debug-files] [--symbols [DIR|URL]]... [-o OUT] [-f] [--json]",
	.text = "A recording has the names of all functions whose files had symbols. This adds "
		"those that are elsewhere, as 'tapir symbolize' does: debug files on this machine, "
		"and what --symbols names. With --debug-files it also puts the debug information of "
		"each program and library that occurs in a stack into the recording, by build ID: "
		"--lines and --inline then need no file of this machine. All is in one file, which "
		"every command reads; 'cut' and 'merge' keep what was put into it.\n\n"
		"Sizes are printed before anything is written. 'tapir record --archive' does this "
		"when a recording ends, from this machine's files alone. Nothing is fetched unless "
		"--symbols names a server.",
	.groups = (const struct tapir_option_group[]){{NULL, options, 0}, {}},
	.positionals = (const struct tapir_positional[]){TAPIR_FILE_POSITIONAL, {}},
	.examples =
		(const struct tapir_example[]){
			{"archive slow.tapir --debug-files", "for --lines on another machine"},
			{"archive s.tapir --symbols microsoft -o full.tapir",
			 "with the names of the .NET runtime"},
			{"archive slow.tapir --debug-files --json | jq .debug_files.bytes",
			 "how much was put into it"},
			{"record -p 4711 -d 30 --archive --debug-files -o s.tapir",
			 "the same when the recording ends"},
			{}},
	.args_bytes = sizeof(struct args),
	.defaults = &defaults,
	.run = run_archive,
};
