// SPDX-License-Identifier: GPL-2.0-or-later
/* How many events are few. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "attach/rings/ring_brief.h"

static void few_each_second_are_recorded_for_ever(void **state)
{
	struct tapir_ring_brief b = {};

	(void)state;
	for (uint64_t second = 1; second < 10000; second++) {
		b.cnt += TAPIR_BRIEF_RATE;
		assert_false(tapir_ring_brief__is_enough(&b, second * TAPIR_NS_PER_SEC));
	}
}

static void burst_is_recorded(void **state)
{
	struct tapir_ring_brief b = {.cnt = TAPIR_BRIEF_AT_ONCE};

	(void)state;
	assert_false(tapir_ring_brief__is_enough(&b, TAPIR_NS_PER_SEC));
}

static void too_many_end_them_once(void **state)
{
	struct tapir_ring_brief b = {};
	unsigned second = 1;

	(void)state;
	while (second < 100 && !tapir_ring_brief__is_enough(&b, second * TAPIR_NS_PER_SEC)) {
		b.cnt += 2 * TAPIR_BRIEF_RATE;
		second++;
	}
	assert_int_equal(second, 12);
	assert_true(b.is_over);
	assert_false(tapir_ring_brief__is_enough(&b, 2 * second * TAPIR_NS_PER_SEC));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(few_each_second_are_recorded_for_ever),
		cmocka_unit_test(burst_is_recorded),
		cmocka_unit_test(too_many_end_them_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
