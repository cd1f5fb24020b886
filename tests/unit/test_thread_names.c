// SPDX-License-Identifier: GPL-2.0-or-later
/* A caller's rows, which are numbered as the names are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>

#include "trace/thread_names.h"

#define MAX_ROWS 3

/* Arrays grow by this function, which fails on request. */
static bool is_memory_short;

void *reallocarray(void *p, size_t cnt, size_t bytes)
{
	return is_memory_short ? NULL : realloc(p, cnt * bytes);
}

static size_t name_of(struct tapir_thread_names *names, uint64_t key)
{
	return tapir_thread_names__row(names, key, NULL, true, MAX_ROWS);
}

static void row_after_one_that_found_no_memory_has_none(void **state)
{
	struct tapir_thread_names names = {};
	struct tapir_vec(uint64_t) rows = {};

	(void)state;
	assert_int_equal(name_of(&names, 7), 0);
	is_memory_short = true;
	assert_null(tapir_thread_names__slot(&rows, 0, 70));
	is_memory_short = false;
	assert_int_equal(name_of(&names, 8), 1);
	assert_null(
		tapir_thread_names__slot(&rows, 1, 80)); /* it would take the place of the first */
	assert_int_equal(rows.cnt, 0);
	assert_int_equal(*tapir_thread_names__slot(&rows, 0, 71), 71);
	assert_int_equal(*tapir_thread_names__slot(&rows, 0, 72), 71);
	assert_int_equal(*tapir_thread_names__slot(&rows, 1, 81), 81);
	tapir_vec__fini(&rows);
	tapir_thread_names__fini(&names);
}

static void name_without_a_number_has_no_row(void **state)
{
	struct tapir_thread_names names = {};
	struct tapir_vec(uint64_t) rows = {};

	(void)state;
	for (uint64_t key = 1; key <= MAX_ROWS; key++)
		assert_non_null(tapir_thread_names__slot(&rows, name_of(&names, key), key));
	assert_null(tapir_thread_names__slot(&rows, name_of(&names, 99), 99));
	assert_int_equal(rows.cnt, MAX_ROWS);
	tapir_vec__fini(&rows);
	tapir_thread_names__fini(&names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(row_after_one_that_found_no_memory_has_none),
		cmocka_unit_test(name_without_a_number_has_no_row),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
