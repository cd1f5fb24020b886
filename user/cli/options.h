/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * options.h - commands and their options as tables; parsing, help, the man page and shell
 * completion are read from the same tables.
 *
 * A command is one file, cmd_NAME.c, with
 *
 *	struct args { uint64_t every_ns; bool json; };
 *	static const struct tapir_option options[] = {
 *		{"duration", 'd', "SEC", "stop after this time", TAPIR_OPTION_DURATION,
 *		 offsetof(struct args, duration_ns), .min = 1, .max = UINT64_MAX},
 *		{"json", 0, NULL, "one object a line", TAPIR_OPTION_FLAG,
 *		 offsetof(struct args, json)},
 *		{}};
 *	static int run(struct tapir_cli *cli) { struct args *args = cli->args; ... }
 *	const struct tapir_command tapir_cmd_NAME = {...};
 *
 * and one line in main.c. run() returns 0 or -errno, or what tapir_cli__usage returned; it
 * prints data on stdout only and leaves the reason of a failure in the diagnostic list. Main
 * thread.
 */
#ifndef TAPIR_USER_OPTIONS_H
#define TAPIR_USER_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct tapir_cli;

/* A value is what begins with a digit: "--pid 12 FILE", "--pid FILE", "--pid=12". */
struct tapir_pids_or_each {
	struct tapir_pids pids;
	bool each; /* given without one */
};
/* A value is the next word unless it is an option or holds a ':'; "--counters=A", "--counters A".
 */
struct tapir_words_or_default {
	struct tapir_words words;
	bool is_given; /* with or without one */
};

/* The same, where a value is the next word if it is a URL, a server's name or an existing
 * directory.
 */
struct tapir_sources_or_default {
	struct tapir_words words;
	bool has_default; /* given without one */
};

/* The type at an option's offset. */
enum tapir_option_type {
	TAPIR_OPTION_FLAG,		/* bool */
	TAPIR_OPTION_STRING,		/* const char *: borrowed from argv, the last one counts */
	TAPIR_OPTION_STRING_OR_DEFAULT, /* the same; without "=VALUE" the first of its table */
	TAPIR_OPTION_LIST,		/* struct tapir_words: one element each time it is given */
	TAPIR_OPTION_CHOICES,	   /* struct tapir_words: the values themselves, from their table */
	TAPIR_OPTION_PIDS,	   /* struct tapir_pids: repeated, or separated by commas */
	TAPIR_OPTION_U64,	   /* uint64_t in [min, max] */
	TAPIR_OPTION_ROWS,	   /* uint64_t: at least 1; 0 is all, which is max */
	TAPIR_OPTION_DURATION,	   /* uint64_t nanoseconds in [min, max]: tapir_duration__parse */
	TAPIR_OPTION_PIDS_OR_EACH, /* struct tapir_pids_or_each: as PIDS, or without a value */
	TAPIR_OPTION_LIST_OR_DEFAULT, /* struct tapir_words_or_default: as LIST, or without one */
	TAPIR_OPTION_SOURCES_OR_DEFAULT, /* struct tapir_places_or_default */
};

struct tapir_option {
	const char *name;     /* long name, without --; NULL ends a table */
	char letter;	      /* 0: none */
	const char *arg_name; /* "PID"; NULL for a flag */
	const char *help;     /* wrapped where it is printed */
	enum tapir_option_type type;
	size_t offset;
	uint64_t min, max; /* U64 and DURATION */
	/*
	 * The values of a STRING or of CHOICES, from the table that defines them: the i-th, or NULL
	 * after the last. "name=ARG" takes "name=" and any text. NULL: any text is taken.
	 */
	const char *(*value)(size_t i);
};

/* The offset of a member, checked at compile time to be what the option's type writes. */
#define TAPIR_OPTION_AT(args, member, type)                                                        \
	(offsetof(args, member) +                                                                  \
	 0 * sizeof(char[__builtin_types_compatible_p(__typeof__(((args *)0)->member), type)       \
				 ? 1                                                               \
				 : -1]))

#define TAPIR_FLAG(name, letter, help, args, member)                                               \
	{                                                                                          \
		name, letter, NULL, help, TAPIR_OPTION_FLAG, TAPIR_OPTION_AT(args, member, bool),  \
			0, 0, NULL                                                                 \
	}
#define TAPIR_STRING(name, letter, arg_name, help, args, member)                                   \
	{                                                                                          \
		name, letter, arg_name, help, TAPIR_OPTION_STRING,                                 \
			TAPIR_OPTION_AT(args, member, const char *), 0, 0, NULL                    \
	}
/* An option with one of the values that value_fn lists. */
#define TAPIR_CHOICE(name, letter, arg_name, help, args, member, value_fn)                         \
	{                                                                                          \
		name, letter, arg_name, help, TAPIR_OPTION_STRING,                                 \
			TAPIR_OPTION_AT(args, member, const char *), 0, 0, value_fn                \
	}
#define TAPIR_CHOICE_OR_DEFAULT(name, letter, arg_name, help, args, member, value_fn)              \
	{                                                                                          \
		name, letter, arg_name, help, TAPIR_OPTION_STRING_OR_DEFAULT,                      \
			TAPIR_OPTION_AT(args, member, const char *), 0, 0, value_fn                \
	}
/* Any of them, repeated or separated by commas. */
#define TAPIR_CHOICES(name, letter, arg_name, help, args, member, value_fn)                        \
	{                                                                                          \
		name, letter, arg_name, help, TAPIR_OPTION_CHOICES,                                \
			TAPIR_OPTION_AT(args, member, struct tapir_words), 0, 0, value_fn          \
	}
#define TAPIR_LIST(name, letter, arg_name, help, args, member)                                     \
	{                                                                                          \
		name, letter, arg_name, help, TAPIR_OPTION_LIST,                                   \
			TAPIR_OPTION_AT(args, member, struct tapir_words), 0, 0, NULL              \
	}
#define TAPIR_PIDS(name, letter, arg_name, help, args, member)                                     \
	{                                                                                          \
		name, letter, arg_name, help, TAPIR_OPTION_PIDS,                                   \
			TAPIR_OPTION_AT(args, member, struct tapir_pids), 0, 0, NULL               \
	}
#define TAPIR_PIDS_OR_EACH(name, letter, help, args, member)                                       \
	{                                                                                          \
		name, letter, "[PID]", help, TAPIR_OPTION_PIDS_OR_EACH,                            \
			TAPIR_OPTION_AT(args, member, struct tapir_pids_or_each), 0, 0, NULL       \
	}
#define TAPIR_LIST_OR_DEFAULT(name, letter, arg_name, help, args, member)                          \
	{                                                                                          \
		name, letter, arg_name, help, TAPIR_OPTION_LIST_OR_DEFAULT,                        \
			TAPIR_OPTION_AT(args, member, struct tapir_words_or_default), 0, 0, NULL   \
	}
#define TAPIR_SOURCES_OR_DEFAULT(name, letter, arg_name, help, args, member)                       \
	{                                                                                          \
		name, letter, arg_name, help, TAPIR_OPTION_SOURCES_OR_DEFAULT,                     \
			TAPIR_OPTION_AT(args, member, struct tapir_sources_or_default), 0, 0, NULL \
	}
#define TAPIR_U64(name, letter, arg_name, help, args, member, min, max)                            \
	{                                                                                          \
		name, letter, arg_name, help, TAPIR_OPTION_U64,                                    \
			TAPIR_OPTION_AT(args, member, uint64_t), min, max, NULL                    \
	}
#define TAPIR_TOP(help, args, member)                                                              \
	{                                                                                          \
		"top", 'n', "N", help, TAPIR_OPTION_ROWS, TAPIR_OPTION_AT(args, member, uint64_t), \
			0, UINT32_MAX, NULL                                                        \
	}
#define TAPIR_DURATION(name, letter, arg_name, help, args, member, min, max)                       \
	{                                                                                          \
		name, letter, arg_name, help, TAPIR_OPTION_DURATION,                               \
			TAPIR_OPTION_AT(args, member, uint64_t), min, max, NULL                    \
	}

/* A table, and the offset of its struct in the command's arguments: fragments are shared. */
struct tapir_option_group {
	const char *title; /* NULL: "Options" */
	const struct tapir_option *options;
	size_t offset;
};

struct tapir_positional {
	const char *name; /* "FILE"; NULL ends a table */
	const char *help;
	bool required;
	bool many;			/* the last one may repeat */
	bool is_path;			/* completion offers files */
	const char *(*value)(size_t i); /* completion offers these; NULL: none */
};

struct tapir_example {
	const char *command; /* without leading "tapir "; NULL ends a table */
	const char *description;
};

struct tapir_command {
	const char *name;
	const char *summary;  /* half a line, no full stop */
	const char *synopsis; /* after "tapir NAME " */
	const char *text;     /* a paragraph or more, for help and man page; lines <= 90 */
	const struct tapir_option_group *groups; /* ended by options == NULL; may be NULL */
	const struct tapir_positional *positionals;
	const struct tapir_example *examples;
	bool takes_program;	  /* "-- CMD ARGS" */
	bool reads_foreign_files; /* of other processes: base/foreign/helper.h */
	size_t args_bytes;	  /* of the struct the offsets point into */
	const void *defaults;	  /* its first value; NULL: zeros */
	/* Fills tables of its options that are made of another table, before any is read. */
	void (*make_options)(void);
	int (*run)(struct tapir_cli *cli);
};

/* One run of the program. */
struct tapir_cli {
	const char *name;			     /* of the program, for --version */
	const struct tapir_command *const *commands; /* all, ended by NULL */
	const char *default_command; /* of a command line that names none; NULL: it has none */
	char **argv;		     /* of main(), NULL-terminated: for a program that takes over */
	const struct tapir_command *command; /* NULL: not given */
	void *args;			     /* the command's own, filled */
	struct tapir_words words;	     /* what is no option */
	char **program;			     /* after "--", NULL-terminated; NULL: none */
	struct tapir_symbol_use *symbols;    /* of --symbols (cli/symbol_options.h); NULL: none */
	char *chosen_file; /* the default word (cli/recording_file.h); owned; NULL: none */
	bool wants_async;  /* of --async (cli/recording_file.h) */
	bool is_default;   /* command is default_command; a word may still name another one */
	bool want_help, want_version, is_verbose, is_quiet, no_pager;
	int exit_status; /* of a command that succeeded: that of the program it ran */
};

/* Not an errno: the command line was wrong (exit 2). */
#define TAPIR_CLI_USAGE (-10000)

extern const struct tapir_option tapir_global_options[];

/*
 * Fills everything but the first four. Failure: TAPIR_CLI_USAGE (not an errno: exit status 2) or
 * -ENOMEM; call fini all the same.
 */
int tapir_cli__parse(struct tapir_cli *cli, int argc, char **argv);
void tapir_cli__fini(struct tapir_cli *cli);

/* Parses text into *value (option_values.c). */
int tapir_option__set(struct tapir_cli *cli, const struct tapir_option *option, void *value,
		      const char *text);

/* Returns true if the word is a URL, a server's name or meant as a directory (option_values.c). */
bool tapir_option__is_source(const char *word);

/* Adds "COMMAND: line" to the diagnostics; returns TAPIR_CLI_USAGE. */
int tapir_cli__usage(const struct tapir_cli *cli, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Returns the exit status for a result: 0 ok, 1 failed, 2 usage, 3 unsupported or unprivileged. */
int tapir_cli__exit_code(int err);

/* Returns the command of that name; NULL: there is none. */
const struct tapir_command *tapir_cli__find(const struct tapir_cli *cli, const char *name);

#endif
