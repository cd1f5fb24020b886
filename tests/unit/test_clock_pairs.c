// SPDX-License-Identifier: GPL-2.0-or-later
/* UTC of records while the machine's clock is set, slewed, or lied about. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "trace/clock_pairs.h"

#define S   TAPIR_NS_PER_SEC
#define UTC (1700000000 * S) /* less CLOCK_MONOTONIC, at first */

static struct tapir_clock_pairs pairs;

static int teardown(void **state)
{
	(void)state;
	tapir_clock_pairs__fini(&pairs);
	pairs = (struct tapir_clock_pairs){};
	return 0;
}

static void add(uint64_t time_ns, uint64_t utc_ns)
{
	const struct tapir_rec_clock clock = {.h.time_ns = time_ns, .utc_ns = utc_ns};

	assert_true(tapir_clock_pairs__add(&pairs, &clock));
}

static uint64_t utc(uint64_t time_ns)
{
	return tapir_clock_pairs__utc_ns(&pairs, time_ns);
}

static void records_before_a_step_keep_their_time(void **state)
{
	(void)state;
	assert_int_equal(utc(5), 0);
	for (uint64_t i = 10; i < 20; i++)
		add(i * S, UTC + i * S);
	for (uint64_t i = 20; i < 30; i++)
		add(i * S, UTC + i * S - 3600 * S);
	for (uint64_t i = 30; i < 40; i++)
		add(i * S, UTC + i * S + S);
	assert_int_equal(utc(5 * S), UTC + 5 * S);
	assert_int_equal(utc(10 * S), UTC + 10 * S);
	assert_int_equal(utc(20 * S - 1), UTC + 20 * S - 1);
	assert_int_equal(utc(20 * S), UTC + 20 * S - 3600 * S);
	assert_int_equal(utc(29 * S), UTC + 29 * S - 3600 * S);
	assert_int_equal(utc(30 * S), UTC + 31 * S);
	assert_int_equal(utc(90 * S), UTC + 91 * S);
	assert_true(pairs.all.cnt <= 6);
}

static void time_never_goes_back_when_the_clock_is_slewed(void **state)
{
	uint64_t last = 0;

	(void)state;
	for (uint64_t i = 0; i < 100; i++) /* 500 millionths, there and back */
		add((i + 1) * S, UTC + (i + 1) * S - (i < 50 ? i : 100 - i) * 500000);
	for (uint64_t t = S; t < 100 * S; t += S / 10 + 7) {
		assert_true(utc(t) > last);
		last = utc(t);
	}
	assert_int_equal(utc(51 * S), UTC + 51 * S - 50 * 500000);
}

static void pairs_come_twice_or_late(void **state)
{
	(void)state;
	add(10 * S, UTC + 10 * S);
	add(20 * S, UTC + 25 * S);
	add(10 * S, UTC + 10 * S);
	add(15 * S, UTC + 16 * S);
	add(20 * S, 7);
	assert_int_equal(utc(12 * S), UTC + 12 * S);
	assert_int_equal(utc(15 * S), UTC + 16 * S);
	assert_int_equal(utc(20 * S), UTC + 25 * S);
}

static void pairs_are_bounded_when_file_is_hostile(void **state)
{
	uint64_t random = 1;

	(void)state;
	for (uint64_t i = 1; i < 300000; i++) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		add(i * (UINT64_MAX / 300000), random);
		if (i % 1000 == 0)
			(void)utc(random);
	}
	assert_true(pairs.all.cnt <= 65536);
	(void)utc(0);
	(void)utc(UINT64_MAX);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, NULL, teardown)
	const struct CMUnitTest tests[] = {
		TEST(records_before_a_step_keep_their_time),
		TEST(time_never_goes_back_when_the_clock_is_slewed),
		TEST(pairs_come_twice_or_late),
		TEST(pairs_are_bounded_when_file_is_hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
