// SPDX-License-Identifier: GPL-2.0-or-later
/* A table is zeroed and as large as requested, whatever pages it has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/large_table.h"

static bool is_zero(const uint64_t *table, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++)
		if (table[i])
			return false;
	return true;
}

static void table_is_zeroed_when_its_memory_was_used_before(void **state)
{
	static const size_t cnts[] = {1, 1000, (2u << 20) / 8, (3u << 20) / 8, (8u << 20) / 8 + 1};

	(void)state;
	for (size_t i = 0; i < sizeof(cnts) / sizeof(*cnts); i++)
		for (int again = 0; again < 3; again++) {
			uint64_t *table = tapir_large_table__alloc(cnts[i], sizeof(*table));

			assert_non_null(table);
			assert_true(is_zero(table, cnts[i]));
			memset(table, 0xff, cnts[i] * sizeof(*table));
			free(table);
		}
}

static void large_table_begins_at_a_large_page(void **state)
{
	char *table = tapir_large_table__alloc(4u << 20, 1);

	(void)state;
	assert_non_null(table);
	assert_int_equal((uintptr_t)table % (2u << 20), 0);
	memset(table, 1, 4u << 20);
	free(table);
}

static void table_is_refused_when_its_size_overflows(void **state)
{
	(void)state;
	assert_null(tapir_large_table__alloc(SIZE_MAX / 4, 8));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table_is_zeroed_when_its_memory_was_used_before),
		cmocka_unit_test(large_table_begins_at_a_large_page),
		cmocka_unit_test(table_is_refused_when_its_size_overflows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
