// SPDX-License-Identifier: GPL-2.0-or-later
/* Event loops that hardly sleep, second causes, and promises, of made-up recordings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "loop_stacks.h"

static const char *text_of(enum tapir_finding_kind kind)
{
	for (size_t i = 0; i < found.rows.cnt; i++)
		if (found.rows.data[i].kind == kind)
			return found.rows.data[i].text;
	return "";
}

/* Whether a turn is long or many short ones cannot be known; that it does not sleep can. */
static void busy_when_it_hardly_sleeps(void **state)
{
	(void)state;
	start(2);
	sleep_until(2, 11, 110, POLL);
	for (uint64_t at = 111; at < 1000; at += 20) {
		run(2, at, at + 19, at % 3 ? DRAW : PARSE);
		sample(2, at + 19, READ);
	}
	sleep_until(2, 1011, 1110, POLL);
	lead_at(1111);
	assert_string_equal(text_of(TAPIR_FINDING_LOOP_BUSY),
			    "the event loop of process 100 was busy 82% of the time, 901.00 ms at "
			    "most without a pause: 63% of it in draw shop.js:12:3");
	assert_string_equal(text_of(TAPIR_FINDING_LOOP), "");
}

static void not_busy_when_records_are_missing(void **state)
{
	(void)state;
	start(2);
	sleep_until(2, 11, 20, POLL);
	run(2, 21, 30, DRAW);
	sleep_until(2, 900, 1000, POLL); /* what it did from 30 ms to 900 ms nobody knows */
	lead_at(1010);
	assert_string_equal(text_of(TAPIR_FINDING_LOOP_BUSY), "");
}

/* At load it is seldom seen in the loop: one such point in a turn tells that it does turn. */
static void not_blocked_when_it_is_seen_to_turn_without_a_rest(void **state)
{
	(void)state;
	start(2);
	sleep_until(2, 11, 20, POLL);
	run(2, 21, 600, DRAW);
	sample(2, 600, READ);
	run(2, 601, 1010, DRAW);
	lead_at(1010);
	assert_string_equal(text_of(TAPIR_FINDING_LOOP), "");
	assert_string_not_equal(text_of(TAPIR_FINDING_LOOP_BUSY), "");
}

/* Something short runs in the same turn: it is seen in the loop between the two. */
static void blocked_when_a_long_call_is_most_of_each_turn(void **state)
{
	(void)state;
	start(2);
	for (uint64_t at = 11; at < 1000; at += 200) {
		sleep_until(2, at, at + 90, POLL);
		run(2, at + 90, at + 190, DRAW);
		sample(2, at + 190, READ);
		run(2, at + 191, at + 200, PARSE);
	}
	sleep_until(2, 1011, 1111, POLL);
	lead_at(1112);
	assert_non_null(strstr(text_of(TAPIR_FINDING_LOOP), "blocked 45% of the time: 5 times"));
}

/* What takes most of the time leads, not what is known to be done at once. */
static void synchronous_calls_do_not_lead_when_other_work_takes_longer(void **state)
{
	(void)state;
	start(2);
	sleep_until(2, 11, 20, POLL);
	for (uint64_t at = 21; at < 1000; at += 20) {
		run(2, at, at + 14, DRAW);
		run(2, at + 14, at + 19, SYNC);
		sample(2, at + 19, READ);
	}
	lead_at(1010);
	assert_int_equal(found.rows.data[0].kind, TAPIR_FINDING_LOOP_BUSY);
	assert_non_null(strstr(text_of(TAPIR_FINDING_LOOP_SYNC), "in synchronous calls 24% of"));
}

static void a_second_function_that_blocks_has_a_line_of_its_own(void **state)
{
	(void)state;
	start(2);
	for (uint64_t at = 11; at < 1000; at += 200) {
		sleep_until(2, at, at + 50, POLL);
		run(2, at + 50, at + 110, DRAW);
		sleep_until(2, at + 110, at + 120, POLL);
		run(2, at + 120, at + 200, PARSE);
	}
	lead_at(1011);
	assert_non_null(strstr(found.rows.data[0].text, "57% of it in parse shop.js:40:3"));
	assert_string_equal(
		found.rows.data[1].text,
		"the event loop of process 100 was also blocked 30% of the time in draw shop.js:12:3");
}

/* Between them the engine is at work: with one that takes long it hardly is. */
static void promises_are_told_when_many_callbacks_run_at_one_go(void **state)
{
	(void)state;
	start(2);
	sleep_until(2, 11, 110, POLL);
	for (uint64_t at = 110; at < 1010; at += 10) {
		run(2, at, at + 9, PROMISED);
		sample(2, at + 9, SETTLE);
	}
	sleep_until(2, 1010, 1110, POLL);
	expect("the event loop of process 100 was blocked 82% of the time: 1 time for 50 ms and "
	       "more, 900.00 ms at most, 100% of it to make promises and run their callbacks, all "
	       "at one go, 100% of it in draw shop.js:12:3",
	       1111);
}

static void promises_are_not_told_when_one_callback_takes_long(void **state)
{
	(void)state;
	start(2);
	sleep_until(2, 11, 110, POLL);
	run(2, 110, 1010, PROMISED);
	sleep_until(2, 1010, 1110, POLL);
	lead_at(1111);
	assert_null(strstr(found.rows.data[0].text, "promises"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(busy_when_it_hardly_sleeps),
		CASE(not_busy_when_records_are_missing),
		CASE(not_blocked_when_it_is_seen_to_turn_without_a_rest),
		CASE(blocked_when_a_long_call_is_most_of_each_turn),
		CASE(synchronous_calls_do_not_lead_when_other_work_takes_longer),
		CASE(a_second_function_that_blocks_has_a_line_of_its_own),
		CASE(promises_are_told_when_many_callbacks_run_at_one_go),
		CASE(promises_are_not_told_when_one_callback_takes_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
