// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the report says of awaits of .NET's tasks, where they were recorded.
 *
 * runtimes: dotnet
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "finding_state.h"

#define TPL "System.Threading.Tasks.TplEventSource"

enum { AWAIT = 100, CONTINUED, ENDED };
enum {
	OWN = 1,
	LIBRARY,
	CALLER,
	OUTER,
	RELEASE,
	TIMER,
	COMPLETE,
	OWN_LATER,
	CONNECTION,
	OWN_COMPLETES
};

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
	name_method(5, "System.Threading.SemaphoreSlim.TaskNode.Execute()");
	name_method(6, "System.Threading.Tasks.Task.DelayPromise.CompleteTimedOut()");
	name_method(7, "Microsoft.AspNetCore.Http.ExecuteAwaited (local) (async)");
	name_method(8, "System.Net.Http.HttpConnectionWaiter.WaitAsync (async)");
	FINDING_STACK(OUTER, 3, 7);
	FINDING_STACK(RELEASE, 3, 5);
	FINDING_STACK(TIMER, 3, 6);
	FINDING_STACK(COMPLETE, 3, 1);
	FINDING_STACK(CONNECTION, 3, 8);
	feeder_stack(&f, OWN_COMPLETES, (const uint64_t[]){0x3008, 0x4008, 0x6008}, 3);
	feeder_stack(&f, OWN_LATER, (const uint64_t[]){0x3008, 0x1010}, 2);
	finding_probe(ENDED, TPL, "TraceSynchronousWorkEnd", (const char *const[]){"Work", NULL});
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

static void complete(uint64_t ms, uint64_t task, uint64_t stack)
{
	finding_fire(CONTINUED, ms, stack, (const uint64_t[]){task, 0}, 2);
	finding_fire(ENDED, ms, 0, (const uint64_t[]){0}, 1);
}

static void run_task(uint64_t ms, uint64_t task, uint64_t until_ms)
{
	continue_task(ms, task, 2);
	finding_fire(ENDED, until_ms, 0, (const uint64_t[]){2}, 1);
}

static const struct tapir_await_site *sites_at(uint64_t ms, size_t cnt)
{
	feeder_come(&f, 99, ms * MS, ms * MS, 0);
	assert_int_equal(tapir_timeline__finish(f.tl), 0);
	tapir_awaits__finish(&finding.awaits);
	assert_false(finding.awaits.failed);
	assert_int_equal(finding.awaits.sites.cnt, cnt);
	return finding.awaits.sites.data;
}

static const char *name_of(const struct tapir_await_site *site)
{
	return tapir_timeline__stacks(f.tl)->names.data[site->name];
}

static const struct tapir_finding *awaits_at(uint64_t ms)
{
	feeder_come(&f, 99, ms * MS, ms * MS, 0);
	assert_int_equal(tapir_timeline__finish(f.tl), 0);
	tapir_diagnosis__list(&finding, &found);
	assert_false(found.failed);
	for (size_t i = 0; i < found.rows.cnt; i++)
		if (found.rows.data[i].kind == TAPIR_FINDING_AWAITS ||
		    found.rows.data[i].kind == TAPIR_FINDING_AWAIT_TURNS)
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
	const struct tapir_finding *row;

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
	assert_string_equal(
		row->text,
		"1.8 awaits at a time for a task in Shop.Checkout (async), 90.00 ms each of 18");
}

/* What begins before the recording, or does not end in it, counts as long as others last. */
static void awaits_longer_than_a_recording_shows_are_not_left_out(void **state)
{
	const struct tapir_finding *row;

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
		row->text,
		"40.0 awaits at a time for a task in Shop.Checkout (async), 400.00 ms each of 159");
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
	const struct tapir_finding *row;

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
			    "10.0 awaits at a time for a task in Shop.Checkout (async), 10.00 ms "
			    "each of 189");
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
			    "; 1.0 awaits at a time for a task in Shop.Checkout (async), 100.00 ms "
			    "each of 9");
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

/* A middleware awaits a library's method, which awaits the program's, which awaits a semaphore. */
static void innermost_method_of_the_program_counts_below_a_library(void **state)
{
	const struct tapir_await_site *site;

	(void)state;
	feeder_come(&f, 99, 0, 0, 0);
	await(100, OWN, 7, 107, 2);
	await(100, OUTER, 8, 7, 2);
	await(100, CALLER, 9, 8, 2);
	complete(150, 107, RELEASE);
	run_task(150, 7, 151);
	complete(151, 7, COMPLETE);
	run_task(151, 8, 151);
	complete(152, 8, OUTER);
	run_task(152, 9, 152);
	site = sites_at(1000, 1);
	assert_string_equal(name_of(site), "Shop.Checkout (async)");
	assert_int_equal(site->sum_ns, 50 * MS);
	assert_string_equal(tapir_await_site__label(site), "a semaphore");
	assert_int_equal(site->offset, 8);
}

/* The library's method is continued, and calls the program's only then. */
static void callers_count_until_a_method_inside_of_them_awaits(void **state)
{
	const struct tapir_await_site *site;

	(void)state;
	feeder_come(&f, 99, 0, 0, 0);
	await(100, OUTER, 8, 108, 2);
	await(100, CALLER, 9, 8, 2);
	complete(110, 108, TIMER);
	continue_task(110, 8, 2);
	await(111, OWN, 7, 107, 2);
	await(111, OUTER, 8, 7, 2);
	complete(150, 107, RELEASE);
	run_task(150, 7, 150);
	run_task(151, 8, 151);
	run_task(152, 9, 152);
	site = sites_at(1000, 1);
	assert_string_equal(name_of(site), "Shop.Checkout (async)");
	assert_int_equal(site->sum_ns, 39 * MS);
}

/* One method awaits two things: each is a row. */
static void call_sites_are_not_averaged(void **state)
{
	const struct tapir_await_site *site;

	(void)state;
	feeder_come(&f, 99, 0, 0, 0);
	await(100, OWN, 7, 107, 2);
	complete(150, 107, RELEASE);
	continue_task(150, 7, 2);
	await(150, OWN_LATER, 7, 108, 2);
	complete(160, 108, TIMER);
	run_task(160, 7, 161);
	site = sites_at(1000, 2);
	assert_int_equal(site[0].sum_ns, 50 * MS);
	assert_string_equal(tapir_await_site__label(&site[0]), "a semaphore");
	assert_int_equal(site[1].sum_ns, 10 * MS);
	assert_string_equal(tapir_await_site__label(&site[1]), "a delay");
	assert_int_equal(site[1].offset, 16);
}

/* A ValueTask of a channel fires no event when it is awaited. */
static void awaits_without_a_task_last_until_their_method_continues(void **state)
{
	const struct tapir_await_site *site;

	(void)state;
	feeder_come(&f, 99, 0, 0, 0);
	await(100, CALLER, 9, 7, 2);
	run_task(140, 7, 141);
	run_task(160, 7, 161);
	complete(161, 7, COMPLETE);
	run_task(161, 9, 161);
	site = sites_at(1000, 1);
	assert_string_equal(name_of(site), "Shop.Checkout (async)");
	assert_int_equal(site->cnt, 2);
	assert_int_equal(site->sum_ns, (40 + 19) * MS);
	assert_int_equal(site->taskless_cnt, 2);
}

/* It has no call site: what the method awaits later has another one. */
static void await_before_its_method_is_known_is_none_of_a_later_call_site(void **state)
{
	const struct tapir_await_site *site;

	(void)state;
	feeder_come(&f, 99, 0, 0, 0);
	await(100, CALLER, 9, 7, 2);
	continue_task(140, 7, 2);
	await(140, OWN, 7, 107, 2);
	finding_fire(ENDED, 140, 0, (const uint64_t[]){2}, 1);
	complete(160, 107, TIMER);
	run_task(160, 7, 161);
	complete(161, 7, COMPLETE);
	site = sites_at(1000, 2);
	assert_int_equal(site[0].offset, 8);
	assert_int_equal(site[0].sum_ns, 20 * MS);
	assert_int_equal(site[1].offset, 0);
	assert_int_equal(site[1].sum_ns, 40 * MS);
	assert_int_equal(site[1].taskless_cnt, 1);
}

/* A method of the program has awaited a delay, and then completes what another one awaits. */
static void what_the_program_completes_is_a_task(void **state)
{
	const struct tapir_await_site *site;

	(void)state;
	feeder_come(&f, 99, 0, 0, 0);
	await(100, OWN, 7, 107, 2);
	complete(160, 107, OWN_COMPLETES);
	run_task(160, 7, 161);
	site = sites_at(1000, 1);
	assert_string_equal(tapir_await_site__label(site), "a task");
}

/* Another thing that is awaited by a library alone is none of the program's. */
static void awaits_without_a_task_of_a_library_hide_nothing(void **state)
{
	const struct tapir_await_site *site;

	(void)state;
	feeder_come(&f, 99, 0, 0, 0);
	await(100, CALLER, 9, 8, 2);
	run_task(140, 8, 141);
	complete(141, 8, OUTER);
	run_task(142, 9, 142);
	site = sites_at(1000, 1);
	assert_string_equal(name_of(site), "Shop.Serve (async)");
	assert_int_equal(site->sum_ns, 42 * MS);
}

static void limit_of_connections_is_what_a_call_awaits(void **state)
{
	const struct tapir_await_site *site;

	(void)state;
	feeder_come(&f, 99, 0, 0, 0);
	await(100, CONNECTION, 8, 108, 2);
	await(100, OWN, 7, 8, 2);
	complete(140, 108, 0);
	run_task(140, 8, 140);
	complete(150, 8, LIBRARY);
	run_task(150, 7, 150);
	site = sites_at(1000, 1);
	assert_int_equal(site->connection_ns, 40 * MS);
	assert_string_equal(tapir_await_site__label(site), "a free connection");
	assert_true(tapir_await_site__is_queue(site));
}

/* .NET 11: a state machine from before the recording continues without an event. */
static void awaits_end_when_what_they_await_is_complete(void **state)
{
	const struct tapir_await_site *site;

	(void)state;
	feeder_come(&f, 99, 0, 0, 0);
	await(100, OWN, 7, 107, 2);
	complete(150, 107, TIMER);
	await(200, OWN, 7, 108, 2);
	complete(250, 108, TIMER);
	site = sites_at(1000, 1);
	assert_int_equal(site->cnt, 1);
	assert_int_equal(site->sum_ns, 50 * MS);
	assert_int_equal(site->open_cnt, 1);
}

/* Task 1000 + i gets the seat after task 999 + i, which has awaited a delay and releases it. */
static void pass_seat(uint64_t ms, uint64_t i, bool is_released)
{
	if (i) {
		complete(ms, 8999 + i, TIMER);
		continue_task(ms, 999 + i, 2);
	}
	if (is_released)
		complete(ms, 5000 + i, RELEASE);
	if (i)
		finding_fire(ENDED, ms, 0, (const uint64_t[]){2}, 1);
	if (!is_released)
		complete(ms, 5000 + i, RELEASE);
	run_task(ms, 1000 + i, ms);
	await(ms, OWN_LATER, 1000 + i, 9000 + i, 2);
	await(ms, OWN, 1008 + i, 5008 + i, 2);
}

static void await_seats(bool are_released)
{
	feeder_come(&f, 99, 0, 0, 0);
	for (uint64_t i = 0; i < 8; i++)
		await(10, OWN, 1000 + i, 5000 + i, 2);
	for (uint64_t i = 0; i < 100; i++) /* each awaits 160 ms until its turn */
		pass_seat(30 + 20 * i, i, are_released);
}

/* Eight clients of one seat: a cause, and how many it serves. */
static void turns_are_a_finding_with_their_rate(void **state)
{
	const struct tapir_finding *row;

	(void)state;
	await_seats(true);
	row = awaits_at(2030);
	assert_non_null(row);
	assert_int_equal(row->kind, TAPIR_FINDING_AWAIT_TURNS);
	assert_string_equal(
		row->text,
		"8.0 awaits at a time for a semaphore in Shop.Checkout (async), 154.40 ms "
		"each of 100; one gets it each 20.22 ms: 49.5 a second");
}

/* A semaphore that other methods release is a signal for work: nothing is wrong with that. */
static void awaits_of_a_signal_are_no_turns(void **state)
{
	const struct tapir_finding *row;

	(void)state;
	await_seats(false);
	row = awaits_at(2030);
	assert_non_null(row);
	assert_int_equal(row->kind, TAPIR_FINDING_AWAITS);
	assert_string_equal(
		row->text,
		"8.0 awaits at a time for a semaphore in Shop.Checkout (async), 154.40 ms "
		"each of 100");
}

/* Eight loops that read a channel, each every 80 ms, and do something with what they read. */
static void read_channel(uint64_t cnt)
{
	feeder_come(&f, 99, 0, 0, 0);
	for (uint64_t i = 0; i < cnt; i++) {
		uint64_t task = 100 + i % 8, ms = 10 + 1000 / cnt * i;

		await(ms, CALLER, 5000 + task, task, 2);
		run_task(ms, task, ms);
		await(ms, OWN, task, 9000 + i, 2);
		complete(ms + 1, 9000 + i, TIMER);
		run_task(ms + 1, task, ms + 1);
	}
}

static void loops_that_await_work_are_no_turns(void **state)
{
	const struct tapir_finding *row;

	(void)state;
	read_channel(100);
	row = awaits_at(1010);
	assert_non_null(row);
	assert_int_equal(row->kind, TAPIR_FINDING_AWAITS);
	assert_non_null(strstr(row->text, "for a ValueTask, such as a channel's, in Shop."));
}

/* None of them is seen to get work twice in so short a recording, but all await it again. */
static void loops_that_await_work_once_more_are_no_turns(void **state)
{
	const struct tapir_await_site *site;

	(void)state;
	read_channel(16);
	site = sites_at(1010, 2);
	for (unsigned i = 0; i < 2; i++)
		assert_false(tapir_await_site__is_queue(&site[i]));
}

/* Numbers of tasks that make no sense: a chain that is a ring, and one task that awaits itself. */
static void rings_of_tasks_end(void **state)
{
	(void)state;
	feeder_come(&f, 99, 0, 0, 0);
	await(100, OWN, 7, 8, 2);
	await(100, CALLER, 8, 7, 2);
	await(101, OWN, 9, 9, 2);
	complete(110, 9, RELEASE);
	run_task(120, 8, 121);
	run_task(120, 7, 121);
	complete(130, 0, RELEASE);
	(void)sites_at(1000, 0);
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
		TEST(innermost_method_of_the_program_counts_below_a_library),
		TEST(callers_count_until_a_method_inside_of_them_awaits),
		TEST(call_sites_are_not_averaged),
		TEST(awaits_without_a_task_last_until_their_method_continues),
		TEST(awaits_without_a_task_of_a_library_hide_nothing),
		TEST(await_before_its_method_is_known_is_none_of_a_later_call_site),
		TEST(what_the_program_completes_is_a_task),
		TEST(limit_of_connections_is_what_a_call_awaits),
		TEST(awaits_end_when_what_they_await_is_complete),
		TEST(turns_are_a_finding_with_their_rate),
		TEST(awaits_of_a_signal_are_no_turns),
		TEST(loops_that_await_work_are_no_turns),
		TEST(loops_that_await_work_once_more_are_no_turns),
		TEST(rings_of_tasks_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
