/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * view_result_print.h - what a view found, as text for a person and as JSON for a program. One
 * thread.
 */
#ifndef TAPIR_USER_VIEW_RESULT_PRINT_H
#define TAPIR_USER_VIEW_RESULT_PRINT_H

#include "analyze/view_result.h"
#include "base/json.h"
#include "output/render/screen.h"

/* Appends the result as text; its tables fit the terminal. */
void tapir_view_result__write_text(const struct tapir_view_result *result,
				   const struct tapir_palette *p, struct tapir_str *out);
/* Writes one document: "view", "headline", the facts, the tables by their keys, "notes". */
void tapir_view_result__write_json(const struct tapir_view_result *result, struct tapir_str *out);

/* Adds a cell as a member of the open object. */
void tapir_view_result__json_cell(struct tapir_json *j, const struct tapir_view_result *result,
				  const struct tapir_column *column, const struct tapir_cell *cell);
/*
 * Writes the rows of its tables, an object a line: "table", its key, then the cells. Rows of a
 * table that belongs to a row follow that row.
 */
void tapir_view_result__write_jsonl(const struct tapir_view_result *result, struct tapir_str *out);
/*
 * Writes the tables, each with a line of keys, separated by an empty line; those of rows are left
 * out.
 */
void tapir_view_result__write_csv(const struct tapir_view_result *result, struct tapir_str *out);

#endif
