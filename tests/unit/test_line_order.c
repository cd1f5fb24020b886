// SPDX-License-Identifier: GPL-2.0-or-later
/* Lines in the order of their times. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "output/export/line_order.h"

static struct tapir_line_order order;
static struct tapir_str out;

static int teardown(void **state)
{
	(void)state;
	tapir_line_order__fini(&order);
	order = (struct tapir_line_order){};
	tapir_str__fini(&out);
	out = (struct tapir_str){};
	return 0;
}

static void add(uint64_t time_ns, const char *text)
{
	assert_true(tapir_line_order__add(&order, time_ns, text, strlen(text)));
}

static void put(void *ctx, const void *bytes, size_t len)
{
	tapir_str__add(ctx, bytes, len);
}

static void lines_go_out_by_time_when_theirs_has_come(void **state)
{
	(void)state;
	add(30, "c\n");
	add(10, "a\n");
	add(20, "b1\n");
	add(20, "b2\n");
	add(40, "d\n");
	tapir_line_order__take(&order, 5, put, &out);
	assert_int_equal(out.len, 0);
	tapir_line_order__take(&order, 29, put, &out);
	assert_string_equal(out.data, "a\nb1\nb2\n");
	add(35, "late\n");
	add(1, "too late\n");
	tapir_line_order__take(&order, UINT64_MAX, put, &out);
	assert_string_equal(out.data, "a\nb1\nb2\ntoo late\nc\nlate\nd\n");
	tapir_line_order__take(&order, UINT64_MAX, put, &out);
	assert_int_equal(order.lines.cnt, 0);
	assert_int_equal(out.len, strlen("a\nb1\nb2\ntoo late\nc\nlate\nd\n"));
}

static void much_text_is_said_to_be_full(void **state)
{
	static char text[1 << 20];

	(void)state;
	memset(text, 'x', sizeof(text));
	for (unsigned i = 0; i < 4; i++) {
		assert_false(tapir_line_order__is_full(&order));
		assert_true(tapir_line_order__add(&order, 9 - i, text, sizeof(text)));
	}
	assert_true(tapir_line_order__is_full(&order));
	tapir_line_order__take(&order, 7, put, &out);
	assert_int_equal(out.len, 2 * sizeof(text));
	assert_false(tapir_line_order__is_full(&order));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(lines_go_out_by_time_when_theirs_has_come, teardown),
		cmocka_unit_test_teardown(much_text_is_said_to_be_full, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
