// SPDX-License-Identifier: GPL-2.0-or-later
/* Measured values over time: each counter of a process in parts of the recording. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/view.h"

#define MAX_COUNTERS 4096u
#define MAX_POINTS   512u /* of a counter: when there are more, two become one */

struct point {
	uint64_t at_ns, cnt;
	double sum;
};

struct counter {
	uint32_t tgid, kind, point_cnt;
	uint64_t cnt, per_point; /* values that make one point */
	char *provider, *name, *unit, *tags;
	double first, last, least, most, sum;
	struct point points[MAX_POINTS];
};

struct counters {
	struct tapir_timeline *tl;
	uint64_t more;
	struct tapir_vec(struct counter *) rows;
	struct tapir_map by_name;
	bool failed;
};

static void *start(struct tapir_timeline *tl, const char *arg, uint64_t top)
{
	struct counters *v = calloc(1, sizeof(*v));

	(void)arg;
	(void)top;
	if (v)
		v->tl = tl;
	return v;
}

static void free_counter(struct counter *c)
{
	free(c->provider);
	free(c->name);
	free(c->unit);
	free(c->tags);
	free(c);
}

static void release(void *ctx)
{
	struct counters *v = ctx;
	struct counter **c;

	if (!v)
		return;
	tapir_vec_for_each (c, &v->rows)
		free_counter(*c);
	tapir_vec__fini(&v->rows);
	tapir_map__fini(&v->by_name);
	free(v);
}

static char *copy(struct tapir_sv text)
{
	return strndup(text.len ? text.data : "", text.len);
}

static struct counter *make_counter(struct counters *v, const struct tapir_counter_view *view,
				    uint64_t key)
{
	struct counter *c = v->rows.cnt < MAX_COUNTERS ? calloc(1, sizeof(*c)) : NULL;
	uint64_t *idx;

	if (!c) {
		v->more++;
		v->failed |= v->rows.cnt < MAX_COUNTERS;
		return NULL;
	}
	c->tgid = view->rec->tgid;
	c->kind = view->rec->kind;
	c->per_point = 1;
	c->provider = copy(view->provider);
	c->name = copy(view->name);
	c->unit = copy(view->unit);
	c->tags = copy(view->tags);
	idx = c->provider && c->name && c->unit && c->tags && tapir_vec__push(&v->rows, c)
		      ? tapir_map__put(&v->by_name, key, NULL)
		      : NULL;
	if (idx) {
		*idx = v->rows.cnt - 1;
		return c;
	}
	v->failed = true;
	if (v->rows.cnt && v->rows.data[v->rows.cnt - 1] == c)
		v->rows.cnt--;
	free_counter(c);
	return NULL;
}

static struct counter *counter_of(struct counters *v, const struct tapir_counter_view *view)
{
	uint64_t key = tapir_hash__mix(1, view->rec->tgid);
	const uint64_t *idx;

	key = tapir_hash__bytes(key, view->provider.data, view->provider.len);
	key = tapir_hash__mix(key, view->provider.len);
	key = tapir_hash__bytes(key, view->name.data, view->name.len);
	key = tapir_hash__mix(key, view->name.len);
	key = tapir_hash__bytes(key, view->tags.data, view->tags.len);
	idx = tapir_map__get(&v->by_name, key);
	return idx ? v->rows.data[*idx] : make_counter(v, view, key);
}

static void add_point(struct counter *c, uint64_t at_ns, double value)
{
	struct point *last = c->point_cnt ? &c->points[c->point_cnt - 1] : NULL;

	if (last && last->cnt < c->per_point) {
		last->sum += value;
		last->cnt++;
		return;
	}
	if (c->point_cnt == MAX_POINTS) {
		for (unsigned i = 0; i < MAX_POINTS / 2; i++) {
			c->points[i] = c->points[2 * i];
			c->points[i].sum += c->points[2 * i + 1].sum;
			c->points[i].cnt += c->points[2 * i + 1].cnt;
		}
		c->point_cnt = MAX_POINTS / 2;
		c->per_point *= 2;
	}
	c->points[c->point_cnt++] = (struct point){at_ns, 1, value};
}

static void on_counter(void *ctx, const struct tapir_rec_counter *rec)
{
	struct counters *v = ctx;
	struct tapir_counter_view view;
	struct counter *c;

	tapir_counter_view__of(&rec->h, &view);
	c = counter_of(v, &view);
	if (!c)
		return;
	if (!c->cnt++)
		c->first = c->least = c->most = rec->value;
	c->last = rec->value;
	c->least = rec->value < c->least ? rec->value : c->least;
	c->most = rec->value > c->most ? rec->value : c->most;
	c->sum += rec->value;
	add_point(c, rec->h.time_ns, rec->value);
}

static void write_points(struct tapir_sheet *sheet, size_t rows, const struct counter *c)
{
	static const struct tapir_column columns[] = {
		{"at_ns", NULL, TAPIR_CELL_TIME}, {"value", NULL, TAPIR_CELL_NUMBER}, {}};
	size_t t = tapir_sheet__table_of_row(sheet, rows, "points", NULL, columns);

	for (unsigned i = 0; i < c->point_cnt; i++) {
		tapir_sheet__time(sheet, t, c->points[i].at_ns);
		tapir_sheet__f64(sheet, t, c->points[i].sum / (double)c->points[i].cnt);
	}
}

static int finish(void *ctx, struct tapir_sheet *sheet)
{
	static const char *const kinds[] = {"gauge", "rate", "sum"};
	static const struct tapir_column columns[] = {{"pid", ">PID", TAPIR_CELL_ID},
						      {"count", ">VALUES", TAPIR_CELL_COUNT},
						      {"first", ">FIRST", TAPIR_CELL_NUMBER},
						      {"least", ">LEAST", TAPIR_CELL_NUMBER},
						      {"mean", ">MEAN", TAPIR_CELL_NUMBER},
						      {"most", ">MOST", TAPIR_CELL_NUMBER},
						      {"last", ">LAST", TAPIR_CELL_NUMBER},
						      {"unit", "UNIT", TAPIR_CELL_TEXT},
						      {"kind", NULL, TAPIR_CELL_TEXT},
						      {"provider", NULL, TAPIR_CELL_TEXT},
						      {"name", "COUNTER", TAPIR_CELL_TEXT},
						      {"tags", "", TAPIR_CELL_TEXT},
						      {}};
	struct counters *v = ctx;
	size_t t = tapir_sheet__table(sheet, "counters", NULL, columns);
	struct counter **row;

	tapir_vec_for_each (row, &v->rows) {
		const struct counter *c = *row;

		tapir_sheet__u64(sheet, t, c->tgid);
		tapir_sheet__u64(sheet, t, c->cnt);
		tapir_sheet__f64(sheet, t, c->first);
		tapir_sheet__f64(sheet, t, c->least);
		tapir_sheet__f64(sheet, t, c->sum / (double)c->cnt);
		tapir_sheet__f64(sheet, t, c->most);
		tapir_sheet__f64(sheet, t, c->last);
		tapir_sheet__text(sheet, t, c->unit);
		tapir_sheet__text(sheet, t, c->kind < 3 ? kinds[c->kind] : NULL);
		tapir_sheet__text(sheet, t, c->provider);
		tapir_sheet__text(sheet, t, c->name);
		tapir_sheet__text(sheet, t, c->tags);
		write_points(sheet, t, c);
	}
	if (v->rows.cnt)
		tapir_str__addf(&sheet->headline, "%zu counters", v->rows.cnt);
	else
		tapir_str__adds(&sheet->headline, "the file has no counters");
	return v->failed ? -ENOMEM : 0;
}

const struct tapir_view tapir_view_counters = {
	.name = "counters",
	.summary = "measured values over time",
	.fns = {.counter = on_counter},
	.start = start,
	.finish = finish,
	.free = release,
};
