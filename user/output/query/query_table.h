/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * query_table.h - the description of a table. A table of records is read from the file; a list is
 * made by a pass over it when a statement first needs it. In both, a row is a struct (a record, or
 * a row of query_rows.h) and a column an offset in it, or a function. For output/query, and sinks
 * of whole records. Constant.
 */
#ifndef TAPIR_USER_QUERY_TABLE_H
#define TAPIR_USER_QUERY_TABLE_H

#include <stddef.h>

#include "output/export/event_lines.h"
#include "output/query/query.h"
#include "output/query/query_stacks.h"
#include "trace/schema.h"

enum tapir_sql_column_kind {
	TAPIR_COLUMN_U64,
	TAPIR_COLUMN_U32,
	TAPIR_COLUMN_ID,     /* uint32_t; 0: NULL */
	TAPIR_COLUMN_ID64,   /* uint64_t; 0: NULL; signed as BITS64 */
	TAPIR_COLUMN_BITS64, /* uint64_t that may be large, as SQLite's signed integer */
	TAPIR_COLUMN_U8,
	TAPIR_COLUMN_F64,
	TAPIR_COLUMN_TEXT,    /* const char *; NULL: NULL */
	TAPIR_COLUMN_SECONDS, /* uint64_t, a moment; REAL since the recording began */
	TAPIR_COLUMN_NUMBER,  /* made, INTEGER */
	TAPIR_COLUMN_MADE,    /* made, TEXT */
	TAPIR_COLUMN_FIELD,   /* made, of whatever type the event's field has */
};

/* State of a cursor while it reads rows. */
struct tapir_scan {
	const struct tapir_catalog *catalog;
	struct tapir_event_lines *lines;
	uint64_t start_ns;     /* when the recording began */
	struct tapir_str text; /* of the current cell */
	/* Fields of the current event; NULL: they are not decoded yet. */
	const struct tapir_value *values;
	unsigned value_cnt;
	struct tapir_query_stacks stacks; /* names of functions */
};

/*
 * Frees the texts of a scan; one of zeros is empty. Its lines are not the scan's. __forget_catalog
 * is called before another catalog is set.
 */
void tapir_scan__fini(struct tapir_scan *scan);
void tapir_scan__forget_catalog(struct tapir_scan *scan);

struct tapir_sql_column {
	const char *name; /* NULL ends a table */
	uint8_t kind;	  /* enum tapir_sql_column_kind */
	uint16_t offset;
	const char *description;
	/* *out is NULL before. Text may be in scan->text, or borrowed until the next row; of stacks
	 * until the next cell. */
	void (*make)(struct tapir_scan *scan, const struct tapir_sql_column *column,
		     const void *row, struct tapir_sql_value *out);
	const struct tapir_member *member; /* of a record; else NULL */
};

#define TAPIR_RECORD_COLUMNS 32 /* of a table of records, and its end */

enum tapir_list_id {
	TAPIR_LIST_NONE, /* the table is one of records */
	TAPIR_LIST_PROCESSES,
	TAPIR_LIST_THREADS,
	TAPIR_LIST_FINDINGS,
	TAPIR_LIST_INTERVALS,
	TAPIR_LIST_WAITS,
	TAPIR_LIST_STACKS,
	TAPIR_LIST_FRAMES,
	TAPIR_LIST_META,
	TAPIR_LIST_REQUESTS,
	TAPIR_LIST_REQUEST_PARTS,
	TAPIR_LIST_SPANS,
	TAPIR_LIST_CNT
};

struct tapir_table_desc {
	const char *name; /* NULL ends the list */
	const char *description;
	const struct tapir_sql_column *columns;
	uint8_t list;	     /* enum tapir_list_id */
	uint16_t rec_type;   /* of a table of records */
	uint16_t key;	     /* the column, U64, U32, ID or ID64, by which rows are found */
	uint32_t usual_rows; /* for SQLite, which decides by it what to read first */
	/* The events of a table of events; NULL: any. */
	const char *provider, *event;
};

extern struct tapir_table_desc tapir_tables[]; /* not changed once main runs */

/* A statement that the list of tables has a name for. */
struct tapir_table_view {
	const char *name, *description, *sql;
};

extern const struct tapir_table_view tapir_table_views[];

/* Returns INTEGER, REAL or TEXT; "": the type is that of each value. */
const char *tapir_sql_column__type(const struct tapir_sql_column *column);
unsigned tapir_table__column_cnt(const struct tapir_table_desc *table);
void tapir_sql_column__read(struct tapir_scan *scan, const struct tapir_sql_column *column,
			    const void *row, struct tapir_sql_value *out);
/* Returns the number of a column whose kind is a number at an offset; 0 of others. */
uint64_t tapir_sql_column__u64(const struct tapir_sql_column *column, const void *row);
/* Returns true if the table has the record. */
bool tapir_table__has(const struct tapir_table_desc *table, const struct tapir_scan *scan,
		      const struct tapir_rec *rec);

/*
 * The columns of events, the first table. A table of one kind of event has the first ones, a column
 * for each field, whose `what` is the field's name in the recording, and the last ones
 * (query_events.c).
 */
#define TAPIR_EVENT_HEAD_COLUMNS 7
#define TAPIR_EVENT_TAIL_COLUMN	 11
/* A column's function: the event's field of that name. */
void tapir_sql_column__make_field(struct tapir_scan *scan, const struct tapir_sql_column *column,
				  const void *row, struct tapir_sql_value *out);

#endif
