// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * SQLite writes through a file system of one file, which is a descriptor: there is no journal (a
 * file that is not complete is thrown away) and nothing temporary on disk.
 */
#include "output/query/query_file.h"

#include <errno.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/diag.h"
#include "base/file.h"
#include "base/log.h"
#include "output/query/query_events.h"

#define MAX_TABLES 64
#define VFS_NAME   "tapir-descriptor"

struct tapir_query_file {
	struct tapir_query_file_opts opts;
	struct tapir_reader *reader;
	struct tapir_scan scan;
	int fd, write_err; /* write_err: of the last write that failed */
	sqlite3_vfs vfs;
	sqlite3 *db;
	sqlite3_stmt *inserts[MAX_TABLES];    /* by place in tapir_tables */
	uint64_t skipped_columns[MAX_TABLES]; /* of its columns, a bit each */
};

/* ---- a file system of one descriptor ----------------------------------------------------------- */

struct descriptor {
	sqlite3_file base;
	struct tapir_query_file *file;
};

static struct tapir_query_file *file_of(sqlite3_file *file)
{
	return ((struct descriptor *)file)->file;
}

static int close_query_file(sqlite3_file *file)
{
	(void)file; /* the descriptor is read afterwards */
	return SQLITE_OK;
}

static int on_read(sqlite3_file *file, void *to, int len, sqlite3_int64 at)
{
	ssize_t n = pread(file_of(file)->fd, to, (size_t)len, at);

	if (n == len)
		return SQLITE_OK;
	if (n < 0)
		return SQLITE_IOERR_READ;
	memset((char *)to + n, 0, (size_t)(len - n));
	return SQLITE_IOERR_SHORT_READ;
}

static int on_write(sqlite3_file *file, const void *from, int len, sqlite3_int64 at)
{
	struct tapir_query_file *f = file_of(file);
	ssize_t n;

	for (; len; from = (const char *)from + n, len -= (int)n, at += n) {
		n = pwrite(f->fd, from, (size_t)len, at);
		if (n <= 0) {
			f->write_err = n < 0 ? -errno : -ENOSPC;
			return SQLITE_FULL;
		}
	}
	return SQLITE_OK;
}

static int on_truncate(sqlite3_file *file, sqlite3_int64 bytes)
{
	return ftruncate(file_of(file)->fd, bytes) ? SQLITE_IOERR_TRUNCATE : SQLITE_OK;
}

static int on_flags(sqlite3_file *file, int flags)
{
	(void)file, (void)flags;
	return SQLITE_OK;
}

static int on_size(sqlite3_file *file, sqlite3_int64 *out)
{
	*out = lseek(file_of(file)->fd, 0, SEEK_END);
	return *out < 0 ? SQLITE_IOERR_FSTAT : SQLITE_OK;
}

static int on_reserved(sqlite3_file *file, int *out)
{
	(void)file;
	*out = 0;
	return SQLITE_OK;
}

static int on_control(sqlite3_file *file, int op, void *arg)
{
	(void)file, (void)op, (void)arg;
	return SQLITE_NOTFOUND;
}

static int on_trait(sqlite3_file *file)
{
	(void)file;
	return 0;
}

/* SQLite closes a file whose opening failed if pMethods is set: it is set last. */
static int open_query_file(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags,
			   int *out)
{
	static const sqlite3_io_methods methods = {.iVersion = 1,
						   .xClose = close_query_file,
						   .xRead = on_read,
						   .xWrite = on_write,
						   .xTruncate = on_truncate,
						   .xSync = on_flags,
						   .xFileSize = on_size,
						   .xLock = on_flags,
						   .xUnlock = on_flags,
						   .xCheckReservedLock = on_reserved,
						   .xFileControl = on_control,
						   .xSectorSize = on_trait,
						   .xDeviceCharacteristics = on_trait};

	(void)name;
	file->pMethods = NULL;
	if (!(flags & SQLITE_OPEN_MAIN_DB))
		return SQLITE_CANTOPEN;
	((struct descriptor *)file)->file = vfs->pAppData;
	file->pMethods = &methods;
	if (out)
		*out = flags;
	return SQLITE_OK;
}

static int on_access(sqlite3_vfs *vfs, const char *name, int flags, int *out)
{
	(void)vfs, (void)name, (void)flags;
	*out = 0;
	return SQLITE_OK;
}

static int on_full_path(sqlite3_vfs *vfs, const char *name, int len, char *out)
{
	(void)vfs;
	sqlite3_snprintf(len, out, "%s", name);
	return SQLITE_OK;
}

/* ---- the database ------------------------------------------------------------------------------ */

static int fail_query_file(struct tapir_query_file *f)
{
	int err = f->write_err;

	if (err)
		return tapir_diag__fail(err, "cannot write the database to a temporary file: %s",
					tapir_errno__text(err));
	if (sqlite3_errcode(f->db) == SQLITE_NOMEM)
		return -ENOMEM;
	return tapir_diag__fail(-EIO, "cannot write the database: %s", sqlite3_errmsg(f->db));
}

static bool is_skipped(const struct tapir_table_desc *t, const struct tapir_sql_column *column)
{
	return !t->list && !strcmp(column->name, "stack");
}

static int exec(struct tapir_query_file *f, char *sql)
{
	int rc = sql ? sqlite3_exec(f->db, sql, NULL, NULL, NULL) : SQLITE_NOMEM;

	sqlite3_free(sql);
	return rc ? fail_query_file(f) : 0;
}

static int create(struct tapir_query_file *f, unsigned table)
{
	const struct tapir_table_desc *t = &tapir_tables[table];
	sqlite3_str *made = sqlite3_str_new(f->db), *filled = sqlite3_str_new(f->db);
	char *sql;
	int err;

	sqlite3_str_appendf(made, "CREATE TABLE \"%w\"(", t->name);
	sqlite3_str_appendf(filled, "INSERT INTO \"%w\" VALUES(", t->name);
	for (const struct tapir_sql_column *c = t->columns; c->name; c++) {
		const char *comma = c == t->columns ? "" : ",";

		if (is_skipped(t, c)) {
			f->skipped_columns[table] |= 1ull << (c - t->columns);
			continue;
		}
		sqlite3_str_appendf(made, "%s\"%w\" %s", comma, c->name, tapir_sql_column__type(c));
		sqlite3_str_appendf(filled, "%s?", comma);
	}
	sqlite3_str_appendf(made, ")");
	sqlite3_str_appendf(filled, ")");
	err = exec(f, sqlite3_str_finish(made));
	sql = sqlite3_str_finish(filled);
	if (!err && (!sql || sqlite3_prepare_v3(f->db, sql, -1, SQLITE_PREPARE_PERSISTENT,
						&f->inserts[table], NULL)))
		err = fail_query_file(f);
	sqlite3_free(sql);
	return err;
}

static int create_all(struct tapir_query_file *f)
{
	int err = exec(f, sqlite3_mprintf("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; "
					  "PRAGMA locking_mode = EXCLUSIVE; "
					  "PRAGMA temp_store = MEMORY; BEGIN"));

	for (unsigned i = 0; !err && tapir_tables[i].name && i < MAX_TABLES; i++)
		err = create(f, i);
	for (const struct tapir_table_view *v = tapir_table_views; v->name && !err; v++)
		err = exec(f, sqlite3_mprintf("CREATE VIEW \"%w\" AS %s", v->name, v->sql));
	return err;
}

static int open_db(struct tapir_query_file *f)
{
	f->fd = tapir_file__temporary();
	if (f->fd < 0)
		return tapir_diag__fail(f->fd, "cannot create a temporary file: %s",
					tapir_errno__text(-f->fd));
	f->vfs = *sqlite3_vfs_find(NULL);
	f->vfs.iVersion = 1;
	f->vfs.pNext = NULL;
	f->vfs.zName = VFS_NAME;
	f->vfs.pAppData = f;
	f->vfs.szOsFile = sizeof(struct descriptor);
	f->vfs.xOpen = open_query_file;
	f->vfs.xAccess = on_access;
	f->vfs.xFullPathname = on_full_path;
	if (sqlite3_vfs_register(&f->vfs, 0) ||
	    sqlite3_open_v2("recording", &f->db,
			    SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
			    VFS_NAME))
		return -ENOMEM;
	return create_all(f);
}

int tapir_query_file__new(struct tapir_reader *reader, const struct tapir_query_file_opts *opts,
			  struct tapir_query_file **out)
{
	struct tapir_query_file *f = calloc(1, sizeof(*f));
	int err = -ENOMEM;

	if (!f)
		return err;
	f->opts = *opts;
	f->reader = reader;
	f->fd = -1;
	f->scan.catalog = tapir_reader__catalog(reader);
	f->scan.start_ns = tapir_reader__stats(reader)->created_ns;
	f->scan.lines = tapir_event_lines__new(TAPIR_EVENT_JSON, f->scan.catalog, f->scan.start_ns);
	if (f->scan.lines)
		err = open_db(f);
	if (err)
		tapir_query_file__free(f);
	else
		*out = f;
	return err;
}

static void close_db(struct tapir_query_file *f)
{
	for (unsigned i = 0; i < MAX_TABLES; i++)
		sqlite3_finalize(f->inserts[i]);
	memset(f->inserts, 0, sizeof(f->inserts));
	sqlite3_close(f->db);
	f->db = NULL;
	if (f->vfs.zName)
		sqlite3_vfs_unregister(&f->vfs);
}

void tapir_query_file__free(struct tapir_query_file *f)
{
	if (!f)
		return;
	close_db(f);
	tapir_event_lines__free(f->scan.lines);
	tapir_scan__fini(&f->scan);
	tapir_guard__fd(&f->fd);
	free(f);
}

int tapir_query_file__fd(const struct tapir_query_file *f)
{
	return f->fd;
}

/* ---- rows --------------------------------------------------------------------------------------- */

/* Only what was made for this cell is overwritten before the row is inserted. */
static void bind_text(const struct tapir_scan *scan, sqlite3_stmt *insert, int at,
		      const struct tapir_sql_value *cell)
{
	bool is_made =
		cell->text >= scan->text.data && cell->text < scan->text.data + scan->text.cap;

	sqlite3_bind_text(insert, at, cell->text, (int)cell->len,
			  is_made ? SQLITE_TRANSIENT : SQLITE_STATIC);
}

static void bind_cell(const struct tapir_scan *scan, sqlite3_stmt *insert, int at,
		      const struct tapir_sql_value *cell)
{
	if (cell->type == TAPIR_SQL_INT)
		sqlite3_bind_int64(insert, at, cell->i64);
	else if (cell->type == TAPIR_SQL_REAL)
		sqlite3_bind_double(insert, at, cell->f64);
	else if (cell->type == TAPIR_SQL_TEXT)
		bind_text(scan, insert, at, cell);
	else
		sqlite3_bind_null(insert, at);
}

static int insert_row(struct tapir_query_file *f, unsigned table, const void *row)
{
	const struct tapir_table_desc *t = &tapir_tables[table];
	sqlite3_stmt *insert = f->inserts[table];
	struct tapir_sql_value cell;
	int at = 0, rc;

	f->scan.values = NULL;
	for (const struct tapir_sql_column *c = t->columns; c->name; c++) {
		if (f->skipped_columns[table] >> (c - t->columns) & 1)
			continue;
		tapir_sql_column__read(&f->scan, c, row, &cell);
		bind_cell(&f->scan, insert, ++at, &cell);
	}
	rc = f->scan.text.failed ? SQLITE_NOMEM : sqlite3_step(insert);
	sqlite3_reset(insert);
	return rc == SQLITE_DONE ? 0 : rc == SQLITE_NOMEM ? -ENOMEM : fail_query_file(f);
}

int tapir_query_file__add(struct tapir_query_file *f, const struct tapir_rec *rec)
{
	int err = 0;

	for (unsigned i = 0; tapir_tables[i].name && !err; i++)
		if (!tapir_tables[i].list && tapir_tables[i].rec_type == rec->type)
			err = insert_row(f, i, rec);
	return err;
}

/* ---- lists -------------------------------------------------------------------------------------- */

static bool has_ended(void *ctx)
{
	struct tapir_query_file *f = ctx;

	return !f->opts.should_continue(f->opts.ctx);
}

static void start_source(struct tapir_query_file *f, struct tapir_query_source *source)
{
	const struct tapir_query_opts opts = {.open_again = f->opts.open_again, .ctx = f->opts.ctx};

	tapir_query_source__init(source, f->reader, &opts);
	source->is_first_used = true;
	source->lists.has_ended = has_ended;
	source->lists.ctx = f;
}

static int add_rows(struct tapir_query_file *f, unsigned table, struct tapir_query_source *source)
{
	const struct tapir_list *list = tapir_query_source__list(source, tapir_tables[table].list);
	int err = 0;

	for (size_t i = 0; list && i < list->rows.cnt && !err; i++)
		err = insert_row(f, table, list->rows.data[i]);
	if (list || source->err != -ENOMEM)
		return list ? err : source->err;
	tapir_warn("the table %s is left out: it needs more than %u MB of memory; 'tapir cut' "
		   "makes a shorter recording",
		   tapir_tables[table].name, TAPIR_QUERY_MAX_BYTES >> 20);
	return 0;
}

/* One pass makes all lists of the report; memory of each other list is freed when it is written. */
static int add_lists(struct tapir_query_file *f)
{
	struct tapir_query_source of_report, of_one;
	int err = 0;

	start_source(f, &of_report);
	for (unsigned i = 0; tapir_tables[i].name && !err; i++) {
		switch (tapir_tables[i].list) {
		case TAPIR_LIST_NONE:
			break;
		case TAPIR_LIST_PROCESSES:
		case TAPIR_LIST_THREADS:
		case TAPIR_LIST_FINDINGS:
		case TAPIR_LIST_META:
			err = add_rows(f, i, &of_report);
			break;
		default:
			start_source(f, &of_one);
			err = add_rows(f, i, &of_one);
			tapir_query_source__fini(&of_one);
		}
	}
	tapir_query_source__fini(&of_report);
	return err;
}

/* ---- views of events ------------------------------------------------------------------------------ */

/* A name with a quote has no path in JSON that SQLite reads. */
static bool has_path(const char *name)
{
	return !strpbrk(name, "\"\\");
}

static int add_view(struct tapir_query_file *f, const struct tapir_event_table *t, const char *name)
{
	sqlite3_str *sql = sqlite3_str_new(f->db);
	const struct tapir_sql_column *c;

	sqlite3_str_appendf(sql, "CREATE VIEW IF NOT EXISTS \"%w\" AS SELECT ", name);
	tapir_vec_for_each (c, &t->columns) {
		const char *comma = c == t->columns.data ? "" : ",";

		if (!c->name)
			break;
		if (c->kind == TAPIR_COLUMN_FIELD && has_path(c->description))
			sqlite3_str_appendf(sql, "%sjson_extract(args, '$.\"%q\"') AS \"%w\"",
					    comma, c->description, c->name);
		else if (c->kind != TAPIR_COLUMN_FIELD && strcmp(c->name, "stack") != 0)
			sqlite3_str_appendf(sql, "%s\"%w\"", comma, c->name);
	}
	sqlite3_str_appendf(sql, " FROM events WHERE provider = %Q AND event = %Q",
			    t->desc.provider, t->desc.event);
	return exec(f, sqlite3_str_finish(sql));
}

static int add_views(struct tapir_query_file *f)
{
	struct tapir_query_source source;
	struct tapir_event_tables tables = {};
	struct tapir_event_table **t;
	int err;

	start_source(f, &source);
	err = tapir_event_tables__read(&tables, &source);
	for (size_t i = 0; i < tables.all.cnt && !err; i++) {
		t = &tables.all.data[i];
		err = add_view(f, *t, (*t)->full_name);
		if (!err && *(*t)->desc.name && strncasecmp((*t)->desc.name, "sqlite_", 7) != 0)
			err = add_view(f, *t, (*t)->desc.name);
	}
	tapir_event_tables__fini(&tables);
	tapir_query_source__fini(&source);
	return err;
}

int tapir_query_file__finish(struct tapir_query_file *f)
{
	int err = add_lists(f);

	if (!err)
		err = add_views(f);
	if (!err)
		err = exec(f, sqlite3_mprintf("COMMIT"));
	if (!err)
		close_db(f);
	return err;
}
