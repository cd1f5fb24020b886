// SPDX-License-Identifier: GPL-2.0-or-later
/* Messages between an HTTP process and the agent: what goes in comes out, anything else is refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/wire.h"

static char message[TAPIR_WIRE_MAX_BYTES];

static const struct tapir_wire_request full = {
	.route = 3,
	.flags = TAPIR_WIRE_IS_FORM,
	.only_pid = 4712,
	.path_arg = "4711",
	.token = "secret",
	.cookie = "cookie",
	.csrf = "csrf",
	.peer = "127.0.0.1",
	.body = "a\0b",
	.body_len = 3,
	.pair_cnt = 2,
	.pairs = {{"pid", "1"}, {"events", ""}},
};

static void request_survives_its_message(void **state)
{
	struct tapir_wire_request out;
	int len = tapir_wire__encode(&full, message);

	(void)state;
	assert_true(len > 0);
	assert_int_equal(tapir_wire__decode(message, (size_t)len, &out), 0);
	assert_int_equal(out.route, 3);
	assert_int_equal(out.flags, TAPIR_WIRE_IS_FORM);
	assert_int_equal(out.only_pid, 4712);
	assert_string_equal(out.path_arg, "4711");
	assert_string_equal(out.token, "secret");
	assert_string_equal(out.cookie, "cookie");
	assert_string_equal(out.csrf, "csrf");
	assert_string_equal(out.peer, "127.0.0.1");
	assert_int_equal(out.body_len, 3);
	assert_memory_equal(out.body, "a\0b", 4);
	assert_int_equal(out.pair_cnt, 2);
	assert_string_equal(out.pairs[0].name, "pid");
	assert_string_equal(out.pairs[0].value, "1");
	assert_string_equal(out.pairs[1].value, "");
}

static void absent_texts_stay_absent(void **state)
{
	const struct tapir_wire_request empty = {.route = 1};
	struct tapir_wire_request out;
	int len = tapir_wire__encode(&empty, message);

	(void)state;
	assert_int_equal(tapir_wire__decode(message, (size_t)len, &out), 0);
	assert_null(out.path_arg);
	assert_null(out.token);
	assert_null(out.body);
	assert_int_equal(out.pair_cnt, 0);
}

static void every_shortened_message_is_refused(void **state)
{
	struct tapir_wire_request out;
	int len = tapir_wire__encode(&full, message);

	(void)state;
	for (int n = 0; n < len; n++) {
		char *copy = malloc((size_t)n + 1); /* exact, for the sanitizer */

		assert_non_null(copy);
		memcpy(copy, message, (size_t)n);
		assert_int_equal(tapir_wire__decode(copy, (size_t)n, &out), -EBADMSG);
		free(copy);
	}
	assert_int_equal(tapir_wire__decode(message, (size_t)len + 1, &out), -EBADMSG);
}

/* Offsets of what is in the message of {.token = "secret"}: header, kind, length, text. */
enum {
	AT_MAGIC = 0,
	AT_VERSION = 4,
	AT_PAD = 10,
	AT_CNT = 16,
	AT_KIND = 20,
	AT_LEN = 24,
	AT_TEXT = 28
};

static void wrong_fields_are_refused(void **state)
{
	static const struct {
		int at;
		unsigned char value;
	} changes[] = {{AT_MAGIC, 0},	    {AT_VERSION, 9},	{AT_PAD, 1},   {AT_CNT, 2},
		       {AT_CNT, 0},	    {AT_KIND, 0},	{AT_KIND, 99}, {AT_KIND, 7},
		       {AT_LEN, 0},	    {AT_LEN, 6},	{AT_LEN, 8},   {AT_LEN + 3, 0x80},
		       {AT_TEXT + 2, '\0'}, {AT_TEXT + 6, 'x'}, {AT_KIND, 6}};
	const struct tapir_wire_request rq = {.token = "secret"};
	struct tapir_wire_request out;

	(void)state;
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		int len = tapir_wire__encode(&rq, message);

		assert_int_equal(tapir_wire__decode(message, (size_t)len, &out), 0);
		message[changes[i].at] = (char)changes[i].value;
		if (tapir_wire__decode(message, (size_t)len, &out) != -EBADMSG)
			fail_msg("change %zu is taken", i);
	}
}

static void what_does_not_fit_is_refused_when_sent(void **state)
{
	static char text[TAPIR_WIRE_MAX_TEXT_BYTES + 1], body[TAPIR_WIRE_MAX_BODY_BYTES + 1];
	struct tapir_wire_request rq = {.token = text};

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	assert_int_equal(tapir_wire__encode(&rq, message), -E2BIG);
	text[TAPIR_WIRE_MAX_TEXT_BYTES - 1] = '\0';
	assert_true(tapir_wire__encode(&rq, message) > 0);
	rq = (struct tapir_wire_request){.body = body, .body_len = TAPIR_WIRE_MAX_BODY_BYTES};
	assert_true(tapir_wire__encode(&rq, message) > 0);
	rq.body_len++;
	assert_int_equal(tapir_wire__encode(&rq, message), -E2BIG);
	rq = (struct tapir_wire_request){.pair_cnt = TAPIR_WIRE_MAX_PAIRS + 1};
	assert_int_equal(tapir_wire__encode(&rq, message), -E2BIG);
}

static void answers_are_checked(void **state)
{
	struct tapir_wire_head head = {.type = TAPIR_WIRE_HEAD, .status = 200};
	_Alignas(8) char data[TAPIR_WIRE_DATA_BYTES + 8] = {TAPIR_WIRE_DATA};
	struct tapir_wire_reply reply;

	(void)state;
	assert_int_equal(tapir_wire__reply(&head, sizeof(head), &reply), 0);
	assert_int_equal(reply.head->status, 200);
	assert_int_equal(tapir_wire__reply(&head, sizeof(head) - 1, &reply), -EBADMSG);
	head.mime = TAPIR_MIME_CNT;
	assert_int_equal(tapir_wire__reply(&head, sizeof(head), &reply), -EBADMSG);
	head.mime = 0;
	memset(head.location, 'x', sizeof(head.location));
	assert_int_equal(tapir_wire__reply(&head, sizeof(head), &reply), -EBADMSG);
	assert_int_equal(tapir_wire__reply(data, 5, &reply), 0);
	assert_int_equal(reply.len, 1);
	assert_int_equal(tapir_wire__reply(data, 4, &reply), -EBADMSG);
	assert_int_equal(tapir_wire__reply(data, sizeof(data), &reply), -EBADMSG);
	data[0] = TAPIR_WIRE_END;
	assert_int_equal(tapir_wire__reply(data, 4, &reply), 0);
	assert_int_equal(tapir_wire__reply(data, 5, &reply), -EBADMSG);
	data[0] = 77;
	assert_int_equal(tapir_wire__reply(data, 4, &reply), -EBADMSG);
	assert_int_equal(tapir_wire__reply(data, 3, &reply), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(request_survives_its_message),
		cmocka_unit_test(absent_texts_stay_absent),
		cmocka_unit_test(every_shortened_message_is_refused),
		cmocka_unit_test(wrong_fields_are_refused),
		cmocka_unit_test(what_does_not_fit_is_refused_when_sent),
		cmocka_unit_test(answers_are_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
