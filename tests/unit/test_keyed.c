// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows that are found by a key. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/keyed.h"

/* Arrays grow by this function, which fails on request. */
static bool is_memory_short;

void *reallocarray(void *p, size_t cnt, size_t bytes)
{
	return is_memory_short ? NULL : realloc(p, cnt * bytes);
}

static void row_of_a_key_is_made_once(void **state)
{
	struct row {
		uint64_t key, cnt;
	} * row;
	struct tapir_vec(struct row) rows = {};
	struct tapir_map idx_by_key = {};

	(void)state;
	for (uint64_t i = 0; i < 9; i++) {
		uint64_t key = i % 4;

		row = tapir_keyed__row(&rows, &idx_by_key, key, 3, ((struct row){.key = key}));
		assert_true(row ? row->key == key : key == 3); /* 3 are all there may be */
		if (row)
			row->cnt++;
	}
	assert_int_equal(rows.cnt, 3);
	assert_int_equal(tapir_keyed__find(&rows, &idx_by_key, 0)->cnt, 3);
	assert_int_equal(tapir_keyed__find(&rows, &idx_by_key, 2)->cnt, 2);
	assert_null(tapir_keyed__find(&rows, &idx_by_key, 3));
	tapir_vec__fini(&rows);
	tapir_map__fini(&idx_by_key);
}

/* If memory is short for the row, the map has no key either: the next try adds both. */
static void key_without_a_row_is_not_kept(void **state)
{
	struct tapir_vec(uint64_t) rows = {};
	struct tapir_map idx_by_key = {};

	(void)state;
	is_memory_short = true;
	assert_null(tapir_keyed__row(&rows, &idx_by_key, 7, 3, 70));
	is_memory_short = false;
	assert_null(tapir_keyed__find(&rows, &idx_by_key, 7));
	assert_int_equal(*tapir_keyed__row(&rows, &idx_by_key, 7, 3, 71), 71);
	assert_int_equal(rows.cnt, 1);
	tapir_vec__fini(&rows);
	tapir_map__fini(&idx_by_key);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(key_without_a_row_is_not_kept),
		cmocka_unit_test(row_of_a_key_is_made_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
