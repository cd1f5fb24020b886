// SPDX-License-Identifier: GPL-2.0-or-later
/* Headers of requests: hosts, origins, credentials, and the %XX of a path. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agent/front_checks.h"

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

static void fields_of_a_form_are_decoded(void **state)
{
	char text[] = "token=a%2Bb+c&empty=&none&=x&next=%2Fx%3Fy%3D1&z=%zz%00%41";
	struct tapir_wire_pair pairs[8];

	(void)state;
	assert_int_equal(tapir_front__parse_form(text, pairs, 8), 3);
	assert_string_equal(pairs[0].name, "token");
	assert_string_equal(pairs[0].value, "a+b c");
	assert_string_equal(pairs[1].value, "/x?y=1");
	assert_string_equal(pairs[2].value, "%zz%00A");
}

static void form_with_too_many_fields_is_refused(void **state)
{
	char text[] = "a=1&b=2&c=3", empty[] = "";
	struct tapir_wire_pair pairs[2];

	(void)state;
	assert_int_equal(tapir_front__parse_form(text, pairs, 2), -E2BIG);
	assert_int_equal(tapir_front__parse_form(empty, pairs, 2), 0);
}

static void browser_is_sent_to_this_agent_alone(void **state)
{
	static const char *const bad[] = {"",	  "x",	    "//evil", "http://evil", "/\\evil",
					  "/a b", "/\r\nX", "/\x80",  "\\/evil"};

	(void)state;
	assert_true(tapir_front__is_local_path("/"));
	assert_true(tapir_front__is_local_path("/sessions/1?x=2"));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (tapir_front__is_local_path(bad[i]))
			fail_msg("%s is taken", bad[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(host_is_an_address_or_a_known_name),
		cmocka_unit_test(origin_is_the_host),
		cmocka_unit_test(token_comes_as_bearer_or_password),
		cmocka_unit_test(percent_signs_are_decoded_except_of_nul),
		cmocka_unit_test(fields_of_a_form_are_decoded),
		cmocka_unit_test(form_with_too_many_fields_is_refused),
		cmocka_unit_test(browser_is_sent_to_this_agent_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
