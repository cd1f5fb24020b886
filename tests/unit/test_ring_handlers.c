// SPDX-License-Identifier: GPL-2.0-or-later
/* The process side of the ring lane under signals: a handler fires inside an event, or leaves it.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <cmocka.h>

#pragma GCC optimize("no-omit-frame-pointer") /* the stacks that are walked */

#include "ring_writer_case.h"

#if defined(__SANITIZE_THREAD__)
#define HANDLERS 100 /* it delivers signals when it likes */
#else
#define HANDLERS 20000
#endif

static volatile uint64_t handler_cnt, handler_written;
static sigjmp_buf jump;

static void on_prof(int sig)
{
	(void)sig;
	handler_cnt++;
	handler_written += (uint64_t)fire(1, 0);
}

/* SIGPROF to this thread 10,000 times a second: ITIMER_PROF cannot do more than the tick. */
static timer_t start_timer(void)
{
	const struct itimerspec often = {{0, 100000}, {0, 100000}};
	struct sigevent to_us = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGPROF};
	timer_t timer;

	to_us._sigev_un._tid = (pid_t)syscall(SYS_gettid);
	assert_int_equal(timer_create(CLOCK_MONOTONIC, &to_us, &timer), 0);
	assert_int_equal(timer_settime(timer, 0, &often, NULL), 0);
	return timer;
}

static void handlers_inside_malloc_lose_nothing_uncounted(void **state)
{
	struct sigaction action = {.sa_handler = on_prof, .sa_flags = SA_RESTART}, old;
	uint64_t fired = 0, taken = 0;
	struct taker t;
	timer_t timer;

	(void)state;
	handler_cnt = handler_written = 0;
	begin(&t, 0, 0, 2, 1);
	sigaction(SIGPROF, &action, &old);
	timer = start_timer();
	/* On a machine that others keep busy, signals are fewer: they are what counts. */
	for (time_t until = time(NULL) + 30; handler_cnt < HANDLERS && time(NULL) < until;) {
		for (unsigned i = 0; i < 100; i++, fired++) {
			free(malloc(16 + i * 64));
			fire(0, fired);
		}
		if (++taken % 16 == 0)
			taker_take(&t);
	}
	timer_delete(timer);
	sigaction(SIGPROF, &old, NULL);
	end(&t);
	assert_true(handler_cnt >= HANDLERS / 20);
	assert_int_equal(t.read[0] + taker_missed(&t, 0), fired);
	assert_int_equal(t.read[1] + taker_missed(&t, 1), handler_cnt);
	assert_int_equal(t.read[1], handler_written);
	assert_int_equal(taker_lost(&t, 1, TAPIR_RING_NESTED), 0);
	assert_int_equal(t.unnamed, 0);
}

static volatile unsigned depth, deepest;

/* Fires the next event inside the writing of its own, as a handler does, down to the deepest. */
static __attribute__((noinline)) void write_inside(void)
{
	struct tapir_ring_write write;
	int begun = tapir_ring__begin(&write, &events[depth], 16);

	depth++;
	if (depth < deepest)
		write_inside();
	depth--;
	if (begun) {
		memset(write.payload, (int)depth, 16);
		tapir_ring__commit(&write);
	}
}

static void an_event_inside_another_is_written_and_one_inside_that_is_counted(void **state)
{
	struct taker t;

	(void)state;
	begin(&t, 0, 0, 3, 1);
	for (deepest = 1; deepest <= 3; deepest = deepest + 1)
		for (unsigned i = 0; i < 100; i++)
			write_inside();
	end(&t);
	assert_int_equal(t.read[0], 300);
	assert_int_equal(t.read[1], 200);
	assert_int_equal(t.read[2], 0);
	assert_int_equal(taker_lost(&t, 0, TAPIR_RING_NESTED), 0);
	assert_int_equal(taker_lost(&t, 1, TAPIR_RING_NESTED), 0);
	assert_int_equal(taker_lost(&t, 2, TAPIR_RING_NESTED), 100);
	assert_int_equal(t.unnamed, 0);
}

static void *write_inside_once(void *unused)
{
	(void)unused;
	write_inside();
	return NULL;
}

/* More than there are slots. */
static void both_slots_of_a_thread_are_given_back(void **state)
{
	const unsigned threads = TAPIR_RING_SLOTS / 2 + 100;
	struct taker t;

	(void)state;
	begin(&t, 0, 0, 2, 0);
	deepest = 2;
	for (unsigned i = 0; i < threads; i++) {
		pthread_t thread;

		assert_int_equal(pthread_create(&thread, NULL, write_inside_once, NULL), 0);
		pthread_join(thread, NULL);
	}
	end(&t);
	assert_int_equal(t.read[0], threads);
	assert_int_equal(t.read[1], threads);
}

static void on_usr1(int sig)
{
	(void)sig;
	siglongjmp(jump, 1);
}

static void write_and_leave(int sig)
{
	struct tapir_ring_write write;

	(void)sig;
	assert_true(tapir_ring__begin(&write, &events[1], 16));
	siglongjmp(jump, 1);
}

/* Deeper than any event that comes after it. */
static __attribute__((noinline)) void leave_an_event_behind(void)
{
	struct tapir_ring_write write;
	char below[4096];

	__asm__ volatile("" : : "r"(below) : "memory");
	assert_true(tapir_ring__begin(&write, &events[0], 16));
	raise(SIGUSR1);
	__asm__ volatile("" : : "r"(below) : "memory");
}

/* Both levels are left; then both are free again. */
static void events_left_by_a_jump_out_of_a_handler_do_not_silence_the_thread(void **state)
{
	struct sigaction action = {.sa_handler = write_and_leave}, old;
	struct taker t;

	(void)state;
	begin(&t, 0, 0, 2, 1);
	sigaction(SIGUSR1, &action, &old);
	deepest = 2;
	for (volatile unsigned i = 0; i < 10; i = i + 1) {
		if (!sigsetjmp(jump, 1))
			leave_an_event_behind();
		depth = 0;
		write_inside();
	}
	sigaction(SIGUSR1, &old, NULL);
	end(&t);
	assert_int_equal(t.read[0], 10);
	assert_int_equal(t.read[1], 10);
	assert_int_equal(taker_missed(&t, 0) + taker_missed(&t, 1), 0);
}

static void an_event_left_by_a_jump_does_not_silence_the_thread(void **state)
{
	struct sigaction action = {.sa_handler = on_usr1}, old;
	struct taker t;

	(void)state;
	begin(&t, 0, 0, 1, 1);
	t.on_event = check_number;
	wrong_numbers = next_number = 0;
	sigaction(SIGUSR1, &action, &old);
	fire(0, 0);
	if (!sigsetjmp(jump, 1))
		leave_an_event_behind();
	sigaction(SIGUSR1, &old, NULL);
	for (unsigned i = 1; i < 10; i++)
		assert_true(fire(0, i));
	end(&t);
	assert_int_equal(t.read[0], 10);
	assert_int_equal(wrong_numbers, 0);
	assert_int_equal(t.unnamed, 0);
}

/* The next event is begun in the frame of the one that was left. */
static void nor_does_one_that_its_own_function_left(void **state)
{
	struct sigaction action = {.sa_handler = on_usr1}, old;
	struct tapir_ring_write write;
	volatile unsigned i;
	struct taker t;

	(void)state;
	begin(&t, 0, 0, 1, 1);
	sigaction(SIGUSR1, &action, &old);
	for (i = 0; i < 10; i = i + 1) {
		if (sigsetjmp(jump, 1))
			continue;
		assert_true(tapir_ring__begin(&write, &events[0], 16));
		if (i == 4)
			raise(SIGUSR1);
		memset(write.payload, 0, 16);
		tapir_ring__commit(&write);
	}
	sigaction(SIGUSR1, &old, NULL);
	end(&t);
	assert_int_equal(t.read[0], 9);
	assert_int_equal(t.unnamed, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(handlers_inside_malloc_lose_nothing_uncounted),
		cmocka_unit_test(an_event_inside_another_is_written_and_one_inside_that_is_counted),
		cmocka_unit_test(both_slots_of_a_thread_are_given_back),
		cmocka_unit_test(events_left_by_a_jump_out_of_a_handler_do_not_silence_the_thread),
		cmocka_unit_test(an_event_left_by_a_jump_does_not_silence_the_thread),
		cmocka_unit_test(nor_does_one_that_its_own_function_left),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
