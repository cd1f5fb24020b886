// SPDX-License-Identifier: GPL-2.0-or-later
/* Waits for a lock and waits for work that look alike on stacks, of a made-up CPython. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "finding_state.h"
#include "trace/record.h"

enum { LOCK = 1, QUEUE, SLEEP, UNKNOWN, IN_SERVE, IN_PUT };
#define NOBODY 99

static int setup(void **state)
{
	const uint64_t lock[] = {0x1008}, queue[] = {0x1008, 0x2008}, sleep[] = {0x3008},
		       unknown[] = {0x4008}, in_serve[] = {0x1008, 0x5008},
		       in_put[] = {0x1008, 0x6008, 0x7008, 0x5008};

	(void)state;
	if (finding_begin())
		return -1;
	name_method(1, "PyThread_acquire_lock_timed");
	name_method(2, "_queue.cpython-311-x86_64-linux-gnu.so!fn_4a70");
	name_method(3, "JavaThread::sleep_nanos");
	name_method(4, "fn_4");
	name_method(5, "py::serve:/srv/shop.py");
	name_method(6, "py::Condition.wait:/usr/lib/python3.11/threading.py");
	name_method(7, "py::Queue.put:/usr/lib/python3.11/queue.py");
	feeder_stack(&f, IN_SERVE, in_serve, 2);
	feeder_stack(&f, IN_PUT, in_put, 4);
	feeder_stack(&f, LOCK, lock, 1);
	feeder_stack(&f, QUEUE, queue, 2);
	feeder_stack(&f, SLEEP, sleep, 1);
	feeder_stack(&f, UNKNOWN, unknown, 1);
	return finding_listen();
}

static void leave_with(uint64_t futex_va, uint32_t tid, uint64_t ms, uint64_t stack, uint16_t flags)
{
	struct {
		struct tapir_rec_switch rec;
		uint64_t futex_va;
	} out = {.rec = {.out_tgid = TGID,
			 .out_tid = tid,
			 .out_state = TAPIR_STATE_SLEEPING,
			 .out_stack_id = stack,
			 .flags = TAPIR_SWITCH_HAS_FUTEX | flags},
		 .futex_va = futex_va};

	tapir_rec__init(&out.rec.h, TAPIR_REC_SWITCH, sizeof(out), ms * MS);
	feeder_add(&f, &out.rec.h);
}

static void leave_for(uint64_t futex_va, uint32_t tid, uint64_t ms, uint64_t stack)
{
	leave_with(futex_va, tid, ms, stack, 0);
}

/* As it is in a look at all threads. */
static void is_at(uint64_t futex_va, uint32_t tid, uint64_t ms, uint64_t stack)
{
	leave_with(futex_va, tid, ms, stack, TAPIR_SWITCH_SNAPSHOT | TAPIR_SWITCH_AT_END);
}

static void come(uint32_t tid, uint64_t ms, uint32_t waker)
{
	feeder_come(&f, tid, ms * MS, ms * MS, waker);
}

static const struct tapir_finding *one_at(uint64_t ms, enum tapir_finding_kind kind)
{
	come(NOBODY, ms, 0);
	assert_int_equal(tapir_timeline__finish(f.tl), 0);
	tapir_diagnosis__list(&finding, &found);
	assert_false(found.failed);
	for (size_t i = 0; i < found.rows.cnt; i++)
		if (found.rows.data[i].kind == kind)
			return &found.rows.data[i];
	return NULL;
}

static const struct tapir_finding *lock_at(uint64_t ms)
{
	return one_at(ms, TAPIR_FINDING_LOCKS);
}

/* Thread 2 has it from begin to end, and sleeps; 3 and 4 wait. */
static void wait_for_one(uint64_t stack_of_4)
{
	come(NOBODY, 100, 0);
	for (uint64_t ms = 100; ms < 1100; ms += 100) {
		finding_sleep(2, ms, SLEEP);
		leave_for(0x7000, 3, ms, LOCK);
		leave_for(0x7000, 4, ms, stack_of_4);
		come(2, ms + 98, 0);
		come(3, ms + 99, 2);
		come(4, ms + 99, 3);
	}
}

static void threads_that_wait_for_one_address_at_a_time_wait_for_a_lock(void **state)
{
	const struct tapir_finding *row;

	(void)state;
	wait_for_one(LOCK);
	row = lock_at(1100);
	assert_non_null(row);
	assert_float_equal(row->magnitude, 1.98, 0.001);
	assert_string_equal(row->text,
			    "threads waited 1.980 s for a Python lock: 2.0 of 2 threads at any "
			    "time; thread 2 () holds it 100% of the time, and sleeps");
}

/* The first stacks of a recording may be cut: its address is that of the others' lock. */
static void wait_without_callers_is_for_the_lock_of_its_address(void **state)
{
	const struct tapir_finding *row;

	(void)state;
	wait_for_one(UNKNOWN);
	row = lock_at(1100);
	assert_non_null(row);
	assert_float_equal(row->magnitude, 1.98, 0.001);
}

/* Of conditions: each wait has a lock of its own, whose memory others use afterwards. */
static void threads_that_wait_there_one_after_the_other_wait_for_work(void **state)
{
	(void)state;
	come(NOBODY, 100, 0);
	for (uint64_t ms = 100; ms < 1100; ms += 100) {
		leave_for(0x7000, 3, ms, LOCK);
		leave_for(0x8000, 4, ms, LOCK);
		come(3, ms + 50, 2);
		come(4, ms + 51, 2);
		leave_for(0x8000, 3, ms + 52, LOCK);
		leave_for(0x7000, 4, ms + 52, LOCK);
		come(3, ms + 98, 2);
		come(4, ms + 99, 2);
	}
	assert_null(lock_at(1100));
}

/* All who wait for a SimpleQueue do so at one address, and wake each other. */
static void threads_that_wait_for_a_simple_queue_wait_for_work(void **state)
{
	(void)state;
	come(NOBODY, 100, 0);
	for (uint64_t ms = 100; ms < 1100; ms += 100) {
		leave_for(0x7000, 3, ms, QUEUE);
		leave_for(0x7000, 4, ms, QUEUE);
		come(3, ms + 98, 2);
		come(4, ms + 99, 3);
	}
	assert_null(lock_at(1100));
}

/* As those do that wait for the end of a thread. */
static void lock_that_nobody_gets_is_not_told(void **state)
{
	(void)state;
	come(NOBODY, 100, 0);
	leave_for(0x7000, 3, 101, LOCK);
	leave_for(0x7000, 4, 101, LOCK);
	assert_null(lock_at(1100));
	assert_non_null(strstr(found.rows.data[0].text,
			       "; 2.0 threads waited for a Python lock or for work"));
}

/* Of two threads one waits at a time. */
static void lock_of_two_threads_is_known_by_names(void **state)
{
	const struct tapir_finding *row;

	(void)state;
	come(NOBODY, 100, 0);
	for (uint64_t ms = 100; ms < 1100; ms += 100) {
		leave_for(0x7000, 3, ms, LOCK);
		come(3, ms + 49, 4);
		leave_for(0x7000, 4, ms + 50, LOCK);
		come(4, ms + 99, 3);
	}
	leave_for(0x7000, 3, 1100, LOCK);
	is_at(0x7000, 3, 1101, IN_SERVE);
	row = lock_at(1102);
	assert_non_null(row);
	assert_non_null(strstr(row->text, "1.0 of 2 threads at any time, in serve shop.py"));
}

static void threads_that_were_seen_at_a_full_queue_wait_for_that(void **state)
{
	const struct tapir_finding *row;

	(void)state;
	come(NOBODY, 100, 0);
	for (uint64_t ms = 100; ms < 1100; ms += 100) {
		leave_for(0x7000, 3, ms, LOCK);
		come(3, ms + 99, 2);
	}
	leave_for(0x8000, 3, 1100, LOCK);
	is_at(0x8000, 3, 1101, IN_PUT);
	row = one_at(1102, TAPIR_FINDING_WAITS);
	assert_non_null(row);
	assert_string_equal(row->text,
			    "threads waited 992.00 ms for a full queue in serve shop.py");
}

static void locks_that_nobody_lets_go_are_a_deadlock_by_names(void **state)
{
	const struct tapir_finding *row;

	(void)state;
	come(NOBODY, 100, 0);
	leave_with(0x7000, 3, 101, IN_SERVE, TAPIR_SWITCH_SNAPSHOT);
	leave_with(0x8000, 4, 101, IN_SERVE, TAPIR_SWITCH_SNAPSHOT);
	is_at(0x7000, 3, 1099, IN_SERVE);
	is_at(0x8000, 4, 1099, IN_SERVE);
	row = one_at(1101, TAPIR_FINDING_DEADLOCK);
	assert_non_null(row);
	assert_float_equal(row->magnitude, 2, 0);
	assert_non_null(strstr(row->text, "2 threads waited for a Python lock throughout"));
	assert_non_null(strstr(row->text, " in serve shop.py"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			threads_that_wait_for_one_address_at_a_time_wait_for_a_lock, setup,
			finding_teardown),
		cmocka_unit_test_setup_teardown(wait_without_callers_is_for_the_lock_of_its_address,
						setup, finding_teardown),
		cmocka_unit_test_setup_teardown(
			threads_that_wait_there_one_after_the_other_wait_for_work, setup,
			finding_teardown),
		cmocka_unit_test_setup_teardown(threads_that_wait_for_a_simple_queue_wait_for_work,
						setup, finding_teardown),
		cmocka_unit_test_setup_teardown(lock_that_nobody_gets_is_not_told, setup,
						finding_teardown),
		cmocka_unit_test_setup_teardown(lock_of_two_threads_is_known_by_names, setup,
						finding_teardown),
		cmocka_unit_test_setup_teardown(
			threads_that_were_seen_at_a_full_queue_wait_for_that, setup,
			finding_teardown),
		cmocka_unit_test_setup_teardown(locks_that_nobody_lets_go_are_a_deadlock_by_names,
						setup, finding_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
