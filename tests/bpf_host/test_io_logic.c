// SPDX-License-Identifier: GPL-2.0-or-later
/* How many block requests a CPU records in a second, and what they ask for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bpf/io_logic.bpf.h"

#define SECOND 1000000000ull

static void no_second_has_more_than_the_limit(void **state)
{
	struct tapir_io_rate rate = {};
	unsigned cnts[3] = {};

	(void)state;
	for (unsigned second = 0; second < 3; second++)
		for (unsigned i = 0; i < (second == 1 ? 4u : 9u); i++)
			cnts[second] += (unsigned)tapir_io_rate__take(
				&rate, (100 + second) * SECOND + i * 1000, 5);
	assert_int_equal(cnts[0], 5);
	assert_int_equal(cnts[1], 4);
	assert_int_equal(cnts[2], 5);
	assert_int_equal(rate.cnt, 5);
}

static void operations_are_those_of_the_kernel(void **state)
{
	static const struct {
		uint32_t cmd_flags;
		uint8_t op;
	} cases[] = {{0, TAPIR_IO_READ},	   {1 | 1u << 11, TAPIR_IO_WRITE},
		     {2, TAPIR_IO_FLUSH},	   {3, TAPIR_IO_DISCARD},
		     {5, TAPIR_IO_DISCARD},	   {9, TAPIR_IO_ZERO},
		     {0xffffff00u, TAPIR_IO_READ}, {34, TAPIR_IO_OTHER}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_int_equal(tapir_io__op(cases[i].cmd_flags), cases[i].op);
}

/* The kernel reported no end of what is known there: its place, or its bio, has a new one. */
static void request_whose_end_was_not_reported_is_no_other_one(void **state)
{
	static const struct tapir_io_request known = {.bio = 0x1000, .rec = {.sector = 8}};
	static const struct tapir_io_request flush = {.rec = {.sector = 8}}; /* it has no bio */

	(void)state;
	assert_true(tapir_io_request__is_again(&known, 0x1000, 8, 0));	/* its device had no room */
	assert_false(tapir_io_request__is_again(&known, 0x1000, 8, 1)); /* the bio was made anew */
	assert_false(tapir_io_request__is_again(&known, 0x2000, 8, 0));
	assert_false(tapir_io_request__is_again(&known, 0x1000, 16, 0));
	assert_false(tapir_io_request__is_again(&known, 0, 8, 0));
	assert_false(tapir_io_request__is_again(&flush, 0, 8, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_second_has_more_than_the_limit),
		cmocka_unit_test(operations_are_those_of_the_kernel),
		cmocka_unit_test(request_whose_end_was_not_reported_is_no_other_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
