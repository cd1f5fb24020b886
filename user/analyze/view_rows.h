/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * view_rows.h - reads the rows of a view's result by the keys of its columns: for what shows them
 * elsewhere than in a report. Borrows the result, which is complete. Any thread.
 */
#ifndef TAPIR_USER_VIEW_ROWS_H
#define TAPIR_USER_VIEW_ROWS_H

#include "analyze/view_result.h"

struct tapir_view_rows {
	const struct tapir_view_result *result;
	size_t table; /* SIZE_MAX: there is none, which has no rows */
};

/* Returns the table of that key that is of no row. */
struct tapir_view_rows tapir_view_rows__of(const struct tapir_view_result *result, const char *key);
/* Returns the table of that key of a row of another one. */
struct tapir_view_rows tapir_view_rows__below(const struct tapir_view_rows *rows, size_t row,
					      const char *key);
size_t tapir_view_rows__cnt(const struct tapir_view_rows *rows);
/* These return a cell; none: it is empty, or there is no such column or row. */
uint64_t tapir_view_rows__u64(const struct tapir_view_rows *rows, size_t row, const char *key,
			      uint64_t none);
double tapir_view_rows__f64(const struct tapir_view_rows *rows, size_t row, const char *key,
			    double none);
/* Returns an empty text for none. Borrowed. */
const char *tapir_view_rows__text(const struct tapir_view_rows *rows, size_t row, const char *key);

#endif
