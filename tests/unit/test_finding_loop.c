// SPDX-License-Identifier: GPL-2.0-or-later
/* Blocked event loops and the GIL of a stripped CPython, of made-up recordings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "loop_stacks.h"

static void blocked_by_a_function_when_the_loop_does_not_get_back(void **state)
{
	(void)state;
	start(2);
	sleep_until(2, 11, 100, POLL);
	run(2, 101, 400, DRAW);
	sleep_until(2, 400, 600, POLL);
	run(2, 601, 700, DRAW);
	sleep_until(2, 700, 1010, POLL);
	expect("the event loop of process 100 was blocked 40% of the time: 2 times for 50 ms and "
	       "more, 300.00 ms at most, 100% of it in draw shop.js:12:3",
	       1010);
	assert_true(found.rows.data[0].magnitude > 39 && found.rows.data[0].magnitude < 41);
}

/* It woke up in the loop, and lost its CPU there at once: no sign of short turns. */
static void blocked_although_it_is_seen_where_it_wakes_up(void **state)
{
	(void)state;
	start(2);
	for (uint64_t at = 11; at < 1000; at += 200) {
		sleep_until(2, at, at + 100, POLL);
		sample(2, at + 101, READ);
		run(2, at + 102, at + 200, DRAW);
	}
	lead_at(1010);
	assert_true(found.rows.cnt && found.rows.data[0].kind == TAPIR_FINDING_LOOP);
	assert_true(found.rows.data[0].magnitude > 45 && found.rows.data[0].magnitude < 55);
}

/* Of asyncio, which is no function: it calls the program, or asks for events, for the interpreter.
 */
static void loop_of_an_interpreter_is_blocked_too(void **state)
{
	(void)state;
	start(2);
	for (uint64_t at = 11; at < 1000; at += 200) {
		sleep_until(2, at, at + 100, TASK_SLEEP);
		sleep_until(2, at + 100, at + 200, SELECT);
	}
	expect("the event loop of process 100 was blocked 50% of the time: 5 times for 50 ms and "
	       "more, 100.00 ms at most, asleep; its functions have no names: start python 3.12 or "
	       "newer with -X perf",
	       1012);
}

/* None of them is long: others wait for all of them. */
static void short_calls_that_do_at_once_what_could_wait_are_summed(void **state)
{
	(void)state;
	start(2);
	for (uint64_t at = 11; at < 1000; at += 40) {
		sleep_until(2, at, at + 20, POLL);
		run(2, at + 20, at + 40, SYNC);
	}
	expect("the event loop of process 100 was in synchronous calls 50% of the time, 100% of it "
	       "in node::fs::Read for draw shop.js:12:3",
	       1012);
	assert_float_equal(found.rows.data[0].magnitude, 50, 1);
}

static void seen_at(uint32_t tid, uint64_t ms, uint64_t stack)
{
	feeder_switch(
		&f, ms * MS,
		(struct tapir_rec_switch){.out_tgid = TGID,
					  .out_tid = tid,
					  .out_state = TAPIR_STATE_SLEEPING,
					  .out_stack_id = stack,
					  .flags = TAPIR_SWITCH_SNAPSHOT | TAPIR_SWITCH_AT_END});
}

/* The first one is not counted: nobody knows yet that it is a loop. */
static void call_back(void)
{
	start(2);
	for (uint64_t at = 11; at < 1000; at += 200) {
		sleep_until(2, at, at + 100, CALLBACK_SLEEP);
		sleep_until(2, at + 100, at + 200, SELECT);
	}
}

/* Of call_soon: the interpreter itself calls it. Snapshots tell that the thread runs a loop. */
static void callback_that_is_no_task_blocks_the_loop(void **state)
{
	(void)state;
	call_back();
	finding_sleep(2, 1011, SELECT);
	seen_at(2, 1012, RUN_ONCE);
	expect("the event loop of process 100 was blocked 40% of the time: 4 times for 50 ms and "
	       "more, 100.00 ms at most, asleep; its functions have no names: start python 3.12 or "
	       "newer with -X perf",
	       1013);
}

static void callback_has_a_name_where_it_was_seen(void **state)
{
	(void)state;
	call_back();
	finding_sleep(2, 1011, CALLBACK_SLEEP);
	seen_at(2, 1012, SEEN_IN_CALLBACK);
	expect("the event loop of process 100 was blocked 40% of the time: 4 times for 50 ms and "
	       "more, 100.00 ms at most, asleep; it was seen in draw shop.py",
	       1013);
}

/* It asks for events and does what it is there for: nobody else's events wait. */
static void program_that_asks_for_events_without_asyncio_is_no_loop(void **state)
{
	(void)state;
	call_back();
	expect_no_loop(1012);
}

/* The loop's own code is no deeper in the interpreter than where it asks for events. */
static void never_blocked_when_short_callbacks_take_all_the_cpu(void **state)
{
	(void)state;
	start(2);
	sleep_until(2, 11, 12, SELECT);
	for (uint64_t at = 13; at < 1000; at += 10) {
		run(2, at, at + 9, CALLBACK);
		sample(2, at + 9, INTERPRETER);
	}
	finding_sleep(2, 1011, SELECT);
	seen_at(2, 1012, RUN_ONCE);
	expect_no_loop(1013);
}

/* Nor before it has been seen where it asks, which takes long if it never sleeps there. */
static void not_known_whether_blocked_before_the_loop_asks_for_events(void **state)
{
	(void)state;
	start(2);
	for (uint64_t at = 13; at < 800; at += 10) {
		run(2, at, at + 9, TASK_SLEEP);
		sample(2, at + 9, INTERPRETER);
	}
	sample(2, 805, SELECT);
	for (uint64_t at = 813; at < 1000; at += 10) {
		run(2, at, at + 9, TASK_SLEEP);
		sample(2, at + 9, INTERPRETER);
	}
	expect_no_loop(1013);
}

/* Sleeps of a thread that runs no loop, and waits for events of one without tasks. */
static void thread_of_an_interpreter_without_tasks_is_no_loop(void **state)
{
	(void)state;
	start(2);
	for (uint64_t at = 11; at < 1000; at += 200) {
		sleep_until(2, at, at + 100, SELECT);
		sleep_until(2, at + 100, at + 200, ELSEWHERE);
	}
	expect_no_loop(1012);
}

/* Until tables are loaded, stacks lack their callers: nobody knows whether it was blocked then. */
static void share_is_of_the_time_that_is_known(void **state)
{
	(void)state;
	start(2);
	run(2, 11, 13, READ);
	sleep_until(2, 13, 211, ELSEWHERE);
	for (uint64_t at = 211; at < 1010; at += 200) {
		run(2, at, at + 100, DRAW);
		sleep_until(2, at + 100, at + 200, POLL);
	}
	expect("the event loop of process 100 was blocked 50% of the time: 4 times for 50 ms and "
	       "more, 100.00 ms at most, 100% of it in draw shop.js:12:3",
	       1011);
}

/* A worker thread of Node is there to compute; the process's own loop turns. */
static void worker_that_computes_blocks_no_loop(void **state)
{
	(void)state;
	start(TGID);
	start(2);
	for (uint64_t at = 11; at < 1000; at += 100)
		sleep_until(TGID, at, at + 100, POLL);
	run(2, 11, 1000, DRAW);
	expect_no_loop(1010);
}

static void never_blocked_when_turns_are_short(void **state)
{
	(void)state;
	start(2);
	for (uint64_t at = 11; at < 1000; at += 20) {
		run(2, at, at + 10, DRAW);
		sleep_until(2, at + 10, at + 20, POLL);
	}
	expect_no_loop(1010);
}

/* It finds the next event without sleeping: what shows are samples in the loop itself. */
static void never_blocked_when_short_turns_take_all_the_cpu(void **state)
{
	(void)state;
	start(2);
	sleep_until(2, 11, 20, POLL);
	for (uint64_t at = 21; at < 1000; at += 20) {
		run(2, at, at + 19, DRAW);
		sample(2, at + 19, READ);
	}
	expect_no_loop(1010);
}

static void not_reported_when_records_are_missing(void **state)
{
	(void)state;
	start(2);
	sleep_until(2, 11, 20, POLL);
	run(2, 21, 30, DRAW);
	sleep_until(2, 900, 1000, POLL); /* what it did from 30 ms to 900 ms nobody knows */
	expect_no_loop(1010);
}

static void not_reported_when_it_slept_nobody_knows_where(void **state)
{
	(void)state;
	start(2);
	sleep_until(2, 11, 20, POLL);
	run(2, 21, 30, DRAW);
	sleep_until(2, 30, 500, ELSEWHERE);
	sleep_until(2, 501, 1000, POLL);
	expect_no_loop(1010);
}

static void says_what_it_waits_for_when_a_call_sleeps(void **state)
{
	(void)state;
	start(2);
	sleep_until(2, 11, 100, POLL);
	sleep_until(2, 101, 600, SLEEP);
	sleep_until(2, 601, 1010, POLL);
	expect("the event loop of process 100 was blocked 50% of the time: 1 time for 50 ms and "
	       "more, 501.00 ms at most, 100% of it in draw shop.js:12:3, waiting for a condition",
	       1010);
}

/* The inner loop's poll is not the outer one's. */
static void a_child_blocks_when_a_loop_within_waits_for_it(void **state)
{
	(void)state;
	start(2);
	sleep_until(2, 11, 100, POLL);
	for (uint64_t at = 100; at < 600; at += 100)
		sleep_until(2, at, at + 100, CHILD);
	sleep_until(2, 601, 1010, POLL);
	expect("the event loop of process 100 was blocked 50% of the time: 1 time for 50 ms and "
	       "more, 501.00 ms at most, 100% of it in draw shop.js:12:3, in a call of "
	       "node::SyncProcessRunner::Spawn, waiting for a child",
	       1010);
}

static void tells_how_to_get_names_when_there_are_none(void **state)
{
	(void)state;
	start(2);
	sleep_until(2, 11, 100, POLL);
	run(2, 101, 1010, UNNAMED);
	expect("the event loop of process 100 was blocked 91% of the time: 1 time for 50 ms and "
	       "more, 909.00 ms at most; it still was when the recording ended; its functions have "
	       "no names: start node with --perf-basic-prof --interpreted-frames-native-stack (or in NODE_OPTIONS)",
	       1010);
}

/* ---- the GIL --------------------------------------------------------------------------------- */

static void wait_in_turns(uint32_t tid, uint64_t stack)
{
	feeder_thread(&f, tid, "python3");
	feeder_come(&f, tid, 10 * MS, 0, 0);
	for (uint64_t at = 12; at < 1000; at += 10)
		sleep_until(tid, at, at + 9, stack);
}

static void told_when_the_interpreter_has_no_symbols(void **state)
{
	(void)state;
	feeder_thread(&f, 5, "python3");
	feeder_come(&f, 5, 10 * MS, 0, 0);
	run(5, 11, 1000, INTERPRETER);
	wait_in_turns(2, GIL);
	wait_in_turns(3, RESTORE);
	assert_non_null(strstr(lead_at(1010),
			       " for the GIL: 1.8 of 2 threads at any time, python*; "
			       "thread 5 (python3) holds it: 100% of the "
			       "interpreter's CPU time"));
	assert_int_equal(found.rows.data[0].kind, TAPIR_FINDING_LOCKS);
}

static void names_nobody_when_threads_run_by_turns(void **state)
{
	(void)state;
	for (uint32_t tid = 5; tid < 8; tid++) {
		feeder_thread(&f, tid, "python3");
		feeder_come(&f, tid, 10 * MS, 0, 0);
	}
	for (uint64_t at = 11; at < 1000; at++)
		sample(5 + (uint32_t)(at / 10 % 3), at, INTERPRETER);
	wait_in_turns(2, GIL);
	assert_non_null(strstr(lead_at(1010), "; 3 threads take turns in the interpreter"));
}

/* Or for work: the line of an idle process says so. */
static void threads_that_wait_for_a_python_lock_are_reported(void **state)
{
	(void)state;
	for (uint32_t tid = 2; tid < 5; tid++)
		wait_in_turns(tid, PYTHON_LOCK);
	assert_non_null(
		strstr(lead_at(1010), "; 2.7 threads waited for a Python lock or for work"));
	assert_int_equal(found.rows.data[0].kind, TAPIR_FINDING_IDLE);
}

static void a_condition_of_another_file_is_no_gil(void **state)
{
	(void)state;
	wait_in_turns(2, NUMPY);
	wait_in_turns(3, NUMPY);
	lead_at(1010);
	for (size_t i = 0; i < found.rows.cnt; i++)
		assert_null(strstr(found.rows.data[i].text, "GIL"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(blocked_by_a_function_when_the_loop_does_not_get_back),
		CASE(blocked_although_it_is_seen_where_it_wakes_up),
		CASE(loop_of_an_interpreter_is_blocked_too),
		CASE(short_calls_that_do_at_once_what_could_wait_are_summed),
		CASE(callback_that_is_no_task_blocks_the_loop),
		CASE(callback_has_a_name_where_it_was_seen),
		CASE(program_that_asks_for_events_without_asyncio_is_no_loop),
		CASE(never_blocked_when_short_callbacks_take_all_the_cpu),
		CASE(not_known_whether_blocked_before_the_loop_asks_for_events),
		CASE(thread_of_an_interpreter_without_tasks_is_no_loop),
		CASE(share_is_of_the_time_that_is_known),
		CASE(worker_that_computes_blocks_no_loop),
		CASE(threads_that_wait_for_a_python_lock_are_reported),
		CASE(never_blocked_when_turns_are_short),
		CASE(never_blocked_when_short_turns_take_all_the_cpu),
		CASE(not_reported_when_records_are_missing),
		CASE(not_reported_when_it_slept_nobody_knows_where),
		CASE(says_what_it_waits_for_when_a_call_sleeps),
		CASE(a_child_blocks_when_a_loop_within_waits_for_it),
		CASE(tells_how_to_get_names_when_there_are_none),
		CASE(told_when_the_interpreter_has_no_symbols),
		CASE(names_nobody_when_threads_run_by_turns),
		CASE(a_condition_of_another_file_is_no_gil),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
