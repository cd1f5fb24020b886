// SPDX-License-Identifier: GPL-2.0-or-later
/* A JVM's count of its objects by class. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "runtime/jvm/heap/jvm_classes.h"

#define HISTOGRAM                                                                                  \
	" num     #instances         #bytes  class name (module)\n"                                \
	"-------------------------------------------------------\n"                                \
	"   1:            30           9000  [B (java.base@17.0.15)\n"                             \
	"   2:           300           7200  com.shop.Order\n"                                     \
	"   3:             2            480  [[Ljava.lang.Object; (java.base@17.0.15)\n"           \
	"   4:             1             16  com.shop.A$$Lambda$14/0x0000 (x)\n"

static void a_histogram_becomes_rows(void **state)
{
	static const char text[] = HISTOGRAM "Total           333          16696\n";
	struct tapir_heap_snapshot s = {};

	(void)state;
	assert_int_equal(tapir_jvm_classes__parse(text, strlen(text), &s), 0);
	assert_int_equal(s.rows.cnt, 4);
	assert_string_equal(s.rows.data[0].name, "byte[]");
	assert_string_equal(s.rows.data[1].name, "com.shop.Order");
	assert_int_equal(s.rows.data[1].cnt, 300);
	assert_int_equal(s.rows.data[1].bytes, 7200);
	assert_string_equal(s.rows.data[2].name, "java.lang.Object[][]");
	assert_string_equal(s.rows.data[3].name, "com.shop.A$$Lambda$14/0x0000");
	tapir_heap_snapshot__fini(&s);
}

/* Cut anywhere, or with sums that are not those of its rows. */
static void a_histogram_that_is_cut_is_refused(void **state)
{
	static const char text[] = HISTOGRAM "Total           333          16696";
	static const char wrong[] = HISTOGRAM "Total           334          16696\n";

	(void)state;
	for (size_t len = 0; len < strlen(text) - 5; len++) {
		struct tapir_heap_snapshot s = {};

		assert_int_equal(tapir_jvm_classes__parse(text, len, &s), -EPROTO);
		tapir_heap_snapshot__fini(&s);
	}
	for (size_t i = 0; i < 2; i++) {
		const char *bad = i ? wrong : "Unrecognized command\n";
		struct tapir_heap_snapshot s = {};

		assert_int_equal(tapir_jvm_classes__parse(bad, strlen(bad), &s), -EPROTO);
		tapir_heap_snapshot__fini(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_histogram_becomes_rows),
		cmocka_unit_test(a_histogram_that_is_cut_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
