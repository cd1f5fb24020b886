// SPDX-License-Identifier: GPL-2.0-or-later
/* What the report says of awaits of .NET's tasks, where they were recorded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "finding_state.h"

#define TPL "System.Threading.Tasks.TplEventSource"

enum { AWAIT = 100, CONTINUED };
enum { OWN = 1, LIBRARY, CALLER };

static int setup(void **state)
{
	const uint64_t own[] = {0x3008, 0x1008}, library[] = {0x2008, 0x1008};
	const uint64_t caller[] = {0x3008, 0x4008};

	(void)state;
	if (finding_begin())
		return -1;
	name_method(1, "Shop.Checkout (async)");
	name_method(2, "System.Net.Http.HttpConnection.SendAsync (async)");
	name_method(3, "System.Threading.Tasks.TaskAwaiter.UnsafeOnCompleted()");
	name_method(4, "Shop.Serve (async)");
	feeder_stack(&f, CALLER, caller, 2);
	feeder_stack(&f, OWN, own, 2);
	feeder_stack(&f, LIBRARY, library, 2);
	finding_probe(AWAIT, TPL, "TaskWaitBegin",
		      (const char *const[]){"TaskID", "Behavior", "ContinueWithTaskID", NULL});
	finding_probe(CONTINUED, TPL, "TraceSynchronousWorkBegin",
		      (const char *const[]){"TaskID", "Work", NULL});
	return finding_listen();
}

static void await(uint64_t ms, uint64_t stack, uint64_t awaiter, uint64_t task, uint64_t behavior)
{
	finding_fire(AWAIT, ms, stack, (const uint64_t[]){task, behavior, awaiter}, 3);
}

static void continue_task(uint64_t ms, uint64_t task, uint64_t work)
{
	finding_fire(CONTINUED, ms, 0, (const uint64_t[]){task, work}, 2);
}

static const struct tapir_found *awaits_at(uint64_t ms)
{
	feeder_come(&f, 99, ms * MS, ms * MS, 0);
	assert_int_equal(tapir_timeline__finish(f.tl), 0);
	tapir_finding__list(&finding, &found);
	assert_false(found.failed);
	for (size_t i = 0; i < found.rows.cnt; i++)
		if (found.rows.data[i].kind == TAPIR_FOUND_AWAITS)
			return &found.rows.data[i];
	return NULL;
}

/* As a loop that waits for connections that never come. */
static void await_that_does_not_end_is_no_finding(void **state)
{
	(void)state;
	feeder_come(&f, 99, 0, 0, 0);
	await(10, OWN, 7, 107, 2);
	assert_null(awaits_at(1000));
}

/* Two at a time; the library's within them, and their callers', last as long, and are not added. */
static void awaits_that_end_last_until_then(void **state)
{
	const struct tapir_found *row;

	(void)state;
	feeder_come(&f, 99, 0, 0, 0);
	for (uint64_t ms = 100; ms < 1000; ms += 100) {
		for (uint64_t task = 7; task < 9; task++) {
			await(ms, LIBRARY, task + 100, task + 200, 2);
			await(ms, OWN, task, task + 100, 2);
			await(ms, CALLER, task + 10, task, 2);
		}
		for (uint64_t task = 7; task < 9; task++) {
			continue_task(ms + 90, task + 100, 2);
			continue_task(ms + 90, task, 1); /* not the task's own code */
			continue_task(ms + 90, task, 2);
			continue_task(ms + 95, task + 10, 2);
		}
	}
	row = awaits_at(1000);
	assert_non_null(row);
	assert_string_equal(row->text,
			    "1.8 awaits at a time in Shop.Checkout (async), 90.00 ms each of 18");
}

/* What begins before the recording, or does not end in it, counts as long as others last. */
static void awaits_longer_than_a_recording_shows_are_not_left_out(void **state)
{
	const struct tapir_found *row;

	(void)state;
	feeder_come(&f, 99, 0, 0, 0);
	for (uint64_t ms = 10; ms < 2000; ms += 10) { /* each lasts 400 ms: 40 at a time */
		await(ms, OWN, 1000 + ms, 5000 + ms, 2);
		if (ms > 400)
			continue_task(ms, 1000 + ms - 400, 2);
	}
	row = awaits_at(2000);
	assert_non_null(row);
	assert_string_equal(
		row->text, "40.0 awaits at a time in Shop.Checkout (async), 400.00 ms each of 159");
}

static void note_brief(uint64_t until_ms)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)(until_ms * MS));
	feeder_add(&f,
		   tapir_recbuf__meta(&f.buf, 1, tapir_sv__of("awaits.100"), tapir_sv__of("1")));
	if (until_ms)
		feeder_add(&f, tapir_recbuf__meta(&f.buf, until_ms * MS,
						  tapir_sv__of("awaits_until.100"),
						  tapir_sv__of(text)));
}

/* There were too many, so that they are known for a part of the time. */
static void awaits_are_averaged_over_the_time_in_which_they_were_recorded(void **state)
{
	const struct tapir_found *row;

	(void)state;
	feeder_come(&f, 99, 0, 0, 0);
	for (uint64_t ms = 1; ms < 200; ms++) {
		await(ms, OWN, 1000 + ms, 5000 + ms, 2);
		if (ms > 10)
			continue_task(ms, 1000 + ms - 10, 2);
	}
	note_brief(200);
	row = awaits_at(2000);
	assert_non_null(row);
	assert_string_equal(row->text,
			    "10.0 awaits at a time in Shop.Checkout (async), 10.00 ms each of 189");
}

/* Nobody asked for them: a loop that waits for the next second is no cause of anything. */
static void few_awaits_that_were_not_asked_for_are_no_finding(void **state)
{
	struct tapir_str few = {};

	(void)state;
	feeder_come(&f, 99, 0, 0, 0);
	note_brief(0);
	for (uint64_t ms = 100; ms < 1000; ms += 100) {
		await(ms, OWN, 7, 107, 2);
		continue_task(ms + 100, 7, 2);
	}
	assert_null(awaits_at(1000));
	tapir_finding_awaits__add_few(&finding, &few);
	assert_string_equal(few.data,
			    "; 1.0 awaits at a time in Shop.Checkout (async), 100.00 ms each of 9");
	tapir_str__fini(&few);
}

/* Task.Wait blocks its thread, whose wait is counted. */
static void blocking_waits_are_no_awaits(void **state)
{
	(void)state;
	feeder_come(&f, 99, 0, 0, 0);
	await(10, OWN, 7, 107, 1);
	continue_task(990, 7, 2);
	assert_null(awaits_at(1000));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, finding_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(await_that_does_not_end_is_no_finding),
		TEST(awaits_that_end_last_until_then),
		TEST(awaits_longer_than_a_recording_shows_are_not_left_out),
		TEST(awaits_are_averaged_over_the_time_in_which_they_were_recorded),
		TEST(few_awaits_that_were_not_asked_for_are_no_finding),
		TEST(blocking_waits_are_no_awaits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
