// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Limits on a table's key (mostly its time), and equality with numbers and words at known places,
 * are checked here before SQLite sees a row. SQLite checks them again: a limit may be left out
 * here whenever it is not certain. A table of records that is read for the second time, as the
 * inner one of a join, is kept in memory, with the columns that the statement uses, in the order of
 * its key.
 */
#include "output/query/query_module.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RECORDS_BETWEEN_CHECKS 4096
#define MAX_EQUALS	       6

struct module_table {
	sqlite3_vtab base;
	struct tapir_query_source *source;
	const struct tapir_table_desc *desc;
};

struct equal {
	const struct tapir_sql_column *column;
	uint64_t number;
	char *text; /* NULL: the number */
	size_t len;
};

struct kept_row {
	uint64_t key;
	sqlite3_int64 rowid;
	const struct tapir_sql_value *cells; /* of used columns alone, in their order */
};

struct cursor {
	sqlite3_vtab_cursor base;
	struct tapir_scan scan;
	struct tapir_reader *reader; /* NULL: no record is read */
	struct tapir_event_lines *lines;
	const void *row; /* a record, or a row of a list */
	bool is_end, was_read;
	uint64_t read_cnt;
	sqlite3_int64 rowid; /* the same of a row, whatever the limits: SQLite unites rows by it */
	/* The limits of the statement. */
	uint64_t from_key, until_key;
	struct equal equals[MAX_EQUALS];
	unsigned equal_cnt;
	/* A list, or rows that are kept. */
	const struct tapir_list *list;
	struct tapir_vec(struct kept_row) kept;
	bool is_kept;
	size_t at;
	uint64_t used; /* by kept rows: bit per column; the last one: it and all after it */
};

static const struct module_table *table_of(const struct cursor *c)
{
	return (const struct module_table *)c->base.pVtab;
}

/* ---- schema ------------------------------------------------------------------------------------- */

struct aux {
	struct tapir_query_source *source;
	const struct tapir_table_desc *desc;
};

static int on_connect(sqlite3 *db, void *ctx, int argc, const char *const *argv, sqlite3_vtab **out,
		      char **error)
{
	const struct aux *aux = ctx;
	const struct tapir_sql_column *column = aux->desc->columns;
	sqlite3_str *sql = sqlite3_str_new(db);
	struct module_table *table;
	char *text;
	int rc;

	(void)argc, (void)argv, (void)error;
	for (; column->name; column++)
		sqlite3_str_appendf(sql, "%s\"%w\" %s",
				    column == aux->desc->columns ? "CREATE TABLE t(" : ", ",
				    column->name, tapir_sql_column__type(column));
	sqlite3_str_appendf(sql, ")");
	text = sqlite3_str_finish(sql);
	/*
	 * SQLite runs the statement through the authorizer, which refuses CREATE TABLE from anyone
	 * else.
	 */
	aux->source->is_declaring = true;
	rc = text ? sqlite3_declare_vtab(db, text) : SQLITE_NOMEM;
	aux->source->is_declaring = false;
	sqlite3_free(text);
	if (rc)
		return rc;
	table = sqlite3_malloc(sizeof(*table));
	if (!table)
		return SQLITE_NOMEM;
	*table = (struct module_table){.source = aux->source, .desc = aux->desc};
	(void)sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS);
	*out = &table->base;
	return SQLITE_OK;
}

static int on_disconnect(sqlite3_vtab *table)
{
	sqlite3_free(table);
	return SQLITE_OK;
}

/* ---- which limits are used ------------------------------------------------------------------------ */

static bool is_key(const struct tapir_table_desc *desc, const struct tapir_sql_column *column)
{
	return (column->kind == TAPIR_COLUMN_SECONDS || column == &desc->columns[desc->key]) &&
	       column->offset == desc->columns[desc->key].offset;
}

static bool is_number(const struct tapir_sql_column *column)
{
	return column->kind == TAPIR_COLUMN_U32 || column->kind == TAPIR_COLUMN_ID ||
	       column->kind == TAPIR_COLUMN_U64 || column->kind == TAPIR_COLUMN_ID64;
}

static bool is_word(const struct tapir_sql_column *column)
{
	return column->kind == TAPIR_COLUMN_MADE || column->kind == TAPIR_COLUMN_TEXT;
}

static bool is_limit(int op)
{
	return op == SQLITE_INDEX_CONSTRAINT_GT || op == SQLITE_INDEX_CONSTRAINT_GE ||
	       op == SQLITE_INDEX_CONSTRAINT_LT || op == SQLITE_INDEX_CONSTRAINT_LE;
}

/* Passes the columns that are used, then column and operator of each value to on_filter. */
static int on_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
	const struct tapir_table_desc *desc = ((struct module_table *)base)->desc;
	sqlite3_str *text = sqlite3_str_new(NULL);
	double rows = desc->usual_rows, cost;
	bool has_key = false;
	int args = 0;

	sqlite3_str_appendf(text, "%llx", (unsigned long long)info->colUsed);
	for (int i = 0; i < info->nConstraint; i++) {
		const struct sqlite3_index_constraint *k = &info->aConstraint[i];
		const struct tapir_sql_column *column;
		bool is_equal = k->op == SQLITE_INDEX_CONSTRAINT_EQ, is_of_key;

		if (!k->usable || k->iColumn < 0 || (!is_equal && !is_limit(k->op)))
			continue;
		column = &desc->columns[k->iColumn];
		is_of_key = is_key(desc, column);
		if (!is_of_key &&
		    !(is_equal && (is_number(column) ||
				   (is_word(column) &&
				    !sqlite3_stricmp(sqlite3_vtab_collation(info, i), "BINARY")))))
			continue;
		info->aConstraintUsage[i].argvIndex = ++args;
		sqlite3_str_appendf(text, " %d,%d", k->iColumn, k->op);
		rows /= is_equal ? 20 : 4;
		has_key |= is_of_key;
	}
	/* All records are read, but for a key of rows that are kept. */
	cost = has_key ? rows * 2 + 20 : rows + desc->usual_rows;
	info->estimatedCost = cost;
	info->estimatedRows = rows < 1 ? 1 : (sqlite3_int64)rows;
	info->idxStr = sqlite3_str_finish(text);
	info->needToFreeIdxStr = 1;
	return info->idxStr ? SQLITE_OK : SQLITE_NOMEM;
}

/* ---- cursors ------------------------------------------------------------------------------------- */

static int open_query_cursor(sqlite3_vtab *base, sqlite3_vtab_cursor **out)
{
	struct cursor *c = calloc(1, sizeof(*c));

	(void)base;
	*out = c ? &c->base : NULL;
	return c ? SQLITE_OK : SQLITE_NOMEM;
}

static void close_reader(struct cursor *c, bool has_ended)
{
	tapir_event_lines__free(c->lines);
	c->lines = NULL;
	/* The next reader has a catalog of its own. */
	tapir_scan__forget_catalog(&c->scan);
	if (c->reader)
		tapir_query_source__close(table_of(c)->source, c->reader, has_ended);
	c->reader = NULL;
	c->row = NULL;
}

static void forget_limits(struct cursor *c)
{
	while (c->equal_cnt)
		free(c->equals[--c->equal_cnt].text);
	c->from_key = 0;
	c->until_key = UINT64_MAX;
}

static int close_query_cursor(sqlite3_vtab_cursor *base)
{
	struct cursor *c = (struct cursor *)base;

	close_reader(c, false);
	forget_limits(c);
	tapir_vec__fini(&c->kept);
	tapir_scan__fini(&c->scan);
	free(c);
	return SQLITE_OK;
}

/* Returns the code with which SQLite stops; the text is in the diagnostic list. */
static int stop_cursor(struct cursor *c, int err)
{
	table_of(c)->source->err = err;
	return err == -ENOMEM ? SQLITE_NOMEM : err == -EINTR ? SQLITE_INTERRUPT : SQLITE_ERROR;
}

/* ---- limits -------------------------------------------------------------------------------------- */

/* A time in seconds loses some nanoseconds in its fraction. */
#define SECONDS_SLACK_NS 1000

/* Rows are in the order of the number without its sign: only one that is equal is found by it. */
static void limit_bits(struct cursor *c, int op, sqlite3_value *value)
{
	if (op != SQLITE_INDEX_CONSTRAINT_EQ || sqlite3_value_type(value) != SQLITE_INTEGER)
		return;
	c->from_key = c->until_key = (uint64_t)sqlite3_value_int64(value);
}

static void limit_key(struct cursor *c, bool is_seconds, int op, sqlite3_value *value)
{
	bool is_low = op != SQLITE_INDEX_CONSTRAINT_LT && op != SQLITE_INDEX_CONSTRAINT_LE;
	bool is_high = op != SQLITE_INDEX_CONSTRAINT_GT && op != SQLITE_INDEX_CONSTRAINT_GE;
	double at = sqlite3_value_double(value), low, high;
	int type = sqlite3_value_numeric_type(value);
	uint64_t from, until;

	if (type != SQLITE_INTEGER && type != SQLITE_FLOAT)
		return;
	if (!is_seconds && type == SQLITE_INTEGER) {
		sqlite3_int64 exact = sqlite3_value_int64(value);

		from = until = exact > 0 ? (uint64_t)exact : 0;
	} else {
		at = is_seconds ? at * 1e9 + (double)c->scan.start_ns : at;
		/* A double of that size is not more precise. */
		low = at - SECONDS_SLACK_NS - fabs(at) * 1e-15;
		high = at + SECONDS_SLACK_NS + fabs(at) * 1e-15;
		from = low > 0 ? low < 1.8e19 ? (uint64_t)low : UINT64_MAX : 0;
		until = high > 0 ? high < 1.8e19 ? (uint64_t)high : UINT64_MAX : 0;
	}
	if (is_low && from > c->from_key)
		c->from_key = from;
	if (is_high && until < c->until_key)
		c->until_key = until;
}

static int add_equal(struct cursor *c, const struct tapir_sql_column *column, sqlite3_value *value)
{
	int type = sqlite3_value_type(value);
	struct equal *e = &c->equals[c->equal_cnt];

	if (c->equal_cnt == MAX_EQUALS)
		return SQLITE_OK;
	*e = (struct equal){.column = column};
	if (is_number(column)) {
		/*
		 * SQLite compares again whatever is passed on here: what does not fit is left to
		 * it, and costs time, not rows.
		 */
		if (type != SQLITE_INTEGER || sqlite3_value_int64(value) < 0)
			return SQLITE_OK;
		e->number = (uint64_t)sqlite3_value_int64(value);
	} else {
		const char *text =
			type == SQLITE_TEXT ? (const char *)sqlite3_value_text(value) : NULL;

		if (!text)
			return SQLITE_OK;
		e->len = (size_t)sqlite3_value_bytes(value);
		e->text = malloc(e->len + 1);
		if (!e->text)
			return SQLITE_NOMEM;
		memcpy(e->text, text, e->len);
		e->text[e->len] = 0;
	}
	c->equal_cnt++;
	return SQLITE_OK;
}

static int take_limits(struct cursor *c, const char *plan, int argc, sqlite3_value **argv)
{
	const struct tapir_table_desc *desc = table_of(c)->desc;
	char *end; /* after the columns that are used */
	int rc = SQLITE_OK;

	forget_limits(c);
	(void)strtoull(plan, &end, 16);
	for (int i = 0; i < argc && !rc; i++) {
		const struct tapir_sql_column *column = &desc->columns[strtol(end, &end, 10)];
		int op = (int)strtol(end + 1, &end, 10);

		if (column->kind == TAPIR_COLUMN_BITS64 && is_key(desc, column))
			limit_bits(c, op, argv[i]);
		else if (is_key(desc, column))
			limit_key(c, column->kind == TAPIR_COLUMN_SECONDS, op, argv[i]);
		else
			rc = add_equal(c, column, argv[i]);
	}
	return rc;
}

static bool is_equal(struct cursor *c, const struct equal *e, const void *row)
{
	struct tapir_sql_value cell;

	if (!e->text)
		return tapir_sql_column__u64(e->column, row) == e->number;
	tapir_sql_column__read(&c->scan, e->column, row, &cell);
	return cell.type == TAPIR_SQL_TEXT && cell.len == e->len &&
	       !memcmp(cell.text, e->text, e->len);
}

static bool is_wanted_row(struct cursor *c, const void *row)
{
	const struct tapir_table_desc *desc = table_of(c)->desc;
	uint64_t key = tapir_sql_column__u64(&desc->columns[desc->key], row);

	if (key < c->from_key || key > c->until_key)
		return false;
	for (unsigned i = 0; i < c->equal_cnt; i++)
		if (!is_equal(c, &c->equals[i], row))
			return false;
	return true;
}

/* ---- records from the file ------------------------------------------------------------------------ */

static int next_record(struct cursor *c)
{
	const struct module_table *table = table_of(c);
	const struct tapir_rec *rec;
	int err;

	while ((err = tapir_reader__next(c->reader, &rec)) > 0) {
		if (!(++c->read_cnt % RECORDS_BETWEEN_CHECKS) &&
		    tapir_query_source__has_ended(table->source))
			return stop_cursor(c, -EINTR);
		c->scan.values = NULL;
		if (!tapir_table__has(table->desc, &c->scan, rec))
			continue;
		c->rowid++;
		if (!is_wanted_row(c, rec))
			continue;
		c->row = rec;
		return SQLITE_OK;
	}
	close_reader(c, !err);
	c->is_end = true;
	return err ? stop_cursor(c, err) : SQLITE_OK;
}

static int start_reader(struct cursor *c)
{
	const struct module_table *table = table_of(c);
	int err = tapir_query_source__open(table->source, &c->reader);

	if (err)
		return stop_cursor(c, err);
	tapir_reader__deliver_descriptions(c->reader,
					   tapir_rec_type__describes(table->desc->rec_type));
	c->scan.catalog = tapir_reader__catalog(c->reader);
	c->scan.lines = c->lines =
		tapir_event_lines__new(TAPIR_EVENT_JSON, c->scan.catalog, c->scan.start_ns);
	return c->lines ? SQLITE_OK : stop_cursor(c, -ENOMEM);
}

/* ---- rows that are kept ---------------------------------------------------------------------------- */

static bool is_used(const struct cursor *c, unsigned column)
{
	return c->used >> (column < 63 ? column : 63) & 1;
}

/* Rows often have the text of the one before. */
static bool keep_text(struct cursor *c, struct tapir_sql_value *cell,
		      const struct tapir_sql_value *before)
{
	if (cell->type != TAPIR_SQL_TEXT)
		return true;
	if (before && before->type == TAPIR_SQL_TEXT && before->len == cell->len &&
	    !memcmp(before->text, cell->text, cell->len)) {
		cell->text = before->text;
		return true;
	}
	cell->text = tapir_arena__text(&table_of(c)->source->arena, cell->text, cell->len);
	return cell->text;
}

/*
 * Texts that are those of the row before are shared with it: most rows repeat the names of
 * processes and functions.
 */
static int keep_row(struct cursor *c)
{
	const struct tapir_table_desc *desc = table_of(c)->desc;
	const struct kept_row *before = c->kept.cnt ? &c->kept.data[c->kept.cnt - 1] : NULL;
	unsigned column_cnt = tapir_table__column_cnt(desc), cnt = 0, at = 0;
	struct kept_row row = {.key = tapir_sql_column__u64(&desc->columns[desc->key], c->row),
			       .rowid = c->rowid};
	struct tapir_sql_value *cells;

	for (unsigned i = 0; i < column_cnt; i++)
		cnt += is_used(c, i);
	cells = tapir_arena__alloc(&table_of(c)->source->arena, cnt * sizeof(*cells) + 1);
	if (!cells)
		return stop_cursor(c, -ENOMEM);
	for (unsigned i = 0; i < column_cnt; i++) {
		if (!is_used(c, i))
			continue;
		tapir_sql_column__read(&c->scan, &desc->columns[i], c->row, &cells[at]);
		if (c->scan.text.failed ||
		    !keep_text(c, &cells[at], before ? &before->cells[at] : NULL))
			return stop_cursor(c, -ENOMEM);
		at++;
	}
	row.cells = cells;
	return tapir_vec__push(&c->kept, row) ? SQLITE_OK : stop_cursor(c, -ENOMEM);
}

static int by_key(const void *a, const void *b)
{
	const struct kept_row *x = a, *y = b;

	return x->key < y->key ? -1 : x->key > y->key;
}

/* Keeps rows without limits, which differ the next time. */
static int keep_all(struct cursor *c)
{
	int rc;

	forget_limits(c);
	c->is_kept = false;
	c->kept.cnt = 0;
	c->rowid = 0;
	rc = start_reader(c);
	while (!rc && !(rc = next_record(c)) && !c->is_end)
		rc = keep_row(c);
	if (!rc && c->kept.cnt)
		qsort(c->kept.data, c->kept.cnt, sizeof(*c->kept.data), by_key);
	close_reader(c, !rc);
	c->is_kept = !rc;
	return rc;
}

static size_t row_cnt(const struct cursor *c)
{
	return c->list ? c->list->rows.cnt : c->kept.cnt;
}

static uint64_t key_at(const struct cursor *c, size_t at)
{
	const struct tapir_table_desc *desc = table_of(c)->desc;

	return c->list ? tapir_sql_column__u64(&desc->columns[desc->key], c->list->rows.data[at])
		       : c->kept.data[at].key;
}

static void find_first(struct cursor *c)
{
	size_t low = 0, high = row_cnt(c);

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (key_at(c, mid) < c->from_key)
			low = mid + 1;
		else
			high = mid;
	}
	c->at = low;
}

/* Finds the next row that is wanted, from c->at on. */
static void next_row(struct cursor *c)
{
	for (; c->at < row_cnt(c) && key_at(c, c->at) <= c->until_key; c->at++) {
		if (!c->list || is_wanted_row(c, c->list->rows.data[c->at])) {
			c->row = c->list ? c->list->rows.data[c->at] : NULL;
			c->rowid = c->list ? (sqlite3_int64)c->at + 1 : c->kept.data[c->at].rowid;
			return;
		}
	}
	c->is_end = true;
}

/* ---- what SQLite calls -------------------------------------------------------------------------- */

static int on_filter(sqlite3_vtab_cursor *base, int idx, const char *plan, int argc,
		     sqlite3_value **argv)
{
	struct cursor *c = (struct cursor *)base;
	const struct module_table *table = table_of(c);
	uint64_t used = strtoull(plan, NULL, 16); /* another plan may use other columns */
	bool is_again = c->was_read;
	int rc = SQLITE_OK;

	(void)idx;
	close_reader(c, false);
	c->scan.start_ns = table->source->start_ns;
	c->is_end = false;
	c->was_read = true;
	c->rowid = 0;
	if (table->desc->list) {
		c->list = tapir_query_source__list(table->source, table->desc->list);
		rc = c->list ? SQLITE_OK : stop_cursor(c, table->source->err);
	} else if (is_again && (!c->is_kept || used & ~c->used)) {
		c->used |= used;
		rc = keep_all(c);
		c->is_end = false;
	}
	if (!rc)
		rc = take_limits(c, plan, argc, argv);
	if (!rc && !c->list && !c->is_kept) {
		rc = start_reader(c);
		return rc ? rc : next_record(c);
	}
	if (!rc) {
		find_first(c);
		next_row(c);
	}
	return rc;
}

static int on_next(sqlite3_vtab_cursor *base)
{
	struct cursor *c = (struct cursor *)base;

	if (!c->list && !c->is_kept)
		return next_record(c);
	c->at++;
	next_row(c);
	return SQLITE_OK;
}

static int on_eof(sqlite3_vtab_cursor *base)
{
	return ((struct cursor *)base)->is_end;
}

static const struct tapir_sql_value *kept_cell(const struct cursor *c, int column)
{
	unsigned at = 0;

	for (int i = 0; i < column; i++)
		at += is_used(c, (unsigned)i);
	return &c->kept.data[c->at].cells[at];
}

static int on_column(sqlite3_vtab_cursor *base, sqlite3_context *ctx, int column)
{
	struct cursor *c = (struct cursor *)base;
	struct tapir_sql_value cell;

	if (c->is_kept)
		cell = *kept_cell(c, column);
	else
		tapir_sql_column__read(&c->scan, &table_of(c)->desc->columns[column], c->row,
				       &cell);
	if (c->scan.text.failed)
		return stop_cursor(c, -ENOMEM);
	switch (cell.type) {
	case TAPIR_SQL_INT:
		sqlite3_result_int64(ctx, cell.i64);
		break;
	case TAPIR_SQL_REAL:
		sqlite3_result_double(ctx, cell.f64);
		break;
	case TAPIR_SQL_TEXT:
		sqlite3_result_text(ctx, cell.text, (int)cell.len, SQLITE_TRANSIENT);
		break;
	default:
		sqlite3_result_null(ctx);
	}
	return SQLITE_OK;
}

static int on_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *out)
{
	*out = ((struct cursor *)base)->rowid;
	return SQLITE_OK;
}

int tapir_query_module__add(sqlite3 *db, struct tapir_query_source *source, const char *name,
			    const struct tapir_table_desc *table)
{
	/* Without xCreate a table of the module's name exists, and no other can be made of it. */
	static const sqlite3_module module = {.iVersion = 1,
					      .xConnect = on_connect,
					      .xBestIndex = on_best_index,
					      .xDisconnect = on_disconnect,
					      .xOpen = open_query_cursor,
					      .xClose = close_query_cursor,
					      .xFilter = on_filter,
					      .xNext = on_next,
					      .xEof = on_eof,
					      .xColumn = on_column,
					      .xRowid = on_rowid};
	struct aux *aux = malloc(sizeof(*aux));

	if (!aux)
		return SQLITE_NOMEM;
	*aux = (struct aux){source, table};
	return sqlite3_create_module_v2(db, name, &module, aux, free);
}
