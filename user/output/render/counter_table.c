// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See counter_table.h. Values arrive one by one; the table is drawn over the one before, 200 ms
 * after the first of them, so that an interval's values appear together. Columns that are empty are
 * left out.
 */
#include "output/render/counter_table.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/keyed.h"
#include "base/order.h"
#include "base/vec.h"
#include "output/render/table.h"
#include "decode/dotnet_counters.h"
#include "output/render/screen.h"

#define MAX_ROWS 4096u
#define DRAW_NS	 (200 * TAPIR_NS_PER_MS) /* values of an interval come one after another */

struct row {
	uint32_t tgid;
	char *provider, *name, *unit, *tags;
	double value, rate; /* a second */
	bool has_value, has_rate;
};

struct tapir_counter_table {
	struct tapir_keyed(struct row) rows; /* by process and name */
	uint64_t changed_ns;		     /* 0: nothing came since it was drawn */
};

struct tapir_counter_table *tapir_counter_table__new(void)
{
	return calloc(1, sizeof(struct tapir_counter_table));
}

static void fini_row(struct row *row)
{
	free(row->provider);
	free(row->name);
	free(row->unit);
	free(row->tags);
}

void tapir_counter_table__free(struct tapir_counter_table *t)
{
	struct row *row;

	if (!t)
		return;
	tapir_vec_for_each (row, &t->rows)
		fini_row(row);
	tapir_keyed__fini(&t->rows);
	free(t);
}

/* ---- values ----------------------------------------------------------------------------------- */

static uint64_t counter_key(const struct tapir_counter_view *view)
{
	const struct tapir_sv parts[] = {view->provider, view->name, view->tags};
	uint64_t key = tapir_hash__mix(1, view->rec->tgid);

	for (unsigned i = 0; i < 3; i++) {
		key = tapir_hash__bytes(key, parts[i].data, parts[i].len);
		key = tapir_hash__mix(key, parts[i].len);
	}
	return key;
}

/* Copies its texts, which are the row's, also where it fails. */
static bool fill_row(struct row *row, const struct tapir_counter_view *view)
{
	row->provider = tapir_sv__dup(view->provider);
	row->name = tapir_sv__dup(view->name);
	row->unit = tapir_sv__dup(view->unit);
	row->tags = tapir_sv__dup(view->tags);
	return row->provider && row->name && row->unit && row->tags;
}

static void set_value(struct row *row, const struct tapir_rec_counter *rec)
{
	if (rec->kind != TAPIR_COUNTER_RATE) {
		row->value = rec->value;
		row->has_value = true;
		return;
	}
	row->rate = rec->interval_ns ? rec->value * 1e9 / (double)rec->interval_ns : rec->value;
	row->has_rate = true;
}

int tapir_counter_table__add(struct tapir_counter_table *t, const struct tapir_rec *rec)
{
	struct tapir_counter_view view;
	struct row *row;
	uint64_t key;

	tapir_counter_view__of(rec, &view);
	key = counter_key(&view);
	row = tapir_keyed__add(&t->rows, key, MAX_ROWS, ((struct row){.tgid = view.rec->tgid}));
	if (row && !row->name && !fill_row(row, &view)) {
		fini_row(row);
		tapir_keyed__undo(&t->rows, key);
	}
	if (!row || t->rows.failed)
		return t->rows.failed ? -ENOMEM : 0;
	set_value(row, view.rec);
	if (!t->changed_ns)
		t->changed_ns = tapir_clock__now_ns();
	return 0;
}

/* ---- drawing ---------------------------------------------------------------------------------- */

/* A value as a person reads it: 12, 3.142, 1,234,567. */
static void add_counter_value(struct tapir_str *out, double value)
{
	char digits[32];
	size_t len;

	if (value != floor(value) || fabs(value) >= 1e15) {
		tapir_str__addf(out, fabs(value) < 1e6 ? "%.4g" : "%.10g", value);
		return;
	}
	len = (size_t)snprintf(digits, sizeof(digits), "%.0f", fabs(value));
	tapir_str__adds(out, value < 0 ? "-" : "");
	for (size_t i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			tapir_str__addc(out, ',');
		tapir_str__addc(out, digits[i]);
	}
}

static int by_name(const void *a, const void *b)
{
	const struct row *x = *(const struct row *const *)a, *y = *(const struct row *const *)b;

	return tapir_order__by(tapir_order__up(x->tgid, y->tgid), strcmp(x->provider, y->provider),
			       strcmp(x->name, y->name), strcmp(x->tags, y->tags));
}

/*
 * The columns of the table; those for which the terminal has no room are left out, the values
 * never.
 */
enum column { PID, PROVIDER, COUNTER, COUNTER_AND_TAGS, VALUE, RATE, UNIT, TAGS, COLUMN_CNT };

static const struct {
	const char *title;
	struct tapir_column_fit fit;
} columns[COLUMN_CNT] = {
	[PID] = {">PID"},
	[PROVIDER] = {"PROVIDER", {TAPIR_SHORTEN_MIDDLE, 12}},
	[COUNTER] = {"COUNTER", {TAPIR_SHORTEN_MIDDLE, 28}},
	[COUNTER_AND_TAGS] = {"COUNTER", {TAPIR_SHORTEN_MIDDLE, 8}},
	[VALUE] = {">VALUE"},
	[RATE] = {">RATE/S"},
	[UNIT] = {"UNIT", {TAPIR_SHORTEN_END, 4}},
	[TAGS] = {"TAGS", {TAPIR_SHORTEN_BEGIN, 12}},
};

static void add_counter_cell(struct tapir_table *table, bool is_there, double value)
{
	struct tapir_str text = {};

	if (is_there)
		add_counter_value(&text, value);
	tapir_table__cell(table, text.data ? text.data : "");
	tapir_str__fini(&text);
}

static void add_name_and_tags(struct tapir_table *table, const struct row *row)
{
	struct tapir_str text = {};

	tapir_str__addf(&text, "%s%s%s", row->name, *row->tags ? " " : "", row->tags);
	tapir_table__cell(table, text.data ? text.data : "");
	tapir_str__fini(&text);
}

static void add_cell(struct tapir_table *table, const struct row *row, enum column column)
{
	switch (column) {
	case PID:
		tapir_table__cell_u64(table, row->tgid);
		break;
	case PROVIDER:
		tapir_table__cell(table, row->provider);
		break;
	case COUNTER:
		tapir_table__cell(table, row->name);
		break;
	case COUNTER_AND_TAGS:
		add_name_and_tags(table, row);
		break;
	case VALUE:
		add_counter_cell(table, row->has_value, row->value);
		break;
	case RATE:
		add_counter_cell(table, row->has_rate, row->rate);
		break;
	case UNIT: /* "{request}" only repeats the name (UCUM: an annotation) */
		tapir_table__cell(table, *row->unit == '{' && table->fit_columns ? "" : row->unit);
		break;
	default:
		tapir_table__cell(table, row->tags);
	}
}

#define BIT(column) (1u << (column))

/* Columns with different values; those with the same value in every row are in *same. */
static unsigned telling_columns(struct row *const *rows, size_t cnt, unsigned *same)
{
	unsigned distinct = BIT(PID) | BIT(PROVIDER) | BIT(COUNTER);

	*same = BIT(PID) | BIT(PROVIDER);
	for (size_t i = 0; i < cnt; i++) {
		distinct |= rows[i]->has_value ? BIT(VALUE) : 0;
		distinct |= rows[i]->has_rate ? BIT(RATE) : 0;
		distinct |= *rows[i]->unit ? BIT(UNIT) : 0;
		distinct |= *rows[i]->tags ? BIT(TAGS) : 0;
		if (rows[i]->tgid != rows[0]->tgid)
			*same &= ~BIT(PID);
		if (strcmp(rows[i]->provider, rows[0]->provider) != 0)
			*same &= ~BIT(PROVIDER);
	}
	return distinct;
}

static void add_rows(struct tapir_table *table, struct row *const *rows, size_t cnt,
		     unsigned chosen)
{
	for (size_t i = 0; i < cnt; i++)
		for (unsigned c = 0; c < COLUMN_CNT; c++)
			if (chosen & BIT(c))
				add_cell(table, rows[i], c);
}

/* False: it does not fit and was not written. */
static bool write_columns(struct row *const *rows, size_t cnt, unsigned chosen, size_t fit_columns,
			  struct tapir_str *out)
{
	const char *titles[COLUMN_CNT + 1] = {};
	struct tapir_column_fit fits[COLUMN_CNT];
	struct tapir_table table = {.titles = titles, .fits = fits, .fit_columns = fit_columns};
	unsigned column_cnt = 0;
	bool is_written;

	for (unsigned c = 0; c < COLUMN_CNT; c++)
		if (chosen & BIT(c)) {
			fits[column_cnt] = columns[c].fit;
			titles[column_cnt++] = columns[c].title;
		}
	add_rows(&table, rows, cnt, chosen);
	is_written = chosen & BIT(COUNTER_AND_TAGS) || tapir_table__can_fit(&table);
	if (is_written)
		tapir_table__write(&table, tapir_screen__palette(stdout), out);
	tapir_table__fini(&table);
	return is_written;
}

/* Leaves columns out, one after the other, until the rest fits. */
static void write_counter_rows(struct row *const *rows, size_t cnt, size_t fit_columns,
			       struct tapir_str *out)
{
	unsigned same, chosen = telling_columns(rows, cnt, &same);
	const unsigned removed_sets[] = {0,	    same & BIT(PID), same & BIT(PROVIDER),
					 BIT(UNIT), BIT(PROVIDER),   BIT(PID)};

	for (size_t i = 0; i < sizeof(removed_sets) / sizeof(removed_sets[0]); i++) {
		chosen &= ~removed_sets[i];
		if (write_columns(rows, cnt, chosen, fit_columns, out))
			return;
	}
	chosen &= ~(BIT(COUNTER) | BIT(TAGS));
	(void)write_columns(rows, cnt, chosen | BIT(COUNTER_AND_TAGS), fit_columns, out);
}

/* The width on a terminal: one column per character, none for escapes. */
static size_t shortened_at(const char *line, size_t len, unsigned columns_max)
{
	size_t at = 0;
	unsigned used = 0;

	while (at < len) {
		size_t step = 1;

		if (line[at] == '\033') {
			step = strcspn(line + at, "m") + 1;
		} else if (((unsigned char)line[at] & 0xc0) != 0x80 && ++used > columns_max) {
			break;
		}
		at += step;
	}
	return at < len ? at : len;
}

/* Over what is on the screen: line by line, and the rest cleared. */
static void draw_over(const char *text, unsigned columns_max, struct tapir_str *out)
{
	tapir_str__adds(out, "\033[H");
	while (*text) {
		size_t len = strcspn(text, "\n");

		tapir_str__add(out, text, columns_max ? shortened_at(text, len, columns_max) : len);
		tapir_str__adds(out, "\033[0m\033[K\n");
		text += len + (text[len] == '\n');
	}
	tapir_str__adds(out, "\033[J");
}

/* The number of rows that fit on the screen, without the titles, the last line and the cursor's. */
static size_t fitting_rows(const struct tapir_counter_table *t, const struct winsize *size)
{
	size_t lines = size->ws_row > 1 ? size->ws_row - 1u : 1;

	if (!size->ws_row || (t->rows.cnt < lines && !t->rows.more))
		return t->rows.cnt;
	return t->rows.cnt < lines - 1 ? t->rows.cnt : lines > 2 ? lines - 2 : 1;
}

static void write_counter_table(const struct tapir_counter_table *t, struct row *const *sorted,
				const struct winsize *size, struct tapir_str *out)
{
	size_t shown = fitting_rows(t, size);

	write_counter_rows(sorted, shown, size->ws_col, out);
	if (shown < t->rows.cnt)
		tapir_str__addf(out, "%zu more counters do not fit\n", t->rows.cnt - shown);
	else if (t->rows.more)
		tapir_str__addf(out, "%" PRIu64 " values of more counters\n", t->rows.more);
}

bool tapir_counter_table__draw(struct tapir_counter_table *t, uint64_t now_ns,
			       struct tapir_str *out)
{
	struct winsize size = {};
	struct tapir_str text = {};
	struct row **sorted;

	if (!t->changed_ns || now_ns < t->changed_ns + DRAW_NS)
		return t->changed_ns;
	t->changed_ns = 0;
	sorted = calloc(t->rows.cnt, sizeof(struct row *));
	if (!sorted)
		return false;
	for (size_t i = 0; i < t->rows.cnt; i++)
		sorted[i] = &t->rows.data[i];
	qsort(sorted, t->rows.cnt, sizeof(struct row *), by_name);
	ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
	write_counter_table(t, sorted, &size, &text);
	if (text.data)
		draw_over(text.data, size.ws_col, out);
	out->failed |= text.failed;
	tapir_str__fini(&text);
	free(sorted);
	return false;
}
