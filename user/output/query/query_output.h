/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * query_output.h - the rows of a query as a table for people, as JSON and as CSV. Texts are those
 * of traced processes: none controls a terminal, and in CSV none is a formula for a spreadsheet.
 * One thread.
 */
#ifndef TAPIR_USER_QUERY_OUTPUT_H
#define TAPIR_USER_QUERY_OUTPUT_H

#include "base/vec.h"
#include "output/query/query.h"
#include "output/render/screen.h"

enum tapir_query_format {
	TAPIR_QUERY_TABLE,
	TAPIR_QUERY_JSON,  /* an array of objects */
	TAPIR_QUERY_JSONL, /* an object a line */
	TAPIR_QUERY_CSV
};

/* Rows that a table for people has: its columns are as wide as these need. */
#define TAPIR_QUERY_TABLE_ROWS 10000u

struct tapir_query_output {
	enum tapir_query_format format;
	const struct tapir_query *query;
	unsigned column_cnt;
	char **names; /* of columns, all different */
	uint64_t row_cnt;
	struct tapir_vec(char *) cells;	     /* of a table */
	struct tapir_vec(uint8_t) is_number; /* per cell */
	bool failed;
};

/* After prepare. 0 or -ENOMEM. __fini in any case. */
int tapir_query_output__init(struct tapir_query_output *o, const struct tapir_query *query,
			     enum tapir_query_format format, struct tapir_str *out);
void tapir_query_output__add(struct tapir_query_output *o, struct tapir_str *out);
/* Completes the output. fit_columns: the width of the screen; 0: any. */
void tapir_query_output__end(struct tapir_query_output *o, const struct tapir_palette *p,
			     size_t fit_columns, struct tapir_str *out);
void tapir_query_output__fini(struct tapir_query_output *o);

#endif
