/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * view_result.h - what a view found: a sentence, figures, and tables of typed cells, of which a row
 * may hold tables of its own. Made once; output/render/view_result_text.c writes it as text for
 * people, output/render/view_result_json.c as JSON for programs. One thread. Out of memory is noted
 * (failed): a view checks it once at its end.
 */
#ifndef TAPIR_USER_VIEW_RESULT_H
#define TAPIR_USER_VIEW_RESULT_H

#include "analyze/stack_tree.h"
#include "base/str.h"

enum tapir_cell_type {
	TAPIR_CELL_TEXT,
	TAPIR_CELL_COUNT,
	TAPIR_CELL_ID,	 /* a number that is no amount: a pid */
	TAPIR_CELL_NS,	 /* how long */
	TAPIR_CELL_TIME, /* when: ns since the recording began */
	TAPIR_CELL_BYTES,
	TAPIR_CELL_PERCENT, /* a double */
	TAPIR_CELL_NUMBER,  /* a double */
	TAPIR_CELL_STACK,   /* a node of the result's tree; innermost function first */
	TAPIR_CELL_ORIGIN   /* the same; in text from the program's own code on (app_code.h) */
};

struct tapir_column {
	const char *key;   /* in JSON; NULL ends the list */
	const char *title; /* in text; NULL: not shown there */
	uint8_t type;	   /* enum tapir_cell_type */
};

struct tapir_cell {
	bool is_there;
	union {
		uint64_t u64;
		double f64;
		char *text; /* the result's */
	};
};

#define TAPIR_VIEW_RESULT_NO_PARENT SIZE_MAX

struct tapir_view_result_table {
	const char *key;
	char *title; /* the result's; NULL: none */
	const struct tapir_column *columns;
	unsigned column_cnt;
	size_t parent, parent_row; /* whose row it is of */
	struct tapir_vec(struct tapir_cell) cells;
};

struct tapir_fact {
	struct tapir_column column;
	struct tapir_cell cell;
};

struct tapir_view_result {
	const char *view;
	struct tapir_str headline;
	const struct tapir_stack_tree *tree; /* borrowed */
	struct tapir_vec(struct tapir_fact) facts;
	struct tapir_vec(char *) notes;
	struct tapir_vec(struct tapir_view_result_table) tables;
	uint64_t start_ns; /* times are since then */
	uint64_t top;	   /* rows a view makes of a table that could be long; 0: its own choice */
	bool folds;	   /* it is for a person: runs of frames are one (frame_runs.h) */
	bool unfold;	   /* in text: those of the kernel, of the runtime, and of libraries, too */
	bool has_nothing;  /* the file has nothing of what the view shows: its headline says that */
	bool is_unrecorded; /* because it was not recorded (capture_check.h) */
	bool failed;
};

/* Frees all tables and texts. */
void tapir_view_result__fini(struct tapir_view_result *s);

/*
 * title: copied; NULL: none. Returns the table's index; cells are added to it in the order of the
 * columns.
 */
size_t tapir_view_result__table(struct tapir_view_result *s, const char *key, const char *title,
				const struct tapir_column *columns);
/* Begins a table of the parent's last row. */
size_t tapir_view_result__table_of_row(struct tapir_view_result *s, size_t parent, const char *key,
				       const char *title, const struct tapir_column *columns);
void tapir_view_result__u64(struct tapir_view_result *s, size_t table, uint64_t value);
void tapir_view_result__f64(struct tapir_view_result *s, size_t table, double value);
void tapir_view_result__text(struct tapir_view_result *s, size_t table,
			     const char *text); /* NULL: none */
void tapir_view_result__textn(struct tapir_view_result *s, size_t table, struct tapir_sv text);
void tapir_view_result__stack(struct tapir_view_result *s, size_t table,
			      uint32_t node); /* or none */
void tapir_view_result__time(struct tapir_view_result *s, size_t table, uint64_t ns);
void tapir_view_result__none(struct tapir_view_result *s, size_t table);
/* Adds part of whole in percent. */
void tapir_view_result__share(struct tapir_view_result *s, size_t table, uint64_t part,
			      uint64_t whole);
/* Adds "java (4711)". */
void tapir_view_result__name(struct tapir_view_result *s, size_t table, const char *comm,
			     uint32_t tid);

void tapir_view_result__fact(struct tapir_view_result *s, const char *key, const char *title,
			     enum tapir_cell_type type, uint64_t value);
struct tapir_histogram;
/*
 * Adds a percentile of the times of complete intervals. Without any it is not known, which is not
 * 0.
 */
void tapir_view_result__percentile(struct tapir_view_result *s, const char *key, const char *title,
				   const struct tapir_histogram *took, double percent);
void tapir_view_result__note(struct tapir_view_result *s, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Notes that --top left rows out, if cnt is more than top. table: its title; NULL: there is one. */
void tapir_view_result__note_top(struct tapir_view_result *s, const char *table, uint64_t top,
				 uint64_t cnt);
/* Adds a number, or an empty cell for one that is not known, which is not 0. */
void tapir_view_result__known(struct tapir_view_result *s, size_t table, uint64_t value,
			      bool is_known);
/*
 * Notes how often a table of the view (base/keyed.h) had no room: "3 waits found no room in the
 * tables"; nothing for 0. The result fails if memory was short for the table.
 */
void tapir_view_result__beyond(struct tapir_view_result *s, uint64_t more, bool failed,
			       const char *noun);

/* Returns the number of rows, all of them full. */
size_t tapir_view_result_table__rows(const struct tapir_view_result_table *table);

#endif
