// SPDX-License-Identifier: GPL-2.0-or-later
/* Records leave in the order of their times, within the window; nothing is lost or kept for ever.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "trace/reorder.h"

#define MS 1000000ull

static struct tapir_reorder *reorder;
static uint64_t times[64], out_cnt, backwards, last_ns;
static uint16_t cpus[64];

static void out(void *ctx, const struct tapir_rec *rec)
{
	assert_ptr_equal(ctx, &out_cnt);
	if (out_cnt < 64) {
		times[out_cnt] = rec->time_ns;
		cpus[out_cnt] = rec->cpu;
	}
	backwards += rec->time_ns < last_ns;
	last_ns = rec->time_ns;
	out_cnt++;
}

static int setup(void **state)
{
	(void)state;
	out_cnt = backwards = last_ns = 0;
	reorder = tapir_reorder__new(out, &out_cnt);
	return reorder ? 0 : -1;
}

static uint64_t announced_ns[3], announced_cnt[3];

static void coming(void *ctx, const struct tapir_rec *rec, enum tapir_reorder_step step)
{
	assert_ptr_equal(ctx, &out_cnt);
	assert_true(rec->time_ns > announced_ns[step]);	 /* each once, in their order */
	assert_true(!out_cnt || rec->time_ns > last_ns); /* before it is out */
	announced_ns[step] = rec->time_ns;
	announced_cnt[step]++;
}

static int teardown(void **state)
{
	(void)state;
	tapir_reorder__free(reorder);
	return 0;
}

static void add_as(uint64_t time_ns, uint16_t cpu, bool is_ahead)
{
	struct tapir_rec rec = {
		.type = TAPIR_REC_SAMPLE, .cpu = cpu, .size = sizeof(rec), .time_ns = time_ns};

	assert_int_equal(tapir_reorder__add(reorder, &rec, is_ahead), 0);
}

static void add(uint64_t time_ns)
{
	add_as(time_ns, 0, false);
}

static void records_are_announced_before_they_are_out(void **state)
{
	(void)state;
	memset(announced_ns, 0, sizeof(announced_ns));
	memset(announced_cnt, 0, sizeof(announced_cnt));
	tapir_reorder__announce(reorder, coming);
	for (unsigned i = 1; i <= 30; i++)
		add(i * MS);
	tapir_reorder__finish(reorder);
	assert_int_equal(out_cnt, 30);
	for (unsigned step = 0; step < 3; step++)
		assert_int_equal(announced_cnt[step], 30 - 16); /* while more than 16 wait */
	assert_true(announced_ns[TAPIR_REORDER_FAR] > announced_ns[TAPIR_REORDER_NEAR]);
	assert_true(announced_ns[TAPIR_REORDER_NEAR] > announced_ns[TAPIR_REORDER_NEXT]);
}

static void rings_read_one_behind_the_other_are_merged(void **state)
{
	(void)state;
	for (unsigned cpu = 0; cpu < 4; cpu++)
		for (unsigned i = 0; i < 8; i++)
			add_as((i * 4 + cpu) * MS, (uint16_t)cpu, false);
	assert_int_equal(out_cnt, 0);
	tapir_reorder__finish(reorder);
	assert_int_equal(out_cnt, 32);
	for (unsigned i = 0; i < 32; i++)
		assert_int_equal(times[i], i * MS);
	assert_int_equal(tapir_reorder__late(reorder), 0);
}

static void records_of_one_time_keep_their_order(void **state)
{
	(void)state;
	add(9 * MS);
	for (uint16_t i = 0; i < 10; i++)
		add_as(5 * MS, i, false);
	tapir_reorder__finish(reorder);
	for (uint16_t i = 0; i < 10; i++)
		assert_int_equal(cpus[i], i);
	assert_int_equal(times[10], 9 * MS);
}

static void record_behind_the_window_is_counted_and_passed_on(void **state)
{
	(void)state;
	add(1000 * MS);
	add(1600 * MS);
	assert_int_equal(out_cnt, 1);
	add(999 * MS);
	assert_int_equal(out_cnt, 2);
	assert_int_equal(tapir_reorder__late(reorder), 1);
}

static void description_waits_for_its_time_and_hurries_nobody(void **state)
{
	(void)state;
	add_as(9000 * MS, 7, true);
	add(1 * MS);
	add(2 * MS);
	assert_int_equal(out_cnt, 0);
	for (unsigned i = 1; i < 100; i++)
		add(i * 100 * MS);
	tapir_reorder__finish(reorder);
	assert_int_equal(out_cnt, 102);
	assert_int_equal(backwards, 0);
}

static void time_that_jumps_ahead_holds_nobody_up(void **state)
{
	(void)state;
	add(5 * MS);
	add(UINT64_MAX);
	assert_int_equal(out_cnt, 1);
	add(6 * MS);
	assert_int_equal(out_cnt, 2);
	tapir_reorder__finish(reorder);
	assert_int_equal(out_cnt, 3);
	assert_int_equal(tapir_reorder__late(reorder), 0);
}

static void number_is_bounded_when_all_have_one_time(void **state)
{
	(void)state;
	for (unsigned i = 0; i < TAPIR_REORDER_MAX_CNT + 100; i++)
		add(7);
	assert_int_equal(out_cnt, 100);
	add(3);
	assert_int_equal(out_cnt, 101);
	tapir_reorder__finish(reorder);
	assert_int_equal(out_cnt, TAPIR_REORDER_MAX_CNT + 101);
}

static void bytes_are_bounded_when_records_are_large(void **state)
{
	static uint64_t large[TAPIR_MAX_RECORD_BYTES / 8];
	struct tapir_rec *rec = (void *)large;

	(void)state;
	rec->type = TAPIR_REC_EVENT;
	rec->size = sizeof(large);
	for (unsigned i = 0; i < 400; i++)
		assert_int_equal(tapir_reorder__add(reorder, rec, false), 0);
	assert_true(400 - out_cnt <= TAPIR_REORDER_MAX_BYTES / sizeof(large) + 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(records_are_announced_before_they_are_out),
		TEST(rings_read_one_behind_the_other_are_merged),
		TEST(records_of_one_time_keep_their_order),
		TEST(record_behind_the_window_is_counted_and_passed_on),
		TEST(description_waits_for_its_time_and_hurries_nobody),
		TEST(time_that_jumps_ahead_holds_nobody_up),
		TEST(number_is_bounded_when_all_have_one_time),
		TEST(bytes_are_bounded_when_records_are_large),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
