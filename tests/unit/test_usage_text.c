// SPDX-License-Identifier: GPL-2.0-or-later
/* What was measured, as text and back; and texts that no tapir wrote. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/map.h"
#include "decode/usage_text.h"

static struct tapir_sv view_of(const struct tapir_str *text)
{
	return (struct tapir_sv){text->data, text->len};
}

static void memory_is_read_as_it_was_written(void **state)
{
	struct tapir_memory_series one = {
		.tgid = 7,
		.cnt = 2,
		.points = {{5000000, 2048 * 1024, 1024 * 1024}, {9000000, 4096 * 1024, 0}}};
	struct tapir_memory_series two = {.tgid = 8}, read = {};
	struct tapir_str text = {};
	struct tapir_sv rest;

	(void)state;
	tapir_usage_text__add_memory(&one, &text);
	tapir_usage_text__add_memory(&two, &text);
	rest = view_of(&text);
	assert_true(tapir_usage_text__next_memory(&rest, &read));
	assert_int_equal(read.tgid, 7);
	assert_int_equal(read.cnt, 2);
	assert_memory_equal(read.points, one.points, 2 * sizeof(*one.points));
	assert_true(tapir_usage_text__next_memory(&rest, &read));
	assert_int_equal(read.tgid, 8);
	assert_int_equal(read.cnt, 0);
	assert_false(tapir_usage_text__next_memory(&rest, &read));
	tapir_str__fini(&text);
}

static void quota_and_neighbours_are_read_as_they_were_written(void **state)
{
	struct tapir_quota_use quota = {1, 2, 3, 4, 5, 6, tapir_sv__of("/sys/fs/cgroup/a b")};
	struct tapir_neighbours n = {.wall_ns = 9,
				     .cpu_cnt = 2,
				     .all_ns = 12,
				     .machine_ns = 13,
				     .cnt = 2,
				     .rows = {{7, 100, "web worker"}, {5, 101, ""}}};
	struct tapir_quota_use quota_read = {};
	struct tapir_neighbours read = {};
	struct tapir_str text = {}, more = {};

	(void)state;
	tapir_usage_text__add_quota(&quota, &text);
	assert_true(tapir_usage_text__quota(view_of(&text), &quota_read));
	assert_int_equal(quota_read.throttled_ns, 3);
	assert_int_equal(quota_read.wall_ns, 6);
	assert_true(tapir_sv__is(quota_read.dir, "/sys/fs/cgroup/a b"));
	tapir_usage_text__add_neighbours(&n, &more);
	assert_true(tapir_usage_text__neighbours(view_of(&more), &read));
	assert_int_equal(read.cnt, 2);
	assert_int_equal(read.all_ns, 12);
	assert_int_equal(read.machine_ns, 13);
	assert_string_equal(read.rows[0].comm, "web worker");
	assert_int_equal(read.rows[1].tgid, 101);
	tapir_str__fini(&text);
	tapir_str__fini(&more);
}

static void texts_of_no_tapir_are_refused_or_cut(void **state)
{
	static const char *const texts[] = {"",
					    " ",
					    "\n",
					    "\n\n",
					    "7",
					    "7 ",
					    "7:",
					    "7 1",
					    "7 1:2",
					    "7 1:2:",
					    "7 1:2:3",
					    "7 1:2:3 x",
					    "-1 1:1:1",
					    "4294967296 1:1:1",
					    "99999999999999999999999 1:1:1",
					    "7 5:2:1 5:2:1",
					    "7 18446744073709551615:1:1",
					    "7 1:18446744073709551615:1",
					    "1 0 1 1 1 1 /",
					    "1 1 1 1 1 0 /",
					    "1 1 1 1 1 1",
					    "0 1 1\n",
					    "1 1 1\n1 1 a\nx",
					    "1 1 1\n1 99999999999 a"};
	struct tapir_memory_series series;
	struct tapir_neighbours n;
	struct tapir_quota_use q;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct tapir_sv text = tapir_sv__of(texts[i]);
		unsigned lines = 0;

		while (tapir_usage_text__next_memory(&text, &series)) {
			assert_true(series.cnt <= 1);
			assert_true(++lines < 5);
		}
		(void)tapir_usage_text__quota(tapir_sv__of(texts[i]), &q);
		if (tapir_usage_text__neighbours(tapir_sv__of(texts[i]), &n))
			assert_true(n.cnt <= TAPIR_NEIGHBOURS_MAX && n.wall_ns);
	}
	assert_false(tapir_usage_text__quota(tapir_sv__of("1 0 1 1 1 1 /"), &q));
	assert_false(tapir_usage_text__quota(tapir_sv__of("1 1 1 1 1 0 /"), &q));
	assert_false(tapir_usage_text__neighbours(tapir_sv__of("0 1 1"), &n));
}

/* Every byte of a good text replaced by every other one: nothing is read beyond it. */
static void no_byte_leads_beyond_the_text(void **state)
{
	static const char good[] = "7 1:20:3 9:20:4\n8 1:2:2\n";
	char text[sizeof(good)];

	(void)state;
	for (size_t at = 0; at + 1 < sizeof(good); at++)
		for (unsigned byte = 0; byte < 256; byte++) {
			struct tapir_memory_series series;
			struct tapir_sv rest = {text, sizeof(good) - 1};
			unsigned lines = 0;

			memcpy(text, good, sizeof(good));
			text[at] = (char)byte;
			while (tapir_usage_text__next_memory(&rest, &series))
				assert_true(++lines < 5 && series.cnt <= 3);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_is_read_as_it_was_written),
		cmocka_unit_test(quota_and_neighbours_are_read_as_they_were_written),
		cmocka_unit_test(texts_of_no_tapir_are_refused_or_cut),
		cmocka_unit_test(no_byte_leads_beyond_the_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
