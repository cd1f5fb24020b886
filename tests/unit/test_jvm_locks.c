// SPDX-License-Identifier: GPL-2.0-or-later
/* Who waits for whom, by the text of a JVM's thread dump. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "runtime/jvm/jvm_locks.h"

#define THREAD(name, nid)                                                                          \
	"\"" name "\" #14 prio=5 os_prio=0 cpu=3.1ms tid=0x00007f12 nid=" nid                      \
	" waiting on condition  [0x00007f12]\n"

static struct tapir_lock_waits parse(const char *dump)
{
	struct tapir_lock_waits waits = {};

	assert_int_equal(tapir_jvm_locks__parse(dump, strlen(dump), &waits), 0);
	return waits;
}

static void assert_none(const char *dump)
{
	struct tapir_lock_waits waits = parse(dump);

	assert_int_equal(waits.cnt, 0);
	tapir_vec__fini(&waits);
}

static void assert_one(const char *dump, uint32_t tid, uint32_t owner_tid)
{
	struct tapir_lock_waits waits = parse(dump);

	assert_int_equal(waits.cnt, 1);
	assert_int_equal(waits.data[0].tid, tid);
	assert_int_equal(waits.data[0].owner_tid, owner_tid);
	tapir_vec__fini(&waits);
}

static void owner_of_a_monitor_is_the_thread_that_locked_it(void **state)
{
	(void)state;
	assert_one(THREAD("a", "0x10") "\t- waiting to lock <0x00e1> (a java.lang.Object)\n" THREAD(
			   "b", "0x11") "\t- locked <0x00e1> (a java.lang.Object)\n",
		   0x10, 0x11);
}

static void owner_of_a_lock_is_in_the_list_of_its_synchronizers(void **state)
{
	(void)state;
	assert_one(THREAD("a", "30") "\t- parking to wait for  <0x00e1> (a x.Sync)\n" THREAD(
			   "b", "31") "   Locked ownable synchronizers:\n\t- <0x00e1> (a x.Sync)\n",
		   30, 31);
}

static void thread_in_wait_has_given_its_monitor_up(void **state)
{
	(void)state;
	assert_none(THREAD("a", "1") "\t- waiting to lock <0xe1> (a X)\n" THREAD(
		"b", "2") "\t- waiting on <0xe1> (a X)\n\t- locked <0xe1> (a X)\n");
	assert_one(THREAD("b", "2") "\t- waiting to re-lock in wait() <0xe1> (a X)\n\t- locked "
				    "<0xe1> (a X)\n" THREAD("c", "3") "\t- locked <0xe1> (a X)\n",
		   2, 3);
}

static void lock_that_nobody_in_the_dump_holds_has_no_owner(void **state)
{
	(void)state;
	assert_none(THREAD("a", "1") "\t- parking to wait for  <0xe1> (a x.Condition)\n");
	assert_none("");
	assert_none("\n\n\t- \n\"\n\"x\n\t- locked <0x");
}

/* A thread's name is what the program likes; a line break in it begins another line. */
static void name_of_a_thread_is_not_taken_for_its_number(void **state)
{
	(void)state;
	assert_one(THREAD("x nid=0x99 y", "0x10") "\t- waiting to lock <0xe1> (a X)\n" THREAD(
			   "b", "0x11") "\t- locked <0xe1> (a X)\n",
		   0x10, 0x11);
}

static void odd_lines_are_skipped(void **state)
{
	static const char *const odd[] = {
		"\"no number\"\n\t- waiting to lock <0xe1> (a X)\n\t- locked <0xe2>\n",
		THREAD("a", "0x") "\t- waiting to lock <0xe1>\n",
		THREAD("a", "7") "\t- waiting to lock <no object reference available>\n",
		THREAD("a", "7") "\t- waiting to lock <0xe1>\n\t- locked <0xe1>\n",
		THREAD("a", "99999999999999999999") "\t- parking to wait for \n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++)
		assert_none(odd[i]);
}

/* Each beginning of a dump is a dump. */
static void cut_dump_is_read_as_far_as_it_goes(void **state)
{
	static const char dump[] = THREAD("a", "0x10") "\t- waiting to lock <0xe1> (a X)\n" THREAD(
		"b", "0x11") "\t- locked <0xe1> (a X)\n\t- waiting to lock <0xe2> (a X)\n";

	(void)state;
	for (size_t len = 0; len < sizeof(dump); len++) {
		struct tapir_lock_waits waits = {};

		assert_int_equal(tapir_jvm_locks__parse(dump, len, &waits), 0);
		assert_true(waits.cnt <= 1);
		tapir_vec__fini(&waits);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(owner_of_a_monitor_is_the_thread_that_locked_it),
		cmocka_unit_test(owner_of_a_lock_is_in_the_list_of_its_synchronizers),
		cmocka_unit_test(thread_in_wait_has_given_its_monitor_up),
		cmocka_unit_test(lock_that_nobody_in_the_dump_holds_has_no_owner),
		cmocka_unit_test(name_of_a_thread_is_not_taken_for_its_number),
		cmocka_unit_test(odd_lines_are_skipped),
		cmocka_unit_test(cut_dump_is_read_as_far_as_it_goes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
