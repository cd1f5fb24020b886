// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Every row of either recording gives a figure or more; how many there are decides how far from
 * noise each has to be. Percentiles are compared by the bounds of their ranks: 1 % of 200 requests
 * is two of them, about which nothing can be said.
 */
#include "analyze/diff/diff.h"
#include "base/order.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_CHANGE   1.1 /* smaller ratios are of no interest */
#define LEAST_MEAN_CNT 8u
#define LEAST_REQUESTS 50u /* of which rates per request can be made */

#define BIT(figure)    (1u << (figure))

/* The figures of each kind, and the family of records of which it is made. */
static const struct kind {
	const char *name;
	unsigned figures;
	enum tapir_family_id family;
} kinds[TAPIR_DIFF_KIND_CNT] = {
	[TAPIR_DIFF_ROUTE] = {"requests",
			      BIT(TAPIR_DIFF_COUNT) | BIT(TAPIR_DIFF_MEAN) | BIT(TAPIR_DIFF_P50) |
				      BIT(TAPIR_DIFF_P90) | BIT(TAPIR_DIFF_P99),
			      TAPIR_FAMILY_EVENT},
	[TAPIR_DIFF_GC] = {"gc",
			   BIT(TAPIR_DIFF_COUNT) | BIT(TAPIR_DIFF_SUM) | BIT(TAPIR_DIFF_MEAN) |
				   BIT(TAPIR_DIFF_P50) | BIT(TAPIR_DIFF_P90),
			   TAPIR_FAMILY_EVENT},
	[TAPIR_DIFF_PROCESS] = {"processes", BIT(TAPIR_DIFF_SUM), TAPIR_FAMILY_SAMPLE},
	[TAPIR_DIFF_CPU] = {"cpu", BIT(TAPIR_DIFF_SUM), TAPIR_FAMILY_SAMPLE},
	[TAPIR_DIFF_TOTAL] = {"total", BIT(TAPIR_DIFF_SUM), TAPIR_FAMILY_SAMPLE},
	[TAPIR_DIFF_WAIT] = {"waits", BIT(TAPIR_DIFF_SUM), TAPIR_FAMILY_SWITCH},
	[TAPIR_DIFF_ALLOCATION] = {"allocations", BIT(TAPIR_DIFF_SUM), TAPIR_FAMILY_EVENT},
	[TAPIR_DIFF_EXCEPTION] = {"exceptions", BIT(TAPIR_DIFF_COUNT), TAPIR_FAMILY_EVENT},
	[TAPIR_DIFF_INTERVAL] = {"intervals",
				 BIT(TAPIR_DIFF_COUNT) | BIT(TAPIR_DIFF_SUM) |
					 BIT(TAPIR_DIFF_MEAN) | BIT(TAPIR_DIFF_P50) |
					 BIT(TAPIR_DIFF_P90) | BIT(TAPIR_DIFF_P99),
				 TAPIR_FAMILY_EVENT},
	[TAPIR_DIFF_COUNTER] = {"counters", BIT(TAPIR_DIFF_MEAN), TAPIR_FAMILY_EVENT},
	[TAPIR_DIFF_EVENT] = {"events", BIT(TAPIR_DIFF_COUNT), TAPIR_FAMILY_EVENT},
};

const char *tapir_diff_kind__name(enum tapir_diff_kind kind)
{
	return kinds[kind].name;
}

const char *tapir_diff_figure__name(enum tapir_diff_figure figure)
{
	static const char *const names[TAPIR_DIFF_FIGURE_CNT] = {
		[TAPIR_DIFF_COUNT] = "count", [TAPIR_DIFF_SUM] = "sum", [TAPIR_DIFF_MEAN] = "mean",
		[TAPIR_DIFF_P50] = "p50",     [TAPIR_DIFF_P90] = "p90", [TAPIR_DIFF_P99] = "p99",
		[TAPIR_DIFF_MAX] = "max"};

	return names[figure];
}

/* ---- a figure of one recording ----------------------------------------------------------------- */

struct figure {
	bool is_known, is_zero; /* is_zero: there is nothing of it, which is known */
	double value, worst, error;
	double low, high; /* of a percentile: it lies between */
	uint64_t cnt;	  /* of single things; 0: it is no number of them */
};

/* Requests are what others are counted by. */
static const double *amounts(const struct tapir_diff *diff, const struct tapir_diff_side *side,
			     enum tapir_diff_kind kind)
{
	return kind != TAPIR_DIFF_ROUTE && diff->base == TAPIR_DIFF_PER_REQUEST ? side->requests
										: side->seconds;
}

static double diff_parts_sum(const double parts[TAPIR_DIFF_PARTS])
{
	double sum = 0;

	for (unsigned i = 0; i < TAPIR_DIFF_PARTS; i++)
		sum += parts[i];
	return sum;
}

static struct figure rate_of(const double of[TAPIR_DIFF_PARTS], const double per[TAPIR_DIFF_PARTS])
{
	struct tapir_diff_rate rate = tapir_diff_rate__of(of, per);

	return (struct figure){.is_known = rate.is_known,
			       .value = rate.value,
			       .worst = rate.worst,
			       .error = rate.error};
}

/* A rate of single things has at least the error of their number. */
static void count_things(struct figure *f, uint64_t cnt)
{
	double error = cnt ? f->value / sqrt((double)cnt) : 0;

	f->cnt = cnt;
	f->error = error > f->error ? error : f->error;
}

static double ranked(const struct tapir_histogram *h, uint64_t rank)
{
	uint64_t seen = 0;

	for (unsigned step = 0; step < sizeof(h->counts) / sizeof(*h->counts); step++) {
		uint64_t middle = tapir_histogram__low(step) + tapir_histogram__width(step) / 2;

		seen += h->counts[step];
		if (seen >= rank)
			return (double)(middle < h->max ? middle : h->max);
	}
	return (double)h->max;
}

static double quantile_of(const struct tapir_histogram *h, double quantile)
{
	return ranked(h, (uint64_t)ceil((double)h->cnt * quantile));
}

/* Two of four quarters are a half, in three ways. */
static double worst_of_halves(const struct tapir_histogram quarters[TAPIR_DIFF_QUARTERS],
			      double quantile)
{
	double worst = 0;

	for (unsigned with = 1; with < TAPIR_DIFF_QUARTERS; with++) {
		struct tapir_histogram halves[2] = {};
		double difference;

		for (unsigned q = 0; q < TAPIR_DIFF_QUARTERS; q++)
			tapir_histogram__merge(&halves[q == 0 || q == with], &quarters[q]);
		if (!halves[0].cnt || !halves[1].cnt)
			continue;
		difference =
			fabs(quantile_of(&halves[0], quantile) - quantile_of(&halves[1], quantile));
		worst = difference > worst ? difference : worst;
	}
	return worst;
}

static struct figure percentile_of(const struct tapir_histogram quarters[TAPIR_DIFF_QUARTERS],
				   double quantile)
{
	struct tapir_histogram all = {};
	struct figure f = {};
	uint64_t low, high;

	for (unsigned q = 0; q < TAPIR_DIFF_QUARTERS; q++)
		tapir_histogram__merge(&all, &quarters[q]);
	if (!tapir_diff__ranks(all.cnt, quantile, &low, &high))
		return f;
	f.is_known = true;
	f.value = quantile_of(&all, quantile);
	f.worst = worst_of_halves(quarters, quantile);
	f.low = ranked(&all, low);
	f.high = ranked(&all, high);
	return f;
}

static bool is_percentile(enum tapir_diff_figure figure)
{
	return figure >= TAPIR_DIFF_P50 && figure <= TAPIR_DIFF_P99;
}

/* The times of a row, for its three percentiles. */
struct times {
	struct tapir_histogram quarters[TAPIR_DIFF_QUARTERS];
};

static struct figure figure_of(const struct tapir_diff *diff, const struct tapir_diff_side *side,
			       const struct tapir_diff_row *row, enum tapir_diff_figure figure,
			       const struct times *times)
{
	static const double quantiles[] = {
		[TAPIR_DIFF_P50] = 0.5, [TAPIR_DIFF_P90] = 0.9, [TAPIR_DIFF_P99] = 0.99};
	const double *per = amounts(diff, side, row->kind);
	struct figure f = {};

	switch (figure) {
	case TAPIR_DIFF_COUNT:
		f = rate_of(row->cnts, per);
		count_things(&f, row->cnt);
		break;
	case TAPIR_DIFF_SUM:
		f = rate_of(row->sums, per);
		if (kinds[row->kind].family == TAPIR_FAMILY_SAMPLE)
			count_things(&f, row->cnt);
		break;
	case TAPIR_DIFF_MEAN:
		/* The mean of a few is chance; a counter's values are means already. */
		if (row->cnt >= LEAST_MEAN_CNT || row->kind == TAPIR_DIFF_COUNTER)
			f = rate_of(row->sums, row->cnts);
		break;
	case TAPIR_DIFF_MAX:
		f = (struct figure){.is_known = row->cnt > 0, .value = row->max};
		break;
	default:
		f = percentile_of(times->quarters, quantiles[figure]);
	}
	return f;
}

/* ---- what is known of a row that is not there -------------------------------------------------- */

static bool is_same_text(const char *a, const char *b)
{
	return a && b && !strcmp(a, b);
}

/* Returns true if the other recording would have it, had it happened. */
static bool is_zero_known(const struct tapir_diff *diff, enum tapir_diff_kind kind, int other)
{
	const struct tapir_diff_side *side = diff->sides[other];

	if (!side->span_ns || side->rows.more)
		return false;
	if (kind == TAPIR_DIFF_COUNTER)
		return false;
	switch (kinds[kind].family) {
	case TAPIR_FAMILY_SAMPLE:
		return side->has_samples;
	case TAPIR_FAMILY_SWITCH:
		return side->has_switches;
	default:
		return is_same_text(diff->sides[0]->specs, diff->sides[1]->specs);
	}
}

static bool is_amount(enum tapir_diff_figure figure)
{
	return figure == TAPIR_DIFF_COUNT || figure == TAPIR_DIFF_SUM;
}

/* ---- comparing --------------------------------------------------------------------------------- */

static double share_lost(const struct tapir_diff_side *side, enum tapir_diff_kind kind)
{
	enum tapir_family_id family = kinds[kind].family;
	double lost = (double)side->lost[family], kept = (double)side->captured[family];

	return lost > 0 ? lost / (lost + kept) : 0;
}

/* All that was lost may have been of this, so the lesser of the two values may be larger. */
static double room_for_losses(const struct tapir_diff *diff, const struct tapir_diff_change *c)
{
	int less = c->value[0] <= c->value[1] ? 0 : 1;
	double share = share_lost(diff->sides[less], c->kind);

	if (is_percentile(c->figure) || c->kind == TAPIR_DIFF_COUNTER || share <= 0)
		return 0;
	return share < 1 ? c->value[1 - less] * share : HUGE_VAL;
}

static bool is_by_chance(const struct tapir_diff *diff, enum tapir_diff_kind kind,
			 const struct figure f[2], uint64_t compared)
{
	double first = diff_parts_sum(amounts(diff, diff->sides[0], kind));
	double second = diff_parts_sum(amounts(diff, diff->sides[1], kind));

	if (!f[0].cnt && !f[1].cnt)
		return false;
	return tapir_diff__chance(f[0].cnt, f[1].cnt, first / (first + second)) >
	       TAPIR_DIFF_CHANCE / (double)compared;
}

static double threshold_of(const struct tapir_diff *diff, const struct tapir_diff_change *c,
			   const struct figure f[2], double factor)
{
	double base = c->value[0] > 0 ? c->value[0] : c->value[1];
	double least = fabs(base) * (LEAST_CHANGE - 1);
	double error = factor * sqrt(f[0].error * f[0].error + f[1].error * f[1].error);
	double lost = room_for_losses(diff, c);

	least = f[0].worst > least ? f[0].worst : least;
	least = f[1].worst > least ? f[1].worst : least;
	least = error > least ? error : least;
	return lost > least ? lost : least;
}

static void classify_change(const struct tapir_diff *diff, struct tapir_diff_change *c,
			    const struct figure f[2], uint64_t compared)
{
	double least = fmin(fabs(c->value[0]), fabs(c->value[1]));
	double largest = fmax(fabs(c->value[0]), fabs(c->value[1]));

	c->threshold = threshold_of(diff, c, f, tapir_diff__factor(compared));
	c->is_changed = c->is_known[0] && c->is_known[1] &&
			fabs(c->value[1] - c->value[0]) > c->threshold &&
			largest >= least * LEAST_CHANGE;
	if (is_percentile(c->figure))
		c->is_changed &= f[0].high < f[1].low || f[1].high < f[0].low;
	else if (is_amount(c->figure))
		c->is_changed &= !is_by_chance(diff, c->kind, f, compared);
}

/* rows: NULL where the recording has none. False: nothing is known of it in one of them. */
static bool compare_rows(const struct tapir_diff *diff, const struct tapir_diff_row *const rows[2],
			 enum tapir_diff_figure figure, const struct times times[2],
			 uint64_t compared, struct tapir_diff_change *out)
{
	const struct tapir_diff_row *any = rows[0] ? rows[0] : rows[1];
	struct figure f[2];

	*out = (struct tapir_diff_change){.kind = any->kind, .figure = figure, .name = any->name};
	for (int i = 0; i < 2; i++) {
		if (rows[i])
			f[i] = figure_of(diff, diff->sides[i], rows[i], figure, &times[i]);
		else
			f[i] = (struct figure){.is_known = is_amount(figure) &&
							   is_zero_known(diff, any->kind, i)};
		out->is_known[i] = f[i].is_known;
		out->value[i] = f[i].value;
	}
	if (out->is_known[0] && out->is_known[1])
		classify_change(diff, out, f, compared);
	return out->is_known[0] && out->is_known[1];
}

double tapir_diff_change__ratio(const struct tapir_diff_change *c)
{
	if (fabs(c->value[1] - c->value[0]) <= c->threshold)
		return 1;
	return c->value[0] > 0 ? c->value[1] / c->value[0] : HUGE_VAL;
}

/* Returns how much a change matters among those of its kind. */
static double weight_of(const struct tapir_diff_change *c)
{
	double least = fmin(fabs(c->value[0]), fabs(c->value[1]));
	double largest = fmax(fabs(c->value[0]), fabs(c->value[1]));

	if (c->kind == TAPIR_DIFF_ROUTE || c->kind == TAPIR_DIFF_INTERVAL ||
	    c->kind == TAPIR_DIFF_COUNTER || c->kind == TAPIR_DIFF_GC)
		return least > 0 ? largest / least : HUGE_VAL;
	return largest - least;
}

static int by_importance(const void *a, const void *b)
{
	const struct tapir_diff_change *x = a, *y = b;
	bool x_grew = x->value[1] > x->value[0], y_grew = y->value[1] > y->value[0];
	double x_weight = weight_of(x), y_weight = weight_of(y);
	int order = tapir_order__by(
		tapir_order__up(x->kind, y->kind), tapir_order__down(x->is_changed, y->is_changed),
		tapir_order__down(x_grew, y_grew), tapir_order__down(x_weight, y_weight));

	return tapir_order__by(order, strcmp(x->name, y->name),
			       tapir_order__up(x->figure, y->figure));
}

/* Among the figures of a row, how often and how long are reported once each. */
static void mark_minor(struct tapir_diff_change *changes, size_t cnt)
{
	struct tapir_diff_change *first = NULL;

	for (size_t i = 0; i < cnt; i++) {
		struct tapir_diff_change *c = &changes[i];

		if (!c->is_changed || c->figure == TAPIR_DIFF_COUNT)
			continue;
		if (first && weight_of(c) > weight_of(first)) {
			first->is_minor = true;
			first = c;
		} else if (first) {
			c->is_minor = true;
		} else {
			first = c;
		}
	}
}

/*
 * Adds a change for each figure by which both recordings can be compared. A name without any such
 * figure is counted as unknown, for the recording that has it.
 */
static int add_diff_row(struct tapir_diff *diff, const struct tapir_diff_row *const rows[2],
			struct times times[2], uint64_t compared)
{
	const struct tapir_diff_row *any = rows[0] ? rows[0] : rows[1];
	unsigned figures = kinds[any->kind].figures;
	size_t first = diff->changes.cnt;
	struct tapir_diff_change change;
	bool is_known = false;

	for (int i = 0; i < 2; i++)
		if (rows[i] && figures & BIT(TAPIR_DIFF_P50))
			tapir_diff_rows__times(&diff->sides[i]->rows, rows[i], times[i].quarters);
	for (unsigned figure = 0; figure < TAPIR_DIFF_FIGURE_CNT; figure++) {
		if (!(figures & BIT(figure)) ||
		    !compare_rows(diff, rows, (enum tapir_diff_figure)figure, times, compared,
				  &change))
			continue;
		is_known = true;
		if (!tapir_vec__push(&diff->changes, change))
			return -ENOMEM;
	}
	if (!is_known)
		diff->unknown_cnt[rows[0] ? 0 : 1]++;
	mark_minor(diff->changes.data + first, diff->changes.cnt - first);
	return 0;
}

static int add_rows(struct tapir_diff *diff, struct times times[2], uint64_t compared)
{
	const struct tapir_diff_row *row;
	int err = 0;

	tapir_vec_for_each (row, &diff->sides[0]->rows.rows) {
		const struct tapir_diff_row *const both[2] = {
			row, tapir_diff_rows__find(&diff->sides[1]->rows, row->kind, row->name)};

		err = err ? err : add_diff_row(diff, both, times, compared);
	}
	tapir_vec_for_each (row, &diff->sides[1]->rows.rows) {
		const struct tapir_diff_row *const alone[2] = {NULL, row};

		if (!tapir_diff_rows__find(&diff->sides[0]->rows, row->kind, row->name))
			err = err ? err : add_diff_row(diff, alone, times, compared);
	}
	return err;
}

/* Both served requests, and not equally many in a time. */
static enum tapir_diff_base choose_base(const struct tapir_diff *diff)
{
	const struct tapir_diff_side *a = diff->sides[0], *b = diff->sides[1];
	double rates[2];

	if (a->request_cnt < LEAST_REQUESTS || b->request_cnt < LEAST_REQUESTS || !a->span_ns ||
	    !b->span_ns)
		return TAPIR_DIFF_PER_SECOND;
	rates[0] = (double)a->request_cnt / (double)a->span_ns;
	rates[1] = (double)b->request_cnt / (double)b->span_ns;
	return fmax(rates[0], rates[1]) > LEAST_CHANGE * fmin(rates[0], rates[1])
		       ? TAPIR_DIFF_PER_REQUEST
		       : TAPIR_DIFF_PER_SECOND;
}

static uint64_t figure_cnt(const struct tapir_diff *diff)
{
	uint64_t cnt = 0;
	const struct tapir_diff_row *row;

	for (int i = 0; i < 2; i++)
		tapir_vec_for_each (row, &diff->sides[i]->rows.rows)
			cnt += (uint64_t)__builtin_popcount(kinds[row->kind].figures);
	return cnt / 2 + 1;
}

int tapir_diff__make(struct tapir_diff *diff, const struct tapir_diff_side *first,
		     const struct tapir_diff_side *second, enum tapir_diff_base base)
{
	struct times *times = calloc(2, sizeof(*times));
	int err = times ? 0 : -ENOMEM;

	diff->sides[0] = first;
	diff->sides[1] = second;
	diff->base = base == TAPIR_DIFF_AUTO ? choose_base(diff) : base;
	if (!err)
		err = add_rows(diff, times, figure_cnt(diff));
	free(times);
	if (!err && diff->changes.cnt)
		qsort(diff->changes.data, diff->changes.cnt, sizeof(*diff->changes.data),
		      by_importance);
	return err;
}

/* "KIND:NAME", or NAME of the first kind that has it. */
static const char *split_name(const char *name, unsigned *only)
{
	*only = TAPIR_DIFF_KIND_CNT;
	for (unsigned kind = 0; kind < TAPIR_DIFF_KIND_CNT; kind++) {
		size_t len = strlen(kinds[kind].name);

		if (strncmp(name, kinds[kind].name, len) != 0 || name[len] != ':')
			continue;
		*only = kind;
		return name + len + 1;
	}
	return name;
}

bool tapir_diff__find(const struct tapir_diff *diff, enum tapir_diff_figure figure,
		      const char *name, struct tapir_diff_change *out)
{
	const struct tapir_diff_row *rows[2] = {NULL, NULL};
	struct times *times;
	unsigned only;
	const char *row_name = split_name(name, &only);

	for (unsigned kind = 0; kind < TAPIR_DIFF_KIND_CNT && !rows[0] && !rows[1]; kind++)
		for (int i = 0; i < 2 && (only == TAPIR_DIFF_KIND_CNT || only == kind); i++)
			rows[i] = tapir_diff_rows__find(&diff->sides[i]->rows,
							(enum tapir_diff_kind)kind, row_name);
	times = rows[0] || rows[1] ? calloc(2, sizeof(*times)) : NULL;
	if (!times)
		return false;
	for (int i = 0; i < 2; i++)
		if (rows[i])
			tapir_diff_rows__times(&diff->sides[i]->rows, rows[i], times[i].quarters);
	(void)compare_rows(diff, rows, figure, times, 1, out);
	free(times);
	return true;
}

void tapir_diff__fini(struct tapir_diff *diff)
{
	tapir_vec__fini(&diff->changes);
}
