// SPDX-License-Identifier: GPL-2.0-or-later
/* Pages of catalogs, whole and damaged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "postgresql_fixture.h"

#define CREATED	 0x0100u
#define FAILED	 0x0200u
#define REPLACED 0x0400u
#define CURRENT	 0x0800u

static uint8_t page[TAPIR_POSTGRESQL_PAGE_BYTES];
static struct tapir_postgresql_row rows[300];
static unsigned row_cnt;

static void on_row(void *ctx, const struct tapir_postgresql_row *row)
{
	assert_ptr_equal(ctx, page);
	assert_true(row_cnt < 300);
	rows[row_cnt++] = *row;
}

static bool read_page(void)
{
	row_cnt = 0;
	return tapir_postgresql_page__each(page, on_row, page);
}

static void rows_of_all_versions_are_read(void **state)
{
	(void)state;
	fixture__begin_page(page);
	fixture__add_row(page, &(struct fixture_row){.oid = 16412,
						     .name = "orders",
						     .numbers = {2200, 0, 0, 0, 0, 16500},
						     .flags = CREATED | CURRENT});
	fixture__add_row(page, &(struct fixture_row){.oid = 16413,
						     .name = "old_orders",
						     .numbers = {2200},
						     .flags = CREATED | CURRENT,
						     .is_version_11 = true});
	assert_true(read_page());
	assert_int_equal(row_cnt, 2);
	assert_int_equal(rows[0].oid, 16412);
	assert_string_equal(rows[0].name, "orders");
	assert_int_equal(rows[0].numbers[0], 2200);
	assert_int_equal(rows[0].numbers[5], 16500);
	assert_int_equal(rows[1].oid, 16413);
	assert_string_equal(rows[1].name, "old_orders");
	assert_int_equal(rows[1].numbers[0], 2200);
}

static void versions_of_a_row_are_told_apart(void **state)
{
	static const struct {
		struct fixture_row row;
		enum tapir_postgresql_row_state state;
	} cases[] = {
		{{.replaced_by = 0, .flags = CREATED}, TAPIR_POSTGRESQL_ROW_CURRENT},
		{{.replaced_by = 7, .flags = CREATED | CURRENT}, TAPIR_POSTGRESQL_ROW_CURRENT},
		{{.replaced_by = 7, .flags = 0x0080}, TAPIR_POSTGRESQL_ROW_CURRENT},
		{{.replaced_by = 7, .flags = CREATED}, TAPIR_POSTGRESQL_ROW_PERHAPS},
		{{.replaced_by = 7, .flags = CREATED | REPLACED}, TAPIR_POSTGRESQL_ROW_OLD},
		{{.replaced_by = 0, .flags = FAILED}, TAPIR_POSTGRESQL_ROW_OLD},
		{{.replaced_by = 0, .flags = CREATED | FAILED}, TAPIR_POSTGRESQL_ROW_CURRENT},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct fixture_row row = cases[i].row;

		row.oid = 5;
		row.name = "a";
		fixture__begin_page(page);
		fixture__add_row(page, &row);
		assert_true(read_page());
		assert_int_equal(row_cnt, 1);
		assert_int_equal(rows[0].state, cases[i].state);
	}
}

static void what_is_no_page_has_no_rows(void **state)
{
	static const struct {
		unsigned at;
		uint16_t value;
	} wrong[] = {{18, 16384 | 4}, {18, 8192 | 5}, {12, 8},	{12, 8190},
		     {14, 8193},      {16, 8200},     {14, 20}, {18, 0}};

	(void)state;
	memset(page, 0, sizeof(page));
	assert_false(read_page());
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		fixture__begin_page(page);
		fixture__add_row(page, &(struct fixture_row){.oid = 5, .name = "a"});
		fixture__put16(page + wrong[i].at, wrong[i].value);
		assert_false(read_page());
	}
}

static void rows_that_do_not_agree_are_left_out(void **state)
{
	static const uint32_t items[] = {
		0,
		8100u | 1u << 15 | 200u << 17, /* ends after the page */
		30u | 1u << 15 | 100u << 17,   /* is among the items */
		8000u | 1u << 15 | 10u << 17,  /* is too short */
		8000u | 3u << 15 | 100u << 17, /* is dead */
		8000u | 2u << 15,	       /* is elsewhere */
		0xffffffffu,
	};
	uint8_t *row;

	(void)state;
	for (size_t i = 0; i < sizeof(items) / sizeof(*items); i++) {
		fixture__begin_page(page);
		fixture__add_row(page, &(struct fixture_row){.oid = 5, .name = "a"});
		fixture__put32(page + 24, items[i]);
		assert_true(read_page());
		assert_int_equal(row_cnt, 0);
	}
	fixture__begin_page(page);
	row = fixture__add_row(page, &(struct fixture_row){.oid = 5, .name = "a"});
	row[22] = 200; /* its columns begin after it */
	assert_true(read_page());
	assert_int_equal(row_cnt, 0);
	row[22] = 3;
	assert_true(read_page());
	assert_int_equal(row_cnt, 0);
	row[22] = 24;
	memset(row + 28, 'x', 64); /* a name without an end */
	assert_true(read_page());
	assert_int_equal(row_cnt, 0);
	memset(row + 28, 0, 64);
	assert_true(read_page());
	assert_int_equal(row_cnt, 0);
	fixture__put32(row + 24, 0); /* no OID */
	row[28] = 'x';
	assert_true(read_page());
	assert_int_equal(row_cnt, 0);
}

static void map_says_which_file_a_catalog_is(void **state)
{
	uint8_t map[512] = {};

	(void)state;
	fixture__put32(map, 0x592717);
	fixture__put32(map + 4, 2);
	fixture__put32(map + 8, 1249);
	fixture__put32(map + 12, 17000);
	fixture__put32(map + 16, 1259);
	fixture__put32(map + 20, 17001);
	assert_int_equal(tapir_postgresql_map__file(map, sizeof(map), 1259), 17001);
	assert_int_equal(tapir_postgresql_map__file(map, sizeof(map), 1262), 0);
	assert_int_equal(tapir_postgresql_map__file(map, 20, 1259), 0);
	assert_int_equal(tapir_postgresql_map__file(map, 7, 1259), 0);
	fixture__put32(map + 4, UINT32_MAX);
	assert_int_equal(tapir_postgresql_map__file(map, sizeof(map), 1262), 0);
	map[0]++;
	assert_int_equal(tapir_postgresql_map__file(map, sizeof(map), 1259), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_of_all_versions_are_read),
		cmocka_unit_test(versions_of_a_row_are_told_apart),
		cmocka_unit_test(what_is_no_page_has_no_rows),
		cmocka_unit_test(rows_that_do_not_agree_are_left_out),
		cmocka_unit_test(map_says_which_file_a_catalog_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
