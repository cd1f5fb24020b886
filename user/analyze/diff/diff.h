/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * diff.h - what became slower or more from one recording to another. Figures are compared as rates,
 * per second or per request, so that recordings of different length compare.
 *
 * A figure has changed if the difference is larger than what the halves of each recording differ by
 * (diff_noise.h), than chance explains by the number of things, than what was lost, and than a
 * tenth. What is not known in one of the two is not compared: a count of 0 is known only if the
 * same was requested. One thread.
 */
#ifndef TAPIR_USER_DIFF_H
#define TAPIR_USER_DIFF_H

#include "analyze/diff/diff_read.h"
#include "analyze/view_result.h"

enum tapir_diff_figure {
	TAPIR_DIFF_COUNT,
	TAPIR_DIFF_SUM,
	TAPIR_DIFF_MEAN,
	TAPIR_DIFF_P50,
	TAPIR_DIFF_P90,
	TAPIR_DIFF_P99,
	TAPIR_DIFF_MAX,
	TAPIR_DIFF_FIGURE_CNT
};

const char *tapir_diff_figure__name(enum tapir_diff_figure figure); /* "count", "p99" */
const char *tapir_diff_kind__name(enum tapir_diff_kind kind);	    /* "requests", "cpu" */

enum tapir_diff_base { TAPIR_DIFF_AUTO, TAPIR_DIFF_PER_SECOND, TAPIR_DIFF_PER_REQUEST };

/* A figure in both recordings; [0]: of the first. */
struct tapir_diff_change {
	enum tapir_diff_kind kind;
	enum tapir_diff_figure figure;
	const char *name; /* a row's */
	bool is_known[2];
	double value[2];  /* ns, bytes, or a number; of rates: per second or per request */
	double threshold; /* a difference up to this is noise */
	bool is_changed;
	bool is_minor; /* another figure of the row shows the same, and more clearly */
};

struct tapir_diff {
	const struct tapir_diff_side *sides[2];		    /* borrowed */
	enum tapir_diff_base base;			    /* never AUTO */
	struct tapir_vec(struct tapir_diff_change) changes; /* all that was compared */
	uint64_t unknown_cnt[2]; /* rows of one recording: what the other has of them is unknown */
};

/* Compares two sides, which are borrowed until __fini. 0 or -ENOMEM. */
int tapir_diff__make(struct tapir_diff *diff, const struct tapir_diff_side *first,
		     const struct tapir_diff_side *second, enum tapir_diff_base base);
/*
 * Finds a figure of the row of that name, or "KIND:NAME"; of the first kind that has such a row.
 * False: neither recording has it.
 */
bool tapir_diff__find(const struct tapir_diff *diff, enum tapir_diff_figure figure,
		      const char *name, struct tapir_diff_change *out);
/* Returns after / before, or 1 if that is noise; HUGE_VAL: from nothing to something. */
double tapir_diff_change__ratio(const struct tapir_diff_change *change);

/* Returns true if its values are nanoseconds. */
bool tapir_diff_change__is_time(const struct tapir_diff_change *change);
/* Adds "12.3 ms", "4.2 /s", "1.5 MB": a value of the change. */
void tapir_diff_change__add_value(const struct tapir_diff_change *change, double value,
				  enum tapir_diff_base base, struct tapir_str *out);

/*
 * Writes the sentence, a table for each kind that has changes, and notes. names: what the
 * recordings are called; is_all: also what has not changed.
 */
void tapir_diff__write(struct tapir_diff *diff, const char *const names[2], uint64_t top,
		       bool is_all, struct tapir_view_result *result);
void tapir_diff__fini(struct tapir_diff *diff);

#endif
