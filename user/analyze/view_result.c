// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Builds a result: each cell is added to the row that is not full yet. A cell that could not be
 * added, for lack of memory, would shift all others into wrong columns, so a result that failed
 * takes no more.
 */
#include "analyze/view_result.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/histogram.h"
#include "base/reader_words.h"

void tapir_view_result__fini(struct tapir_view_result *s)
{
	struct tapir_view_result_table *t;
	char **note;

	tapir_vec_for_each (t, &s->tables) {
		for (size_t i = 0; i < t->cells.cnt; i++)
			if (t->columns[i % t->column_cnt].type == TAPIR_CELL_TEXT &&
			    t->cells.data[i].is_there)
				free(t->cells.data[i].text);
		tapir_vec__fini(&t->cells);
		free(t->title);
	}
	tapir_vec_for_each (note, &s->notes)
		free(*note);
	tapir_vec__fini(&s->tables);
	tapir_vec__fini(&s->notes);
	tapir_vec__fini(&s->facts);
	tapir_str__fini(&s->headline);
}

size_t tapir_view_result__table(struct tapir_view_result *s, const char *key, const char *title,
				const struct tapir_column *columns)
{
	struct tapir_view_result_table t = {.key = key,
					    .title = title ? strdup(title) : NULL,
					    .columns = columns,
					    .parent = TAPIR_VIEW_RESULT_NO_PARENT};

	while (columns[t.column_cnt].key)
		t.column_cnt++;
	s->failed |= title && !t.title;
	if (tapir_vec__push(&s->tables, t))
		return s->tables.cnt - 1;
	free(t.title);
	s->failed = true;
	return SIZE_MAX;
}

size_t tapir_view_result__table_of_row(struct tapir_view_result *s, size_t parent, const char *key,
				       const char *title, const struct tapir_column *columns)
{
	size_t table = tapir_view_result__table(s, key, title, columns);

	if (table == SIZE_MAX || parent >= s->tables.cnt)
		return SIZE_MAX;
	s->tables.data[table].parent = parent;
	s->tables.data[table].parent_row =
		tapir_view_result_table__rows(&s->tables.data[parent]) - 1;
	return table;
}

/* After a cell that is missing the others would be in the wrong columns. */
static bool add_cell_to(struct tapir_view_result *s, size_t table, struct tapir_cell cell)
{
	if (table >= s->tables.cnt || s->failed ||
	    !tapir_vec__push(&s->tables.data[table].cells, cell))
		s->failed = true;
	return !s->failed;
}

void tapir_view_result__u64(struct tapir_view_result *s, size_t table, uint64_t value)
{
	add_cell_to(s, table, (struct tapir_cell){.is_there = true, .u64 = value});
}

void tapir_view_result__f64(struct tapir_view_result *s, size_t table, double value)
{
	add_cell_to(s, table, (struct tapir_cell){.is_there = true, .f64 = value});
}

void tapir_view_result__textn(struct tapir_view_result *s, size_t table, struct tapir_sv text)
{
	char *copy = text.len ? strndup(text.data, text.len) : NULL;

	s->failed |= text.len && !copy;
	if (!add_cell_to(s, table, (struct tapir_cell){.is_there = copy, .text = copy}))
		free(copy);
}

void tapir_view_result__text(struct tapir_view_result *s, size_t table, const char *text)
{
	tapir_view_result__textn(s, table, (struct tapir_sv){text, text ? strlen(text) : 0});
}

void tapir_view_result__stack(struct tapir_view_result *s, size_t table, uint32_t node)
{
	bool is_there = s->tree && node && node < s->tree->nodes.cnt;

	add_cell_to(s, table, (struct tapir_cell){.is_there = is_there, .u64 = node});
}

void tapir_view_result__time(struct tapir_view_result *s, size_t table, uint64_t ns)
{
	tapir_view_result__u64(s, table, ns > s->start_ns ? ns - s->start_ns : 0);
}

void tapir_view_result__none(struct tapir_view_result *s, size_t table)
{
	add_cell_to(s, table, (struct tapir_cell){});
}

void tapir_view_result__share(struct tapir_view_result *s, size_t table, uint64_t part,
			      uint64_t whole)
{
	tapir_view_result__f64(s, table, whole ? 100.0 * (double)part / (double)whole : 0);
}

void tapir_view_result__name(struct tapir_view_result *s, size_t table, const char *comm,
			     uint32_t tid)
{
	char text[64];

	if (!tid) {
		tapir_view_result__none(s, table);
		return;
	}
	snprintf(text, sizeof(text), "%s (%u)", comm && *comm ? comm : "?", tid);
	tapir_view_result__text(s, table, text);
}

void tapir_view_result__fact(struct tapir_view_result *s, const char *key, const char *title,
			     enum tapir_cell_type type, uint64_t value)
{
	struct tapir_fact fact = {{key, title, (uint8_t)type}, {.is_there = true, .u64 = value}};

	s->failed |= !tapir_vec__push(&s->facts, fact);
}

void tapir_view_result__percentile(struct tapir_view_result *s, const char *key, const char *title,
				   const struct tapir_histogram *took, double percent)
{
	struct tapir_fact fact = {
		{key, title, TAPIR_CELL_NS},
		{.is_there = took->cnt != 0, .u64 = tapir_histogram__percentile(took, percent)}};

	s->failed |= !tapir_vec__push(&s->facts, fact);
}

void tapir_view_result__note(struct tapir_view_result *s, const char *fmt, ...)
{
	char words[TAPIR_READER_WORDS_BYTES];
	char *text = NULL;
	va_list args;

	va_start(args, fmt);
	if (vasprintf(&text, tapir_reader_words__of(fmt, words), args) < 0)
		text = NULL;
	va_end(args);
	if (!text || !tapir_vec__push(&s->notes, text)) {
		free(text);
		s->failed = true;
	}
}

void tapir_view_result__note_top(struct tapir_view_result *s, const char *table, uint64_t top,
				 uint64_t cnt)
{
	if (cnt <= top)
		return;
	if (table)
		tapir_view_result__note(s, "%s: %" PRIu64 " of %" PRIu64 " are shown (--top)",
					table, top, cnt);
	else
		tapir_view_result__note(s, "%" PRIu64 " of %" PRIu64 " rows are shown (--top)", top,
					cnt);
}

void tapir_view_result__known(struct tapir_view_result *s, size_t table, uint64_t value,
			      bool is_known)
{
	if (is_known)
		tapir_view_result__u64(s, table, value);
	else
		tapir_view_result__none(s, table);
}

void tapir_view_result__beyond(struct tapir_view_result *s, uint64_t more, bool failed,
			       const char *noun)
{
	s->failed |= failed;
	if (more)
		tapir_view_result__note(s, "%" PRIu64 " %s found no room in the tables", more,
					noun);
}

size_t tapir_view_result_table__rows(const struct tapir_view_result_table *table)
{
	return table->cells.cnt / table->column_cnt;
}
