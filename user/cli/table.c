// SPDX-License-Identifier: GPL-2.0-or-later
/* Two spaces between columns, the last column not padded, titles in capitals. */
#include "cli/table.h"

#include <stdlib.h>
#include <string.h>

#define MIN_ROOM 24 /* of a last column that is wrapped, however wide the others are */

void tapir_table__cell_bytes(struct tapir_table *table, const char *text, size_t len)
{
	struct tapir_str printable = {};

	tapir_str__add_printable(&printable, text, len); /* "" allocates too */
	if (printable.failed || !tapir_vec__push(&table->cells, printable.data)) {
		table->failed = true;
		tapir_str__fini(&printable);
	}
}

void tapir_table__cell(struct tapir_table *table, const char *text)
{
	tapir_table__cell_bytes(table, text, strlen(text));
}

void tapir_table__cell_u64(struct tapir_table *table, uint64_t value)
{
	struct tapir_str digits = {};

	tapir_str__addu(&digits, value);
	tapir_table__cell(table, digits.data ? digits.data : "");
	tapir_str__fini(&digits);
}

/* Columns on the screen: characters, not bytes (wide ones are rare in names of probes). */
static size_t columns(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}

static bool is_right(const char *title)
{
	return *title == '>';
}

static void add_spaces(struct tapir_str *out, size_t cnt)
{
	while (cnt--)
		tapir_str__addc(out, ' ');
}

static void add_cell(struct tapir_str *out, const char *text, size_t width, bool right, bool last)
{
	size_t have = columns(text), rest = have < width ? width - have : 0;

	add_spaces(out, right ? rest : 0);
	tapir_str__adds(out, text);
	add_spaces(out, right || last ? 0 : rest);
	tapir_str__adds(out, last ? "\n" : "  ");
}

/* Word by word, each line beginning at column `from`. */
static void add_wrapped(struct tapir_str *out, const char *text, size_t from, size_t room)
{
	size_t at = 0;

	while (*text) {
		size_t len = strcspn(text, " ");
		size_t width = columns(text) - columns(text + len);

		if (at && at + 1 + width > room) {
			tapir_str__addc(out, '\n');
			add_spaces(out, from);
			at = 0;
		}
		tapir_str__adds(out, at ? " " : "");
		tapir_str__add(out, text, len);
		at += width + (at > 0);
		text += len;
		text += strspn(text, " ");
	}
	tapir_str__addc(out, '\n');
}

static void add_last(const struct tapir_table *table, struct tapir_str *out, const char *text,
		     const size_t *widths, size_t cnt)
{
	size_t from = 0, room = table->wrap_columns;

	for (size_t i = 0; i + 1 < cnt; i++)
		from += widths[i] + 2;
	room = room > from + MIN_ROOM ? room - from : MIN_ROOM;
	if (table->wrap_columns)
		add_wrapped(out, text, from, room);
	else
		add_cell(out, text, widths[cnt - 1], is_right(table->titles[cnt - 1]), true);
}

void tapir_table__write(const struct tapir_table *table, const struct tapir_palette *p,
			struct tapir_str *out)
{
	size_t widths[TAPIR_TABLE_MAX_COLUMNS], cnt = 0;

	for (; cnt < TAPIR_TABLE_MAX_COLUMNS && table->titles[cnt]; cnt++)
		widths[cnt] = columns(table->titles[cnt] + is_right(table->titles[cnt]));
	for (size_t i = 0; i < table->cells.cnt; i++) {
		size_t width = columns(table->cells.data[i]);

		if (width > widths[i % cnt] && (!table->max_columns || width <= table->max_columns))
			widths[i % cnt] = width;
	}
	out->failed |= table->failed;
	tapir_str__adds(out, p->bold);
	for (size_t i = 0; i < cnt; i++)
		add_cell(out, table->titles[i] + is_right(table->titles[i]), widths[i],
			 is_right(table->titles[i]), i + 1 == cnt);
	tapir_str__adds(out, p->off);
	for (size_t i = 0; i < table->cells.cnt; i++)
		if (i % cnt + 1 == cnt)
			add_last(table, out, table->cells.data[i], widths, cnt);
		else
			add_cell(out, table->cells.data[i], widths[i % cnt],
				 is_right(table->titles[i % cnt]), false);
}

void tapir_table__fini(struct tapir_table *table)
{
	for (size_t i = 0; i < table->cells.cnt; i++)
		free(table->cells.data[i]);
	tapir_vec__fini(&table->cells);
}
