// SPDX-License-Identifier: GPL-2.0-or-later
/* Requests of a program to its agent: what was put in comes out, anything else is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/http/stdio_frame.h"

struct message {
	char data[8192];
	size_t len;
};

static void put(struct message *m, uint32_t kind, const char *text, size_t len)
{
	const struct tapir_stdio_field f = {kind, (uint32_t)len + 1};

	memcpy(m->data + m->len, &f, sizeof(f));
	memcpy(m->data + m->len + sizeof(f), text, len);
	m->data[m->len + sizeof(f) + len] = '\0';
	m->len += sizeof(f) + len + 1;
}

static void put_text(struct message *m, uint32_t kind, const char *text)
{
	put(m, kind, text, strlen(text));
}

static void begin(struct message *m)
{
	m->len = 0;
	put_text(m, TAPIR_STDIO_METHOD, "GET");
	put_text(m, TAPIR_STDIO_PATH, "/v1/profile");
}

static int decode(const struct message *m, struct tapir_stdio_request *out)
{
	return tapir_stdio_request__decode(m->data, m->len, out);
}

static void request_is_what_was_put_in(void **state)
{
	struct tapir_stdio_request rq;
	struct message m;

	(void)state;
	begin(&m);
	put_text(&m, TAPIR_STDIO_QUERY, "Host");
	put_text(&m, TAPIR_STDIO_VALUE, "");
	put_text(&m, TAPIR_STDIO_HEADER, "Host");
	put_text(&m, TAPIR_STDIO_VALUE, "localhost");
	put(&m, TAPIR_STDIO_BODY, "a\0b", 3);
	assert_int_equal(decode(&m, &rq), 0);
	assert_string_equal(rq.method, "GET");
	assert_string_equal(rq.path, "/v1/profile");
	assert_int_equal(rq.body_len, 3);
	assert_memory_equal(rq.body, "a\0b", 4);
	assert_string_equal(tapir_stdio_request__find(&rq, TAPIR_STDIO_HEADER, "hOsT"),
			    "localhost");
	assert_string_equal(tapir_stdio_request__find(&rq, TAPIR_STDIO_QUERY, "Host"), "");
	assert_null(tapir_stdio_request__find(&rq, TAPIR_STDIO_QUERY, "host"));
}

static void every_shortened_message_is_refused(void **state)
{
	struct tapir_stdio_request rq;
	struct message m;
	size_t whole;

	(void)state;
	begin(&m);
	whole = m.len;
	put_text(&m, TAPIR_STDIO_QUERY, "pid");
	put_text(&m, TAPIR_STDIO_VALUE, "1");
	for (size_t n = 0; n < m.len; n++) {
		char *copy = malloc(n + 1); /* exact, for the sanitizer */

		assert_non_null(copy);
		memcpy(copy, m.data, n);
		assert_int_equal(tapir_stdio_request__decode(copy, n, &rq),
				 n == whole ? 0 : -EBADMSG);
		free(copy);
	}
}

static void wrong_fields_are_refused(void **state)
{
	static const struct {
		uint32_t kind;
		const char *text;
		size_t len;
	} wrong[] = {
		{0, "x", 1},
		{TAPIR_STDIO_VALUE + 1, "x", 1},
		{TAPIR_STDIO_METHOD, "PUT", 3}, /* twice */
		{TAPIR_STDIO_PATH, "/", 1},
		{TAPIR_STDIO_VALUE, "of nothing", 10},
		{TAPIR_STDIO_QUERY, "a\0b", 3},
		{TAPIR_STDIO_HEADER, "without a value", 15},
	};
	struct tapir_stdio_request rq;
	struct message m;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		begin(&m);
		put(&m, wrong[i].kind, wrong[i].text, wrong[i].len);
		assert_int_equal(decode(&m, &rq), -EBADMSG);
	}
	m.len = 0;
	put_text(&m, TAPIR_STDIO_METHOD, "GET");
	put_text(&m, TAPIR_STDIO_PATH, "relative");
	assert_int_equal(decode(&m, &rq), -EBADMSG);
}

static void too_many_pairs_are_refused(void **state)
{
	struct tapir_stdio_request rq;
	struct message m;

	(void)state;
	for (size_t cnt = TAPIR_STDIO_MAX_PAIRS; cnt <= TAPIR_STDIO_MAX_PAIRS + 1; cnt++) {
		begin(&m);
		for (size_t i = 0; i < cnt; i++) {
			put_text(&m, TAPIR_STDIO_QUERY, "a");
			put_text(&m, TAPIR_STDIO_VALUE, "b");
		}
		assert_int_equal(decode(&m, &rq), cnt == TAPIR_STDIO_MAX_PAIRS ? 0 : -EBADMSG);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(request_is_what_was_put_in),
		cmocka_unit_test(every_shortened_message_is_refused),
		cmocka_unit_test(wrong_fields_are_refused),
		cmocka_unit_test(too_many_pairs_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
