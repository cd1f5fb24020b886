// SPDX-License-Identifier: GPL-2.0-or-later
/* Headers of requests: hosts, origins, credentials, and the %XX of a path. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "serve/front_checks.h"

static void host_is_an_address_or_a_known_name(void **state)
{
	static const char *const good[] = {"127.0.0.1",	  "127.0.0.1:9747", "localhost",
					   "LocalHost:1", "[::1]:80",	    "[::1]",
					   "10.1.2.3:8",  "node1",	    "NODE1:9747"};
	static const char *const bad[] = {"",
					  "evil.example",
					  "localhost.evil.example",
					  "127.0.0.1.evil.example",
					  "node1.",
					  ":80",
					  "[::1",
					  "[::1]x",
					  "node1:80x",
					  "node1 evil",
					  "127.0.0.1@evil.example"};
	const char *name = "node1";
	const struct tapir_words hosts = {&name, 1, 1};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		if (!tapir_front__is_host(good[i], &hosts))
			fail_msg("%s is refused", good[i]);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (tapir_front__is_host(bad[i], &hosts))
			fail_msg("%s is taken", bad[i]);
	assert_false(tapir_front__is_host(NULL, &hosts));
}

static void origin_is_the_host(void **state)
{
	(void)state;
	assert_true(tapir_front__is_origin("http://127.0.0.1:1", "127.0.0.1:1"));
	assert_true(tapir_front__is_origin("https://Node", "node"));
	assert_false(tapir_front__is_origin("null", "node"));
	assert_false(tapir_front__is_origin("http://node:1", "node"));
	assert_false(tapir_front__is_origin("http://node.evil", "node"));
	assert_false(tapir_front__is_origin("ftp://node", "node"));
	assert_false(tapir_front__is_origin("http://node", NULL));
}

static void token_comes_as_bearer_or_password(void **state)
{
	static const struct {
		const char *header, *token; /* NULL: none */
	} cases[] = {
		{"Bearer abc", "abc"},
		{"bearer   abc", "abc"},
		{"Basic dXNlcjpwYXNz", "pass"},
		{"Basic dTpwOnE=", "p:q"},
		{"Basic OnA=", "p"},
		{"Bearer ", NULL},
		{"Bearer 1234567890123456", NULL},
		{"Basic", NULL},
		{"Basic ", NULL},
		{"Basic ####", NULL},
		{"Basic dXNlcg==", NULL}, /* no colon */
		{"Basic dXNlcjo=", NULL}, /* no password */
		{"Basic dTpwAHE=", NULL}, /* a NUL */
		{"Basic dXNlcjpwYXNz=x", NULL},
		{"Basic dXNlcjpwYXNz===", NULL},
		{"Basic d", NULL},
		{"Digest x", NULL},
		{"", NULL},
	};
	char token[16];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bool is_found = tapir_front__token(cases[i].header, token, sizeof(token));

		if (is_found != !!cases[i].token || (is_found && strcmp(token, cases[i].token)))
			fail_msg("%s: %s", cases[i].header, is_found ? token : "none");
	}
}

static void percent_signs_are_decoded_except_of_nul(void **state)
{
	static const char *const cases[][2] = {
		{"/a%2fb", "/a/b"}, {"%41%6a", "Aj"},	{"%", "%"},	      {"%4", "%4"},
		{"%zz", "%zz"},	    {"a%00b", "a%00b"}, {"%25%32%66", "%2f"}, {"", ""}};
	char text[32];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(text, sizeof(text), "%s", cases[i][0]);
		assert_int_equal(tapir_front__unescape(text), strlen(cases[i][1]));
		assert_string_equal(text, cases[i][1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(host_is_an_address_or_a_known_name),
		cmocka_unit_test(origin_is_the_host),
		cmocka_unit_test(token_comes_as_bearer_or_password),
		cmocka_unit_test(percent_signs_are_decoded_except_of_nul),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
