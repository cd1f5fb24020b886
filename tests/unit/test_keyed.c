// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows that are found by a key. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/keyed.h"

/* Arrays grow by the first function, maps by the second one. Both fail on request. */
static bool is_memory_short, is_map_memory_short;

void *reallocarray(void *p, size_t cnt, size_t bytes)
{
	return is_memory_short ? NULL : realloc(p, cnt * bytes);
}

void *calloc(size_t cnt, size_t bytes)
{
	/* Of malloc and memset, the compiler would make a call of calloc. */
	void *p = is_map_memory_short ? NULL : aligned_alloc(16, cnt * bytes);

	return p ? memset(p, 0, cnt * bytes) : NULL;
}

struct sums {
	uint64_t key, sum;
	char more[100]; /* rows are larger than what a swap moves at a time */
};

struct table tapir_keyed(struct sums);

static struct sums *add(struct table *t, uint64_t key)
{
	return tapir_keyed__add(t, key, 65536, (struct sums){.key = key});
}

/* Each growth fails once, and what it was for has neither a key nor a row then. */
static void growth_fails_once(bool *is_short)
{
	struct table t = {};
	uint64_t failed_cnt = 0;

	for (uint64_t key = 0; key < 65536; key++) {
		*is_short = true;
		if (!add(&t, key)) {
			*is_short = false;
			failed_cnt++;
			assert_int_equal(t.cnt, key);
			assert_int_equal(t.idx_by_key.cnt, key);
			assert_null(tapir_keyed__get(&t, key));
			assert_non_null(add(&t, key));
		}
		*is_short = false;
		assert_int_equal(tapir_keyed__get(&t, key)->key, key);
	}
	assert_in_range(failed_cnt, 13, 14); /* from 8, or 16, to 65,536 or beyond */
	assert_int_equal(t.more, failed_cnt);
	assert_true(t.failed);
	tapir_keyed__fini(&t);
}

static void table_is_consistent_whatever_growth_fails(void **state)
{
	(void)state;
	growth_fails_once(&is_memory_short);
	growth_fails_once(&is_map_memory_short);
}

static void row_beyond_the_last_is_counted(void **state)
{
	struct table t = {};

	(void)state;
	for (uint64_t key = 0; key < 65536; key++)
		assert_non_null(add(&t, key << 32));
	assert_int_equal(t.more, 0);
	assert_null(add(&t, 1));
	assert_null(add(&t, 1));
	assert_int_equal(t.more, 2);
	assert_false(t.failed); /* memory was there */
	assert_int_equal(add(&t, 65535ull << 32)->key, 65535ull << 32);
	tapir_keyed__fini(&t);
	assert_int_equal(t.cnt + t.idx_by_key.cnt, 0);
}

static int by_sum(const void *a, const void *b)
{
	const struct sums *x = a, *y = b;

	return (x->sum < y->sum) - (x->sum > y->sum);
}

/* Whatever the number of rows and the order of keys, without any memory. */
static void ties_keep_the_order_of_their_keys(void **state)
{
	static const size_t cnts[] = {0, 1, 2, 3, 1000, 65536};
	struct table t = {};

	(void)state;
	for (size_t i = 0; i < sizeof(cnts) / sizeof(*cnts); i++) {
		for (uint64_t n = 0; n < cnts[i]; n++)
			add(&t, n * 7919 % 65536)->sum = n % 5;
		is_memory_short = is_map_memory_short = true;
		tapir_keyed__sort(&t, by_sum);
		tapir_keyed__sort(&t, by_sum); /* in order: nothing changes */
		is_memory_short = is_map_memory_short = false;
		assert_int_equal(t.cnt, cnts[i]);
		assert_null(tapir_keyed__get(&t, 0));
		for (size_t row = 1; row < t.cnt; row++) {
			const struct sums *one = &t.data[row - 1], *next = one + 1;

			/* 7919 * 53263 is 1 modulo 65536: n is known by the key. */
			if (one->sum == next->sum)
				assert_true(one->key * 53263 % 65536 < next->key * 53263 % 65536);
			else
				assert_true(one->sum > next->sum);
		}
		tapir_keyed__fini(&t);
	}
}

/* Its key finds nothing, neither does a former row of it. */
static void row_that_is_taken_back_is_counted(void **state)
{
	struct table t = {};

	(void)state;
	add(&t, 1);
	add(&t, 2);
	tapir_keyed__undo(&t, 2);
	assert_int_equal(t.cnt, 1);
	assert_int_equal(t.more, 1);
	assert_true(t.failed);
	assert_null(tapir_keyed__get(&t, 2));
	assert_int_equal(add(&t, 3) - t.data, 1);
	tapir_keyed__fini(&t);
}

static void forgotten_key_finds_its_next_row(void **state)
{
	struct table t = {};

	(void)state;
	add(&t, 7)->sum = 1;
	tapir_keyed__forget(&t, 7);
	tapir_keyed__forget(&t, 8); /* which is none */
	assert_null(tapir_keyed__get(&t, 7));
	add(&t, 7)->sum = 2;
	assert_int_equal(t.cnt, 2);
	assert_int_equal(t.data[0].sum, 1);
	assert_int_equal(tapir_keyed__get(&t, 7)->sum, 2);
	tapir_keyed__fini(&t);
}

/* Of a row in the middle, of the last one, and of the only one. */
static void dropped_row_leaves_all_others_to_be_found(void **state)
{
	struct table t = {};

	(void)state;
	for (uint64_t key = 1; key <= 3; key++)
		add(&t, key);
	tapir_keyed__drop(&t, 1, t.data[t.cnt - 1].key);
	assert_null(tapir_keyed__get(&t, 1));
	assert_int_equal(tapir_keyed__get(&t, 2)->key, 2);
	assert_int_equal(tapir_keyed__get(&t, 3)->key, 3);
	tapir_keyed__drop(&t, 2, t.data[t.cnt - 1].key);
	assert_int_equal(tapir_keyed__get(&t, 3) - t.data, 0);
	tapir_keyed__drop(&t, 3, t.data[t.cnt - 1].key);
	assert_int_equal(t.cnt + t.idx_by_key.cnt, 0);
	tapir_keyed__fini(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dropped_row_leaves_all_others_to_be_found),
		cmocka_unit_test(forgotten_key_finds_its_next_row),
		cmocka_unit_test(row_beyond_the_last_is_counted),
		cmocka_unit_test(row_that_is_taken_back_is_counted),
		cmocka_unit_test(table_is_consistent_whatever_growth_fails),
		cmocka_unit_test(ties_keep_the_order_of_their_keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
