// SPDX-License-Identifier: GPL-2.0-or-later
/* The agent's configuration: every key, and mistakes with their lines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "base/diag.h"
#include "agent/serve_config.h"

static void every_key_is_taken(void **state)
{
	static const char text[] =
		"{\"listen\": [\"127.0.0.1:1\", \"unix:/x\"], \"hosts\": [\"n\"],\n"
		"\"state\": \"/s\", \"tokens_file\": \"/t\", \"anonymous\": \"view\",\n"
		"\"limits\": {\"sessions\": 2, \"seconds\": 3, \"trace_mb\": 4,"
		"\"state_mb\": 5, \"traces\": 6, \"connections\": 7, \"ready_seconds\": 8}}";
	struct tapir_serve_config c;

	(void)state;
	tapir_serve_config__init(&c);
	assert_int_equal(tapir_serve_config__parse(&c, text, sizeof(text) - 1, "F"), 0);
	assert_int_equal(c.listen.cnt, 2);
	assert_string_equal(c.listen.data[1], "unix:/x");
	assert_string_equal(c.hosts.data[0], "n");
	assert_string_equal(c.state, "/s");
	assert_string_equal(c.tokens_file, "/t");
	assert_int_equal(c.anonymous, TAPIR_ROLE_VIEW);
	assert_int_equal(c.limits.sessions, 2);
	assert_int_equal(c.limits.seconds, 3);
	assert_int_equal(c.limits.trace_mb, 4);
	assert_int_equal(c.limits.state_mb, 5);
	assert_int_equal(c.limits.traces, 6);
	assert_int_equal(c.limits.connections, 7);
	assert_int_equal(c.limits.ready_s, 8);
	tapir_serve_config__fini(&c);
}

static void what_is_written_is_what_is_in_effect(void **state)
{
	static const char text[] =
		"{\"listen\": [\"127.0.0.1:1\"], \"anonymous\": \"view\", \"tokens_file\": \"/t\","
		"\"state\": \"/s\", \"limits\": {\"seconds\": 3}, \"watch\": {\"comms\": [\"a\", \"b\"],"
		"\"interval_ms\": 500}, \"continuous\": {\"mb\": 8, \"triggers\": [\"exit\"]},"
		"\"push\": [{\"kind\": \"put\", \"url\": \"https://h/b?sign=secret\"}]}";
	struct tapir_serve_config c;
	struct tapir_str out = {};
	struct tapir_json j = tapir_json__to(&out);

	(void)state;
	tapir_serve_config__init(&c);
	assert_int_equal(tapir_serve_config__parse(&c, text, sizeof(text) - 1, "F"), 0);
	tapir_json__open(&j, NULL, '{');
	tapir_serve_config__write(&c, &j);
	tapir_json__close(&j, '}');
	assert_non_null(strstr(out.data, "\"listen\":[\"127.0.0.1:1\"]"));
	assert_non_null(strstr(out.data, "\"tls\":{\"certificate\":null,"));
	assert_non_null(strstr(out.data, "\"anonymous\":\"view\""));
	assert_non_null(strstr(out.data, "\"seconds\":3,"));
	assert_non_null(strstr(out.data, "\"traces\":50,"));
	assert_non_null(strstr(out.data, "\"comms\":[\"a\",\"b\"]"));
	assert_non_null(strstr(out.data, "\"triggers\":[\"exit\"]"));
	assert_non_null(strstr(out.data, "\"kind\":\"put\",\"url\":\"https://h/b?...\","));
	assert_null(strstr(out.data, "secret"));
	tapir_str__fini(&out);
	tapir_serve_config__fini(&c);
}

static void mistakes_are_named_with_their_line(void **state)
{
	static const struct {
		const char *text, *line;
	} cases[] = {
		{"{\n\"listen\": [],\n\"stat\": 1}",
		 "F: line 3: unknown key 'stat': known are listen, hosts, state, tokens_file, tls, "
		 "anonymous, limits, watch, continuous, push, symbols"},
		{"{\"limits\": {\n\"second\": 1}}",
		 "F: line 2: unknown key 'second': known are sessions, seconds, cpu_seconds, "
		 "trace_mb, state_mb, traces, connections, ready_seconds"},
		{"{\"limits\":\n{\"seconds\": 0}}",
		 "F: line 2: 'seconds' is a number from 1 to 86400"},
		{"{\"limits\": {\"seconds\": \"9\"}}",
		 "F: line 1: 'seconds' is a number from 1 to 86400"},
		{"{\"limits\": []}", "F: line 1: 'limits' is an object"},
		{"{\"listen\": \"x\"}", "F: line 1: 'listen' is a list of texts"},
		{"{\"listen\": [1]}", "F: line 1: 'listen' is a list of texts"},
		{"{\"state\": \"\"}", "F: line 1: 'state' is a text"},
		{"{\"anonymous\": \"admin\"}", "F: line 1: 'anonymous' is \"view\" or \"none\""},
		{"{\"tls\": {\"key\": \"k\"}}",
		 "F: line 1: 'tls' is 'certificate' and 'key', both"},
		{"[]", "F: line 1: an object is expected"},
		/* The key, not a value of the same text. */
		{"{\"hosts\": [\"bad\"],\n\"bad\" : 1}",
		 "F: line 2: unknown key 'bad': known are listen, hosts, state, tokens_file, tls, "
		 "anonymous, limits, watch, continuous, push, symbols"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct tapir_serve_config c;

		tapir_serve_config__init(&c);
		tapir_diag__clear();
		assert_int_equal(
			tapir_serve_config__parse(&c, cases[i].text, strlen(cases[i].text), "F"),
			-EINVAL);
		assert_string_equal(tapir_diag__line(0), cases[i].line);
		tapir_serve_config__fini(&c);
	}
}

static void limits_that_cannot_work_are_refused(void **state)
{
	static const struct {
		const char *text, *line; /* NULL: they work */
	} cases[] = {
		{"{}", NULL},
		{"{\"continuous\": {\"mb\": 64}}", NULL},
		{"{\"limits\": {\"sessions\": 2, \"trace_mb\": 64, \"state_mb\": 128}}", NULL},
		{"{\"limits\": {\"sessions\": 2, \"trace_mb\": 65, \"state_mb\": 129}}",
		 "limits: 2 recordings ('sessions') of 65 MB ('trace_mb') do not fit into 129 MB "
		 "('state_mb')"},
		{"{\"limits\": {\"traces\": 3}}",
		 "limits: 4 recordings ('sessions') are more than 3 traces that are kept ('traces')"},
		{"{\"symbols\": [\"/usr/lib/debug\", \"https://symbols.example/x\"]}", NULL},
		{"{\"symbols\": [\"debug\"]}",
		 "symbols: 'debug' is no absolute path and no http:// or https:// address"},
		{"{\"symbols\": [\"ftp://a/\"]}",
		 "symbols: 'ftp://a/' is no absolute path and no http:// or https:// address"},
		{"{\"limits\": {\"traces\": 13}, \"continuous\": {\"mb\": 64}}",
		 "limits: 4 recordings ('sessions') and 10 files of 'continuous' ('max_files') are "
		 "more than 13 traces that are kept ('traces')"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *text = cases[i].text;
		struct tapir_serve_config c;

		tapir_serve_config__init(&c);
		tapir_diag__clear();
		assert_int_equal(tapir_serve_config__parse(&c, text, strlen(text), "F"), 0);
		assert_int_equal(tapir_serve_config__check(&c), cases[i].line ? -EINVAL : 0);
		if (cases[i].line)
			assert_string_equal(tapir_diag__line(0), cases[i].line);
		tapir_serve_config__fini(&c);
	}
}

static void broken_json_is_refused(void **state)
{
	static const char *const texts[] = {"",
					    "{",
					    "{\"state\": \"a\", \"state\": \"b\"}",
					    "\"x\"",
					    "{\"state\": \"a\"} x",
					    "{\"state\": \"\\u0000\"}"};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct tapir_serve_config c;

		tapir_serve_config__init(&c);
		assert_int_equal(tapir_serve_config__parse(&c, texts[i], strlen(texts[i]), "F"),
				 -EINVAL);
		tapir_serve_config__fini(&c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_key_is_taken),
		cmocka_unit_test(what_is_written_is_what_is_in_effect),
		cmocka_unit_test(mistakes_are_named_with_their_line),
		cmocka_unit_test(limits_that_cannot_work_are_refused),
		cmocka_unit_test(broken_json_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
