/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * symbol_options.h - --symbols of the commands that read a recording: where names come from that it
 * lacks; --lines and --inline: source lines and inlined functions. Without --symbols no name is
 * looked for; DEBUGINFOD_URLS alone fetches nothing. Main thread.
 */
#ifndef TAPIR_USER_SYMBOL_OPTIONS_H
#define TAPIR_USER_SYMBOL_OPTIONS_H

#include "base/json.h"
#include "base/str.h"
#include "cli/options.h"
#include "symbol/offline_symbols.h"
#include "trace/reader.h"

struct tapir_symbol_args {
	struct tapir_sources_or_default sources;
	bool lines, inlined;
};

/* args has a struct tapir_symbol_args called symbols. */
/* clang-format off */
#define TAPIR_SYMBOLS_OPTION(args)                                                                 \
	TAPIR_SOURCES_OR_DEFAULT(                                                                   \
		"symbols", 0, "[DIR|URL]",                                                         \
		"name functions that have no name from the symbol files in DIR or of the server "  \
		"URL; microsoft: of .NET's; debuginfod, or no value: of the servers in "           \
		"DEBUGINFOD_URLS; repeatable ('tapir help symbols')",                              \
		args, symbols.sources)
#define TAPIR_LINES_OPTION(args)                                                                   \
	TAPIR_FLAG("lines", 0, "add the source line to each frame of a file that has debug "       \
			       "information ('tapir help symbols')", args, symbols.lines)
#define TAPIR_INLINE_OPTION(args)                                                                  \
	TAPIR_FLAG("inline", 0, "show inlined functions as frames, by debug information",          \
		   args, symbols.inlined)
#define TAPIR_SYMBOLS_OPTIONS(args)                                                                \
	TAPIR_SYMBOLS_OPTION(args), TAPIR_LINES_OPTION(args), TAPIR_INLINE_OPTION(args)
/* clang-format on */

/* Before the recording is read. 0, TAPIR_CLI_USAGE, or -errno with a line. */
int tapir_symbols_option__start(struct tapir_cli *cli, const struct tapir_symbol_args *args);
/* Names always: without --symbols, from debug files on this machine alone. */
int tapir_symbols_option__start_always(struct tapir_cli *cli, const struct tapir_symbol_args *args);
/* Lets a reader that was opened name functions and lines by them; without --symbols: nothing. */
void tapir_symbols_option__attach(struct tapir_cli *cli, struct tapir_reader *reader);
/* Returns the source of names, borrowed until __end; NULL: there is none. */
struct tapir_offline_symbols *tapir_symbols_option__names(const struct tapir_cli *cli);
/* Returns where symbol files are looked for, borrowed until __end; NULL: nowhere. */
struct tapir_symbol_files *tapir_symbols_option__files(const struct tapir_cli *cli);

/* One number of what was looked for: a table of these makes the end of a line and a JSON object. */
struct tapir_symbol_count {
	const char *name;  /* of the member; NULL ends a table */
	const char *words; /* in the line, before "3 files"; NULL: the line has it elsewhere */
	size_t offset;	   /* of the uint64_t */
};
/* Appends "; no build ID in 3 files" and so on, and nothing for those that are 0. */
void tapir_symbol_counts__add_text(const struct tapir_symbol_count *table, const void *counts,
				   struct tapir_str *out);
/* Writes all of them as an object, the member `key` of the open one. */
void tapir_symbol_counts__write_json(const struct tapir_symbol_count *table, const void *counts,
				     struct tapir_json *j, const char *key);
/* A table over struct tapir_offline_counts: the names that were found. */
extern const struct tapir_symbol_count tapir_symbol_counts_names[];

/* Logs a line on what was found, after the reader's last record. */
void tapir_symbols_option__report(const struct tapir_cli *cli);
/* Ends helper processes and frees; twice, or without a start, is fine. */
void tapir_symbols_option__end(struct tapir_cli *cli);

#endif
