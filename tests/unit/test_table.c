// SPDX-License-Identifier: GPL-2.0-or-later
/* Tables line up, whatever a traced process calls its things. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "output/render/list_dotnet.h"
#include "output/render/table.h"

static const struct tapir_palette plain = {"", "", "", "", "", ""};
static const char *const titles[] = {"NAME", ">N", "FILE", NULL};

static void columns_line_up_when_cells_differ_in_width(void **state)
{
	struct tapir_table table = {.titles = titles};
	struct tapir_str out = {};

	(void)state;
	tapir_table__cell(&table, "a");
	tapir_table__cell_u64(&table, 1234);
	tapir_table__cell(&table, "/x");
	tapir_table__cell(&table, "gr\xc3\xb6\xc3\x9f\x65r"); /* 8 bytes, 6 columns */
	tapir_table__cell_u64(&table, 5);
	tapir_table__cell(&table, "/a longer path");
	tapir_table__write(&table, &plain, &out);
	assert_string_equal(out.data, "NAME       N  FILE\n"
				      "a       1234  /x\n"
				      "gr\xc3\xb6\xc3\x9f\x65r     5  /a longer path\n");
	tapir_str__fini(&out);
	tapir_table__fini(&table);
}

static void control_characters_do_not_reach_the_terminal(void **state)
{
	struct tapir_table table = {.titles = titles};
	struct tapir_str out = {};

	(void)state;
	tapir_table__cell(&table, "\033[2J\n");
	tapir_table__cell(&table, "");
	tapir_table__cell(&table, "x");
	tapir_table__write(&table, &plain, &out);
	assert_string_equal(out.data, "NAME       N  FILE\n\\x1b[2J\\n     x\n");
	tapir_str__fini(&out);
	tapir_table__fini(&table);
}

static void a_wide_cell_pushes_its_own_row_alone_when_columns_have_a_bound(void **state)
{
	struct tapir_table table = {.titles = titles, .max_columns = 8};
	struct tapir_str out = {};

	(void)state;
	tapir_table__cell(&table, "a-name-that-is-very-long");
	tapir_table__cell_u64(&table, 1);
	tapir_table__cell(&table, "/x");
	tapir_table__cell(&table, "6-at-8");
	tapir_table__cell_u64(&table, 2);
	tapir_table__cell(&table, "/a/longer/path");
	tapir_table__write(&table, &plain, &out);
	assert_string_equal(out.data, "NAME    N  FILE\n"
				      "a-name-that-is-very-long  1  /x\n"
				      "6-at-8  2  /a/longer/path\n");
	tapir_str__fini(&out);
	tapir_table__fini(&table);
}

static void names_are_escaped_once_when_a_program_has_odd_ones(void **state)
{
	struct tapir_layout_keyword keyword = {.name = "k\n", .mask = 1};
	struct tapir_layout_event event = {.name = "e\033", .id = 1, .level = 4, .keywords = 1};
	struct tapir_layout_provider source = {.name = "s\n\033x",
					       .keywords = &keyword,
					       .keyword_cnt = 1,
					       .events = &event,
					       .event_cnt = 1};
	struct tapir_event_sources sources = {.all = {.data = &source, .cnt = 1}};
	struct tapir_str out = {};

	(void)state;
	tapir_list_dotnet__write_table(&sources, true, &plain, &out);
	assert_non_null(strstr(out.data, "\ns\\n\\x1bx       e\\x1b"));
	assert_non_null(strstr(out.data, "  k\\n\n"));
	tapir_str__fini(&out);
}

static void last_column_continues_below_itself_when_it_is_wrapped(void **state)
{
	static const char *const words[] = {"NAME", ">N", "WORDS", NULL};
	struct tapir_table table = {.titles = words, .wrap_columns = 34};
	struct tapir_str out = {};

	(void)state;
	tapir_table__cell(&table, "a");
	tapir_table__cell_u64(&table, 1);
	tapir_table__cell(&table, "gr\xc3\xb6\xc3\x9f\x65 zwei drei vier f\xc3\xbcnf sechs");
	tapir_table__cell(&table, "b");
	tapir_table__cell_u64(&table, 2);
	tapir_table__cell(&table, "a-word-that-is-wider-than-its-column and more");
	tapir_table__cell(&table, "c");
	tapir_table__cell_u64(&table, 3);
	tapir_table__cell(&table, "");
	tapir_table__write(&table, &plain, &out);
	assert_string_equal(out.data, "NAME  N  WORDS\n"
				      "a     1  gr\xc3\xb6\xc3\x9f\x65 zwei drei vier f\xc3\xbcnf\n"
				      "         sechs\n"
				      "b     2  a-word-that-is-wider-than-its-column\n"
				      "         and more\n"
				      "c     3  \n");
	tapir_str__fini(&out);
	tapir_table__fini(&table);
}

static void add_wide_rows(struct tapir_table *table)
{
	tapir_table__cell(table, "a-name-that-is-very-long-indeed");
	tapir_table__cell_u64(table, 1234567);
	tapir_table__cell(table, "/usr/share/a/long/path/to/libfoo.so");
	tapir_table__cell(table, "b");
	tapir_table__cell_u64(table, 5);
	tapir_table__cell(table,
			  "a function whose name is gr\xc3\xb6\xc3\x9f\x65r than the column");
}

static void cells_are_cut_when_rows_have_to_fit(void **state)
{
	struct tapir_table table = {.titles = titles, .fit_columns = 52};
	struct tapir_str out = {};

	(void)state;
	add_wide_rows(&table);
	assert_true(tapir_table__can_fit(&table));
	tapir_table__write(&table, &plain, &out);
	assert_string_equal(
		out.data,
		"NAME                N  FILE\n"
		"a-name\xe2\x80\xa6ndeed  1234567  \xe2\x80\xa6"
		"are/a/long/path/to/libfoo.so\n"
		"b                   5  a function whose name is gr\xc3\xb6\xe2\x80\xa6\n");
	tapir_str__fini(&out);
	tapir_table__fini(&table);
}

static void last_column_is_below_when_there_is_no_room_beside_the_others(void **state)
{
	struct tapir_table table = {.titles = titles, .fit_columns = 40};
	struct tapir_str out = {};

	(void)state;
	add_wide_rows(&table);
	assert_false(tapir_table__can_fit(&table));
	tapir_table__write(&table, &plain, &out);
	assert_string_equal(
		out.data, "NAME                                   N\n"
			  "    FILE\n"
			  "a-name-that-is-very-long-indeed  1234567\n"
			  "    /usr/share/a/long/path/to/libfoo.so\n"
			  "b                                      5\n"
			  "    a function whose name is gr\xc3\xb6\xc3\x9f\x65r tha\xe2\x80\xa6\n");
	tapir_str__fini(&out);
	tapir_table__fini(&table);
}

static void nothing_is_cut_when_no_terminal_is_there_or_all_fits(void **state)
{
	struct tapir_table table = {.titles = titles};
	struct tapir_str out = {}, wide = {};

	(void)state;
	add_wide_rows(&table);
	tapir_table__write(&table, &plain, &out);
	table.fit_columns = 200;
	tapir_table__write(&table, &plain, &wide);
	assert_string_equal(out.data, wide.data);
	assert_null(strstr(out.data, "\xe2\x80\xa6"));
	tapir_str__fini(&out);
	tapir_str__fini(&wide);
	tapir_table__fini(&table);
}

static void columns_are_cut_where_they_say_when_they_say(void **state)
{
	static const struct tapir_column_fit fits[] = {
		{TAPIR_SHORTEN_BEGIN, 4}, {TAPIR_SHORTEN_NEVER, 0}, {TAPIR_SHORTEN_MIDDLE, 5}};
	struct tapir_table table = {.titles = titles, .fit_columns = 20, .fits = fits};
	struct tapir_str out = {};

	(void)state;
	tapir_table__cell(&table, "0123456789");
	tapir_table__cell_u64(&table, 1234567);
	tapir_table__cell(&table, "0123456789");
	assert_true(tapir_table__can_fit(&table));
	tapir_table__write(&table, &plain, &out);
	assert_string_equal(out.data, "NAME        N  FILE\n"
				      "\xe2\x80\xa6"
				      "789  1234567  01\xe2\x80\xa6"
				      "89\n");
	table.fit_columns = 19;
	assert_false(tapir_table__can_fit(&table));
	tapir_str__fini(&out);
	tapir_table__fini(&table);
}

static void titles_stand_alone_when_there_are_no_rows(void **state)
{
	struct tapir_table table = {.titles = titles};
	struct tapir_str out = {};

	(void)state;
	tapir_table__write(&table, &plain, &out);
	assert_string_equal(out.data, "NAME  N  FILE\n");
	tapir_str__fini(&out);
	tapir_table__fini(&table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(columns_line_up_when_cells_differ_in_width),
		cmocka_unit_test(control_characters_do_not_reach_the_terminal),
		cmocka_unit_test(a_wide_cell_pushes_its_own_row_alone_when_columns_have_a_bound),
		cmocka_unit_test(names_are_escaped_once_when_a_program_has_odd_ones),
		cmocka_unit_test(last_column_continues_below_itself_when_it_is_wrapped),
		cmocka_unit_test(cells_are_cut_when_rows_have_to_fit),
		cmocka_unit_test(last_column_is_below_when_there_is_no_room_beside_the_others),
		cmocka_unit_test(nothing_is_cut_when_no_terminal_is_there_or_all_fits),
		cmocka_unit_test(columns_are_cut_where_they_say_when_they_say),
		cmocka_unit_test(titles_stand_alone_when_there_are_no_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
