// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Two spaces between columns, the last column not padded, titles in capitals. Where a table is
 * wider than the screen, the widest columns are cut; of a path its beginning, since the end is more
 * informative.
 */
#include "output/render/table.h"

#include <stdlib.h>
#include <string.h>

#define MIN_ROOM     24 /* of a last column that is wrapped, however wide the others are */
#define MIN_FIT_ROOM 12 /* the same where rows have to fit */

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

/* The position after the next cnt characters. */
static const char *skip_characters(const char *text, size_t cnt)
{
	for (; *text && cnt; cnt--)
		for (text++; ((unsigned char)*text & 0xc0) == 0x80;)
			text++;
	return text;
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

/* The end of a path is more informative than its beginning. */
static void add_shortened_cell(struct tapir_str *out, const char *text, size_t width,
			       enum tapir_shortening shortening)
{
	size_t have = columns(text), keep = width ? width - 1 : 0, head = keep;

	if (have <= width) {
		tapir_str__adds(out, text);
		return;
	}
	if (shortening == TAPIR_SHORTEN_BEGIN || *text == '/')
		head = 0;
	else if (shortening == TAPIR_SHORTEN_MIDDLE)
		head = (keep + 1) / 2;
	tapir_str__add(out, text, (size_t)(skip_characters(text, head) - text));
	tapir_str__adds(out, "\xe2\x80\xa6");
	tapir_str__adds(out, skip_characters(text, have - (keep - head)));
}

static void add_cell(struct tapir_str *out, const char *text, size_t width, bool right, bool last)
{
	size_t have = columns(text), rest = have < width ? width - have : 0;

	add_spaces(out, right ? rest : 0);
	tapir_str__adds(out, text);
	add_spaces(out, right || last ? 0 : rest);
	tapir_str__adds(out, last ? "\n" : "  ");
}

/* ---- fitting -------------------------------------------------------------------------------- */

#define LEAST_COLUMNS 8 /* of a column that is cut */
#define LEAST_OF_LAST 24
#define BELOW_INDENT  4

static struct tapir_column_fit fit_of(const struct tapir_table *table, size_t column)
{
	bool is_last = !table->titles[column + 1];

	if (!table->fit_columns)
		return (struct tapir_column_fit){};
	if (table->fits)
		return table->fits[column];
	if (is_right(table->titles[column]))
		return (struct tapir_column_fit){};
	return is_last ? (struct tapir_column_fit){TAPIR_SHORTEN_END, LEAST_OF_LAST}
		       : (struct tapir_column_fit){TAPIR_SHORTEN_MIDDLE, LEAST_COLUMNS};
}

/* Returns the number of columns; each is as wide as its widest cell. */
static size_t measure_columns(const struct tapir_table *table, size_t *widths)
{
	size_t cnt = 0, max = table->fit_columns ? 0 : table->max_columns;

	for (; cnt < TAPIR_TABLE_MAX_COLUMNS && table->titles[cnt]; cnt++)
		widths[cnt] = columns(table->titles[cnt] + is_right(table->titles[cnt]));
	for (size_t i = 0; i < table->cells.cnt; i++) {
		size_t width = columns(table->cells.data[i]);

		if (width > widths[i % cnt] && (!max || width <= max))
			widths[i % cnt] = width;
	}
	if (table->fit_columns && table->wrap_columns && widths[cnt - 1] > MIN_FIT_ROOM)
		widths[cnt - 1] = MIN_FIT_ROOM; /* longer text continues below */
	return cnt;
}

/* The column that can shrink most; cnt: none can shrink. */
static size_t widest(const struct tapir_table *table, const size_t *widths, size_t cnt)
{
	size_t found = cnt, max = 0;

	for (size_t i = 0; i < cnt; i++) {
		struct tapir_column_fit fit = fit_of(table, i);
		size_t title = columns(table->titles[i]);
		size_t least = fit.least_columns > title ? fit.least_columns : title;

		if (fit.shortening == TAPIR_SHORTEN_NEVER || widths[i] <= least ||
		    widths[i] - least <= max)
			continue;
		max = widths[i] - least;
		found = i;
	}
	return found;
}

/* Makes columns narrower, evenly, until they fit; false: they cannot. */
static bool shrink(const struct tapir_table *table, size_t *widths, size_t cnt)
{
	size_t total = cnt ? 2 * (cnt - 1) : 0, i;

	for (i = 0; i < cnt; i++)
		total += widths[i];
	for (; table->fit_columns && total > table->fit_columns; total--) {
		i = widest(table, widths, cnt);
		if (i == cnt)
			return false;
		widths[i]--;
	}
	return true;
}

bool tapir_table__can_fit(const struct tapir_table *table)
{
	size_t widths[TAPIR_TABLE_MAX_COLUMNS], cnt = measure_columns(table, widths);

	return shrink(table, widths, cnt);
}

struct layout {
	size_t widths[TAPIR_TABLE_MAX_COLUMNS], cnt;
	bool is_last_below; /* on a line of its own, as there is no room for it */
};

static void lay_out_columns(const struct tapir_table *table, struct layout *l)
{
	*l = (struct layout){};
	l->cnt = measure_columns(table, l->widths);
	if (shrink(table, l->widths, l->cnt) || table->fits || table->wrap_columns || l->cnt < 2 ||
	    is_right(table->titles[l->cnt - 1]) || table->fit_columns < 2 * BELOW_INDENT)
		return;
	l->is_last_below = true;
	(void)measure_columns(table, l->widths);
	(void)shrink(table, l->widths, l->cnt - 1);
	l->widths[l->cnt - 1] = table->fit_columns - BELOW_INDENT;
}

/* ---- writing -------------------------------------------------------------------------------- */

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
	size_t least = table->fit_columns ? MIN_FIT_ROOM : MIN_ROOM;
	size_t from = 0, room = table->wrap_columns;

	for (size_t i = 0; i + 1 < cnt; i++)
		from += widths[i] + 2;
	room = room > from + least ? room - from : least;
	if (table->wrap_columns)
		add_wrapped(out, text, from, room);
	else
		add_cell(out, text, widths[cnt - 1], is_right(table->titles[cnt - 1]), true);
}

static void add_row_cell(const struct tapir_table *table, struct tapir_str *out, const char *text,
			 const struct layout *l, size_t column)
{
	struct tapir_column_fit fit = fit_of(table, column);
	bool is_last = column + 1 == l->cnt;
	struct tapir_str shortening = {};

	if (fit.shortening != TAPIR_SHORTEN_NEVER && !(is_last && table->wrap_columns)) {
		add_shortened_cell(&shortening, text, l->widths[column], fit.shortening);
		text = shortening.data ? shortening.data : text;
	}
	if (is_last && l->is_last_below)
		add_spaces(out, BELOW_INDENT);
	if (is_last)
		add_last(table, out, text, l->widths, l->cnt);
	else
		add_cell(out, text, l->widths[column], is_right(table->titles[column]),
			 l->is_last_below && column + 2 == l->cnt);
	tapir_str__fini(&shortening);
}

static void add_titles(const struct tapir_table *table, const struct layout *l,
		       struct tapir_str *out)
{
	for (size_t i = 0; i < l->cnt; i++) {
		bool right = is_right(table->titles[i]), is_last = i + 1 == l->cnt;

		add_spaces(out, is_last && l->is_last_below ? BELOW_INDENT : 0);
		add_cell(out, table->titles[i] + right, l->widths[i], right,
			 is_last || (l->is_last_below && i + 2 == l->cnt));
	}
}

void tapir_table__write(const struct tapir_table *table, const struct tapir_palette *p,
			struct tapir_str *out)
{
	struct layout l;

	lay_out_columns(table, &l);
	out->failed |= table->failed;
	tapir_str__adds(out, p->bold);
	add_titles(table, &l, out);
	tapir_str__adds(out, p->off);
	for (size_t i = 0; i < table->cells.cnt; i++)
		add_row_cell(table, out, table->cells.data[i], &l, i % l.cnt);
}

void tapir_table__fini(struct tapir_table *table)
{
	for (size_t i = 0; i < table->cells.cnt; i++)
		free(table->cells.data[i]);
	tapir_vec__fini(&table->cells);
}
