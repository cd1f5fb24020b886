// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What is found of .NET's thread pool, of made-up recordings.
 *
 * runtimes: dotnet
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "finding_fixture.h"

/* A worker that said it has no work is idle, one that did not is blocked. */
static void wait_until_104_ms(uint32_t tid, uint64_t from_ms, bool says_so)
{
	call_thread(tid, ".NET TP Worker");
	feeder_come(&f, tid, (from_ms - 2) * MS, 0, 0);
	if (says_so)
		fire_on(POOL_IDLE, tid, (from_ms - 1) * MS, 0, NULL, 0);
	feeder_leave(&f, tid, from_ms * MS, TAPIR_STATE_SLEEPING);
	feeder_come(&f, tid, 104 * MS, 104 * MS, 1);
}

static void wait_for_100_ms(uint32_t tid, bool says_so)
{
	wait_until_104_ms(tid, 4, says_so);
}

static void blocked_workers_are_starvation(void **state)
{
	(void)state;
	fire_on(POOL_GREW, 1, 1 * MS, 3, "CooperativeBlocking", 0);
	for (uint32_t tid = 2; tid < 6; tid++)
		wait_for_100_ms(tid, tid == 5);
	fire(TICK, 101 * MS, 0, "Object", 0);
	expect_finding(
		"thread pool starvation: 2.9 of 3.9 pool threads are blocked on average; the "
		"pool changed its size for blocked threads 1 time");
}

/* A thread that was added late is none that had nothing to do before. */
static void pool_that_grows_has_as_many_threads_as_there_were_at_a_time(void **state)
{
	(void)state;
	fire_on(POOL_GREW, 1, 1 * MS, 3, "CooperativeBlocking", 0);
	for (uint32_t tid = 2; tid < 6; tid++)
		wait_until_104_ms(tid, tid < 4 ? 4 : 54, false);
	fire(TICK, 101 * MS, 0, "Object", 0);
	expect_finding(
		"thread pool starvation: 2.9 of 2.9 pool threads are blocked on average; the "
		"pool changed its size for blocked threads 1 time");
}

/* Three of four milliseconds, for answers that come soon, one after the other. */
static void short_waits_block_a_pool_as_long_ones_do(void **state)
{
	(void)state;
	fire_on(POOL_GREW, 1, 1 * MS, 3, "ClimbingMove", 0);
	for (uint32_t tid = 2; tid < 6; tid++) {
		call_thread(tid, ".NET TP Worker");
		feeder_come(&f, tid, 2 * MS, 0, 0);
		for (uint64_t at = 3; at < 103; at += 4) {
			feeder_switch(&f, at * MS,
				      (struct tapir_rec_switch){.out_tgid = TGID,
								.out_tid = tid,
								.out_state = TAPIR_STATE_SLEEPING,
								.out_stack_id = 14});
			feeder_come(&f, tid, (at + 3) * MS, (at + 3) * MS, 1);
		}
	}
	fire(TICK, 103 * MS, 0, "Object", 0);
	expect_finding("3.0 of 3.9 pool threads are blocked on average in Shop.Draw(int)");
}

static void workers_without_work_are_no_starvation(void **state)
{
	(void)state;
	fire_on(POOL_GREW, 1, 1 * MS, 3, "ClimbingMove", 0);
	for (uint32_t tid = 2; tid < 6; tid++)
		wait_for_100_ms(tid, true);
	fire(TICK, 110 * MS, 0, "Object", 0);
	expect_finding("");
}

enum { QUEUED = 200, TAKEN };

static void queue_work(unsigned cnt, uint64_t ms)
{
	feeder_probe(&f, QUEUED, RUNTIME, "ThreadPoolEnqueue", "WorkID", NULL);
	feeder_probe(&f, TAKEN, RUNTIME, "ThreadPoolDequeue", "WorkID", NULL);
	for (uint64_t i = 0; i < cnt; i++)
		fire_on(QUEUED, 2, (10 + i) * MS, i, NULL, 0);
	for (uint64_t i = 0; i < cnt; i++)
		fire_on(TAKEN, 3, (10 + ms + i) * MS, i, NULL, 0);
	fire(TICK, 1010 * MS, 0, "Object", 0);
}

/* No thread is blocked: there is more work than the pool does. */
static void work_that_waits_for_a_thread_is_a_finding(void **state)
{
	(void)state;
	queue_work(100, 105);
	expect_finding("work waits 105.00 ms (median), 105.00 ms (99%) for a thread of the pool: "
		       "10.5 items are queued on average, 100 were taken");
}

static void work_that_is_taken_soon_is_none(void **state)
{
	(void)state;
	queue_work(100, 2);
	expect_finding("");
}

static void few_items_have_no_median(void **state)
{
	(void)state;
	queue_work(19, 105);
	expect_finding("");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(blocked_workers_are_starvation),
		TEST(pool_that_grows_has_as_many_threads_as_there_were_at_a_time),
		TEST(short_waits_block_a_pool_as_long_ones_do),
		TEST(workers_without_work_are_no_starvation),
		TEST(work_that_waits_for_a_thread_is_a_finding),
		TEST(work_that_is_taken_soon_is_none),
		TEST(few_items_have_no_median),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
