// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Measured values over time: each counter of a process. What was added in an interval is shown as
 * so much a second. As long as there is room every value is kept; then two become one.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/keyed.h"
#include "base/order.h"
#include "base/reader_words.h"
#include "analyze/view.h"

#define MAX_COUNTERS   4096u
#define MAX_POINTS     32768u	  /* of a counter: when there are more, two become one */
#define FEW_POINTS     512u	  /* the same when there are more than enough of all */
#define ENOUGH	       (1u << 21) /* of all: 48 MB */
#define SPARKLINE_COLS 32u

struct point {
	uint64_t at_ns, cnt;
	double sum;
};

struct counter {
	uint32_t tgid, kind;
	uint64_t cnt, per_point; /* values that make one point */
	char *provider, *name, *unit, *tags;
	double first, last, least, max, sum;
	double total; /* RATE: of what was added */
	struct tapir_vec(struct point) points;
};

struct counters {
	struct tapir_view_args args;
	uint64_t point_cnt;
	struct tapir_keyed(struct counter *) rows; /* by name */
};

static void free_counter(struct counter *c)
{
	free(c->provider);
	free(c->name);
	free(c->unit);
	free(c->tags);
	tapir_vec__fini(&c->points);
	free(c);
}

static void counters_fini(void *ctx)
{
	struct counters *v = ctx;
	struct counter **c;

	tapir_vec_for_each (c, &v->rows)
		free_counter(*c);
	tapir_keyed__fini(&v->rows);
}

static struct counter *make_counter(struct counters *v, const struct tapir_counter_view *view,
				    uint64_t key)
{
	struct counter *c = calloc(1, sizeof(*c));

	if (!c) {
		v->args.failed = true;
		return NULL;
	}
	c->tgid = view->rec->tgid;
	c->kind = view->rec->kind;
	c->per_point = 1;
	c->provider = tapir_sv__dup(view->provider);
	c->name = tapir_sv__dup(view->name);
	c->unit = tapir_sv__dup(view->unit);
	c->tags = tapir_sv__dup(view->tags);
	if (!c->provider || !c->name || !c->unit || !c->tags)
		v->args.failed = true;
	else if (tapir_keyed__add(&v->rows, key, MAX_COUNTERS, c))
		return c;
	free_counter(c);
	return NULL;
}

static struct counter *counter_of(struct counters *v, const struct tapir_counter_view *view)
{
	uint64_t key = tapir_hash__mix(view->rec->kind, view->rec->tgid);
	struct counter **known;

	key = tapir_hash__bytes(key, view->provider.data, view->provider.len);
	key = tapir_hash__mix(key, view->provider.len);
	key = tapir_hash__bytes(key, view->name.data, view->name.len);
	key = tapir_hash__mix(key, view->name.len);
	key = tapir_hash__bytes(key, view->tags.data, view->tags.len);
	known = tapir_keyed__get(&v->rows, key);
	return known ? *known : make_counter(v, view, key);
}

/* Two become one. */
static void halve(struct counters *v, struct counter *c)
{
	size_t half = c->points.cnt / 2;

	for (size_t i = 0; i < half; i++) {
		c->points.data[i] = c->points.data[2 * i];
		c->points.data[i].sum += c->points.data[2 * i + 1].sum;
		c->points.data[i].cnt += c->points.data[2 * i + 1].cnt;
	}
	v->point_cnt -= c->points.cnt - half;
	c->points.cnt = half;
	c->per_point *= 2;
}

static void add_point(struct counters *v, struct counter *c, uint64_t at_ns, double value)
{
	struct point *last = c->points.cnt ? &c->points.data[c->points.cnt - 1] : NULL;
	struct point point = {at_ns, 1, value};

	if (last && last->cnt < c->per_point) {
		last->sum += value;
		last->cnt++;
		return;
	}
	if (c->points.cnt >= (v->point_cnt < ENOUGH ? MAX_POINTS : FEW_POINTS))
		halve(v, c);
	if (tapir_vec__push(&c->points, point))
		v->point_cnt++;
	else
		v->args.failed = true;
}

/* The value as it is shown: per second, if it is an increment. */
static double shown_value(const struct tapir_rec_counter *rec)
{
	if (rec->kind != TAPIR_COUNTER_RATE || !rec->interval_ns)
		return rec->value;
	return rec->value * 1e9 / (double)rec->interval_ns;
}

static void on_counter(void *ctx, const struct tapir_rec_counter *rec)
{
	struct counters *v = ctx;
	struct tapir_counter_view view;
	struct counter *c;
	double value;

	if (!isfinite(rec->value))
		return;
	tapir_counter_view__of(&rec->h, &view);
	c = counter_of(v, &view);
	if (!c)
		return;
	value = shown_value(rec);
	if (!c->cnt++)
		c->first = c->least = c->max = value;
	c->last = value;
	c->least = value < c->least ? value : c->least;
	c->max = value > c->max ? value : c->max;
	c->sum += value;
	c->total += rec->value;
	add_point(v, c, rec->h.time_ns, value);
}

/* ---- the result -------------------------------------------------------------------------------- */

static void write_points(struct tapir_view_result *result, size_t rows, const struct counter *c)
{
	static const struct tapir_column columns[] = {
		{"at_ns", NULL, TAPIR_CELL_TIME}, {"value", NULL, TAPIR_CELL_NUMBER}, {}};
	size_t t = tapir_view_result__table_of_row(result, rows, "points", NULL, columns);

	for (size_t i = 0; i < c->points.cnt; i++) {
		const struct point *p = &c->points.data[i];

		tapir_view_result__time(result, t, p->at_ns);
		tapir_view_result__f64(result, t, p->sum / (double)p->cnt);
	}
}

/* Each value, or means of equal parts of its time: from the least to the most; a gap is a space. */
static void write_sparks(struct tapir_view_result *result, size_t t, const struct counter *c)
{
	static const char *const blocks[] = {"\u2581", "\u2582", "\u2583", "\u2584",
					     "\u2585", "\u2586", "\u2587", "\u2588"};
	const struct point *points = c->points.data;
	size_t cnt = c->points.cnt, slots = cnt < SPARKLINE_COLS ? cnt : SPARKLINE_COLS;
	uint64_t from_ns = points[0].at_ns, span_ns = points[cnt - 1].at_ns - from_ns + 1;
	double sums[SPARKLINE_COLS] = {}, cnts[SPARKLINE_COLS] = {};
	struct tapir_str text = {};

	for (size_t i = 0; i < cnt; i++) {
		uint64_t since_ns = points[i].at_ns > from_ns ? points[i].at_ns - from_ns : 0;
		size_t slot = (size_t)((double)since_ns / (double)span_ns * (double)slots);

		/* Few values have a character each, whatever their distances. */
		slot = cnt <= SPARKLINE_COLS ? i : slot < slots ? slot : slots - 1;
		sums[slot] += points[i].sum;
		cnts[slot] += (double)points[i].cnt;
	}
	for (size_t i = 0; i < slots; i++) {
		double mean = cnts[i] > 0 ? sums[i] / cnts[i] : 0, range = c->max - c->least;
		double share = range > 0 ? (mean - c->least) / range : 0;
		int level = (int)(share * 7.999);

		level = level < 0 ? 0 : level > 7 ? 7 : level;
		tapir_str__adds(&text, cnts[i] > 0 ? blocks[level] : " ");
	}
	tapir_view_result__text(result, t, text.data ? text.data : "");
	tapir_str__fini(&text);
}

static int by_name(const void *a, const void *b)
{
	const struct counter *x = *(struct counter *const *)a, *y = *(struct counter *const *)b;

	return tapir_order__by(tapir_order__up(x->tgid, y->tgid), strcmp(x->provider, y->provider),
			       strcmp(x->name, y->name), strcmp(x->tags, y->tags),
			       tapir_order__up(x->kind, y->kind));
}

static void write_unit(struct tapir_view_result *result, size_t t, const struct counter *c)
{
	struct tapir_str text = {};

	tapir_str__adds(&text, c->unit);
	tapir_str__adds(&text, c->kind == TAPIR_COUNTER_RATE ? "/s" : "");
	tapir_view_result__text(result, t, text.data ? text.data : "");
	tapir_str__fini(&text);
}

static int counters_finish(void *ctx, struct tapir_view_result *result)
{
	char words[TAPIR_READER_WORDS_BYTES];
	static const char *const kinds[] = {"gauge", "rate", "sum"};
	static const struct tapir_column columns[] = {{"pid", ">PID", TAPIR_CELL_ID},
						      {"provider", "PROVIDER", TAPIR_CELL_TEXT},
						      {"name", "COUNTER", TAPIR_CELL_TEXT},
						      {"tags", "TAGS", TAPIR_CELL_TEXT},
						      {"kind", NULL, TAPIR_CELL_TEXT},
						      {"count", NULL, TAPIR_CELL_COUNT},
						      {"total", NULL, TAPIR_CELL_NUMBER},
						      {"first", ">FIRST", TAPIR_CELL_NUMBER},
						      {"least", ">MIN", TAPIR_CELL_NUMBER},
						      {"mean", ">MEAN", TAPIR_CELL_NUMBER},
						      {"most", ">MAX", TAPIR_CELL_NUMBER},
						      {"last", ">LAST", TAPIR_CELL_NUMBER},
						      {"unit", "UNIT", TAPIR_CELL_TEXT},
						      {"over_time", "OVER TIME", TAPIR_CELL_TEXT},
						      {}};
	struct counters *v = ctx;
	size_t t = tapir_view_result__table(result, "counters", NULL, columns);
	struct counter **row;

	tapir_keyed__sort(&v->rows, by_name);
	tapir_vec_for_each (row, &v->rows) {
		const struct counter *c = *row;

		if (!c->points.cnt)
			continue; /* out of memory */
		tapir_view_result__u64(result, t, c->tgid);
		tapir_view_result__text(result, t, c->provider);
		tapir_view_result__text(result, t, c->name);
		tapir_view_result__text(result, t, c->tags[0] ? c->tags : NULL);
		tapir_view_result__text(result, t, c->kind < 3 ? kinds[c->kind] : NULL);
		tapir_view_result__u64(result, t, c->cnt);
		if (c->kind == TAPIR_COUNTER_RATE)
			tapir_view_result__f64(result, t, c->total);
		else
			tapir_view_result__none(result, t);
		tapir_view_result__f64(result, t, c->first);
		tapir_view_result__f64(result, t, c->least);
		tapir_view_result__f64(result, t, c->sum / (double)c->cnt);
		tapir_view_result__f64(result, t, c->max);
		tapir_view_result__f64(result, t, c->last);
		write_unit(result, t, c);
		write_sparks(result, t, c);
		write_points(result, t, c);
	}
	if (v->rows.more)
		tapir_view_result__note(result,
					"more than %u counters: values of the others are left out",
					MAX_COUNTERS);
	if (v->rows.cnt)
		tapir_str__addf(&result->headline, "%zu counters", v->rows.cnt);
	else
		tapir_str__adds(&result->headline,
				tapir_reader_words__of("the recording has no counters: `tapir "
						       "record --counters` records them",
						       words));
	v->args.failed |= v->rows.failed;
	return 0;
}

const struct tapir_view tapir_view_counters = {
	.name = "counters",
	.summary = "counter values over time",
	.fns = {.counter = on_counter},
	.ctx_bytes = sizeof(struct counters),
	.finish = counters_finish,
	.fini = counters_fini,
};
