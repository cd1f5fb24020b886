// SPDX-License-Identifier: GPL-2.0-or-later
/* Locks of PostgreSQL as text, and the names that a recording has of what they are of. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "decode/postgresql_text.h"

static void locks_are_named_by_what_they_are_of(void **state)
{
	static const struct {
		struct tapir_postgresql_lock lock;
		const char *relation, *database, *text;
	} cases[] = {
		{{{5, 16412}, 0, 0},
		 "orders",
		 "shop",
		 "relation orders (OID 16412 of database shop)"},
		{{{5, 16412}, 0, 0}, "a\nb", NULL, "relation a\\nb (OID 16412 of database 5)"},
		{{{5, 16412}, 0, 0}, NULL, NULL, "relation OID 16412 of database 5"},
		{{{0, 1262}, 0, 0}, "pg_database", NULL, "relation pg_database (OID 1262)"},
		{{{5, 16412}, 0, 1},
		 "orders",
		 "shop",
		 "extend orders (OID 16412 of database shop)"},
		{{{5, 16412, 7}, 3, 4},
		 "orders",
		 "shop",
		 "tuple orders (OID 16412 of database shop) page 7 row 3"},
		{{{771}, 0, 5}, NULL, NULL, "transaction 771"},
		{{{3, 41}, 0, 6}, NULL, NULL, "virtualxid 3/41"},
		{{{5, 1, 2}, 1, 10}, NULL, "shop", "advisory 4294967298 of database shop"},
		{{{5, 1, 2}, 2, 10}, NULL, "shop", "advisory (1, 2) of database shop"},
		{{{5, 1, 2}, 0, 77}, NULL, "shop", "type 77 5 1 2"},
	};
	struct tapir_str out = {};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		tapir_str__clear(&out);
		tapir_postgresql_lock__add_text(&cases[i].lock, cases[i].relation,
						cases[i].database, &out);
		assert_string_equal(out.data, cases[i].text);
	}
	tapir_str__fini(&out);
}

static void names_are_read_as_they_were_written(void **state)
{
	static const struct tapir_postgresql_name names[] = {
		{41, 5, 0, {"shop", 4}},
		{41, 5, 16412, {"audit.log of\n1999", 17}},
	};
	struct tapir_postgresql_name name;
	struct tapir_str text = {};
	struct tapir_sv rest;

	(void)state;
	tapir_postgresql_name__add(&names[0], &text);
	tapir_postgresql_name__add(&names[1], &text);
	assert_string_equal(text.data, "41 5 0 shop\n41 5 16412 audit.log of\\n1999\n");
	rest = (struct tapir_sv){text.data, text.len};
	assert_true(tapir_postgresql_name__next(&rest, &name));
	assert_int_equal(name.server, 41);
	assert_int_equal(name.relation, 0);
	assert_true(tapir_postgresql_name__next(&rest, &name));
	assert_int_equal(name.database, 5);
	assert_int_equal(name.relation, 16412);
	assert_memory_equal(name.name.data, "audit.log of\\n1999", name.name.len);
	assert_false(tapir_postgresql_name__next(&rest, &name));
	tapir_str__fini(&text);
}

static void lines_that_are_none_are_skipped(void **state)
{
	static const char text[] = "\n1\n1 2\n1 2 3\n1 2 3 \n-1 2 3 x\n1 2 4294967296 x\n"
				   "99999999999999999999 2 3 x\n1 2 3x y\n7 8 9 last";
	struct tapir_sv rest = {text, sizeof(text) - 1};
	struct tapir_postgresql_name name;

	(void)state;
	assert_true(tapir_postgresql_name__next(&rest, &name));
	assert_int_equal(name.server, 7);
	assert_memory_equal(name.name.data, "last", 4);
	assert_false(tapir_postgresql_name__next(&rest, &name));
}

static void title_of_a_process_tells_for_whom_it_works(void **state)
{
	static const struct {
		const char *title;
		uint32_t leader;
		const char *autovacuum;
	} cases[] = {
		{"postgres: parallel worker for PID 4711 ", 4711, ""},
		{"postgres: 15/main: parallel worker for PID 4711", 4711, ""},
		{"postgres: parallel worker for PID 99999999999999999999", 0, ""},
		{"postgres: parallel worker for PID ", 0, ""},
		{"bash -c parallel worker for PID 4711", 0, ""},
		{"postgres: shop shop [local] SELECT", 0, ""},
		{"postgres: autovacuum worker shop ", 0, "autovacuum worker shop"},
		{"postgres: autovacuum worker", 0, "autovacuum worker"},
		{"", 0, ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct tapir_sv title = tapir_sv__of(cases[i].title);
		struct tapir_sv own = tapir_postgresql_title__autovacuum(title);

		assert_int_equal(tapir_postgresql_title__leader(title), cases[i].leader);
		assert_int_equal(own.len, strlen(cases[i].autovacuum));
		if (own.len)
			assert_memory_equal(own.data, cases[i].autovacuum, own.len);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(locks_are_named_by_what_they_are_of),
		cmocka_unit_test(names_are_read_as_they_were_written),
		cmocka_unit_test(lines_that_are_none_are_skipped),
		cmocka_unit_test(title_of_a_process_tells_for_whom_it_works),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
