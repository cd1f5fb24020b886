// SPDX-License-Identifier: GPL-2.0-or-later
/* The reader of rings sleeps only when nobody can fire. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "attach/rings/ring_idle.h"

#define ROUNDS 30

static uint32_t asleep;
static uint64_t cpu_ns;

static uint64_t cpu_of(void *ctx)
{
	(void)ctx;
	return cpu_ns;
}

static int after(struct tapir_ring_idle *idle, bool any)
{
	return tapir_ring_idle__after(idle, any, cpu_of, NULL);
}

/* How many rounds until it may sleep; ROUNDS: it may not. */
static int rounds_until_sleep(struct tapir_ring_idle *idle)
{
	for (int i = 0; i < ROUNDS; i++)
		if (after(idle, false) == TAPIR_RING_SLEEP_MS)
			return i;
	return ROUNDS;
}

static int setup(void **state)
{
	(void)state;
	asleep = 0;
	cpu_ns = 5;
	return 0;
}

static void it_never_sleeps_when_nothing_sees_threads_run(void **state)
{
	struct tapir_ring_idle idle = {};

	(void)state;
	assert_int_equal(rounds_until_sleep(&idle), ROUNDS);
}

static void it_sleeps_after_quiet_rounds_until_a_thread_runs(void **state)
{
	struct tapir_ring_idle idle = {.asleep = &asleep};
	int rounds = rounds_until_sleep(&idle);

	(void)state;
	assert_true(rounds > 1 && rounds < 20);
	assert_int_equal(asleep, 1);
	assert_false(tapir_ring_idle__has_ended(&idle));
	assert_int_equal(after(&idle, false), TAPIR_RING_SLEEP_MS); /* nothing ran since */
	asleep = 0;						    /* one did */
	assert_true(tapir_ring_idle__has_ended(&idle));
	assert_int_equal(after(&idle, false), TAPIR_RING_ROUND_MS);
	assert_int_equal(rounds_until_sleep(&idle), rounds);
}

static void records_keep_it_awake(void **state)
{
	struct tapir_ring_idle idle = {.asleep = &asleep};

	(void)state;
	for (int i = 0; i < ROUNDS; i++)
		assert_int_equal(after(&idle, i % 4 == 0), TAPIR_RING_ROUND_MS);
	assert_true(rounds_until_sleep(&idle) < ROUNDS);
	assert_int_equal(after(&idle, true), TAPIR_RING_ROUND_MS);
	assert_int_equal(asleep, 0);
}

/* A thread that runs all the time is not seen to begin; it uses CPU time. */
static void it_does_not_sleep_while_a_thread_runs_on(void **state)
{
	struct tapir_ring_idle idle = {.asleep = &asleep};

	(void)state;
	for (int i = 0; i < ROUNDS; i++, cpu_ns++)
		assert_int_equal(after(&idle, false), TAPIR_RING_ROUND_MS);
	cpu_ns = UINT64_MAX; /* not known */
	assert_int_equal(rounds_until_sleep(&idle), ROUNDS);
}

#define T(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(it_never_sleeps_when_nothing_sees_threads_run),
		T(it_sleeps_after_quiet_rounds_until_a_thread_runs),
		T(records_keep_it_awake),
		T(it_does_not_sleep_while_a_thread_runs_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
