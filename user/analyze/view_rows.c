// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tables and columns are few: they are found by comparing keys. A row of a table that is not
 * complete does not exist, since the result failed then.
 */
#include "analyze/view_rows.h"

#include <string.h>

static struct tapir_view_rows find_table(const struct tapir_view_result *result, size_t parent,
					 size_t parent_row, const char *key)
{
	struct tapir_view_rows rows = {result, SIZE_MAX};

	for (size_t i = 0; i < result->tables.cnt && rows.table == SIZE_MAX; i++) {
		const struct tapir_view_result_table *t = &result->tables.data[i];

		if (t->parent == parent && t->parent_row == parent_row && !strcmp(t->key, key))
			rows.table = i;
	}
	return rows;
}

struct tapir_view_rows tapir_view_rows__of(const struct tapir_view_result *result, const char *key)
{
	return find_table(result, TAPIR_VIEW_RESULT_NO_PARENT, 0, key);
}

struct tapir_view_rows tapir_view_rows__below(const struct tapir_view_rows *rows, size_t row,
					      const char *key)
{
	return rows->table == SIZE_MAX ? *rows : find_table(rows->result, rows->table, row, key);
}

size_t tapir_view_rows__cnt(const struct tapir_view_rows *rows)
{
	return rows->table == SIZE_MAX
		       ? 0
		       : tapir_view_result_table__rows(&rows->result->tables.data[rows->table]);
}

static const struct tapir_cell *cell(const struct tapir_view_rows *rows, size_t row,
				     const char *key)
{
	const struct tapir_view_result_table *t;

	if (row >= tapir_view_rows__cnt(rows))
		return NULL;
	t = &rows->result->tables.data[rows->table];
	for (unsigned i = 0; i < t->column_cnt; i++) {
		const struct tapir_cell *found = &t->cells.data[row * t->column_cnt + i];

		if (!strcmp(t->columns[i].key, key))
			return found->is_there ? found : NULL;
	}
	return NULL;
}

uint64_t tapir_view_rows__u64(const struct tapir_view_rows *rows, size_t row, const char *key,
			      uint64_t none)
{
	const struct tapir_cell *found = cell(rows, row, key);

	return found ? found->u64 : none;
}

double tapir_view_rows__f64(const struct tapir_view_rows *rows, size_t row, const char *key,
			    double none)
{
	const struct tapir_cell *found = cell(rows, row, key);

	return found ? found->f64 : none;
}

const char *tapir_view_rows__text(const struct tapir_view_rows *rows, size_t row, const char *key)
{
	const struct tapir_cell *found = cell(rows, row, key);

	return found ? found->text : "";
}
