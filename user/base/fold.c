// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rows are found by the hash of their key, and those of one hash by a chain. A histogram holds the
 * steps that have values, sorted: most keys see few octaves. Steps of floating-point values are the
 * upper bits of their representation, 32 an octave as of whole numbers (histogram.h).
 */
#include "base/fold.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/histogram.h"
#include "base/order.h"

#define FLOAT_STEP   (1u << 16) /* added to the steps of floating-point values */
#define FLOAT_SHIFT  47		/* leaves 5 bits of the fraction */
#define LINEAR_BELOW 0u		/* then the steps, then what is above */

/* ---- numbers -------------------------------------------------------------------------------- */

static struct tapir_fold_number add_numbers(struct tapir_fold_number a, struct tapir_fold_number b)
{
	if (a.is_float || b.is_float)
		return tapir_fold__real(a.real + b.real);
	return tapir_fold__whole(a.whole + b.whole);
}

static struct tapir_fold_number subtract(struct tapir_fold_number a, struct tapir_fold_number b)
{
	if (a.is_float || b.is_float)
		return tapir_fold__real(a.real - b.real);
	return tapir_fold__whole(a.whole - b.whole);
}

int tapir_fold_number__compare(struct tapir_fold_number a, struct tapir_fold_number b)
{
	if (a.is_float || b.is_float)
		return (a.real > b.real) - (a.real < b.real);
	return (a.whole > b.whole) - (a.whole < b.whole);
}

void tapir_fold_number__add_text(struct tapir_str *out, struct tapir_fold_number number)
{
	unsigned __int128 left =
		(unsigned __int128)(number.whole < 0 ? -number.whole : number.whole);
	char digits[40];
	size_t at = sizeof(digits);

	if (number.is_float) {
		tapir_str__addf(out, "%.15g", number.real);
		return;
	}
	do {
		digits[--at] = (char)('0' + (int)(left % 10));
		left /= 10;
	} while (left);
	if (number.whole < 0)
		digits[--at] = '-';
	tapir_str__add(out, digits + at, sizeof(digits) - at);
}

/* ---- keys ----------------------------------------------------------------------------------- */

static bool is_text_part(const struct tapir_fold_part *part)
{
	return part->kind == TAPIR_FOLD_TEXT || part->kind == TAPIR_FOLD_TRUNCATED;
}

static uint64_t hash_key(const struct tapir_fold_part *key, unsigned cnt)
{
	uint64_t hash = 1;

	for (unsigned i = 0; i < cnt; i++) {
		hash = tapir_hash__mix(hash, key[i].kind);
		if (is_text_part(&key[i]))
			hash = tapir_hash__bytes(hash, key[i].text, key[i].len);
		else if (key[i].kind < TAPIR_FOLD_TEXT)
			hash = tapir_hash__mix(hash, key[i].u64);
	}
	return hash;
}

int tapir_fold_part__compare(const struct tapir_fold_part *a, const struct tapir_fold_part *b)
{
	size_t len = a->len < b->len ? a->len : b->len;
	int order;

	if (is_text_part(a) && is_text_part(b)) {
		order = len ? memcmp(a->text, b->text, len) : 0;
		return tapir_order__by(order, tapir_order__up(a->len, b->len),
				       tapir_order__up(a->kind, b->kind));
	}
	if (a->kind != b->kind)
		return (a->kind > b->kind) - (a->kind < b->kind);
	if (a->kind == TAPIR_FOLD_INT)
		return (a->i64 > b->i64) - (a->i64 < b->i64);
	if (a->kind == TAPIR_FOLD_FLOAT && a->f64 != b->f64)
		return a->f64 > b->f64 ? 1 : -1;
	return a->kind <= TAPIR_FOLD_FLOAT ? (a->u64 > b->u64) - (a->u64 < b->u64) : 0;
}

static int compare_keys(const struct tapir_fold *fold, const struct tapir_fold_part *a,
			const struct tapir_fold_part *b)
{
	int order = 0;

	for (unsigned i = 0; !order && i < fold->key_cnt; i++)
		order = tapir_fold_part__compare(&a[i], &b[i]);
	return order;
}

/* Returns one block: the parts, then their texts. NULL: out of memory. */
static struct tapir_fold_part *copy_key(const struct tapir_fold_part *key, unsigned cnt,
					size_t *bytes)
{
	struct tapir_fold_part *copy;
	char *texts;

	*bytes = cnt * sizeof(*key);
	for (unsigned i = 0; i < cnt; i++)
		*bytes += is_text_part(&key[i]) ? key[i].len : 0;
	copy = malloc(*bytes ? *bytes : 1);
	if (!copy)
		return NULL;
	texts = (char *)(copy + cnt);
	for (unsigned i = 0; i < cnt; i++) {
		copy[i] = key[i];
		if (!is_text_part(&key[i]))
			continue;
		if (key[i].len)
			memcpy(texts, key[i].text, key[i].len);
		copy[i].text = texts;
		texts += key[i].len;
	}
	return copy;
}

/* ---- rows ----------------------------------------------------------------------------------- */

static void fini_row(struct tapir_fold_row *row, unsigned column_cnt)
{
	for (unsigned i = 0; row->values && i < column_cnt; i++)
		tapir_vec__fini(&row->values[i].steps);
	free(row->values);
	free(row->key);
}

/* NULL: no room, or no memory. */
static struct tapir_fold_row *new_row(struct tapir_fold *fold, const struct tapir_fold_part *key,
				      uint64_t hash)
{
	size_t value_bytes = fold->column_cnt * sizeof(struct tapir_fold_value), key_bytes;
	struct tapir_fold_row row = {};
	uint64_t *first;

	if (fold->bytes >= fold->max_bytes || fold->rows.cnt >= UINT32_MAX - 1)
		return NULL;
	row.key = copy_key(key, fold->key_cnt, &key_bytes);
	row.values = calloc(fold->column_cnt ? fold->column_cnt : 1, sizeof(*row.values));
	first = row.key && row.values ? tapir_map__put(&fold->by_hash, hash, NULL) : NULL;
	if (first)
		row.next = *first;
	if (!first || !tapir_vec__push(&fold->rows, row)) {
		if (first && !*first)
			tapir_map__del(&fold->by_hash, hash);
		fold->failed = true;
		fini_row(&row, fold->column_cnt);
		return NULL;
	}
	*first = fold->rows.cnt;
	fold->bytes += sizeof(row) + key_bytes + value_bytes + sizeof(struct tapir_map_slot);
	return &fold->rows.data[fold->rows.cnt - 1];
}

static struct tapir_fold_row *fold_row_of(struct tapir_fold *fold,
					  const struct tapir_fold_part *key)
{
	uint64_t hash = hash_key(key, fold->key_cnt);
	const uint64_t *first = tapir_map__get(&fold->by_hash, hash);

	for (uint64_t at = first ? *first : 0; at; at = fold->rows.data[at - 1].next)
		if (!compare_keys(fold, fold->rows.data[at - 1].key, key))
			return &fold->rows.data[at - 1];
	return new_row(fold, key, hash);
}

/* ---- histograms ----------------------------------------------------------------------------- */

static uint32_t linear_step(const struct tapir_fold_column *c, struct tapir_fold_number n)
{
	uint32_t cnt = (uint32_t)(((__int128)c->high - c->low + c->step - 1) / c->step);

	if (n.is_float ? n.real < (double)c->low : n.whole < c->low)
		return LINEAR_BELOW;
	if (n.is_float ? n.real >= (double)c->high : n.whole >= c->high)
		return cnt + 1;
	if (n.is_float)
		return 1 + (uint32_t)((n.real - (double)c->low) / (double)c->step);
	return 1 + (uint32_t)((n.whole - c->low) / c->step);
}

/* The number is not negative. */
static uint32_t log_step(struct tapir_fold_number n)
{
	uint64_t bits;

	if (!n.is_float)
		return tapir_histogram__step((uint64_t)n.whole);
	n.real += 0.0; /* -0 */
	memcpy(&bits, &n.real, sizeof(bits));
	return FLOAT_STEP + (uint32_t)(bits >> FLOAT_SHIFT);
}

/* NULL: no room. */
static struct tapir_fold_step *step_of(struct tapir_fold *fold, struct tapir_fold_value *v,
				       uint32_t idx)
{
	size_t at = tapir_sorted__upper_bound(v->steps.data, v->steps.cnt, idx, idx);
	struct tapir_fold_step *step = at ? &v->steps.data[at - 1] : NULL;

	if (step && step->idx == idx)
		return step;
	/* A row has its first step whatever the room is: of it alone no table grows beyond it. */
	if ((fold->bytes >= fold->max_bytes && v->steps.cnt) || !tapir_vec__add(&v->steps))
		return NULL;
	fold->bytes += sizeof(*step);
	step = &v->steps.data[at];
	memmove(step + 1, step, (v->steps.cnt - 1 - at) * sizeof(*step));
	*step = (struct tapir_fold_step){.idx = idx};
	return step;
}

static void add_step(struct tapir_fold *fold, struct tapir_fold_value *v, uint32_t idx)
{
	struct tapir_fold_step *step = step_of(fold, v, idx);

	if (step)
		step->cnt++;
	else
		v->unbinned++;
}

static bool is_negative(struct tapir_fold_number n)
{
	return n.is_float ? !(n.real >= 0) : n.whole < 0;
}

static void add_to_histogram(struct tapir_fold *fold, const struct tapir_fold_column *column,
			     struct tapir_fold_value *v, struct tapir_fold_number n)
{
	if (column->scale == TAPIR_FOLD_LINEAR)
		add_step(fold, v, linear_step(column, n));
	else if (column->scale == TAPIR_FOLD_LOG && is_negative(n))
		v->below++;
	else if (column->scale == TAPIR_FOLD_LOG)
		add_step(fold, v, log_step(n));
}

/* ---- adding --------------------------------------------------------------------------------- */

static void widen(struct tapir_fold_number *least, struct tapir_fold_number *max,
		  struct tapir_fold_number n, bool is_first)
{
	if (is_first || tapir_fold_number__compare(n, *least) < 0)
		*least = n;
	if (is_first || tapir_fold_number__compare(n, *max) > 0)
		*max = n;
}

bool tapir_fold__add(struct tapir_fold *fold, const struct tapir_fold_part *key,
		     const struct tapir_fold_number *values)
{
	struct tapir_fold_row *row = fold_row_of(fold, key);
	bool is_first_of_interval;

	if (!row) {
		fold->unkeyed++;
		return false;
	}
	is_first_of_interval = !row->has_values || row->interval != fold->interval;
	for (unsigned i = 0; i < fold->column_cnt; i++) {
		struct tapir_fold_value *v = &row->values[i];

		v->sum = add_numbers(v->sum, values[i]);
		widen(&v->least, &v->max, values[i], !row->has_values);
		widen(&v->interval_least, &v->interval_max, values[i], is_first_of_interval);
		add_to_histogram(fold, &fold->columns[i], v, values[i]);
	}
	row->interval = fold->interval;
	row->has_values = true;
	row->cnt++;
	return true;
}

/* ---- added up elsewhere ---------------------------------------------------------------------- */

static void forget_read(struct tapir_fold_value *v)
{
	struct tapir_fold_step *step;

	v->sum = subtract(v->sum, tapir_fold__whole(v->sum_read));
	v->below -= v->below_read;
	v->unbinned -= v->unbinned_read;
	v->sum_read = 0;
	v->below_read = v->unbinned_read = 0;
	tapir_vec_for_each (step, &v->steps) {
		step->cnt -= step->read;
		step->read = 0;
	}
}

void tapir_fold__begin_reading(struct tapir_fold *fold)
{
	struct tapir_fold_row *row;

	tapir_vec_for_each (row, &fold->rows) {
		row->cnt -= row->cnt_read;
		row->cnt_read = 0;
		for (unsigned i = 0; i < fold->column_cnt; i++)
			forget_read(&row->values[i]);
	}
	fold->unkeyed -= fold->unkeyed_read;
	fold->unkeyed_read = 0;
}

void tapir_fold__add_unkeyed(struct tapir_fold *fold, uint64_t cnt)
{
	fold->unkeyed += cnt;
	fold->unkeyed_read += cnt;
}

static void add_counted(struct tapir_fold_value *v, const struct tapir_fold_counted_column *c,
			bool is_first)
{
	v->sum = add_numbers(v->sum, tapir_fold__whole(c->sum));
	v->sum_read += c->sum;
	v->below += c->below;
	v->below_read += c->below;
	v->unbinned += c->unbinned;
	v->unbinned_read += c->unbinned;
	widen(&v->least, &v->max, tapir_fold__whole(c->least_ever), is_first);
	widen(&v->least, &v->max, tapir_fold__whole(c->max_ever), false);
}

/* A hit that was on its way when the last interval ended is counted now, its value was then. */
static bool has_range(const struct tapir_fold *fold, const struct tapir_fold_row *row,
		      const struct tapir_fold_counted_column *c)
{
	return c->has_range &&
	       (!c->is_late || (row->cnt > row->cnt_before &&
				(!row->has_values || row->interval != fold->interval)));
}

static void add_ranges(struct tapir_fold *fold, struct tapir_fold_row *row,
		       const struct tapir_fold_counted *counted)
{
	bool is_first = !row->has_values || row->interval != fold->interval;
	bool has_some = false;

	for (unsigned i = 0; i < fold->column_cnt; i++) {
		const struct tapir_fold_counted_column *c = &counted->columns[i];
		struct tapir_fold_value *v = &row->values[i];

		if (!has_range(fold, row, c))
			continue;
		widen(&v->interval_least, &v->interval_max, tapir_fold__whole(c->least), is_first);
		widen(&v->interval_least, &v->interval_max, tapir_fold__whole(c->max), false);
		has_some = true;
	}
	if (has_some)
		row->interval = fold->interval;
}

void tapir_fold__add_counted(struct tapir_fold *fold, const struct tapir_fold_part *key,
			     const struct tapir_fold_counted *counted)
{
	struct tapir_fold_row *row = fold_row_of(fold, key);

	if (!row) {
		tapir_fold__add_unkeyed(fold, counted->cnt);
		return;
	}
	row->cnt += counted->cnt;
	row->cnt_read += counted->cnt;
	for (unsigned i = 0; i < fold->column_cnt; i++)
		add_counted(&row->values[i], &counted->columns[i], !row->has_values);
	add_ranges(fold, row, counted);
	row->has_values = true;
}

void tapir_fold__add_counted_step(struct tapir_fold *fold, const struct tapir_fold_part *key,
				  unsigned column, uint32_t step_idx, uint64_t cnt)
{
	struct tapir_fold_row *row = fold_row_of(fold, key);
	struct tapir_fold_value *v = row ? &row->values[column] : NULL;
	struct tapir_fold_step *step = v ? step_of(fold, v, step_idx) : NULL;

	if (step) {
		step->cnt += cnt;
		step->read += cnt;
	} else if (v) {
		v->unbinned += cnt;
		v->unbinned_read += cnt;
	}
}

static void begin_interval(struct tapir_fold_value *v)
{
	struct tapir_fold_step *step;

	v->sum_before = v->sum;
	v->below_before = v->below;
	tapir_vec_for_each (step, &v->steps)
		step->before = step->cnt;
}

void tapir_fold__begin_interval(struct tapir_fold *fold)
{
	struct tapir_fold_row *row;

	tapir_vec_for_each (row, &fold->rows) {
		if (row->cnt == row->cnt_before)
			continue;
		row->cnt_before = row->cnt;
		for (unsigned i = 0; i < fold->column_cnt; i++)
			begin_interval(&row->values[i]);
	}
	fold->unkeyed_before = fold->unkeyed;
	fold->interval++;
}

void tapir_fold__fini(struct tapir_fold *fold)
{
	struct tapir_fold_row *row;

	tapir_vec_for_each (row, &fold->rows)
		fini_row(row, fold->column_cnt);
	tapir_vec__fini(&fold->rows);
	tapir_map__fini(&fold->by_hash);
}

/* ---- reading -------------------------------------------------------------------------------- */

uint64_t tapir_fold_row__cnt(const struct tapir_fold_row *row, bool since)
{
	return row->cnt - (since ? row->cnt_before : 0);
}

struct tapir_fold_number tapir_fold_value__sum(const struct tapir_fold_value *value, bool since)
{
	return since ? subtract(value->sum, value->sum_before) : value->sum;
}

struct tapir_fold_number tapir_fold_value__least(const struct tapir_fold_value *value, bool since)
{
	return since ? value->interval_least : value->least;
}

struct tapir_fold_number tapir_fold_value__max(const struct tapir_fold_value *value, bool since)
{
	return since ? value->interval_max : value->max;
}

static double float_of_step(uint32_t idx)
{
	uint64_t bits = (uint64_t)(idx - FLOAT_STEP) << FLOAT_SHIFT;
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

void tapir_fold_step__range(const struct tapir_fold_column *column,
			    const struct tapir_fold_step *step, struct tapir_fold_number *low,
			    struct tapir_fold_number *high)
{
	__int128 first;

	if (column->scale == TAPIR_FOLD_LINEAR) {
		first = column->low + ((__int128)step->idx - 1) * column->step;
		*low = tapir_fold__whole(first);
		first += column->step;
		*high = tapir_fold__whole(
			first > column->high && first - column->step < column->high ? column->high
										    : first);
	} else if (step->idx >= FLOAT_STEP) {
		*low = tapir_fold__real(float_of_step(step->idx));
		*high = tapir_fold__real(float_of_step(step->idx + 1));
	} else {
		*low = tapir_fold__whole(tapir_histogram__low(step->idx));
		*high = tapir_fold__whole((__int128)tapir_histogram__low(step->idx) +
					  tapir_histogram__width(step->idx));
	}
}

static struct tapir_fold_number middle_of(uint32_t idx)
{
	if (idx >= FLOAT_STEP)
		return tapir_fold__real((float_of_step(idx) + float_of_step(idx + 1)) / 2);
	return tapir_fold__whole((__int128)tapir_histogram__low(idx) +
				 tapir_histogram__width(idx) / 2);
}

uint64_t tapir_fold_step__cnt(const struct tapir_fold_step *step, bool since)
{
	return step->cnt - (since ? step->before : 0);
}

uint64_t tapir_fold_value__below(const struct tapir_fold_value *value, bool since)
{
	return value->below - (since ? value->below_before : 0);
}

struct tapir_fold_number tapir_fold_value__percentile(const struct tapir_fold_value *value,
						      double percent, bool since)
{
	struct tapir_fold_number max = tapir_fold_value__max(value, since), middle;
	uint64_t all = tapir_fold_value__below(value, since), seen = all, want;
	const struct tapir_fold_step *step;

	tapir_vec_for_each (step, &value->steps)
		all += tapir_fold_step__cnt(step, since);
	want = (uint64_t)((double)all * percent / 100);
	if (seen > want)
		return tapir_fold_value__least(value, since);
	tapir_vec_for_each (step, &value->steps) {
		seen += tapir_fold_step__cnt(step, since);
		if (!tapir_fold_step__cnt(step, since) || (seen <= want && seen < all))
			continue;
		middle = middle_of(step->idx);
		return tapir_fold_number__compare(middle, max) < 0 ? middle : max;
	}
	return max;
}

/* ---- in order ------------------------------------------------------------------------------- */

struct order {
	const struct tapir_fold *fold;
	uint32_t column;
	bool since;
};

static int compare_rows(const void *a, const void *b, void *ctx)
{
	const struct order *o = ctx;
	const struct tapir_fold_row *x = &o->fold->rows.data[*(const uint32_t *)a];
	const struct tapir_fold_row *y = &o->fold->rows.data[*(const uint32_t *)b];
	uint64_t x_cnt = tapir_fold_row__cnt(x, o->since), y_cnt = tapir_fold_row__cnt(y, o->since);
	int order = 0;

	if (o->column != TAPIR_FOLD_BY_COUNT)
		order = tapir_fold_number__compare(
			tapir_fold_value__sum(&y->values[o->column], o->since),
			tapir_fold_value__sum(&x->values[o->column], o->since));
	if (!order)
		order = (y_cnt > x_cnt) - (y_cnt < x_cnt);
	return order ? order : compare_keys(o->fold, x->key, y->key);
}

long tapir_fold__sort(const struct tapir_fold *fold, uint32_t column, bool since, uint32_t **out)
{
	struct order order = {fold, column, since};
	uint32_t *idxs = malloc((fold->rows.cnt ? fold->rows.cnt : 1) * sizeof(*idxs));
	size_t cnt = 0;

	if (!idxs)
		return -ENOMEM;
	for (size_t i = 0; i < fold->rows.cnt; i++)
		if (tapir_fold_row__cnt(&fold->rows.data[i], since))
			idxs[cnt++] = (uint32_t)i;
	qsort_r(idxs, cnt, sizeof(*idxs), compare_rows, &order);
	*out = idxs;
	return (long)cnt;
}
