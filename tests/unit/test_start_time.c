// SPDX-License-Identifier: GPL-2.0-or-later
/* When `record --at` begins. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "base/clock.h"
#include "cli/start_time.h"

#define NOON 1796040000u /* 2026-11-30 12:00:00 UTC */
#define S    TAPIR_NS_PER_SEC

static uint64_t parsed(const char *text, uint64_t now_ns)
{
	uint64_t out = 0;

	assert_true(tapir_start_time__parse(text, now_ns, &out));
	assert_true(out > now_ns);
	return out;
}

static void next_instant_is_found(void **state)
{
	(void)state;
	assert_int_equal(parsed("12:30Z", NOON * S), (NOON + 1800) * S);
	assert_int_equal(parsed("12:00:05Z", NOON * S + 1), (NOON + 5) * S);
	assert_int_equal(parsed("12:00:00Z", NOON * S), (NOON + 86400) * S);
	assert_int_equal(parsed("11:59:59Z", NOON * S), (NOON + 86399) * S);
	assert_int_equal(parsed("/10s", NOON * S), (NOON + 10) * S);
	assert_int_equal(parsed("/10s", (NOON + 9) * S + 5), (NOON + 10) * S);
	assert_int_equal(parsed("/250ms", NOON * S + 1), NOON * S + S / 4);
}

static void local_time_follows_the_calendar(void **state)
{
	(void)state;
	setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
	tzset();
	assert_int_equal(parsed("13:30", NOON * S), (NOON + 1800) * S);
	assert_int_equal(parsed("13:30Z", NOON * S), (NOON + 5400) * S);
	/* 2026-10-24 12:00 UTC is 14:00 in summer; the next 13:00 is one of winter, 24 hours on. */
	assert_int_equal(parsed("13:00", (NOON - 37 * 86400) * S), (NOON - 36 * 86400) * S);
}

static void other_texts_are_refused(void **state)
{
	static const char *const texts[] = {
		"",	  "/",	   "/0",      "/2d",	  "/1us",    "24:00",
		"12",	  "12:60", "1:2:3:4", "12:00:60", "12:00z",  "-1:00",
		"12:00 ", "+1:00", "12:00:",  "now",	  "12:00ZZ", "Z"};
	uint64_t out = 7;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (tapir_start_time__parse(texts[i], NOON * S, &out))
			fail_msg("'%s' is taken", texts[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(next_instant_is_found),
		cmocka_unit_test(local_time_follows_the_calendar),
		cmocka_unit_test(other_texts_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
