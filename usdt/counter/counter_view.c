/* SPDX-License-Identifier: MIT */
/*
 * counter_view.c - what updates add up to, and what each session has received of a counter, so
 * that its intervals are its own: sums are differences, least and greatest are kept by rounds,
 * which end with any session's interval, and are added to the values of all others. All under
 * the lock.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "counter_impl.h"

/* ---- what they add up to ------------------------------------------------------------------ */

void counter__sum(const struct tapir_counter *c, struct counter_sums *out)
{
	*out = (struct counter_sums){.min = HUGE_VAL, .max = -HUGE_VAL};
	for (uint32_t i = 1; i < COUNTER_CELLS; i++) {
		const struct counter_cell *cell = &c->cells[i];
		uint64_t count = prov_load_acquire(&cell->count);
		double value;

		if (!count)
			continue;
		out->count += count;
		counter_load(cell->sum, value);
		out->sum += value;
		counter_load(cell->square_sum, value);
		out->square_sum += value;
		if (prov_load_acquire(&cell->round) != c->round)
			continue;
		counter_load(cell->min, value);
		out->min = value < out->min ? value : out->min;
		counter_load(cell->max, value);
		out->max = value > out->max ? value : out->max;
	}
}

/*
 * all_squares: what square_sum is a difference of. Each addition to that was rounded by up to half
 * of its last digit: a variance that could be this alone is none.
 */
struct counter_moments counter__moments(const struct tapir_counter *c, double count, double sum,
					double square_sum, double all_squares)
{
	double distance = sum / count, origin;
	double variance = square_sum / count - distance * distance;

	counter_load(c->origin, origin);
	if (isnan(origin))
		origin = 0;
	return (struct counter_moments){
		.sum = sum + count * origin,
		.mean = origin + distance,
		.deviation = variance > DBL_EPSILON * all_squares ? sqrt(variance) : 0,
	};
}

/* ---- a session's ----------------------------------------------------------------------------- */

static struct counter_view *make_view(const struct tapir_counter *c)
{
	struct counter_view *v = calloc(1, sizeof(*v));

	if (!v || !c->buckets)
		return v;
	v->spread = calloc(1, sizeof(*v->spread));
	if (v->spread)
		return v;
	free(v);
	return NULL;
}

static void forget_bounds(struct counter_view *v)
{
	v->min = HUGE_VAL;
	v->max = -HUGE_VAL;
}

/* The round ends: its bounds belong to everybody's interval. */
static void end_round(struct tapir_counter *c, struct counter_sums *sums)
{
	counter__sum(c, sums);
	__atomic_store_n(&c->round, c->round + 1, __ATOMIC_RELEASE);
	for (uint32_t s = 0; s < TAPIR_SESSION_MAX; s++) {
		struct counter_view *v = c->views[s];

		if (!v)
			continue;
		v->min = sums->min < v->min ? sums->min : v->min;
		v->max = sums->max > v->max ? sums->max : v->max;
	}
}

/* Without memory there is no view, and the session has no intervals of this counter. */
void counter_view__begin(struct tapir_counter *c, uint32_t session)
{
	double percentiles[PERCENTILE_CNT];
	struct counter_view *v = c->views[session];

	if (!v)
		v = c->views[session] = make_view(c);
	if (!v)
		return;
	v->published_ns = 0;
	v->polled = 0;
	v->has_polled = 0;
	end_round(c, &v->published);
	forget_bounds(v);
	if (c->buckets)
		counter_histogram__read(c, v->spread, 0, 0, percentiles);
}

/*
 * Bounds are kept by round, which all views share, and may be those of no value of this view's
 * interval: min is above max then, and the mean stands for both.
 */
void counter_view__take(struct tapir_counter *c, uint32_t session, struct counter_report *r)
{
	struct counter_view *v = c->views[session];
	struct counter_sums sums;
	double count, sum, square_sum;

	end_round(c, &sums);
	count = (double)(sums.count - v->published.count);
	sum = sums.sum - v->published.sum;
	square_sum = sums.square_sum - v->published.square_sum;
	v->published = sums;
	r->count = (uint32_t)count;
	if (count >= 1) {
		struct counter_moments moments =
			counter__moments(c, count, sum, square_sum, sums.square_sum);

		r->increment = moments.sum;
		r->mean = moments.mean;
		r->deviation = moments.deviation;
		r->min = v->min <= v->max ? v->min : r->mean;
		r->max = v->min <= v->max ? v->max : r->mean;
		if (c->buckets)
			counter_histogram__read(c, v->spread, r->min, r->max, r->percentiles);
	}
	forget_bounds(v);
}

void counter_views__free(struct tapir_counter *c)
{
	for (uint32_t s = 0; s < TAPIR_SESSION_MAX; s++) {
		if (c->views[s])
			free(c->views[s]->spread);
		free(c->views[s]);
		c->views[s] = NULL;
	}
}
