/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * page_data.h - what a page knows of a recording, as one JSON document in bounded memory: the first
 * screen, the report, the views, and rows of samples, events, waits, intervals and counters, from
 * which its script draws. "left_out" has a sentence for each bound that was reached.
 *
 * Texts are those of traced processes; no character of the document can end an element of HTML.
 * For output/page and its tests. One thread.
 */
#ifndef TAPIR_USER_PAGE_DATA_H
#define TAPIR_USER_PAGE_DATA_H

#include "base/str.h"
#include "trace/reader.h"

/* So that a page has at most 10 MB. */
#define TAPIR_PAGE_MAX_SAMPLES	 (1u << 19)
#define TAPIR_PAGE_MAX_EVENTS	 (1u << 16)
#define TAPIR_PAGE_MAX_WAITS	 (1u << 16)
#define TAPIR_PAGE_MAX_INTERVALS (1u << 16)
#define TAPIR_PAGE_MAX_COUNTERS	 (1u << 16) /* values */
#define TAPIR_PAGE_MAX_THREADS	 (1u << 14)
#define TAPIR_PAGE_MAX_NODES	 100000u
#define TAPIR_PAGE_NAME_BYTES	 (2u << 20)
#define TAPIR_PAGE_FIELD_BYTES	 (1u << 20)
#define TAPIR_PAGE_REPORT_BYTES	 (1u << 20) /* of the report, and of each view */

struct tapir_where;

struct tapir_page_opts {
	const char *path;	   /* as messages call the recording */
	bool unfold;		   /* stacks with each frame (analyze/frame_runs.h) */
	struct tapir_where *where; /* borrowed; what is shown; NULL: all */
	/* Called every few thousand records; false: reading ends with -ECANCELED. NULL: never. */
	bool (*should_continue)(void *ctx);
	void *ctx;
};

/* reader: before its first record; borrowed, and read to its end. 0 or -errno with a line. */
int tapir_page_data__write(struct tapir_reader *reader, const struct tapir_page_opts *opts,
			   struct tapir_str *out);

#endif
