// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The table of waits stays within its bounds, whatever a program does, and counts each wait once.
 *
 * runtimes: dotnet
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <time.h>

#include "diagnose/diagnosis_impl.h"
#include "finding_fixture.h"

#define TID	     7
#define ADDRESSES    64
#define WAKERS	     1024
#define ROWS	     262144
#define LONG_SECONDS 20
#define MANY	     100000

/* A wait of 1 ms. */
static void add_wait(uint32_t tid, uint32_t waker_tid, uint64_t futex_va)
{
	struct tapir_tl_thread thread = {.tgid = TGID, .tid = tid};
	const struct tapir_wait wait = {.thread = &thread,
					.from_ns = MS,
					.wake_ns = 2 * MS,
					.until_ns = 2 * MS,
					.waker_tid = waker_tid,
					.futex_va = futex_va};

	tapir_wait_table__add(&finding, &wait, false, false);
}

static void expect_rows(size_t row_cnt, uint64_t wait_cnt)
{
	const struct tapir_wait_row *row;
	uint64_t cnt = 0, ns = 0;

	tapir_vec_for_each (row, &finding.wait_table.rows) {
		cnt += row->cnt;
		ns += row->ns;
	}
	assert_int_equal(finding.wait_table.rows.cnt, row_cnt);
	assert_int_equal(cnt, wait_cnt);
	assert_int_equal(ns, wait_cnt * MS);
}

static void more_addresses_of_a_thread_are_one(void **state)
{
	(void)state;
	for (unsigned i = 1; i <= 3 * ADDRESSES; i++)
		add_wait(TID, 0, 64 * i);
	expect_rows(ADDRESSES + 1, 3 * ADDRESSES);
	assert_int_equal(finding.wait_table.rows.data[ADDRESSES].futex, 0);
}

static void more_wakers_of_a_thread_are_one(void **state)
{
	(void)state;
	for (unsigned i = 1; i <= 3 * WAKERS; i++)
		add_wait(TID, i, 64);
	expect_rows(WAKERS + 1, 3 * WAKERS);
	assert_int_equal(finding.wait_table.rows.data[WAKERS].waker_tid, 0);
}

static void what_has_no_row_is_counted(void **state)
{
	(void)state;
	for (unsigned i = 1; i <= ROWS + 2; i++)
		add_wait(i, 0, 64);
	expect_rows(ROWS, ROWS);
	assert_int_equal(finding.wait_table.rows.more, 2);
	assert_false(finding.wait_table.rows.failed);
}

/* One row after the other, of one thread, every second of which is truncated. */
static void truncated_waits_of_one_thread_take_no_square_of_time(void **state)
{
	static const struct tapir_lore_wait lock = {.function = "x", .reason = "lock"};
	struct tapir_wait_table *table = &finding.wait_table;
	uint64_t *first = tapir_map__put(&table->first_by_tid, TID, NULL), cnt = 1;
	struct timespec began, ended;

	(void)state;
	assert_non_null(first);
	for (size_t i = 0; i < MANY; i++) {
		struct tapir_wait_row row = {.wait = &lock,
					     .tid = TID,
					     .is_truncated = i % 2,
					     .futex = i % ADDRESSES,
					     .ns = MS,
					     .cnt = 1,
					     .next = i};

		assert_true(tapir_vec__push(&table->rows, row));
	}
	*first = MANY;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &began);
	assert_int_equal(tapir_wait_table__truncated(&finding, TID, "lock", MS, &cnt), 0);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ended);
	assert_int_equal(cnt, 0);
	assert_true(ended.tv_sec - began.tv_sec < LONG_SECONDS);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, finding_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(more_addresses_of_a_thread_are_one),
		CASE(more_wakers_of_a_thread_are_one),
		CASE(what_has_no_row_is_counted),
		CASE(truncated_waits_of_one_thread_take_no_square_of_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
