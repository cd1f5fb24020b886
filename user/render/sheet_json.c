// SPDX-License-Identifier: GPL-2.0-or-later
/* A sheet for a program. Times and sizes are whole numbers in the unit of their key. */
#include "base/json.h"
#include "render/sheet_view.h"

static void json_stack(struct tapir_json *j, const char *key, const struct tapir_stack_tree *tree,
		       uint32_t node)
{
	tapir_json__open(j, key, '[');
	for (uint32_t n = node; n; n = tree->nodes.data[n].parent)
		tapir_json__str(j, NULL, tree->names.data[tree->nodes.data[n].name]);
	tapir_json__close(j, ']');
}

static void json_cell(struct tapir_json *j, const struct tapir_sheet *sheet,
		      const struct tapir_column *column, const struct tapir_cell *cell)
{
	if (!cell->is_there)
		tapir_json__null(j, column->key);
	else if (column->type == TAPIR_CELL_TEXT)
		tapir_json__str(j, column->key, cell->text);
	else if (column->type == TAPIR_CELL_PERCENT || column->type == TAPIR_CELL_NUMBER)
		tapir_json__f64(j, column->key, cell->f64);
	else if (column->type == TAPIR_CELL_STACK || column->type == TAPIR_CELL_ORIGIN)
		json_stack(j, column->key, sheet->tree, (uint32_t)cell->u64);
	else
		tapir_json__u64(j, column->key, cell->u64);
}

static void json_table(struct tapir_json *j, const struct tapir_sheet *sheet, size_t idx);

static void json_tables_of(struct tapir_json *j, const struct tapir_sheet *sheet, size_t parent,
			   size_t row)
{
	for (size_t i = 0; i < sheet->tables.cnt; i++)
		if (sheet->tables.data[i].parent == parent &&
		    (parent == TAPIR_SHEET_NO_PARENT || sheet->tables.data[i].parent_row == row))
			json_table(j, sheet, i);
}

static void json_table(struct tapir_json *j, const struct tapir_sheet *sheet, size_t idx)
{
	const struct tapir_sheet_table *t = &sheet->tables.data[idx];

	tapir_json__open(j, t->key, '[');
	for (size_t row = 0; row < tapir_sheet_table__rows(t); row++) {
		tapir_json__open(j, NULL, '{');
		for (unsigned c = 0; c < t->column_cnt; c++)
			json_cell(j, sheet, &t->columns[c],
				  &t->cells.data[row * t->column_cnt + c]);
		json_tables_of(j, sheet, idx, row);
		tapir_json__close(j, '}');
	}
	tapir_json__close(j, ']');
}

void tapir_sheet__write_json(const struct tapir_sheet *sheet, struct tapir_str *out)
{
	struct tapir_json j = tapir_json__to(out);

	tapir_json__open(&j, NULL, '{');
	tapir_json__str(&j, "view", sheet->view);
	tapir_json__str(&j, "headline", sheet->headline.data);
	if (sheet->is_unrecorded)
		tapir_json__bool(&j, "recorded", false);
	for (size_t i = 0; i < sheet->facts.cnt; i++)
		json_cell(&j, sheet, &sheet->facts.data[i].column, &sheet->facts.data[i].cell);
	json_tables_of(&j, sheet, TAPIR_SHEET_NO_PARENT, 0);
	tapir_json__open(&j, "notes", '[');
	for (size_t i = 0; i < sheet->notes.cnt; i++)
		tapir_json__str(&j, NULL, sheet->notes.data[i]);
	tapir_json__close(&j, ']');
	tapir_json__close(&j, '}');
	tapir_str__addc(out, '\n');
}
