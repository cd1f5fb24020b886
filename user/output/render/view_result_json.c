// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A result for a program. Times and sizes are whole numbers in the unit of their key ("took_ns"); a
 * cell that is not known is null, which is not 0.
 */
#include "base/json.h"
#include "output/render/view_result_print.h"

static void json_stack(struct tapir_json *j, const char *key, const struct tapir_stack_tree *tree,
		       uint32_t node)
{
	struct tapir_str label = {};

	tapir_json__open(j, key, '[');
	for (uint32_t n = node; n; n = tree->nodes.data[n].parent) {
		tapir_str__clear(&label);
		tapir_stack_tree__add_label(&label, tree, n);
		tapir_json__strn(j, NULL, label.data ? label.data : "", label.len);
	}
	tapir_json__close(j, ']');
	tapir_str__fini(&label);
}

void tapir_view_result__json_cell(struct tapir_json *j, const struct tapir_view_result *result,
				  const struct tapir_column *column, const struct tapir_cell *cell)
{
	if (!cell->is_there)
		tapir_json__null(j, column->key);
	else if (column->type == TAPIR_CELL_TEXT)
		tapir_json__str(j, column->key, cell->text);
	else if (column->type == TAPIR_CELL_PERCENT || column->type == TAPIR_CELL_NUMBER)
		tapir_json__f64(j, column->key, cell->f64);
	else if (column->type == TAPIR_CELL_STACK || column->type == TAPIR_CELL_ORIGIN)
		json_stack(j, column->key, result->tree, (uint32_t)cell->u64);
	else
		tapir_json__u64(j, column->key, cell->u64);
}

static void json_table(struct tapir_json *j, const struct tapir_view_result *result, size_t idx);

static void json_tables_of(struct tapir_json *j, const struct tapir_view_result *result,
			   size_t parent, size_t row)
{
	for (size_t i = 0; i < result->tables.cnt; i++)
		if (result->tables.data[i].parent == parent &&
		    (parent == TAPIR_VIEW_RESULT_NO_PARENT ||
		     result->tables.data[i].parent_row == row))
			json_table(j, result, i);
}

static void json_table(struct tapir_json *j, const struct tapir_view_result *result, size_t idx)
{
	const struct tapir_view_result_table *t = &result->tables.data[idx];

	tapir_json__open(j, t->key, '[');
	for (size_t row = 0; row < tapir_view_result_table__rows(t); row++) {
		tapir_json__open(j, NULL, '{');
		for (unsigned c = 0; c < t->column_cnt; c++)
			tapir_view_result__json_cell(j, result, &t->columns[c],
						     &t->cells.data[row * t->column_cnt + c]);
		json_tables_of(j, result, idx, row);
		tapir_json__close(j, '}');
	}
	tapir_json__close(j, ']');
}

void tapir_view_result__write_json(const struct tapir_view_result *result, struct tapir_str *out)
{
	struct tapir_json j = tapir_json__to(out);

	tapir_json__open(&j, NULL, '{');
	tapir_json__str(&j, "view", result->view);
	tapir_json__str(&j, "headline", result->headline.data);
	if (result->is_unrecorded)
		tapir_json__bool(&j, "recorded", false);
	for (size_t i = 0; i < result->facts.cnt; i++)
		tapir_view_result__json_cell(&j, result, &result->facts.data[i].column,
					     &result->facts.data[i].cell);
	json_tables_of(&j, result, TAPIR_VIEW_RESULT_NO_PARENT, 0);
	tapir_json__open(&j, "notes", '[');
	for (size_t i = 0; i < result->notes.cnt; i++)
		tapir_json__str(&j, NULL, result->notes.data[i]);
	tapir_json__close(&j, ']');
	tapir_json__close(&j, '}');
	tapir_str__addc(out, '\n');
}
