/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A session that lets threads wait for room (ring.h, wait_ms): nothing is lost while its tracer
 * reads; a tracer that hangs, or has died, is waited for within the bound, or not at all.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <time.h>
#include <cmocka.h>

#include "ring_taker.h"
#include "usdt/ring/ring_writer.h"

#define BYTES 60000u

static struct tapir_ring_event event;
static const struct tapir_ring_about about = {.provider = "heap", .event = "nodes", .level = 4};
static bool has_ended; /* atomic */

static int setup(void **state)
{
	(void)state;
	return tapir_ring__init_private(TAKER_KEY) || tapir_ring__register(&event, &about) ? -1 : 0;
}

static int fire(void)
{
	struct tapir_ring_write write;

	if (!tapir_ring__wanted(&event) || !tapir_ring__begin(&write, &event, BYTES))
		return 0;
	memset(write.payload, 0x5a, BYTES);
	tapir_ring__commit(&write);
	return 1;
}

static void begin(struct taker *t, uint32_t wait_ms, uint64_t session_id)
{
	assert_int_equal(taker_init(t, getpid(), 0), 0);
	taker_session(t)->wait_ms = wait_ms;
	taker_session(t)->session_id = session_id;
	assert_int_equal(taker_open(t, 0, 1, 0), 0);
}

static void end(struct taker *t)
{
	taker_close(t);
	assert_int_equal(t->bad, 0);
	taker_session(t)->wait_ms = 0;
	taker_fini(t);
}

static void *take_all(void *taker)
{
	while (!__atomic_load_n(&has_ended, __ATOMIC_ACQUIRE)) {
		taker_take(taker);
		usleep(2000);
	}
	return NULL;
}

/* 120 MB through a ring of 4. */
static void nothing_is_lost_while_the_tracer_reads(void **state)
{
	pthread_t thread;
	struct taker t;

	(void)state;
	begin(&t, 600000, 1);
	has_ended = false;
	assert_int_equal(pthread_create(&thread, NULL, take_all, &t), 0);
	for (unsigned i = 0; i < 2000; i++)
		assert_true(fire());
	__atomic_store_n(&has_ended, true, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	end(&t);
	assert_int_equal(t.read[0], 2000);
	assert_int_equal(taker_missed(&t, 0), 0);
}

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static unsigned fill(void)
{
	unsigned cnt = 0;

	while (fire())
		cnt++;
	return cnt;
}

/* All events together wait that long, not each of them; then they are dropped and counted. */
static void a_tracer_that_hangs_is_waited_for_within_the_bound(void **state)
{
	uint64_t from_ms = now_ms(), until_ms;
	struct taker t;
	unsigned cnt;

	(void)state;
	begin(&t, 300, 2);
	cnt = fill();
	until_ms = now_ms();
	assert_true(until_ms - from_ms >= 300);
	for (unsigned i = 0; i < 1000; i++) /* 300 s, if each waited */
		assert_false(fire());
	assert_true(now_ms() - until_ms < 100000);
	end(&t);
	assert_int_equal(t.read[0], cnt);
	assert_int_equal(taker_lost(&t, 0, TAPIR_RING_NO_SPACE), 1001);
}

/* The lock goes with its holder; the bound is ten minutes. */
static void a_tracer_that_has_died_is_not_waited_for(void **state)
{
	uint64_t from_ms = now_ms();
	struct taker t;
	pid_t child;
	int status;

	(void)state;
	child = fork();
	if (!child) {
		struct taker of_child;

		begin(&of_child, 600000, 3);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(taker_init(&t, getpid(), 0), 0);
	fill();
	assert_true(now_ms() - from_ms < 300000);
	assert_int_equal(taker_session(&t)->state, TAPIR_RING_ENDED);
	taker_session(&t)->wait_ms = 0;
	taker_fini(&t);
}

static void *stop_soon(void *taker)
{
	usleep(100000);
	taker_stop(taker);
	return NULL;
}

/* As when a recording is stopped. */
static void a_tracer_that_no_longer_wants_the_event_is_not_waited_for(void **state)
{
	uint64_t from_ms = now_ms();
	pthread_t thread;
	struct taker t;

	(void)state;
	begin(&t, 600000, 4);
	assert_int_equal(pthread_create(&thread, NULL, stop_soon, &t), 0);
	fill();
	pthread_join(thread, NULL);
	assert_true(now_ms() - from_ms < 300000);
	end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_lost_while_the_tracer_reads),
		cmocka_unit_test(a_tracer_that_hangs_is_waited_for_within_the_bound),
		cmocka_unit_test(a_tracer_that_has_died_is_not_waited_for),
		cmocka_unit_test(a_tracer_that_no_longer_wants_the_event_is_not_waited_for),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
