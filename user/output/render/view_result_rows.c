// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A result as rows, for spreadsheets and for programs that read line by line. A cell is written as
 * in the JSON document.
 */
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "decode/value.h"
#include "output/render/csv.h"
#include "output/render/view_result_print.h"

/* ---- JSON lines ---------------------------------------------------------------------------------- */

static void add_result_row(const struct tapir_view_result *result, size_t table, size_t row,
			   struct tapir_str *out)
{
	const struct tapir_view_result_table *t = &result->tables.data[table];
	struct tapir_json j = tapir_json__to(out);

	tapir_json__open(&j, NULL, '{');
	tapir_json__str(&j, "table", t->key);
	for (unsigned c = 0; c < t->column_cnt; c++)
		tapir_view_result__json_cell(&j, result, &t->columns[c],
					     &t->cells.data[row * t->column_cnt + c]);
	tapir_json__close(&j, '}');
	tapir_str__addc(out, '\n');
}

static void add_tables(const struct tapir_view_result *result, size_t parent, size_t parent_row,
		       struct tapir_str *out)
{
	for (size_t i = 0; i < result->tables.cnt; i++) {
		const struct tapir_view_result_table *t = &result->tables.data[i];

		if (t->parent != parent ||
		    (parent != TAPIR_VIEW_RESULT_NO_PARENT && t->parent_row != parent_row))
			continue;
		for (size_t row = 0; row < tapir_view_result_table__rows(t); row++) {
			add_result_row(result, i, row, out);
			add_tables(result, i, row, out);
		}
	}
}

void tapir_view_result__write_jsonl(const struct tapir_view_result *result, struct tapir_str *out)
{
	add_tables(result, TAPIR_VIEW_RESULT_NO_PARENT, 0, out);
}

/* ---- CSV ----------------------------------------------------------------------------------------- */

static void add_node_stack(const struct tapir_stack_tree *tree, uint32_t node,
			   struct tapir_str *out)
{
	struct tapir_str stack = {};

	for (uint32_t n = node; n; n = tree->nodes.data[n].parent) {
		if (n != node)
			tapir_str__addc(&stack, ';');
		tapir_stack_tree__add_label(&stack, tree, n);
	}
	tapir_csv__add_text(out, stack.data ? stack.data : "", stack.len);
	out->failed |= stack.failed;
	tapir_str__fini(&stack);
}

static void add_cell(const struct tapir_view_result *result, const struct tapir_column *column,
		     const struct tapir_cell *cell, struct tapir_str *out)
{
	const struct tapir_value real = {
		.type = TAPIR_FIELD_FLOAT, .size = sizeof(double), .f64 = cell->f64};

	if (!cell->is_there)
		return;
	if (column->type == TAPIR_CELL_TEXT)
		tapir_csv__add_text(out, cell->text ? cell->text : "",
				    cell->text ? strlen(cell->text) : 0);
	else if (column->type == TAPIR_CELL_STACK || column->type == TAPIR_CELL_ORIGIN)
		add_node_stack(result->tree, (uint32_t)cell->u64, out);
	else if (column->type != TAPIR_CELL_PERCENT && column->type != TAPIR_CELL_NUMBER)
		tapir_str__addu(out, cell->u64);
	else if (isfinite(cell->f64))
		tapir_value__add_text(out, &real);
}

static void add_table(const struct tapir_view_result *result,
		      const struct tapir_view_result_table *t, struct tapir_str *out)
{
	for (unsigned c = 0; c < t->column_cnt; c++) {
		if (c)
			tapir_str__addc(out, ',');
		tapir_str__adds(out, t->columns[c].key);
	}
	tapir_str__adds(out, "\r\n");
	for (size_t i = 0; i < t->cells.cnt; i++) {
		if (i % t->column_cnt)
			tapir_str__addc(out, ',');
		add_cell(result, &t->columns[i % t->column_cnt], &t->cells.data[i], out);
		if (i % t->column_cnt == t->column_cnt - 1)
			tapir_str__adds(out, "\r\n");
	}
}

void tapir_view_result__write_csv(const struct tapir_view_result *result, struct tapir_str *out)
{
	const struct tapir_view_result_table *t;
	bool has_one = false;

	tapir_vec_for_each (t, &result->tables) {
		if (t->parent != TAPIR_VIEW_RESULT_NO_PARENT)
			continue;
		if (has_one)
			tapir_str__adds(out, "\r\n");
		has_one = true;
		add_table(result, t, out);
	}
}
