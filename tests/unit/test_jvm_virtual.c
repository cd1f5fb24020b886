// SPDX-License-Identifier: GPL-2.0-or-later
/* Dumps of threads as JDK 21 and 25 write them, and what is none: virtual threads by stack. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "runtime/jvm/heap/jvm_virtual.h"

#define HEAD "4711\n2026-11-30T19:43:07.184177045Z\n21.0.13+9\n\n"

static struct tapir_suspended found;

static int tear_down(void **state)
{
	(void)state;
	tapir_suspended__fini(&found);
	found = (struct tapir_suspended){};
	return 0;
}

static void parse(const char *dump)
{
	(void)tear_down(NULL);
	assert_int_equal(tapir_jvm_virtual__parse(dump, strlen(dump), &found), 0);
}

static void assert_stack(size_t at, uint64_t cnt, uint64_t parked_cnt, const char *frames)
{
	const struct tapir_suspended_row *row = &found.rows.data[at];

	assert_true(at < found.rows.cnt);
	assert_int_equal(row->cnt, cnt);
	assert_int_equal(row->parked_cnt, parked_cnt);
	assert_string_equal(row->frames, frames);
}

static void virtual_threads_of_jdk_21_are_grouped_by_stack(void **state)
{
	(void)state;
	parse(HEAD "#1 \"main\"\n"
		   "      java.base/java.lang.Thread.sleep(Thread.java:509)\n\n"
		   "#28 \"\" virtual\n"
		   "      java.base/java.lang.VirtualThread.park(VirtualThread.java:596)\n"
		   "      Shop.take(Shop.java:4)\n\n"
		   "#29 \"worker\" virtual\n"
		   "      Shop.spin(Shop.java:9)\n\n"
		   "#30 \"\" virtual\n"
		   "      java.base/java.lang.VirtualThread.park(VirtualThread.java:596)\n"
		   "      Shop.take(Shop.java:4)\n\n");
	assert_int_equal(found.cnt, 3);
	assert_int_equal(found.parked_cnt, 2);
	assert_int_equal(found.rows.cnt, 2);
	assert_stack(0, 2, 2,
		     "java.lang.VirtualThread.park(VirtualThread.java:596)\n"
		     "Shop.take(Shop.java:4)\n");
	assert_stack(1, 1, 0, "Shop.spin(Shop.java:9)\n");
}

static void jdk_25_says_the_state_itself(void **state)
{
	(void)state;
	parse("1\n2\n25\n\n"
	      "#34 \"\" virtual WAITING 2026-11-30T19:43:00.566534281Z\n"
	      "    at java.base/java.lang.VirtualThread.park(VirtualThread.java:742)\n"
	      "    - parking to wait for <java.util.concurrent.Semaphore$NonfairSync@7f0ef7f7>\n"
	      "    at app//Shop.take(Shop.java:4)\n\n"
	      "#35 \"\" virtual WAITING 2026-11-30T19:43:00.566534282Z\n"
	      "    at java.base/java.lang.VirtualThread.park(VirtualThread.java:742)\n"
	      "    - parking to wait for <java.util.concurrent.Semaphore$NonfairSync@11111111>\n"
	      "    at app//Shop.take(Shop.java:4)\n\n"
	      "#36 \"\" virtual BLOCKED 2026-11-30T19:43:00Z\n"
	      "    at Shop$$Lambda/0x00007f00.run(Unknown Source)\n\n"
	      "#37 \"\" virtual RUNNABLE 2026-11-30T19:43:00Z\n"
	      "    at java.base/java.lang.VirtualThread.parkNanos(VirtualThread.java:742)\n");
	assert_int_equal(found.cnt, 4);
	assert_int_equal(found.parked_cnt, 3);
	assert_stack(0, 2, 2,
		     "java.lang.VirtualThread.park(VirtualThread.java:742)\n"
		     "Shop.take(Shop.java:4)\n");
	assert_stack(1, 1, 1, "Shop$$Lambda/0x00007f00.run(Unknown Source)\n");
	assert_stack(2, 1, 0, "java.lang.VirtualThread.parkNanos(VirtualThread.java:742)\n");
}

static void names_of_threads_say_nothing(void **state)
{
	(void)state;
	parse(HEAD "#1 \"a\" virtual\"\n      A.b(A.java:1)\n"
		   "#2 \"b\" virtual WAITING\"\n      A.b(A.java:1)\n"
		   "#3 \"\" c\" virtual\n      A.b(A.java:1)\n");
	assert_int_equal(found.cnt, 1);
}

static void dump_without_virtual_threads_has_none(void **state)
{
	(void)state;
	parse(HEAD "#1 \"main\"\n      A.b(A.java:1)\n");
	assert_int_equal(found.cnt, 0);
	assert_int_equal(found.rows.cnt, 0);
}

static void what_is_no_dump_is_refused(void **state)
{
	static const char *const wrong[] = {"",
					    "\n",
					    "Unable to get pid",
					    "# \"main\" virtual\n",
					    "#1 main virtual\n",
					    "#x \"main\" virtual\n",
					    " #1 \"main\" virtual\n",
					    "#",
					    "#1",
					    "\"main\""};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		assert_int_equal(tapir_jvm_virtual__parse(wrong[i], strlen(wrong[i]), &found),
				 -EPROTO);
}

/* A dump that ends anywhere, as where the disk is full. */
static void truncated_dump_has_what_is_there(void **state)
{
	static const char dump[] = HEAD "#28 \"\" virtual\n"
					"      java.base/java.lang.VirtualThread.park(V.java:5)\n"
					"      Shop.take(Shop.java:4)\n\n";
	const size_t first = sizeof(HEAD "#28 \"\" virtual") - 1;

	(void)state;
	for (size_t len = first; len < sizeof(dump); len++) {
		(void)tear_down(NULL);
		assert_int_equal(tapir_jvm_virtual__parse(dump, len, &found), 0);
		assert_int_equal(found.cnt, 1);
	}
}

static void stack_has_no_more_frames_than_are_kept(void **state)
{
	static char dump[64 + 20 * (TAPIR_JVM_VIRTUAL_FRAMES + 100)];
	const char *text;
	size_t len = 0;
	unsigned cnt = 0;

	(void)state;
	len += (size_t)sprintf(dump, "#1 \"\" virtual\n");
	for (unsigned i = 0; i < TAPIR_JVM_VIRTUAL_FRAMES + 100; i++)
		len += (size_t)sprintf(dump + len, "      A.b(A.java:1)\n");
	assert_int_equal(tapir_jvm_virtual__parse(dump, len, &found), 0);
	for (text = found.rows.data[0].frames; *text; text++)
		cnt += *text == '\n';
	assert_int_equal(cnt, TAPIR_JVM_VIRTUAL_FRAMES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(virtual_threads_of_jdk_21_are_grouped_by_stack,
					  tear_down),
		cmocka_unit_test_teardown(jdk_25_says_the_state_itself, tear_down),
		cmocka_unit_test_teardown(names_of_threads_say_nothing, tear_down),
		cmocka_unit_test_teardown(dump_without_virtual_threads_has_none, tear_down),
		cmocka_unit_test_teardown(what_is_no_dump_is_refused, tear_down),
		cmocka_unit_test_teardown(truncated_dump_has_what_is_there, tear_down),
		cmocka_unit_test_teardown(stack_has_no_more_frames_than_are_kept, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
