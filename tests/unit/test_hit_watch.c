// SPDX-License-Identifier: GPL-2.0-or-later
/* A rate is reported once, and only if it is too high for a second that was measured. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/clock.h"
#include "record/hit_watch.h"

static char text[TAPIR_HIT_WATCH_BYTES];

static void test_cost_that_may_be_higher_is_a_lower_bound(void **state)
{
	struct tapir_hit_watch w = {.ns_per_hit = TAPIR_TRAP_NS, .is_least = true};

	(void)state;
	(void)tapir_hit_watch__take(&w, 0, 1, text);
	assert_true(tapir_hit_watch__take(&w, 200000, 1 + TAPIR_NS_PER_SEC, text));
	assert_non_null(strstr(text, " at least 10% of a CPU "));
}

/* Takes hits at this second. */
static bool take(struct tapir_hit_watch *w, uint64_t hits, double second)
{
	return tapir_hit_watch__take(w, hits, (uint64_t)(second * TAPIR_NS_PER_SEC), text);
}

static void test_high_rate_is_reported_once(void **state)
{
	struct tapir_hit_watch w = {.ns_per_hit = TAPIR_TRAP_NS};

	(void)state;
	assert_false(take(&w, 1000000, 10)); /* since when is not known */
	assert_false(take(&w, 1100000, 11)); /* just not too many */
	assert_true(take(&w, 2100000, 12.5));
	assert_string_equal(text, "the probes fire 666667 times per second, which costs the traced "
				  "programs about 33% of a CPU (estimated, 500 ns each)");
	assert_false(tapir_hit_watch__is_due(&w, 100 * TAPIR_NS_PER_SEC));
}

static void test_reading_is_due_each_second(void **state)
{
	struct tapir_hit_watch w = {.ns_per_hit = TAPIR_CALL_NS};

	(void)state;
	assert_true(tapir_hit_watch__is_due(&w, TAPIR_NS_PER_SEC));
	assert_false(take(&w, 7, 1));
	assert_false(tapir_hit_watch__is_due(&w, 2 * TAPIR_NS_PER_SEC - 1));
	assert_true(tapir_hit_watch__is_due(&w, 2 * TAPIR_NS_PER_SEC));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_high_rate_is_reported_once),
		cmocka_unit_test(test_reading_is_due_each_second),
		cmocka_unit_test(test_cost_that_may_be_higher_is_a_lower_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
