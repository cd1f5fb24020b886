// SPDX-License-Identifier: GPL-2.0-or-later
/* Cookies that stand for tokens: until when, how many, and which are none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "agent/logins.h"

static struct tapir_logins logins;

static int clear(void **state)
{
	(void)state;
	memset(&logins, 0, sizeof(logins));
	return 0;
}

static void cookie_represents_its_token_for_twelve_hours(void **state)
{
	char first[TAPIR_COOKIE_DIGITS + 1], second[TAPIR_COOKIE_DIGITS + 1];

	(void)state;
	assert_int_equal(tapir_logins__add(&logins, "one", 100, first), 0);
	assert_int_equal(tapir_logins__add(&logins, "two", 200, second), 0);
	assert_int_equal(strspn(first, "0123456789abcdef"), TAPIR_COOKIE_DIGITS);
	assert_string_not_equal(first, second);
	assert_string_equal(tapir_logins__find(&logins, first, 100), "one");
	assert_string_equal(tapir_logins__find(&logins, second, 200), "two");
	assert_string_equal(tapir_logins__find(&logins, first, 100 + 12 * 3600 - 1), "one");
	assert_null(tapir_logins__find(&logins, first, 100 + 12 * 3600));
	assert_non_null(tapir_logins__find(&logins, second, 100 + 12 * 3600));
}

static void cookie_that_was_not_given_is_none(void **state)
{
	char cookie[TAPIR_COOKIE_DIGITS + 1];

	(void)state;
	assert_null(tapir_logins__find(&logins, "", 0)); /* as free places have it */
	assert_int_equal(tapir_logins__add(&logins, "one", 0, cookie), 0);
	assert_null(tapir_logins__find(&logins, "", 0));
	cookie[5] = cookie[5] == 'a' ? 'b' : 'a';
	assert_null(tapir_logins__find(&logins, cookie, 0));
	cookie[5] = '\0';
	assert_null(tapir_logins__find(&logins, cookie, 0));
}

static void removed_login_has_ended(void **state)
{
	char cookie[TAPIR_COOKIE_DIGITS + 1];

	(void)state;
	assert_int_equal(tapir_logins__add(&logins, "one", 0, cookie), 0);
	tapir_logins__remove(&logins, "another");
	assert_non_null(tapir_logins__find(&logins, cookie, 0));
	tapir_logins__remove(&logins, cookie);
	assert_null(tapir_logins__find(&logins, cookie, 0));
}

static void oldest_login_makes_room(void **state)
{
	char cookies[TAPIR_LOGINS_MAX + 1][TAPIR_COOKIE_DIGITS + 1], token[16];

	(void)state;
	for (int i = 0; i <= TAPIR_LOGINS_MAX; i++) {
		snprintf(token, sizeof(token), "token %d", i);
		assert_int_equal(tapir_logins__add(&logins, token, i, cookies[i]), 0);
	}
	assert_null(tapir_logins__find(&logins, cookies[0], TAPIR_LOGINS_MAX));
	for (int i = 1; i <= TAPIR_LOGINS_MAX; i++) {
		snprintf(token, sizeof(token), "token %d", i);
		assert_string_equal(tapir_logins__find(&logins, cookies[i], TAPIR_LOGINS_MAX),
				    token);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(cookie_represents_its_token_for_twelve_hours, clear),
		cmocka_unit_test_setup(cookie_that_was_not_given_is_none, clear),
		cmocka_unit_test_setup(removed_login_has_ended, clear),
		cmocka_unit_test_setup(oldest_login_makes_room, clear),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
