/* SPDX-License-Identifier: GPL-2.0-or-later */
/* top_table.h - rows of tapir top as lines of text and as JSON. One thread. */
#ifndef TAPIR_USER_TOP_TABLE_H
#define TAPIR_USER_TOP_TABLE_H

#include "base/str.h"
#include "cli/top_filter.h"
#include "cli/top_rows.h"

/* Rows in the order in which they are shown; borrowed until the rows change. */
struct tapir_top_view {
	const struct tapir_top_rows *rows;
	struct tapir_vec(const struct tapir_top_row *) chosen;
	unsigned columns;     /* a bit each: those that say something and fit */
	size_t width;	      /* 0: no limit */
	double cpus, machine; /* there are; are used, < 0: not known */
	bool is_of_threads;
};

/*
 * Chooses rows, the most CPU time first. filter: NULL, or one that is not set: all that did
 * something. 0 or -ENOMEM. __fini in any case.
 */
int tapir_top_view__fill(struct tapir_top_view *view, const struct tapir_top_rows *rows,
			 bool of_threads, const struct tapir_top_filter *filter, size_t width);
void tapir_top_view__fini(struct tapir_top_view *view);

/* Appends a line, without a line feed, no wider than width. */
void tapir_top_view__add_head(const struct tapir_top_view *view, struct tapir_str *out);
void tapir_top_view__add_titles(const struct tapir_top_view *view, struct tapir_str *out);
void tapir_top_view__add_row(const struct tapir_top_view *view, const struct tapir_top_row *row,
			     struct tapir_str *out);
/* Appends one object on one line; at most top rows. */
void tapir_top_view__add_json(const struct tapir_top_view *view, uint64_t top,
			      struct tapir_str *out);

#endif
