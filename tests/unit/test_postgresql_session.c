// SPDX-License-Identifier: GPL-2.0-or-later
/* A made-up process of PostgreSQL that is idle in a transaction, or is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "fake_memory.h"
#include "runtime/postgresql/postgresql_session.h"

enum {
	MY_ENTRY = MEMORY_VA,
	ENTRY = MEMORY_VA + 0x1000,
	APPNAME = MEMORY_VA + 0x2000,
	ACTIVITY = MEMORY_VA + 0x3000,
	POINTERS_AT = 240,
	PID = 4711,
	SECOND_US = 1000000,
};

#define EPOCH_US 946684800000000ull
#define NOW_US	 (EPOCH_US + 1000ull * SECOND_US)

static struct fake_memory memory;

static void put(uint64_t va, uint64_t value)
{
	fake_memory__put(&memory, va, value);
}

static void put_text(uint64_t va, const char *text)
{
	memcpy(memory.bytes + (va - MEMORY_VA), text, strlen(text) + 1);
}

/* Began 100 s ago, its transaction 12 s, idle for 7 s. */
static int setup(void **state)
{
	(void)state;
	memset(&memory, 0, sizeof(memory));
	memory.size = MEMORY_BYTES;
	put(MY_ENTRY, ENTRY);
	fake_memory__put32(&memory, ENTRY, 42); /* changes */
	fake_memory__put32(&memory, ENTRY + 4, PID);
	put(ENTRY + 16, 900ull * SECOND_US);
	put(ENTRY + 24, 988ull * SECOND_US);
	put(ENTRY + 32, 990ull * SECOND_US);
	put(ENTRY + 40, 993ull * SECOND_US);
	put(ENTRY + 104, 0x1234567890ull); /* of an address of a client: no pointer */
	put(ENTRY + POINTERS_AT, APPNAME);
	put(ENTRY + POINTERS_AT + 8, ACTIVITY);
	put_text(APPNAME, "psql");
	put_text(ACTIVITY, "update accounts set cents = 4\nwhere id = 7");
	return 0;
}

static bool read_session(struct tapir_postgresql_session *out)
{
	static char text[TAPIR_POSTGRESQL_STATEMENT_BYTES];
	const struct tapir_process_memory source = fake_memory__of(&memory);

	return tapir_postgresql_session__read(&source, MY_ENTRY, PID, NOW_US, text, out);
}

static void idle_session_has_its_times_and_what_it_executed_last(void **state)
{
	struct tapir_postgresql_session session, parsed;
	struct tapir_str text = {};

	(void)state;
	assert_true(read_session(&session));
	assert_int_equal(session.transaction_ns, 12000000000);
	assert_int_equal(session.idle_ns, 7000000000);
	assert_string_equal(session.statement.data, "update accounts set cents = 4\nwhere id = 7");
	/* As a text, for a recording. */
	session.transaction = 729;
	tapir_postgresql_session__add(&session, &text);
	assert_true(tapir_postgresql_session__parse(tapir_sv__of(text.data), &parsed));
	assert_int_equal(parsed.transaction_ns, session.transaction_ns);
	assert_int_equal(parsed.idle_ns, session.idle_ns);
	assert_int_equal(parsed.transaction, 729);
	assert_int_equal(parsed.statement.len, session.statement.len);
	assert_false(tapir_postgresql_session__parse(tapir_sv__of(""), &parsed));
	assert_false(tapir_postgresql_session__parse(tapir_sv__of("1 2 x y"), &parsed));
	tapir_str__fini(&text);
}

static void session_whose_text_is_not_found_has_none(void **state)
{
	struct tapir_postgresql_session session;

	(void)state;
	put_text(ACTIVITY, "\x01\x02");
	assert_true(read_session(&session));
	assert_int_equal(session.statement.len, 0);
}

static void session_without_a_transaction_is_none(void **state)
{
	struct tapir_postgresql_session session;

	(void)state;
	put(ENTRY + 24, 0);
	assert_false(read_session(&session));
}

static void what_does_not_agree_is_no_session(void **state)
{
	struct tapir_postgresql_session session;

	(void)state;
	fake_memory__put32(&memory, ENTRY, 43); /* it is being changed */
	assert_false(read_session(&session));
	fake_memory__put32(&memory, ENTRY, 44);
	assert_true(read_session(&session));
	put(ENTRY + 24, 800ull * SECOND_US); /* before the process began */
	assert_false(read_session(&session));
	put(ENTRY + 24, 988ull * SECOND_US);
	put(ENTRY + 40, 1001ull * SECOND_US); /* in the future */
	assert_false(read_session(&session));
	put(ENTRY + 40, 993ull * SECOND_US);
	fake_memory__put32(&memory, ENTRY + 4, PID + 1);
	assert_false(read_session(&session));
	put(MY_ENTRY, 0);
	assert_false(read_session(&session));
	put(MY_ENTRY, MEMORY_VA + MEMORY_BYTES - 8);
	assert_false(read_session(&session));
}

#define TEST(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(idle_session_has_its_times_and_what_it_executed_last),
		TEST(session_whose_text_is_not_found_has_none),
		TEST(session_without_a_transaction_is_none),
		TEST(what_does_not_agree_is_no_session),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
