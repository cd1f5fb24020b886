// SPDX-License-Identifier: GPL-2.0-or-later
/* The text of /proc/PID/stat and status: names that imitate it, and lines that lack something. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>

#include "base/proc_text.h"

/* state, threads, start and resident pages; the fields between them are their own numbers. */
#define STAT(comm, state, threads)                                                                 \
	"42 (" comm ") " state " 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 " threads               \
	" 21 2200 23 2400 25\n"

static void fields_are_found_whatever_the_name_is(void **state)
{
	static const struct {
		const char *text, *comm;
	} cases[] = {
		{STAT("sleep", "S", "1"), "sleep"},
		{STAT("a b", "S", "1"), "a b"},
		{STAT("", "S", "1"), ""},
		{STAT(") Z 1 (", "S", "1"), ") Z 1 ("},
		{STAT("x) Z\n1 2", "R", "3"), "x) Z\n1 2"},
		{STAT("0123456789abcdefgh", "S", "1"), "0123456789abcde"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct tapir_proc_stat stat;

		assert_int_equal(tapir_proc_stat__parse(cases[i].text, &stat), 0);
		assert_string_equal(stat.comm, cases[i].comm);
		assert_int_equal(stat.flags, 9);
		assert_int_equal(stat.cpu_ticks, 14 + 15);
		assert_int_equal(stat.start_ticks, 2200);
		assert_int_equal(stat.resident_pages, 2400);
		assert_false(stat.is_zombie);
	}
}

static void zombie_has_no_other_thread(void **state)
{
	struct tapir_proc_stat stat;

	(void)state;
	assert_int_equal(tapir_proc_stat__parse(STAT("x", "Z", "1"), &stat), 0);
	assert_true(stat.is_zombie);
	assert_int_equal(tapir_proc_stat__parse(STAT("x", "X", "0"), &stat), 0);
	assert_true(stat.is_zombie);
	assert_int_equal(tapir_proc_stat__parse(STAT("x", "Z", "2"), &stat), 0);
	assert_false(stat.is_zombie);
}

static void stat_is_refused_when_it_is_cut(void **state)
{
	static const char *const texts[] = {
		"",
		"42",
		"42 (x",
		")",
		") S (",
		"(",
		"42 (x) S 1",
		"42 (x) " /* and 21 of 22 fields: */
		"3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 "};
	struct tapir_proc_stat stat;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		if (tapir_proc_stat__parse(texts[i], &stat) != -EPROTO)
			fail_msg("'%s' is taken", texts[i]);
}

static void status_line_is_found_by_its_whole_key(void **state)
{
	static const char text[] =
		"Name:\tUid:\\n9\nXUid:\t1\t2\nUidX:\t3\t4\nUid:\t5\t6\t7\t8\nNSpid:\t70\t80\t9";
	uint32_t number = 0;

	(void)state;
	assert_ptr_equal(tapir_proc_status__value(text, "Name"), text + 6);
	assert_true(tapir_proc_status__number(text, "Uid", 1, &number));
	assert_int_equal(number, 6);
	assert_true(tapir_proc_status__number(text, "NSpid", TAPIR_PROC_LAST_WORD, &number));
	assert_int_equal(number, 9);
	assert_true(tapir_proc_status__number(text, "Uid", TAPIR_PROC_LAST_WORD, &number));
	assert_int_equal(number, 8); /* the next line does not count */
}

static void status_number_is_missing_when_it_is_none(void **state)
{
	static const struct {
		const char *text;
		int word_idx;
	} cases[] = {{"", 0},	     {"\n\n", 0},
		     {"Uid", 0},     {"Uid:", 0},
		     {"Uid:\n1", 0}, {"Uid:\t-1", 0},
		     {"Uid:\tx", 0}, {"Uid:\t1", 1},
		     {"uid:\t1", 0}, {"Uid:\t4294967296", 0},
		     {" Uid:\t1", 0}};
	uint32_t number;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		if (tapir_proc_status__number(cases[i].text, "Uid", cases[i].word_idx, &number))
			fail_msg("'%s' has a number", cases[i].text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_are_found_whatever_the_name_is),
		cmocka_unit_test(zombie_has_no_other_thread),
		cmocka_unit_test(stat_is_refused_when_it_is_cut),
		cmocka_unit_test(status_line_is_found_by_its_whole_key),
		cmocka_unit_test(status_number_is_missing_when_it_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
