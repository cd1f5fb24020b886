/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * top_filter.h - which rows of tapir top are shown: those with a part of a name or an id, or those
 * for which an expression (spec/expression.h) over the columns is true. One thread.
 */
#ifndef TAPIR_USER_TOP_FILTER_H
#define TAPIR_USER_TOP_FILTER_H

#include "cli/top_rows.h"
#include "spec/expression.h"

struct tapir_top_filter {
	char *text;		    /* NULL: all rows */
	struct tapir_expression *e; /* NULL: a part of the name, or an id */
	struct tapir_program program;
};

/*
 * Takes the place of what was set; NULL or "": all rows. option: what messages begin with; NULL: a
 * person types it, and what has no operator is a part of a name or an id. -EINVAL with lines: an
 * expression with a mistake, and all rows are shown; -ENOMEM.
 */
int tapir_top_filter__set(struct tapir_top_filter *f, const char *option, const char *text);
void tapir_top_filter__fini(struct tapir_top_filter *f);

/* Returns true if the row, of an interval of so many seconds, is one of those. */
bool tapir_top_filter__has(const struct tapir_top_filter *f, const struct tapir_top_row *row,
			   double seconds);

#endif
