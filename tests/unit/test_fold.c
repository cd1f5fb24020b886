// SPDX-License-Identifier: GPL-2.0-or-later
/* Sums by keys: exact, bounded, and the sums of intervals are the totals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fold.h"

/* The allocation of that number fails, once; 0: none does. Keys are of one number, without texts.
 */
static unsigned fails_at;

static bool is_failing(void)
{
	return fails_at && !--fails_at;
}

void *reallocarray(void *p, size_t cnt, size_t bytes)
{
	return is_failing() ? NULL : realloc(p, cnt * bytes);
}

void *calloc(size_t cnt, size_t bytes)
{
	/* Of malloc and memset, the compiler would make a call of calloc. */
	void *p = is_failing() ? NULL : aligned_alloc(16, cnt * bytes);

	return p ? memset(p, 0, cnt * bytes) : NULL;
}

static struct tapir_fold_part text(const char *data, uint32_t len, uint8_t kind)
{
	return (struct tapir_fold_part){.kind = kind, .len = len, .text = data};
}

static struct tapir_fold_part number(uint64_t value)
{
	return (struct tapir_fold_part){.kind = TAPIR_FOLD_UINT, .u64 = value};
}

static void kinds_of_text_are_different_keys(void **state)
{
	struct tapir_fold f = {.key_cnt = 1, .max_bytes = 1 << 20};
	const struct tapir_fold_part keys[] = {
		text("", 0, TAPIR_FOLD_TEXT),	     text("ab", 2, TAPIR_FOLD_TEXT),
		text("ab", 2, TAPIR_FOLD_TRUNCATED), text(NULL, 0, TAPIR_FOLD_NULL),
		text(NULL, 0, TAPIR_FOLD_ABSENT),    text("a\0b", 3, TAPIR_FOLD_TEXT),
		text("\033[2J", 4, TAPIR_FOLD_TEXT), number(0)};
	const size_t cnt = sizeof(keys) / sizeof(*keys);

	(void)state;
	for (size_t round = 0; round < 3; round++)
		for (size_t i = 0; i < cnt; i++)
			assert_true(tapir_fold__add(&f, &keys[i], NULL));
	assert_int_equal(f.rows.cnt, cnt);
	for (size_t i = 0; i < cnt; i++)
		assert_int_equal(tapir_fold_row__cnt(&f.rows.data[i], false), 3);
	tapir_fold__fini(&f);
}

static void parts_of_a_key_are_not_run_together(void **state)
{
	struct tapir_fold f = {.key_cnt = 2, .max_bytes = 1 << 20};
	const struct tapir_fold_part a[] = {text("ab", 2, TAPIR_FOLD_TEXT),
					    text("c", 1, TAPIR_FOLD_TEXT)};
	const struct tapir_fold_part b[] = {text("a", 1, TAPIR_FOLD_TEXT),
					    text("bc", 2, TAPIR_FOLD_TEXT)};

	(void)state;
	tapir_fold__add(&f, a, NULL);
	tapir_fold__add(&f, b, NULL);
	assert_int_equal(f.rows.cnt, 2);
	tapir_fold__fini(&f);
}

/* What another lane has counted is replaced at each reading, and a part of the same rows. */
static void what_is_counted_elsewhere_is_read_anew(void **state)
{
	struct tapir_fold f = {.key_cnt = 1,
			       .column_cnt = 1,
			       .max_bytes = 1 << 20,
			       .columns[0].scale = TAPIR_FOLD_LOG};
	const struct tapir_fold_part keys[] = {number(1), number(2)};
	const struct tapir_fold_number ten = tapir_fold__whole(10);
	struct tapir_fold_counted counted = {.columns[0] = {.has_range = true,
							    .least = -5,
							    .max = 20,
							    .least_ever = -5,
							    .max_ever = 20}};
	const struct tapir_fold_row *row;

	(void)state;
	assert_true(tapir_fold__add(&f, &keys[0], &ten));
	for (uint64_t i = 1; i <= 3; i++) {
		tapir_fold__begin_reading(&f);
		counted.cnt = 2 * i;
		counted.columns[0].sum = 15 * (int)i;
		counted.columns[0].below = i;
		for (int k = 0; k < 2; k++) {
			tapir_fold__add_counted(&f, &keys[k], &counted);
			tapir_fold__add_counted_step(&f, &keys[k], 0, 20, i);
		}
		tapir_fold__add_unkeyed(&f, i);
		row = &f.rows.data[0];
		assert_int_equal(tapir_fold_row__cnt(row, false), 1 + 2 * i);
		assert_int_equal(tapir_fold_row__cnt(row, true), i == 1 ? 3 : 2);
		assert_true(tapir_fold_value__sum(&row->values[0], false).whole ==
			    10 + 15 * (int)i);
		assert_true(tapir_fold_value__sum(&row->values[0], true).whole ==
			    (i == 1 ? 25 : 15));
		assert_true(tapir_fold_value__least(&row->values[0], true).whole == -5);
		assert_int_equal(tapir_fold_value__below(&row->values[0], true), 1);
		assert_int_equal(row->values[0].steps.cnt, 2);
		assert_int_equal(row->values[0].steps.data[1].cnt, i);
		assert_int_equal(f.unkeyed, i);
		tapir_fold__begin_interval(&f);
	}
	assert_int_equal(f.rows.cnt, 2);
	tapir_fold__fini(&f);
}

static void sums_are_exact_when_they_exceed_64_bits(void **state)
{
	struct tapir_fold f = {.column_cnt = 1, .max_bytes = 1 << 20};
	struct tapir_fold_number values[] = {tapir_fold__whole(UINT64_MAX)};
	struct tapir_str out = {};

	(void)state;
	for (int i = 0; i < 3; i++)
		tapir_fold__add(&f, NULL, values);
	tapir_fold_number__add_text(&out, f.rows.data[0].values[0].sum);
	assert_string_equal(out.data, "55340232221128654845");
	values[0] = tapir_fold__whole(INT64_MIN);
	for (int i = 0; i < 7; i++)
		tapir_fold__add(&f, NULL, values);
	tapir_str__clear(&out);
	tapir_fold_number__add_text(&out, f.rows.data[0].values[0].sum);
	assert_string_equal(out.data, "-9223372036854775811");
	assert_true(f.rows.data[0].values[0].least.whole == INT64_MIN);
	assert_true(f.rows.data[0].values[0].max.whole == UINT64_MAX);
	tapir_str__fini(&out);
	tapir_fold__fini(&f);
}

static void what_finds_no_room_is_counted(void **state)
{
	struct tapir_fold f = {.key_cnt = 1, .max_bytes = 64 << 10};
	uint64_t sum = 0;

	(void)state;
	for (uint64_t i = 0; i < 100000; i++) {
		struct tapir_fold_part key = number(i % 10000);

		tapir_fold__add(&f, &key, NULL);
	}
	for (size_t i = 0; i < f.rows.cnt; i++)
		sum += tapir_fold_row__cnt(&f.rows.data[i], false);
	assert_true(f.unkeyed > 0);
	assert_true(f.rows.cnt < 2000);
	assert_int_equal(sum + f.unkeyed, 100000);
	tapir_fold__fini(&f);
}

/* Adds 3 values of each of 100 keys. */
static void add_300(struct tapir_fold *f)
{
	for (uint64_t i = 0; i < 300; i++) {
		struct tapir_fold_part key = number(i % 100);
		struct tapir_fold_number value = tapir_fold__whole((__int128)i);

		tapir_fold__add(f, &key, &value);
	}
}

/* Each growth, of rows, keys, values or steps, fails in a fold of its own. */
static void nothing_is_uncounted_whichever_growth_fails(void **state)
{
	bool has_failed = true;
	unsigned nth;

	(void)state;
	for (nth = 1; has_failed; nth++) {
		struct tapir_fold f = {.key_cnt = 1, .column_cnt = 1, .max_bytes = SIZE_MAX};
		uint64_t cnt = 0, unbinned = 0;

		f.columns[0].scale = TAPIR_FOLD_LOG;
		fails_at = nth;
		add_300(&f);
		has_failed = !fails_at;
		fails_at = 0;
		for (size_t i = 0; i < f.rows.cnt; i++) {
			cnt += tapir_fold_row__cnt(&f.rows.data[i], false);
			unbinned += f.rows.data[i].values[0].unbinned;
		}
		assert_int_equal(cnt + f.unkeyed, 300);
		assert_int_equal(f.unkeyed + unbinned, has_failed);
		assert_int_equal(f.failed, f.unkeyed);
		add_300(&f); /* a key without its row would have two now */
		assert_int_equal(f.rows.cnt, 100);
		tapir_fold__fini(&f);
	}
	assert_in_range(nth, 200, 400); /* values and steps of each row */
}

static void intervals_add_up_to_the_total(void **state)
{
	struct tapir_fold f = {.key_cnt = 1,
			       .column_cnt = 1,
			       .max_bytes = 1 << 20,
			       .columns = {{.scale = TAPIR_FOLD_LOG}}};
	uint64_t cnt = 0, seed = 1;
	__int128 sum = 0;

	(void)state;
	for (int interval = 0; interval < 30; interval++) {
		for (int i = 0; i < 1000; i++) {
			struct tapir_fold_part key;
			struct tapir_fold_number value;

			seed = seed * 6364136223846793005ull + 1;
			key = number(seed >> 60);
			value = tapir_fold__whole((int64_t)(seed >> 40) - (interval == 3) * 100000);
			tapir_fold__add(&f, &key, &value);
		}
		for (size_t i = 0; i < f.rows.cnt; i++) {
			cnt += tapir_fold_row__cnt(&f.rows.data[i], true);
			sum += tapir_fold_value__sum(&f.rows.data[i].values[0], true).whole;
		}
		tapir_fold__begin_interval(&f);
	}
	for (size_t i = 0; i < f.rows.cnt; i++) {
		const struct tapir_fold_row *row = &f.rows.data[i];
		const struct tapir_fold_value *v = &row->values[0];
		uint64_t in_steps = v->below;

		for (size_t s = 0; s < v->steps.cnt; s++)
			in_steps += v->steps.data[s].cnt;
		assert_int_equal(in_steps, row->cnt);
		cnt -= row->cnt;
		sum -= v->sum.whole;
		assert_int_equal(tapir_fold_row__cnt(row, true), 0);
	}
	assert_int_equal(cnt, 0);
	assert_true(sum == 0);
	tapir_fold__fini(&f);
}

static void extremes_are_of_their_interval(void **state)
{
	struct tapir_fold f = {.column_cnt = 1, .max_bytes = 1 << 20};
	struct tapir_fold_number v = tapir_fold__whole(5);
	const struct tapir_fold_value *value;

	(void)state;
	tapir_fold__add(&f, NULL, &v);
	tapir_fold__begin_interval(&f);
	v = tapir_fold__whole(9);
	tapir_fold__add(&f, NULL, &v);
	v = tapir_fold__whole(7);
	tapir_fold__add(&f, NULL, &v);
	value = &f.rows.data[0].values[0];
	assert_true(tapir_fold_value__least(value, true).whole == 7);
	assert_true(tapir_fold_value__max(value, true).whole == 9);
	assert_true(tapir_fold_value__least(value, false).whole == 5);
	tapir_fold__fini(&f);
}

static void percentiles_are_near(void **state)
{
	struct tapir_fold f = {.column_cnt = 2,
			       .max_bytes = 1 << 20,
			       .columns = {{.scale = TAPIR_FOLD_LOG}, {.scale = TAPIR_FOLD_LOG}}};
	const struct tapir_fold_value *values;
	double p50, p99;

	(void)state;
	for (int i = 1; i <= 100000; i++) {
		struct tapir_fold_number v[] = {tapir_fold__whole(i),
						tapir_fold__real(i / 1000000.0)};

		tapir_fold__add(&f, NULL, v);
	}
	values = f.rows.data[0].values;
	for (int i = 0; i < 2; i++) {
		double scale = i ? 1000000.0 : 1;

		p50 = tapir_fold_value__percentile(&values[i], 50, false).real * scale;
		p99 = tapir_fold_value__percentile(&values[i], 99, false).real * scale;
		assert_true(p50 > 49000 && p50 < 51000);
		assert_true(p99 > 97000 && p99 < 100001);
		assert_true(tapir_fold_value__percentile(&values[i], 100, false).real * scale <=
			    100000.5);
	}
	tapir_fold__fini(&f);
}

static void linear_steps_hold_what_lies_outside(void **state)
{
	struct tapir_fold f = {.column_cnt = 1,
			       .max_bytes = 1 << 20,
			       .columns = {{TAPIR_FOLD_LINEAR, -10, 25, 10}}};
	static const int64_t values[] = {-11, -10, -1, 0, 9, 10, 20, 24, 25, 1000};
	static const uint64_t cnts[] = {1, 2, 2, 1, 2, 2};
	const struct tapir_fold_value *v;
	struct tapir_fold_number low, high;

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
		struct tapir_fold_number n = tapir_fold__whole(values[i]);

		tapir_fold__add(&f, NULL, &n);
	}
	v = &f.rows.data[0].values[0];
	assert_int_equal(v->steps.cnt, 6);
	for (size_t i = 0; i < 6; i++)
		assert_int_equal(v->steps.data[i].cnt, cnts[i]);
	tapir_fold_step__range(&f.columns[0], &v->steps.data[4], &low, &high);
	assert_true(low.whole == 20 && high.whole == 25);
	tapir_fold__fini(&f);
}

static void linear_steps_may_be_as_wide_as_numbers_are(void **state)
{
	const int64_t step = 1000000000000000000;
	struct tapir_fold f = {.column_cnt = 1,
			       .max_bytes = 1 << 20,
			       .columns = {{TAPIR_FOLD_LINEAR, -9 * step, 9 * step, step}}};
	struct tapir_fold_number n = tapir_fold__whole(9 * step);

	(void)state;
	tapir_fold__add(&f, NULL, &n);
	assert_int_equal(f.rows.data[0].values[0].steps.data[0].idx, 18 + 1);
	tapir_fold__fini(&f);
}

static void rows_come_by_count_and_then_by_key(void **state)
{
	struct tapir_fold f = {.key_cnt = 1, .max_bytes = 1 << 20};
	static const char *const keys[] = {"c", "b", "b", "a", "d", "d"};
	uint32_t *order;

	(void)state;
	for (size_t i = 0; i < 6; i++) {
		struct tapir_fold_part key = text(keys[i], 1, TAPIR_FOLD_TEXT);

		tapir_fold__add(&f, &key, NULL);
	}
	assert_int_equal(tapir_fold__sort(&f, TAPIR_FOLD_BY_COUNT, false, &order), 4);
	assert_int_equal(f.rows.data[order[0]].key[0].text[0], 'b');
	assert_int_equal(f.rows.data[order[1]].key[0].text[0], 'd');
	assert_int_equal(f.rows.data[order[2]].key[0].text[0], 'a');
	assert_int_equal(f.rows.data[order[3]].key[0].text[0], 'c');
	free(order);
	tapir_fold__fini(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kinds_of_text_are_different_keys),
		cmocka_unit_test(parts_of_a_key_are_not_run_together),
		cmocka_unit_test(what_is_counted_elsewhere_is_read_anew),
		cmocka_unit_test(sums_are_exact_when_they_exceed_64_bits),
		cmocka_unit_test(what_finds_no_room_is_counted),
		cmocka_unit_test(nothing_is_uncounted_whichever_growth_fails),
		cmocka_unit_test(intervals_add_up_to_the_total),
		cmocka_unit_test(extremes_are_of_their_interval),
		cmocka_unit_test(percentiles_are_near),
		cmocka_unit_test(linear_steps_hold_what_lies_outside),
		cmocka_unit_test(linear_steps_may_be_as_wide_as_numbers_are),
		cmocka_unit_test(rows_come_by_count_and_then_by_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
