/* SPDX-License-Identifier: GPL-2.0-or-later */
/* recording_file.h - what the commands share that read a recording: FILE, and what it lacks. */
#ifndef TAPIR_USER_RECORDING_FILE_H
#define TAPIR_USER_RECORDING_FILE_H

#include <stdbool.h>

#include "decode/record_where.h"
#include "cli/options.h"
#include "cli/symbol_options.h"
#include "output/export/event_lines.h"
#include "trace/reader.h"

/* The first positional of such a command. */
#define TAPIR_FILE_POSITIONAL                                                                      \
	{                                                                                          \
		.name = "FILE",                                                                    \
		.help = "a recording; '-': standard input; default: your newest *.tapir here",     \
		.is_path = true                                                                    \
	}

/* The option of every command that shows names. */
#define TAPIR_RAW_NAMES_OPTION(args)                                                               \
	TAPIR_FLAG("raw-names", 0, "show .NET method names as the runtime writes them", args,      \
		   raw_names)

/* The option of every command that shows stacks. */
#define TAPIR_ASYNC_OPTION(args)                                                                   \
	TAPIR_FLAG("async", 0,                                                                     \
		   "stacks of async methods, with those that await them ('tapir help async')",     \
		   args, is_async)

/* The option of every command that shows stacks to a person: else frame_runs.h makes them short. */
#define TAPIR_UNFOLD_OPTION(args)                                                                  \
	TAPIR_FLAG("unfold", 0,                                                                    \
		   "show each frame, where else those of the kernel, of a runtime and of a file "  \
		   "without names are one",                                                        \
		   args, unfold)

/* The option of every command that shows events, and what its run does of it first. */
#define TAPIR_MANIFEST_OPTION(args)                                                                \
	TAPIR_LIST("manifest", 0, "FILE", "decode a provider's events by this ETW manifest (XML)", \
		   args, manifests)
/* Reads the manifests of --manifest. 0 or -errno with a line. */
int tapir_manifests__add(const struct tapir_words *paths);
/* A warning, if payloads did not match their descriptions. */
void tapir_manifests__warn_of_mismatches(const struct tapir_event_lines *lines);

/* The option of the commands that count what a recording holds. */
#define TAPIR_WHERE_OPTION(args)                                                                   \
	TAPIR_STRING("where", 0, "EXPR",                                                           \
		     "count only events, samples, switches and the like for which it is true: by " \
		     "pid, tid, comm, thread, cpu, cgroup, user, and fields of events ('tapir "    \
		     "help where')",                                                               \
		     args, where)
/*
 * Parses the value of --where, NULL if there is none, to a condition that is yours. 0, -ENOMEM, or
 * the status of a usage error, with lines. __status returns what a command returns for err of
 * tapir_where__check.
 */
int tapir_where_option__parse(const char *text, struct tapir_where **out);
int tapir_where_option__check(const char *text);
int tapir_where_option__status(const char *text, int err);

/* Checks the value of --trace-id, NULL if there is none: 0, or what tapir_cli__usage returned. */
int tapir_trace_option__check(const struct tapir_cli *cli, const char *text);

/*
 * Puts the newest *.tapir of the current directory in front of cli->words when they name no file,
 * and prints its name: a regular file of the calling user (under sudo, of the user who ran sudo). A
 * usage error if there is none. has_glob: a word that names no file is another argument of the
 * command.
 */
int tapir_recording_file__choose(struct tapir_cli *cli, bool has_glob);

/*
 * Opens a recording before its first record, with the names that the command's options choose; a
 * pipe's can be read again, too. 0 or -errno with a line.
 */
int tapir_recording_file__open(struct tapir_cli *cli, const char *path, struct tapir_reader **out);
int tapir_recording_file__open_again(struct tapir_cli *cli, const struct tapir_reader *first,
				     struct tapir_reader **out);

/* For readings that read a recording more than once, with progress: ctx of these two; borrowed. */
struct tapir_long_read;
struct tapir_rereading {
	struct tapir_cli *cli;
	struct tapir_long_read *read;
};
int tapir_rereading__open_again(void *ctx, struct tapir_reader *first, struct tapir_reader **out);
bool tapir_rereading__should_continue(void *ctx); /* false: it was interrupted; a line says so */

/*
 * Opens FILE, the first word, calls work, and reports on stderr what could not be read: a missing
 * end, or (an error) damage. Returns what work returned, if < 0. What is missing in a file that
 * work did not read to its end (it returned TAPIR_RECORDING_IS_READ_IN_PART) is not known.
 */
#define TAPIR_RECORDING_IS_READ_IN_PART 1
/*
 * Opens FILE, lets work read it, and reports its damage. Returns what work returned, or -errno with
 * a line.
 */
int tapir_recording_file__read(struct tapir_cli *cli,
			       int (*work)(struct tapir_reader *reader, struct tapir_cli *cli));

/* Reports what of a file could not be read: 0, or -EBADMSG with a line. */
int tapir_recording_file__check_damage(const char *path, const struct tapir_reader_stats *stats);

/* The choices of the options above, and of --symbols. */
struct tapir_show_opts {
	const struct tapir_symbol_args *symbols;
	const struct tapir_words *manifests; /* NULL: the command shows no events */
	bool raw_names, is_async;
	bool has_pager; /* on a terminal */
};

/* The same for commands that show names. */
int tapir_recording_file__show(struct tapir_cli *cli, const struct tapir_show_opts *opts,
			       int (*work)(struct tapir_reader *reader, struct tapir_cli *cli));

#endif
