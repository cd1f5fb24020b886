// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Each format has a function for the head, one for a row and one for the end. A table for people is
 * held until its end, because its widths depend on all rows; JSON and CSV are written as rows come.
 */
#include "output/query/query_output.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "decode/value.h"
#include "output/render/csv.h"
#include "output/render/table.h"

/* ---- columns ------------------------------------------------------------------------------------- */

static bool is_taken(const struct tapir_query_output *o, unsigned cnt, const char *name)
{
	for (unsigned i = 0; i < cnt; i++)
		if (!strcmp(o->names[i], name))
			return true;
	return false;
}

/* A member of a JSON object occurs once: the second "count" is "count_2". */
static char *output_column_name(const struct tapir_query_output *o, unsigned column)
{
	const char *name = tapir_query__column_name(o->query, column);
	char *made = strdup(name);

	for (unsigned n = 2; made && is_taken(o, column, made); n++) {
		free(made);
		if (asprintf(&made, "%s_%u", name, n) < 0)
			made = NULL;
	}
	return made;
}

/* ---- CSV ----------------------------------------------------------------------------------------- */

static void add_csv_cell(struct tapir_str *out, const struct tapir_sql_value *cell)
{
	const struct tapir_value real = {
		.type = TAPIR_FIELD_FLOAT, .size = sizeof(double), .f64 = cell->f64};

	switch (cell->type) {
	case TAPIR_SQL_INT:
		tapir_str__addd(out, cell->i64);
		break;
	case TAPIR_SQL_REAL:
		if (isfinite(cell->f64))
			tapir_value__add_text(out, &real);
		break;
	case TAPIR_SQL_TEXT:
		tapir_csv__add_text(out, cell->text, cell->len);
		break;
	default:
		break;
	}
}

static void add_csv_row(const struct tapir_query_output *o, struct tapir_str *out)
{
	struct tapir_sql_value cell;

	for (unsigned i = 0; i < o->column_cnt; i++) {
		if (i)
			tapir_str__addc(out, ',');
		tapir_query__cell(o->query, i, &cell);
		add_csv_cell(out, &cell);
	}
	tapir_str__adds(out, "\r\n");
}

/* ---- JSON ---------------------------------------------------------------------------------------- */

static void add_json_row(const struct tapir_query_output *o, struct tapir_str *out)
{
	struct tapir_json j = tapir_json__to(out);
	struct tapir_sql_value cell;

	if (o->format == TAPIR_QUERY_JSON && o->row_cnt > 1)
		tapir_str__adds(out, ",\n");
	tapir_json__open(&j, NULL, '{');
	for (unsigned i = 0; i < o->column_cnt; i++) {
		tapir_query__cell(o->query, i, &cell);
		if (cell.type == TAPIR_SQL_INT)
			tapir_json__i64(&j, o->names[i], cell.i64);
		else if (cell.type == TAPIR_SQL_REAL)
			tapir_json__f64(&j, o->names[i], cell.f64);
		else if (cell.type == TAPIR_SQL_TEXT)
			tapir_json__strn(&j, o->names[i], cell.text, cell.len);
		else
			tapir_json__null(&j, o->names[i]);
	}
	tapir_json__close(&j, '}');
	if (o->format == TAPIR_QUERY_JSONL)
		tapir_str__addc(out, '\n');
}

/* ---- a table ------------------------------------------------------------------------------------- */

static void keep_cell(struct tapir_query_output *o, const struct tapir_sql_value *cell)
{
	struct tapir_str text = {};
	bool is_number = cell->type == TAPIR_SQL_INT || cell->type == TAPIR_SQL_REAL;

	if (cell->type == TAPIR_SQL_INT)
		tapir_str__addd(&text, cell->i64);
	else if (cell->type == TAPIR_SQL_REAL)
		tapir_str__addf(&text, "%.10g", cell->f64);
	else if (cell->type == TAPIR_SQL_TEXT)
		tapir_str__add_printable(&text, cell->text, cell->len);
	if (!text.data)
		tapir_str__adds(&text, "");
	if (text.failed || !tapir_vec__push(&o->cells, text.data)) {
		tapir_str__fini(&text);
		o->failed = true;
	} else if (!tapir_vec__push(&o->is_number, is_number || cell->type == TAPIR_SQL_NULL)) {
		o->failed = true;
	}
}

static void keep_row(struct tapir_query_output *o)
{
	struct tapir_sql_value cell;

	for (unsigned i = 0; i < o->column_cnt && o->row_cnt <= TAPIR_QUERY_TABLE_ROWS; i++) {
		tapir_query__cell(o->query, i, &cell);
		keep_cell(o, &cell);
	}
}

/* In capitals, '>' in front where all values are numbers; an empty name is none. */
static char *title_of(const struct tapir_query_output *o, unsigned column)
{
	bool is_number = o->cells.cnt;
	char *title;

	for (size_t i = column; i < o->is_number.cnt; i += o->column_cnt)
		is_number &= o->is_number.data[i];
	if (asprintf(&title, "%s%s", is_number ? ">" : "",
		     *o->names[column] ? o->names[column] : "?") < 0)
		return NULL;
	for (char *c = title; *c; c++)
		*c = (unsigned char)*c < ' ' || *c == 0x7f ? '?' : (char)toupper((unsigned char)*c);
	return title;
}

/* A row a page, a column a line: for more columns than a table has. */
static void write_pages(const struct tapir_query_output *o, struct tapir_str *out)
{
	for (size_t i = 0; i + o->column_cnt <= o->cells.cnt; i += o->column_cnt) {
		tapir_str__addf(out, "%srow %zu\n", i ? "\n" : "", i / o->column_cnt + 1);
		for (unsigned c = 0; c < o->column_cnt; c++) {
			size_t from = out->len;

			tapir_str__adds(out, "  ");
			tapir_str__add_printable(out, o->names[c], strlen(o->names[c]));
			tapir_str__pad(out, from, 20);
			tapir_str__addf(out, "  %s\n", o->cells.data[i + c]);
		}
	}
}

static void write_query_table(struct tapir_query_output *o, const struct tapir_palette *p,
			      size_t fit_columns, struct tapir_str *out)
{
	char *titles[TAPIR_TABLE_MAX_COLUMNS + 1] = {};
	struct tapir_table table = {.titles = (const char *const *)titles,
				    .fit_columns = fit_columns};

	for (unsigned i = 0; i < o->column_cnt; i++) {
		titles[i] = title_of(o, i);
		o->failed |= !titles[i];
	}
	for (size_t i = 0; i < o->cells.cnt; i++)
		tapir_table__cell(&table, o->cells.data[i]);
	o->failed |= table.failed;
	if (!o->failed)
		tapir_table__write(&table, p, out);
	tapir_table__fini(&table);
	for (unsigned i = 0; i < o->column_cnt; i++)
		free(titles[i]);
}

/* ---- all of them --------------------------------------------------------------------------------- */

static void add_head(const struct tapir_query_output *o, struct tapir_str *out)
{
	if (o->format == TAPIR_QUERY_JSON)
		tapir_str__adds(out, "[");
	for (unsigned i = 0; o->format == TAPIR_QUERY_CSV && i < o->column_cnt; i++) {
		if (i)
			tapir_str__addc(out, ',');
		tapir_csv__add_text(out, o->names[i], strlen(o->names[i]));
	}
	if (o->format == TAPIR_QUERY_CSV)
		tapir_str__adds(out, "\r\n");
}

int tapir_query_output__init(struct tapir_query_output *o, const struct tapir_query *query,
			     enum tapir_query_format format, struct tapir_str *out)
{
	*o = (struct tapir_query_output){
		.format = format, .query = query, .column_cnt = tapir_query__column_cnt(query)};
	o->names = calloc(o->column_cnt + 1u, sizeof(*o->names));
	for (unsigned i = 0; o->names && i < o->column_cnt; i++) {
		o->names[i] = output_column_name(o, i);
		if (!o->names[i])
			return -ENOMEM;
	}
	if (!o->names)
		return -ENOMEM;
	add_head(o, out);
	return 0;
}

void tapir_query_output__add(struct tapir_query_output *o, struct tapir_str *out)
{
	o->row_cnt++;
	if (o->format == TAPIR_QUERY_TABLE)
		keep_row(o);
	else if (o->format == TAPIR_QUERY_CSV)
		add_csv_row(o, out);
	else
		add_json_row(o, out);
}

void tapir_query_output__end(struct tapir_query_output *o, const struct tapir_palette *p,
			     size_t fit_columns, struct tapir_str *out)
{
	if (o->format == TAPIR_QUERY_JSON)
		tapir_str__adds(out, "]\n");
	else if (o->format == TAPIR_QUERY_TABLE && o->column_cnt > TAPIR_TABLE_MAX_COLUMNS)
		write_pages(o, out);
	else if (o->format == TAPIR_QUERY_TABLE)
		write_query_table(o, p, fit_columns, out);
}

void tapir_query_output__fini(struct tapir_query_output *o)
{
	for (unsigned i = 0; o->names && i < o->column_cnt; i++)
		free(o->names[i]);
	free(o->names);
	for (size_t i = 0; i < o->cells.cnt; i++)
		free(o->cells.data[i]);
	tapir_vec__fini(&o->cells);
	tapir_vec__fini(&o->is_number);
}
