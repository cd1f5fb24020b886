// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The database is in memory and stays empty: its tables are virtual. A statement is compiled after
 * the authorizer is set, which permits reading alone, so that neither a file nor an option of
 * SQLite can be reached. SQLite's own bounds keep a statement small; the progress handler and the
 * cursors check the time.
 */
#include "output/query/query.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/diag.h"
#include "output/query/query_events.h"
#include "output/query/query_module.h"
#include "output/render/help_text.h"

#define HEAP_MAX_BYTES	     (256 << 20) /* of SQLite: what it sorts and groups */
#define STEPS_BETWEEN_CHECKS 20000

struct tapir_query {
	struct tapir_query_source source;
	struct tapir_event_tables events;
	bool has_events;
	sqlite3 *db;
	sqlite3_stmt *statement;
};

/* ---- the database --------------------------------------------------------------------------------- */

static const struct {
	int id, max;
} limits[] = {
	{SQLITE_LIMIT_LENGTH, 16 << 20},
	{SQLITE_LIMIT_SQL_LENGTH, 100000},
	{SQLITE_LIMIT_COLUMN, 512},
	{SQLITE_LIMIT_EXPR_DEPTH, 100},
	{SQLITE_LIMIT_COMPOUND_SELECT, 50},
	{SQLITE_LIMIT_VDBE_OP, 250000},
	{SQLITE_LIMIT_FUNCTION_ARG, 32},
	{SQLITE_LIMIT_ATTACHED, 0},
	{SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000},
	{SQLITE_LIMIT_VARIABLE_NUMBER, 0},
	{SQLITE_LIMIT_TRIGGER_DEPTH, 0},
	{SQLITE_LIMIT_WORKER_THREADS, 0},
};

static int authorize(void *ctx, int action, const char *a, const char *b, const char *db,
		     const char *trigger)
{
	const struct tapir_query_source *source = ctx;

	(void)a, (void)db, (void)trigger;
	if (source->is_declaring)
		return SQLITE_OK;
	switch (action) {
	case SQLITE_SELECT:
	case SQLITE_READ:
	case SQLITE_RECURSIVE:
		return SQLITE_OK;
	case SQLITE_FUNCTION:
		return sqlite3_stricmp(b, "load_extension") && sqlite3_stricmp(b, "fts3_tokenizer")
			       ? SQLITE_OK
			       : SQLITE_DENY;
	default:
		return SQLITE_DENY;
	}
}

static int query_on_progress(void *ctx)
{
	return tapir_query_source__has_ended(ctx);
}

static int add_tables(struct tapir_query *q)
{
	int rc = SQLITE_OK;
	char *sql;

	for (const struct tapir_table_desc *t = tapir_tables; t->name && !rc; t++)
		rc = tapir_query_module__add(q->db, &q->source, t->name, t);
	for (const struct tapir_table_view *v = tapir_table_views; v->name && !rc; v++) {
		sql = sqlite3_mprintf("CREATE TEMP VIEW %s AS %s", v->name, v->sql);
		rc = sql ? sqlite3_exec(q->db, sql, NULL, NULL, NULL) : SQLITE_NOMEM;
		sqlite3_free(sql);
	}
	return rc;
}

static int open_db(struct tapir_query *q)
{
	int rc = sqlite3_open_v2(":memory:", &q->db,
				 SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY | SQLITE_OPEN_NOMUTEX,
				 NULL);

	if (rc)
		return rc;
	sqlite3_hard_heap_limit64(HEAP_MAX_BYTES);
	rc = sqlite3_exec(q->db, "PRAGMA temp_store = memory", NULL, NULL, NULL);
	if (!rc)
		rc = add_tables(q);
	if (!rc)
		rc = sqlite3_db_config(q->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	if (!rc) /* "text" is a name, so that a misspelt one is a mistake */
		rc = sqlite3_db_config(q->db, SQLITE_DBCONFIG_DQS_DML, 0, NULL);
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		(void)sqlite3_limit(q->db, limits[i].id, limits[i].max);
	sqlite3_progress_handler(q->db, STEPS_BETWEEN_CHECKS, query_on_progress, &q->source);
	(void)sqlite3_set_authorizer(q->db, authorize, &q->source);
	return rc;
}

int tapir_query__new(struct tapir_reader *reader, const struct tapir_query_opts *opts,
		     struct tapir_query **out)
{
	struct tapir_query *q = calloc(1, sizeof(*q));

	if (!q)
		return -ENOMEM;
	tapir_query_source__init(&q->source, reader, opts);
	if (open_db(q)) {
		tapir_query__free(q);
		return tapir_diag__fail(-ENOMEM, "cannot begin a query: out of memory");
	}
	*out = q;
	return 0;
}

void tapir_query__free(struct tapir_query *q)
{
	if (!q)
		return;
	sqlite3_finalize(q->statement);
	sqlite3_close(q->db);
	tapir_event_tables__fini(&q->events);
	tapir_query_source__fini(&q->source);
	free(q);
}

/* ---- errors -------------------------------------------------------------------------------------- */

#define SHOWN_BEFORE 50 /* characters of the statement before the mistake, and in all */
#define SHOWN	     110

/* Adds a line with the statement around an offset, and a line with a caret below the offset. */
static void show_error_position(const char *sql, size_t at)
{
	size_t from = at > SHOWN_BEFORE ? at - SHOWN_BEFORE : 0;
	struct tapir_str line = {}, caret = {};

	while (from && ((unsigned char)sql[from] & 0xc0) == 0x80)
		from--;
	tapir_str__adds(&line, from ? "  ..." : "  ");
	tapir_str__adds(&caret, from ? "     " : "  ");
	for (size_t i = from; sql[i] && i < from + SHOWN; i++) {
		bool is_control = (unsigned char)sql[i] < ' ' || sql[i] == 0x7f;

		tapir_str__addc(&line, is_control ? ' ' : sql[i]);
		if (i < at && ((unsigned char)sql[i] & 0xc0) != 0x80)
			tapir_str__addc(&caret, ' ');
	}
	tapir_str__addc(&caret, '^');
	if (!line.failed && !caret.failed) {
		tapir_diag__add("%s", line.data);
		tapir_diag__add("%s", caret.data);
	}
	tapir_str__fini(&line);
	tapir_str__fini(&caret);
}

static int fail_query(struct tapir_query *q, int rc, const char *sql)
{
	int at = sqlite3_error_offset(q->db), err = q->source.err;

	if (err && err != -ENOMEM && err != -EINTR)
		return err; /* of reading, with a line */
	switch (rc & 0xff) {
	case SQLITE_NOMEM:
		return tapir_diag__fail(
			-ENOMEM,
			"the query needs more than %u MB of memory: limit it by time, "
			"process or event",
			TAPIR_QUERY_MAX_BYTES >> 20);
	case SQLITE_INTERRUPT:
		return tapir_diag__fail(-ETIMEDOUT,
					"the query did not end in %.3g s (--timeout): limit it by "
					"time, process or event",
					(double)q->source.opts.timeout_ns / 1e9);
	case SQLITE_AUTH:
		return tapir_diag__fail(-EINVAL, "SQL: only reading is permitted: SELECT or WITH");
	default:
		tapir_diag__add("SQL: %s", sqlite3_errmsg(q->db));
		if (at >= 0 && sql)
			show_error_position(sql, (size_t)at);
		return -EINVAL;
	}
}

/* ---- tables of events ------------------------------------------------------------------------------ */

static bool is_known(const char *name)
{
	for (const struct tapir_table_desc *t = tapir_tables; t->name; t++)
		if (!strcasecmp(t->name, name))
			return true;
	for (const struct tapir_table_view *v = tapir_table_views; v->name; v++)
		if (!strcasecmp(v->name, name))
			return true;
	return false;
}

/* Returns true if the table has the event's name. If several providers have such an event, the
 * first one's has it. */
static bool has_name(const struct tapir_query *q, const struct tapir_event_table *t)
{
	struct tapir_event_table **other;

	tapir_vec_for_each (other, &q->events.all) {
		if (*other == t)
			break;
		if (!strcasecmp((*other)->desc.name, t->desc.name))
			return false;
	}
	return *t->desc.name && !is_known(t->desc.name);
}

static int read_events(struct tapir_query *q)
{
	struct tapir_event_table **t;
	int err = 0;

	if (!q->has_events)
		err = tapir_event_tables__read(&q->events, &q->source);
	q->has_events = true;
	if (err) {
		q->source.err = err;
		return fail_query(q, err == -EINTR ? SQLITE_INTERRUPT : SQLITE_NOMEM, NULL);
	}
	tapir_vec_for_each (t, &q->events.all)
		if ((has_name(q, *t) &&
		     tapir_query_module__add(q->db, &q->source, (*t)->desc.name, &(*t)->desc)) ||
		    tapir_query_module__add(q->db, &q->source, (*t)->full_name, &(*t)->desc))
			return fail_query(q, SQLITE_NOMEM, NULL);
	return 0;
}

/* ---- a statement ------------------------------------------------------------------------------------ */

static int compile(struct tapir_query *q, const char *sql, const char **tail)
{
	return sqlite3_prepare_v3(q->db, sql, -1, 0, &q->statement, tail);
}

static bool lacks_table(const struct tapir_query *q)
{
	static const char text[] = "no such table: ";

	return !strncmp(sqlite3_errmsg(q->db), text, sizeof(text) - 1);
}

int tapir_query__prepare(struct tapir_query *q, const char *sql)
{
	const char *tail = NULL;
	sqlite3_stmt *more = NULL;
	int rc, err;

	if (q->source.opts.timeout_ns)
		q->source.deadline_ns = tapir_clock__now_ns() + q->source.opts.timeout_ns;
	rc = compile(q, sql, &tail);
	if (rc == SQLITE_ERROR && lacks_table(q) && !q->has_events) {
		err = read_events(q);
		if (err)
			return err;
		rc = compile(q, sql, &tail);
	}
	if (rc)
		return fail_query(q, rc, sql);
	if (!q->statement)
		return tapir_diag__fail(-EINVAL, "SQL: there is no statement");
	rc = sqlite3_prepare_v3(q->db, tail, -1, 0, &more, NULL);
	sqlite3_finalize(more);
	if (rc || more)
		return tapir_diag__fail(-EINVAL, "SQL: only one statement is taken");
	/* A statement without rows is not a question, even if it could not change anything. */
	if (!sqlite3_stmt_readonly(q->statement) || sqlite3_stmt_isexplain(q->statement) ||
	    !sqlite3_column_count(q->statement))
		return tapir_diag__fail(-EINVAL, "SQL: only reading is permitted: SELECT or WITH");
	return 0;
}

unsigned tapir_query__column_cnt(const struct tapir_query *q)
{
	return (unsigned)sqlite3_column_count(q->statement);
}

const char *tapir_query__column_name(const struct tapir_query *q, unsigned column)
{
	return sqlite3_column_name(q->statement, (int)column) ?: "";
}

int tapir_query__step(struct tapir_query *q)
{
	int rc = sqlite3_step(q->statement);

	if (rc == SQLITE_ROW)
		return 1;
	return rc == SQLITE_DONE ? 0 : fail_query(q, rc, sqlite3_sql(q->statement));
}

void tapir_query__cell(const struct tapir_query *q, unsigned column, struct tapir_sql_value *out)
{
	int at = (int)column;

	*out = (struct tapir_sql_value){};
	switch (sqlite3_column_type(q->statement, at)) {
	case SQLITE_INTEGER:
		out->type = TAPIR_SQL_INT;
		out->i64 = sqlite3_column_int64(q->statement, at);
		break;
	case SQLITE_FLOAT:
		out->type = TAPIR_SQL_REAL;
		out->f64 = sqlite3_column_double(q->statement, at);
		break;
	case SQLITE_NULL:
		break;
	default:
		out->type = TAPIR_SQL_TEXT;
		out->text = (const char *)sqlite3_column_text(q->statement, at) ?: "";
		out->len = (uint32_t)sqlite3_column_bytes(q->statement, at);
	}
}

bool tapir_query__has_read_all(const struct tapir_query *q)
{
	return q->source.has_first_ended;
}

/* ---- lists of tables ---------------------------------------------------------------------------- */

static void add_line(struct tapir_str *out, const char *name, const char *description)
{
	size_t from = out->len;

	tapir_str__adds(out, "  ");
	tapir_str__add_printable(out, name, strlen(name));
	tapir_str__pad(out, from, 13);
	tapir_str__addc(out, ' ');
	tapir_text__add_wrapped(out, from, tapir_text__sv(description), 14);
}

/* Adds the table's name and the columns of its fields. */
static void add_event_table(const struct tapir_query *q, const struct tapir_event_table *t,
			    struct tapir_str *out)
{
	const char *name = has_name(q, t) ? t->desc.name : t->full_name;
	bool is_plain = !strpbrk(name, " -:.\"'()<>[]{}/\\");
	const struct tapir_sql_column *column;

	tapir_str__adds(out, is_plain ? "  " : "  \"");
	tapir_str__add_printable(out, name, strlen(name));
	tapir_str__addf(out, "%s  %" PRIu64, is_plain ? "" : "\"", t->cnt);
	tapir_vec_for_each (column, &t->columns) {
		if (column->kind != TAPIR_COLUMN_FIELD)
			continue;
		tapir_str__addc(out, ' ');
		tapir_str__add_printable(out, column->name, strlen(column->name));
	}
	tapir_str__addc(out, '\n');
}

static void add_tables_of_all(struct tapir_str *out)
{
	for (const struct tapir_table_desc *t = tapir_tables; t->name; t++)
		add_line(out, t->name, t->description);
	for (const struct tapir_table_view *v = tapir_table_views; v->name; v++)
		add_line(out, v->name, v->description);
}

int tapir_query__list(struct tapir_query *q, struct tapir_str *out)
{
	struct tapir_event_table **t;
	int err = read_events(q);

	if (err)
		return err;
	tapir_str__adds(out, "tables (their columns: 'tapir help tables'):\n");
	add_tables_of_all(out);
	if (q->events.all.cnt)
		tapir_str__adds(out, "events with a table of their own: how many, their fields:\n");
	tapir_vec_for_each (t, &q->events.all)
		add_event_table(q, *t, out);
	if (q->events.skipped_cnt)
		tapir_str__addf(out, "  and %" PRIu64 " kinds that only the table events has\n",
				q->events.skipped_cnt);
	return out->failed ? -ENOMEM : 0;
}

/* Room for the longest name, and for INTEGER. */
#define NAME_COLUMNS 17
#define TEXT_COLUMN  27

void tapir_query__add_schema(struct tapir_str *out)
{
	for (const struct tapir_table_desc *t = tapir_tables; t->name; t++) {
		tapir_str__addf(out, "%s%s: %s.\n\n", t == tapir_tables ? "" : "\n", t->name,
				t->description);
		for (const struct tapir_sql_column *c = t->columns; c->name; c++) {
			size_t from = out->len;

			tapir_str__addf(out, "  %s", c->name);
			tapir_str__pad(out, from, NAME_COLUMNS);
			tapir_str__addf(out, "  %s", tapir_sql_column__type(c));
			tapir_str__pad(out, from, TEXT_COLUMN);
			tapir_text__add_wrapped(out, from, tapir_text__sv(c->description),
						TEXT_COLUMN);
		}
	}
	for (const struct tapir_table_view *v = tapir_table_views; v->name; v++)
		tapir_str__addf(out, "\n%s: %s.\n\n  %s\n", v->name, v->description, v->sql);
}
