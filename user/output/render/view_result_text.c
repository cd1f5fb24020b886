// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A result for a person: a column that is empty all the way down is left out; a stack is one line,
 * innermost function first, runs of frames folded, and where it is of use from the program's own
 * code on; --unfold shows all. On a terminal, what is too long for it is cut.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/frame_runs.h"
#include "analyze/app_code.h"
#include "analyze/view.h"
#include "output/render/human_units.h"
#include "output/render/view_result_print.h"
#include "output/render/table.h"
#include "symbol/frame_kind.h"
#include "output/render/screen.h"

#define STACK_COLUMNS 140 /* of the last column; others have half of it */
#define TEXT_COLUMNS  60
#define ALL_COLUMNS   65536
#define INDENT	      4 /* of the tables of a row */

static void add_node_label(struct tapir_str *out, const struct tapir_stack_tree *tree,
			   uint32_t node, size_t columns)
{
	size_t at = out->len;

	tapir_stack_tree__add_label(out, tree, node);
	if (out->len - at > columns)
		out->len = at + columns;
}

/* A run of frames, "f", or "f (x3)" of a function that calls itself; the node after them. */
static uint32_t add_result_frames(struct tapir_str *out, const struct tapir_view_result *result,
				  uint32_t node, size_t columns)
{
	const struct tapir_stack_tree *tree = result->tree;
	const struct tapir_tree_node *nodes = tree->nodes.data;
	struct tapir_frame_run run;
	uint32_t cnt = 1, next = tapir_frame_run__of_node(&run, tree, node);

	if (run.cnt > 1 && result->folds) {
		tapir_frame_run__add(&run, NULL, true, out);
		return next;
	}
	for (next = nodes[node].parent; next && nodes[next].name == nodes[node].name &&
					nodes[next].location == nodes[node].location;
	     next = nodes[next].parent)
		cnt++;
	add_node_label(out, tree, node, columns);
	if (cnt > 1)
		tapir_str__addf(out, " (x%u)", cnt);
	return next;
}

/* The first function that is shown, if none is the program's own. */
static uint32_t skip_kernel_and_runtime(const struct tapir_view_result *result, uint32_t node)
{
	const struct tapir_tree_node *nodes = result->tree->nodes.data;
	uint32_t at;

	for (at = node;
	     at && (nodes[at].kind == TAPIR_FRAME_KERNEL || nodes[at].kind == TAPIR_FRAME_RUNTIME);)
		at = nodes[at].parent;
	return at ? at : node;
}

static void add_text_tree_stack(struct tapir_str *out, const struct tapir_view_result *result,
				uint32_t node, bool is_origin, size_t columns)
{
	const struct tapir_stack_tree *tree = result->tree;
	const struct tapir_tree_node *nodes = tree->nodes.data;
	size_t from = out->len;
	bool is_from_own = is_origin && !result->unfold;
	uint32_t origin = is_from_own ? tapir_app_code__origin(tree, node) : 0;
	uint32_t at = origin ? origin : node;

	if (is_from_own && !origin)
		at = skip_kernel_and_runtime(result, node);
	columns = result->unfold ? ALL_COLUMNS : columns;
	while (at) {
		const char *name = tree->names.data[nodes[at].name];
		size_t len = strlen(name);

		/* A runtime's frames between two managed functions would hide the second one. */
		if (origin && result->folds && tapir_app_code__is_glue(&nodes[at], name)) {
			at = nodes[at].parent;
			continue;
		}
		if (out->len > from && out->len - from + len > columns) {
			tapir_str__adds(out, " < ...");
			return;
		}
		tapir_str__adds(out, out->len > from ? " < " : "");
		at = add_result_frames(out, result, at, columns);
	}
}

static void add_wrapped_text(struct tapir_str *out, const char *text, size_t columns)
{
	size_t len = strlen(text);

	tapir_str__add(out, text, len < columns ? len : columns);
	if (len > columns)
		tapir_str__adds(out, "...");
}

/* 0.5, 12.25, 1,234,567 */
static void add_result_number_text(struct tapir_str *out, double value)
{
	if (fabs(value) < 1e5 || fabs(value) > 1e15) {
		tapir_str__addf(out, "%g", value);
		return;
	}
	tapir_str__adds(out, value < 0 ? "-" : "");
	tapir_human__add_count(out, (uint64_t)(fabs(value) + 0.5));
}

static bool is_of_stacks(const struct tapir_column *column)
{
	return column->type == TAPIR_CELL_STACK || column->type == TAPIR_CELL_ORIGIN;
}

static void add_cell(struct tapir_str *out, const struct tapir_view_result *result,
		     const struct tapir_column *column, const struct tapir_cell *cell, bool is_last)
{
	char text[TAPIR_NS_TEXT_BYTES];

	/* Nothing is written for what is not known, which is not the same as 0. */
	if (!cell->is_there && is_of_stacks(column))
		tapir_str__adds(out, "[no stack]");
	switch (cell->is_there ? column->type : UINT8_MAX) {
	case TAPIR_CELL_TEXT:
		add_wrapped_text(out, cell->text, is_last ? 3 * TEXT_COLUMNS : TEXT_COLUMNS);
		break;
	case TAPIR_CELL_COUNT:
		tapir_human__add_count(out, cell->u64);
		break;
	case TAPIR_CELL_ID:
		tapir_str__addu(out, cell->u64);
		break;
	case TAPIR_CELL_NS:
		tapir_str__adds(out, tapir_ns__text(cell->u64, text));
		break;
	case TAPIR_CELL_TIME:
		tapir_str__addf(out, "%.3f s", (double)cell->u64 / 1e9);
		break;
	case TAPIR_CELL_BYTES:
		tapir_human__add_bytes(out, cell->u64);
		break;
	case TAPIR_CELL_PERCENT:
		tapir_str__addf(out, "%.1f%%", cell->f64);
		break;
	case TAPIR_CELL_NUMBER:
		add_result_number_text(out, cell->f64);
		break;
	case TAPIR_CELL_STACK:
	case TAPIR_CELL_ORIGIN:
		add_text_tree_stack(out, result, (uint32_t)cell->u64,
				    column->type == TAPIR_CELL_ORIGIN,
				    is_last ? STACK_COLUMNS : STACK_COLUMNS / 2);
		break;
	}
}

/* ---- tables --------------------------------------------------------------------------------- */

static const struct tapir_cell *cell_at(const struct tapir_view_result_table *t, size_t row,
					unsigned column)
{
	return &t->cells.data[row * t->column_cnt + column];
}

static bool is_shown(const struct tapir_view_result_table *t, unsigned column)
{
	if (!t->columns[column].title)
		return false;
	for (size_t row = 0; row < tapir_view_result_table__rows(t); row++)
		if (cell_at(t, row, column)->is_there)
			return true;
	return false;
}

static bool has_titles(const struct tapir_view_result_table *t)
{
	for (unsigned c = 0; c < t->column_cnt; c++)
		if (t->columns[c].title)
			return true;
	return false;
}

/* Returns true if text shows tables below it: those without titles are for programs alone. */
static bool has_tables(const struct tapir_view_result *result, size_t table)
{
	for (size_t i = table + 1; i < result->tables.cnt; i++)
		if (result->tables.data[i].parent == table && has_titles(&result->tables.data[i]))
			return true;
	return false;
}

/* Rows [first, last) of a table; titles are those of its columns that have something. */
static void write_result_rows(const struct tapir_view_result *result,
			      const struct tapir_view_result_table *t, size_t first, size_t last,
			      const struct tapir_palette *p, struct tapir_str *out)
{
	size_t indent = t->parent == TAPIR_VIEW_RESULT_NO_PARENT ? 0 : INDENT;
	size_t fit_columns = tapir_screen__fit_columns();
	const char *titles[TAPIR_TABLE_MAX_COLUMNS + 1] = {};
	unsigned shown[TAPIR_TABLE_MAX_COLUMNS], cnt = 0;
	struct tapir_table table = {
		.titles = titles,
		.fit_columns = fit_columns > indent ? fit_columns - indent : 0,
	};
	struct tapir_str text = {};

	/* A column that has nothing in any row takes no room on the screen; --json has all. */
	for (unsigned c = 0; c < t->column_cnt && cnt < TAPIR_TABLE_MAX_COLUMNS; c++)
		if (is_shown(t, c)) {
			shown[cnt] = c;
			titles[cnt++] = t->columns[c].title;
		}
	for (size_t row = first; cnt && row < last; row++)
		for (unsigned i = 0; i < cnt; i++) {
			tapir_str__clear(&text);
			add_cell(&text, result, &t->columns[shown[i]], cell_at(t, row, shown[i]),
				 i + 1 == cnt);
			tapir_table__cell(&table, text.data ? text.data : "");
		}
	if (cnt)
		tapir_table__write(&table, p, out);
	out->failed |= text.failed;
	tapir_str__fini(&text);
	tapir_table__fini(&table);
}

/* Adds the text of a row's own tables with an indent. */
static void add_indented(struct tapir_str *out, const char *text)
{
	while (*text) {
		size_t len = strcspn(text, "\n");

		tapir_str__addf(out, "%*s", INDENT, "");
		tapir_str__add(out, text, len);
		tapir_str__addc(out, '\n');
		text += len + (text[len] == '\n');
	}
}

static void write_tables_of(const struct tapir_view_result *result, size_t parent, size_t row,
			    const struct tapir_palette *p, struct tapir_str *out)
{
	struct tapir_str inner = {};

	for (size_t i = 0; i < result->tables.cnt; i++) {
		const struct tapir_view_result_table *t = &result->tables.data[i];

		if (t->parent != parent || t->parent_row != row || !t->cells.cnt)
			continue;
		write_result_rows(result, t, 0, tapir_view_result_table__rows(t), p, &inner);
	}
	if (inner.data)
		add_indented(out, inner.data);
	out->failed |= inner.failed;
	tapir_str__fini(&inner);
}

static void write_result_table(const struct tapir_view_result *result, size_t idx,
			       const struct tapir_palette *p, struct tapir_str *out)
{
	const struct tapir_view_result_table *t = &result->tables.data[idx];
	size_t rows = tapir_view_result_table__rows(t);

	if (t->parent != TAPIR_VIEW_RESULT_NO_PARENT || !rows)
		return;
	tapir_str__addc(out, '\n');
	if (t->title)
		tapir_str__addf(out, "%s%s%s\n", p->bold, t->title, p->off);
	if (!has_tables(result, idx)) {
		write_result_rows(result, t, 0, rows, p, out);
		return;
	}
	for (size_t row = 0; row < rows; row++) {
		tapir_str__adds(out, row ? "\n" : "");
		write_result_rows(result, t, row, row + 1, p, out);
		write_tables_of(result, idx, row, p, out);
	}
}

void tapir_view_result__write_text(const struct tapir_view_result *result,
				   const struct tapir_palette *p, struct tapir_str *out)
{
	char *const *note;

	tapir_str__adds(out, p->bold);
	if (result->headline.data)
		tapir_str__add_printable(out, result->headline.data, result->headline.len);
	tapir_str__adds(out, p->off);
	tapir_str__addc(out, '\n');
	for (size_t i = 0; i < result->facts.cnt; i++) {
		const struct tapir_fact *fact = &result->facts.data[i];

		if (!fact->column.title || !fact->cell.is_there)
			continue;
		tapir_str__addf(out, "%s: ", fact->column.title);
		add_cell(out, result, &fact->column, &fact->cell, true);
		tapir_str__addc(out, '\n');
	}
	for (size_t i = 0; i < result->tables.cnt; i++)
		write_result_table(result, i, p, out);
	if (result->notes.cnt)
		tapir_str__addc(out, '\n');
	tapir_vec_for_each (note, &result->notes)
		tapir_str__addf(out, "%s\n", *note);
}
