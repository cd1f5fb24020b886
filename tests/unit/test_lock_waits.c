// SPDX-License-Identifier: GPL-2.0-or-later
/* Cycles among threads that wait for each other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyze/lock_waits.h"

struct found {
	size_t cnt, threads;
	uint32_t tid;
};

static void on_deadlock(void *ctx, uint32_t tid, size_t cnt)
{
	struct found *found = ctx;

	found->cnt++;
	found->threads += cnt;
	found->tid = tid;
}

static struct found search(struct tapir_lock_waits *w)
{
	struct found found = {};

	size_t cnt = tapir_lock_waits__each_deadlock(w, on_deadlock, &found);

	assert_int_equal(cnt, found.cnt);
	return found;
}

static void chain_that_ends_is_no_deadlock(void **state)
{
	struct tapir_lock_waits w = {};
	size_t cnt;

	(void)state;
	assert_int_equal(search(&w).cnt, 0);
	assert_int_equal(tapir_lock_waits__most_contended(&w, &cnt), 0);
	for (uint32_t tid = 1; tid < 1000; tid++)
		assert_int_equal(tapir_lock_waits__add(&w, tid, tid + 1), 0);
	tapir_lock_waits__add(&w, 2000, 5);
	tapir_lock_waits__add(&w, 2001, 5);
	assert_int_equal(search(&w).cnt, 0);
	assert_int_equal(tapir_lock_waits__most_contended(&w, &cnt), 5);
	assert_int_equal(cnt, 3);
	assert_int_equal(tapir_lock_waits__owner(&w, 7), 8);
	assert_int_equal(tapir_lock_waits__owner(&w, 1000), 0);
	tapir_lock_waits__fini(&w);
}

static void each_cycle_is_found_once_whoever_waits_for_it(void **state)
{
	struct tapir_lock_waits w = {};
	struct found found;

	(void)state;
	for (uint32_t tid = 100; tid < 110; tid++)
		tapir_lock_waits__add(&w, tid, 1); /* outside of the cycle */
	tapir_lock_waits__add(&w, 1, 2);
	tapir_lock_waits__add(&w, 2, 3);
	tapir_lock_waits__add(&w, 3, 1);
	found = search(&w);
	assert_int_equal(found.cnt, 1);
	assert_int_equal(found.threads, 3);
	assert_in_range(found.tid, 1, 3);
	tapir_lock_waits__add(&w, 9, 9); /* its own */
	tapir_lock_waits__add(&w, 20, 21);
	tapir_lock_waits__add(&w, 21, 20);
	for (int again = 0; again < 2; again++) {
		found = search(&w);
		assert_int_equal(found.cnt, 3);
		assert_int_equal(found.threads, 6);
	}
	tapir_lock_waits__add(&w, 3, 50); /* replaces: no cycle any more */
	assert_int_equal(search(&w).cnt, 2);
	tapir_lock_waits__fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chain_that_ends_is_no_deadlock),
		cmocka_unit_test(each_cycle_is_found_once_whoever_waits_for_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
