// SPDX-License-Identifier: GPL-2.0-or-later
/* Pools of a JVM's threads, of made-up recordings: starved, saturated, idle. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "finding_case.h"

/* Stacks: in a task that waits for another, that sleeps; without one; one that takes what others
 * made; one of which callers are missing. */
enum { TASK = 1, SLEEP, FREE, CONSUMER, CUT };
enum { PARK = 1, NAP, AWAIT_DONE, OWN, TAKE, GET_TASK, RUN_WORKER };

static void add_stack(uint64_t id, const unsigned at[4])
{
	uint64_t frames_va[4];
	unsigned cnt = 0;

	for (; cnt < 4 && at[cnt]; cnt++)
		frames_va[cnt] = 0x1000ull * at[cnt] + 8;
	feeder_stack(&f, id, frames_va, cnt);
}

static int setup(void **state)
{
	static const char *const names[] = {
		[PARK] = "void jdk.internal.misc.Unsafe.park(boolean, long)",
		[AWAIT_DONE] = "int java.util.concurrent.FutureTask.awaitDone(boolean, long)",
		[OWN] = "java.lang.String Shop.order(int)",
		[TAKE] = "java.lang.Object java.util.concurrent.LinkedBlockingQueue.take()",
		[GET_TASK] = "java.lang.Runnable java.util.concurrent.ThreadPoolExecutor.getTask()",
		[RUN_WORKER] = "void java.util.concurrent.ThreadPoolExecutor.runWorker("
			       "java.util.concurrent.ThreadPoolExecutor$Worker)",
	};
	struct tapir_rec_symbol nap = {.file_id = 0x1000 * NAP, .size = 0x1000};

	(void)state;
	if (finding_begin())
		return -1;
	for (unsigned i = PARK; i <= RUN_WORKER; i++)
		if (names[i])
			name_method(i, names[i]);
	feeder_mapping(&f, 0x1000 * NAP, "/x/libjvm.so");
	feeder_add(&f, tapir_recbuf__symbol(&f.buf, &nap, feeder_sv("JavaThread::sleep")));
	add_stack(TASK, (const unsigned[]){PARK, AWAIT_DONE, OWN, RUN_WORKER});
	add_stack(SLEEP, (const unsigned[]){NAP, OWN, RUN_WORKER, 0});
	add_stack(FREE, (const unsigned[]){PARK, TAKE, GET_TASK, RUN_WORKER});
	add_stack(CONSUMER, (const unsigned[]){PARK, TAKE, OWN, RUN_WORKER});
	add_stack(CUT, (const unsigned[]){PARK, 0, 0, 0});
	return finding_listen();
}

/* In waits of so many ms, from 10 ms to 1 s, with 1 ms between them. */
static void wait_in(uint32_t tid, const char *name, uint64_t each_ms, uint64_t stack)
{
	feeder_thread(&f, tid, name);
	feeder_come(&f, tid, 9 * MS, 0, 0);
	for (uint64_t at = 10; at < 1000; at += each_ms + 1) {
		finding_sleep(tid, at, stack);
		if (at + each_ms < 1000)
			feeder_come(&f, tid, (at + each_ms) * MS, (at + each_ms) * MS, 0);
	}
}

static bool has(enum tapir_finding_kind kind)
{
	for (size_t i = 0; i < found.rows.cnt; i++)
		if (found.rows.data[i].kind == kind)
			return true;
	return false;
}

static void expect_neither(void)
{
	end_at(1000 * MS);
	assert_false(has(TAPIR_FINDING_THREADPOOL_STARVATION));
	assert_false(has(TAPIR_FINDING_EXECUTORS));
}

static void pool_is_starved_when_all_its_tasks_wait_for_tasks(void **state)
{
	(void)state;
	for (uint32_t tid = 2; tid < 5; tid++)
		wait_in(tid, tid == 2 ? "pool-1-thread-2" : "pool-1-thread-3", 2000, TASK);
	end_at(1000 * MS);
	expect(TAPIR_FINDING_THREADPOOL_STARVATION,
	       "thread pool starvation: 3.0 of 3 threads of the pool pool-1-thread-* wait for other "
	       "tasks in Shop.order(int): none was free in 991.00 ms");
	assert_true(found.rows.data[0].magnitude > 2.9 && found.rows.data[0].magnitude < 3.1);
}

/* Tasks are ended: they wait for another pool, or for tasks that get a thread in the end. */
static void pool_whose_waits_end_is_busy(void **state)
{
	(void)state;
	for (uint32_t tid = 2; tid < 5; tid++)
		wait_in(tid, "worker-1", 100, TASK);
	end_at(1000 * MS);
	expect(TAPIR_FINDING_EXECUTORS,
	       "3.0 of 3 threads of the pool worker-* wait for other tasks in "
	       "Shop.order(int): none was free in 991.00 ms");
}

static void pool_whose_tasks_sleep_is_busy(void **state)
{
	(void)state;
	for (uint32_t tid = 2; tid < 6; tid++)
		wait_in(tid, "pool-1-thread-1", 50, SLEEP);
	end_at(1000 * MS);
	assert_true(has(TAPIR_FINDING_EXECUTORS));
	assert_non_null(strstr(found.rows.data[0].text,
			       "3.9 of 4 threads of the pool "
			       "pool-1-thread-* sleep in Shop.order(int)"));
}

static void pool_is_not_starved_when_a_thread_of_it_is_free(void **state)
{
	(void)state;
	for (uint32_t tid = 2; tid < 30; tid++)
		wait_in(tid, "pool-1-thread-1", 2000, TASK);
	wait_in(30, "pool-1-thread-9", 2000, FREE);
	expect_neither();
}

/* Each has a number of its own: what one does is not what the other does. */
static void pool_is_starved_beside_one_that_is_free(void **state)
{
	(void)state;
	for (uint32_t tid = 2; tid < 5; tid++)
		wait_in(tid, "pool-1-thread-1", 2000, TASK);
	for (uint32_t tid = 12; tid < 15; tid++)
		wait_in(tid, "pool-2-thread-1", 2000, FREE);
	end_at(1000 * MS);
	assert_true(has(TAPIR_FINDING_THREADPOOL_STARVATION));
}

/* Its tasks are loops that take what others make: they wait for work. */
static void pool_of_consumers_is_not_starved(void **state)
{
	(void)state;
	for (uint32_t tid = 2; tid < 5; tid++)
		wait_in(tid, "pool-1-thread-1", 2000, CONSUMER);
	expect_neither();
}

static void pool_is_not_judged_by_stacks_that_lack_callers(void **state)
{
	(void)state;
	for (uint32_t tid = 2; tid < 5; tid++) {
		wait_in(tid, "pool-1-thread-1", 2000, CUT);
		feeder_come(&f, tid, 200 * MS, 200 * MS, 0);
		finding_sleep(tid, 201, TASK);
	}
	expect_neither();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, finding_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(pool_is_starved_when_all_its_tasks_wait_for_tasks),
		TEST(pool_whose_waits_end_is_busy),
		TEST(pool_whose_tasks_sleep_is_busy),
		TEST(pool_is_not_starved_when_a_thread_of_it_is_free),
		TEST(pool_is_starved_beside_one_that_is_free),
		TEST(pool_of_consumers_is_not_starved),
		TEST(pool_is_not_judged_by_stacks_that_lack_callers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
