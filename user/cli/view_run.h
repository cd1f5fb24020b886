/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * view_run.h - a recording through the timeline to a view, and what the view found printed. One
 * thread.
 */
#ifndef TAPIR_USER_VIEW_RUN_H
#define TAPIR_USER_VIEW_RUN_H

#include "decode/record_where.h"
#include "analyze/view.h"
#include "cli/options.h"
#include "trace/reader.h"

enum tapir_view_form { TAPIR_VIEW_TEXT, TAPIR_VIEW_JSON, TAPIR_VIEW_JSONL, TAPIR_VIEW_CSV };

struct tapir_view_request {
	const struct tapir_view *view;
	const char *path;		 /* of the recording, for messages */
	const char *arg;		 /* of the view */
	const struct tapir_words *pairs; /* --pair */
	const struct tapir_pids *pids, *tids;
	const char *trace_id;	    /* 32 digits; NULL: of every trace */
	uint64_t from_ns, until_ns; /* since the recording began; until_ns 0: to its end */
	struct tapir_where *where;  /* NULL: all */
	uint64_t top;
	enum tapir_view_form form;
	bool unfold;
};

/* The values of --pair. 0, -errno, or what tapir_cli__usage returned. */
int tapir_pair_option__name(const struct tapir_cli *cli, const struct tapir_words *words,
			    struct tapir_pairs *pairs);
/*
 * Call it after reading: a misspelt pair would look like one that was never begun. -ENODATA with a
 * line if no event has either name; a warning if only one is missing.
 */
int tapir_pair_option__check(const struct tapir_pairs *pairs, const char *path);

/*
 * Reads the recording, lets the view listen, prints its result. 0, -errno, or what tapir_cli__usage
 * returned.
 */
int tapir_view__run(struct tapir_reader *reader, struct tapir_cli *cli,
		    const struct tapir_view_request *request);

/*
 * Prints the result to standard output. 0 or -errno; -ENOMEM also when memory ran
 * out while it was made.
 */
int tapir_view_result__print(struct tapir_view_result *result, enum tapir_view_form form);

#endif
