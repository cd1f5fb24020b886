// SPDX-License-Identifier: GPL-2.0-or-later
/* How many events are few. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "attach/rings/event_budget.h"

static void few_each_second_are_recorded_for_ever(void **state)
{
	struct tapir_event_budget b = {};

	(void)state;
	for (uint64_t second = 1; second < 10000; second++) {
		b.cnt += TAPIR_BUDGET_RATE;
		assert_false(tapir_event_budget__is_exceeded(&b, second * TAPIR_NS_PER_SEC));
	}
}

static void burst_is_recorded(void **state)
{
	struct tapir_event_budget b = {.cnt = TAPIR_BUDGET_BURST};

	(void)state;
	assert_false(tapir_event_budget__is_exceeded(&b, TAPIR_NS_PER_SEC));
}

static void too_many_end_them_once(void **state)
{
	struct tapir_event_budget b = {};
	unsigned second = 1;

	(void)state;
	while (second < 100 && !tapir_event_budget__is_exceeded(&b, second * TAPIR_NS_PER_SEC)) {
		b.cnt += 2 * TAPIR_BUDGET_RATE;
		second++;
	}
	assert_int_equal(second, 12);
	assert_true(b.has_ended);
	assert_false(tapir_event_budget__is_exceeded(&b, 2 * second * TAPIR_NS_PER_SEC));
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
