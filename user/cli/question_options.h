/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * question_options.h - options that ask instead of listing, the same in trace and events, and the
 * sources that they are about: SPECs, intervals by name, pairs of events, sentences and files of
 * these ('tapir help questions').
 */
#ifndef TAPIR_USER_QUESTION_OPTIONS_H
#define TAPIR_USER_QUESTION_OPTIONS_H

#include "analyze/interval_names.h"
#include "analyze/question.h"
#include "cli/options.h"

/* Values of the options, borrowed from the command line. */
struct tapir_question_args {
	const char *where; /* an expression; NULL: all hits count */
	bool count;
	struct tapir_words aggregates[TAPIR_AGGREGATE_CNT];
	struct tapir_words by, pairs;
	const char *until, *key;
	uint64_t top;	   /* rows; UINT32_MAX: all */
	uint64_t table_mb; /* for the rows of one question */
};

extern const struct tapir_option tapir_question_options[];
/* The values of top and table_mb that were not given. */
#define TAPIR_QUESTION_TOP 20
#define TAPIR_QUESTION_DEFAULTS                                                                    \
	{                                                                                          \
		.top = TAPIR_QUESTION_TOP, .table_mb = TAPIR_QUESTION_TABLE_MB                     \
	}

struct tapir_source;

/* The questions of a command line; zeros at first. */
struct tapir_cli_questions {
	struct tapir_questions *questions; /* NULL: there are none */
	struct tapir_words specs;	   /* what is to be recorded for it */
	bool has_table;			   /* a question adds up */
	uint64_t top;			   /* rows of a table; UINT32_MAX: all */
	/* for this file alone */
	struct tapir_vec(struct tapir_source *) sources;
	struct tapir_interval_specs texts;
};

/*
 * words: sources of the command line. is_of_file: a word that is no interval is a GLOB of the
 * file's events. Fills asked, which __fini releases in any case. 0, TAPIR_CLI_USAGE or -errno.
 */
int tapir_cli_questions__init(struct tapir_cli_questions *queries, const struct tapir_cli *cli,
			      const struct tapir_question_args *args,
			      const struct tapir_words *words, bool is_of_file,
			      const struct tapir_question_sink *sink);
void tapir_cli_questions__fini(struct tapir_cli_questions *queries);

/*
 * Appends the tables of all questions. since: of the interval that ends now, else of all until now.
 * from_ns, until_ns: its time, since the recording began. A lack of memory is in out->failed.
 */
void tapir_cli_questions__write(const struct tapir_cli_questions *queries, bool since, bool json,
				uint64_t from_ns, uint64_t until_ns, struct tapir_str *out);
/* Appends a hit of an interval as a line. start_ns: CLOCK_MONOTONIC, from which its times count. */
void tapir_hit__write(const struct tapir_hit *hit, bool json, uint64_t start_ns,
		      struct tapir_str *out);

#endif
