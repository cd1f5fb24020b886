// SPDX-License-Identifier: GPL-2.0-or-later
/* What the kernel adds up: steps of histograms, sums and extremes, of threads that share a row. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>

#include "base/histogram.h"
#include "bpf/sums_logic.bpf.h"

static void highest_bits_are_those_of_the_machine(void **state)
{
	(void)state;
	for (uint32_t bit = 0; bit < 64; bit++) {
		assert_int_equal(tapir_highest_bit(1ull << bit), bit);
		assert_int_equal(tapir_highest_bit(~0ull >> (63 - bit)), bit);
	}
}

/* Steps follow each other without a gap, and each contains what is in it. */
static void every_value_has_a_step(void **state)
{
	(void)state;
	for (uint32_t step = 0; step < TAPIR_USED_STEPS; step++) {
		uint64_t low = tapir_histogram__low(step);
		uint64_t last = low + (tapir_histogram__width(step) - 1);

		assert_int_equal(tapir_octave_step(low), step);
		assert_int_equal(tapir_octave_step(last), step);
		if (last != UINT64_MAX)
			assert_int_equal(tapir_octave_step(last + 1), step + 1);
		else
			assert_int_equal(step, TAPIR_USED_STEPS - 1);
	}
}

#define THREADS 4
#define ROUNDS	100000

static struct tapir_sums_row row;

static void *add(void *arg)
{
	for (int64_t i = 0; i < ROUNDS; i++) {
		int64_t value = (i - ROUNDS / 2) * (1 << 20) + *(const int *)arg;

		tapir_sums__add(&row.columns[0], (uint64_t)value, 1, 7);
		tapir_sums__add(&row.columns[1], UINT64_MAX - (uint64_t)i, 0, 7);
	}
	return NULL;
}

static void threads_lose_nothing_to_each_other(void **state)
{
	static int numbers[THREADS] = {0, 1, 2, 3};
	const struct tapir_sums_column *c = row.columns;
	__int128 want = 0;
	pthread_t threads[THREADS];

	(void)state;
	assert_true(tapir_sums__claim_interval(&row, 2, 7));
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, add, &numbers[i]), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int64_t i = 0; i < ROUNDS; i++)
		want += THREADS * (__int128)(UINT64_MAX - (uint64_t)i);
	assert_true(((__int128)(int64_t)c[1].high << 32) + c[1].low == want);
	assert_int_equal((int64_t)((c[0].high << 32) + c[0].low),
			 -(int64_t)THREADS * ROUNDS / 2 * (1 << 20) + 6ll * ROUNDS);
	assert_int_equal(~c[1].least[1], UINT64_MAX - (ROUNDS - 1));
	assert_int_equal(c[1].max[1], UINT64_MAX);
	assert_int_equal((int64_t)(~c[0].least[1] ^ 1ull << 63), -(ROUNDS / 2ll) * (1 << 20));
	assert_int_equal((int64_t)(c[0].max[1] ^ 1ull << 63), (ROUNDS / 2ll - 1) * (1 << 20) + 3);
}

/* Of two intervals each has its own place; a third one takes over the first one's. */
static void place_is_of_one_interval(void **state)
{
	struct tapir_sums_row r = {};

	(void)state;
	for (uint64_t interval = 0; interval < 3; interval++) {
		assert_true(tapir_sums__claim_interval(&r, 1, interval));
		tapir_sums__add(&r.columns[0], 100 - interval, 0, interval);
	}
	assert_int_equal(r.columns[0].max[0], 98);
	assert_int_equal(r.columns[0].max[1], 99);
	r.intervals[1] = 2 * 3 | TAPIR_SUMS_BUSY; /* by a thread that was preempted */
	assert_false(tapir_sums__claim_interval(&r, 1, 3));
	assert_true(tapir_sums__claim_interval(&r, 1, 2));
}

static uint64_t stack_id(uint64_t user, uint64_t kernel, uint32_t tgid, uint32_t part)
{
	const struct tapir_sums_stack stack = {user, kernel, tgid, 0};

	return tapir_sums__stack_id(&stack, part);
}

/* Addresses of one process say nothing of another's; those of the kernel are the same for all. */
static void stacks_differ_by_process_and_part(void **state)
{
	static const uint32_t parts[] = {TAPIR_SUMS_STACK, TAPIR_SUMS_STACK_USER,
					 TAPIR_SUMS_STACK_KERNEL};

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(stack_id(0, 0, 5, parts[i]), 0);
		assert_int_not_equal(stack_id(7, 9, 5, parts[i]),
				     stack_id(7, 9, 5, parts[(i + 1) % 3]));
	}
	assert_int_not_equal(stack_id(7, 9, 5, TAPIR_SUMS_STACK),
			     stack_id(7, 9, 6, TAPIR_SUMS_STACK));
	assert_int_not_equal(stack_id(7, 9, 5, TAPIR_SUMS_STACK_USER),
			     stack_id(7, 9, 6, TAPIR_SUMS_STACK_USER));
	assert_int_equal(stack_id(7, 9, 5, TAPIR_SUMS_STACK_USER),
			 stack_id(7, 8, 5, TAPIR_SUMS_STACK_USER));
	assert_int_equal(stack_id(7, 9, 5, TAPIR_SUMS_STACK_KERNEL),
			 stack_id(8, 9, 6, TAPIR_SUMS_STACK_KERNEL));
	assert_int_equal(stack_id(0, 9, 5, TAPIR_SUMS_STACK_USER), 0);
	assert_int_equal(stack_id(7, 0, 5, TAPIR_SUMS_STACK_KERNEL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(highest_bits_are_those_of_the_machine),
		cmocka_unit_test(every_value_has_a_step),
		cmocka_unit_test(threads_lose_nothing_to_each_other),
		cmocka_unit_test(place_is_of_one_interval),
		cmocka_unit_test(stacks_differ_by_process_and_part),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
