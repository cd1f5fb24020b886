// SPDX-License-Identifier: GPL-2.0-or-later
/* See counter_table.h. */
#include "cli/counter_table.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/vec.h"
#include "cli/table.h"
#include "decode/dotnet_counters.h"

#define MAX_ROWS 4096u
#define DRAW_NS	 (200 * TAPIR_NS_PER_MS) /* values of an interval come one after another */

struct row {
	uint32_t tgid;
	char *provider, *name, *unit, *tags;
	double value, rate; /* a second */
	bool has_value, has_rate;
};

struct tapir_counter_table {
	struct tapir_vec(struct row) rows;
	struct tapir_map by_name; /* -> idx + 1 */
	uint64_t more;
	uint64_t changed_ns; /* 0: nothing came since it was drawn */
};

struct tapir_counter_table *tapir_counter_table__new(void)
{
	return calloc(1, sizeof(struct tapir_counter_table));
}

void tapir_counter_table__free(struct tapir_counter_table *t)
{
	struct row *row;

	if (!t)
		return;
	tapir_vec_for_each (row, &t->rows) {
		free(row->provider);
		free(row->name);
		free(row->unit);
		free(row->tags);
	}
	tapir_vec__fini(&t->rows);
	tapir_map__fini(&t->by_name);
	free(t);
}

/* ---- values ----------------------------------------------------------------------------------- */

static uint64_t key_of(const struct tapir_counter_view *view)
{
	const struct tapir_sv parts[] = {view->provider, view->name, view->tags};
	uint64_t key = tapir_hash__mix(1, view->rec->tgid);

	for (unsigned i = 0; i < 3; i++) {
		key = tapir_hash__bytes(key, parts[i].data, parts[i].len);
		key = tapir_hash__mix(key, parts[i].len);
	}
	return key;
}

static char *copy(struct tapir_sv text)
{
	return strndup(text.len ? text.data : "", text.len);
}

static struct row *make_row(struct tapir_counter_table *t, const struct tapir_counter_view *view)
{
	struct row row = {.tgid = view->rec->tgid,
			  .provider = copy(view->provider),
			  .name = copy(view->name),
			  .unit = copy(view->unit),
			  .tags = copy(view->tags)};

	if (row.provider && row.name && row.unit && row.tags && tapir_vec__push(&t->rows, row))
		return &t->rows.data[t->rows.cnt - 1];
	free(row.provider);
	free(row.name);
	free(row.unit);
	free(row.tags);
	return NULL;
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
	bool is_new = false;
	struct row *row;
	uint64_t *idx;

	tapir_counter_view__of(rec, &view);
	idx = tapir_map__get(&t->by_name, key_of(&view));
	if (!idx && t->rows.cnt == MAX_ROWS) {
		t->more++;
		return 0;
	}
	if (!idx)
		idx = tapir_map__put(&t->by_name, key_of(&view), &is_new);
	if (!idx)
		return -ENOMEM;
	row = is_new ? make_row(t, &view) : &t->rows.data[*idx - 1];
	if (!row)
		return -ENOMEM;
	*idx = (uint64_t)(row - t->rows.data) + 1;
	set_value(row, view.rec);
	if (!t->changed_ns)
		t->changed_ns = tapir_clock__now_ns();
	return 0;
}

/* ---- drawing ---------------------------------------------------------------------------------- */

void tapir_counter__add_value(struct tapir_str *out, double value)
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
	int order = x->tgid < y->tgid ? -1 : x->tgid > y->tgid;

	order = order ? order : strcmp(x->provider, y->provider);
	order = order ? order : strcmp(x->name, y->name);
	return order ? order : strcmp(x->tags, y->tags);
}

static void add_number(struct tapir_table *table, bool is_there, double value)
{
	struct tapir_str text = {};

	if (is_there)
		tapir_counter__add_value(&text, value);
	tapir_table__cell(table, text.data ? text.data : "");
	tapir_str__fini(&text);
}

static void write_rows(struct row *const *rows, size_t cnt, struct tapir_str *out)
{
	static const char *const titles[] = {">PID",	"PROVIDER", "COUNTER", ">VALUE",
					     ">RATE/S", "UNIT",	    "TAGS",    NULL};
	struct tapir_table table = {.titles = titles};

	for (size_t i = 0; i < cnt; i++) {
		tapir_table__cell_u64(&table, rows[i]->tgid);
		tapir_table__cell(&table, rows[i]->provider);
		tapir_table__cell(&table, rows[i]->name);
		add_number(&table, rows[i]->has_value, rows[i]->value);
		add_number(&table, rows[i]->has_rate, rows[i]->rate);
		tapir_table__cell(&table, rows[i]->unit);
		tapir_table__cell(&table, rows[i]->tags);
	}
	tapir_table__write(&table, tapir_terminal__palette(stdout), out);
	tapir_table__fini(&table);
}

/* Characters as they stand on a terminal, each one column wide; escapes take none. */
static size_t cut_at(const char *line, size_t len, unsigned columns)
{
	size_t at = 0;
	unsigned used = 0;

	while (at < len) {
		size_t step = 1;

		if (line[at] == '\033') {
			step = strcspn(line + at, "m") + 1;
		} else if (((unsigned char)line[at] & 0xc0) != 0x80 && ++used > columns) {
			break;
		}
		at += step;
	}
	return at < len ? at : len;
}

/* Over what stands there: line for line, each cut to the terminal, and the rest cleared. */
static void draw_over(const char *text, const struct winsize *size, struct tapir_str *out)
{
	unsigned lines = size->ws_row ? size->ws_row - 1u : UINT32_MAX;

	tapir_str__adds(out, "\033[H");
	for (unsigned i = 0; *text && i < lines; i++) {
		size_t len = strcspn(text, "\n");

		tapir_str__add(out, text, size->ws_col ? cut_at(text, len, size->ws_col) : len);
		tapir_str__adds(out, "\033[0m\033[K\n");
		text += len + (text[len] == '\n');
	}
	tapir_str__adds(out, "\033[J");
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
	write_rows(sorted, t->rows.cnt, &text);
	if (t->more)
		tapir_str__addf(&text, "%" PRIu64 " values of more counters\n", t->more);
	ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
	if (text.data)
		draw_over(text.data, &size, out);
	out->failed |= text.failed;
	tapir_str__fini(&text);
	free(sorted);
	return false;
}
