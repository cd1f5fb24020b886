// SPDX-License-Identifier: GPL-2.0-or-later
/* The status of a gRPC-Web call: headers, trailers in the body, and answers that are malformed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "agent/push/grpc_status.h"

static int32_t of_header(const char *line)
{
	struct tapir_grpc_status s;

	tapir_grpc_status__init(&s);
	tapir_grpc_status__add_header(&s, line, strlen(line));
	return s.status;
}

/* In pieces of that size; each is the status of the whole. */
static int32_t of_body(const char *body, size_t len)
{
	struct tapir_grpc_status s;
	int32_t status = 0;

	for (size_t piece = 1; piece <= len; piece++) {
		tapir_grpc_status__init(&s);
		for (size_t at = 0; at < len; at += piece)
			tapir_grpc_status__add_body(&s, body + at,
						    len - at < piece ? len - at : piece);
		if (piece > 1)
			assert_int_equal(s.status, status);
		status = s.status;
	}
	return status;
}

#define BODY(text) of_body(text, sizeof(text) - 1)

static void status_is_read_from_a_header(void **state)
{
	(void)state;
	assert_int_equal(of_header("grpc-status: 0\r\n"), 0);
	assert_int_equal(of_header("Grpc-Status:14"), 14);
	assert_int_equal(of_header("GRPC-STATUS: \t 3 \r\n"), 3);
}

static void status_is_read_from_trailers(void **state)
{
	(void)state;
	assert_int_equal(BODY("\0\0\0\0\0\x80\0\0\0\x10grpc-status: 0\r\n"), 0);
	assert_int_equal(BODY("\0\0\0\0\3abc\x80\0\0\0\x1dgrpc-message: x\ngrpc-status:7"), 7);
	assert_int_equal(BODY("\x80\0\0\0\0\x80\0\0\0\x0egrpc-status: 9"), 9);
}

static void malformed_status_is_none(void **state)
{
	static const char *const lines[] = {"",
					    ":",
					    "grpc-status",
					    "grpc-status:",
					    "grpc-status: \r\n",
					    "grpc-status: -1",
					    "grpc-status: +1",
					    "grpc-status: 1 2",
					    "grpc-status: 1x",
					    "grpc-status: 0x1",
					    "grpc-status: 99999999999999999999",
					    "grpc-status: 10000",
					    "xgrpc-status: 1",
					    " grpc-status: 1",
					    "grpc-message: grpc-status: 0",
					    "HTTP/1.1 200 OK"};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		if (of_header(lines[i]) != TAPIR_GRPC_NO_STATUS)
			fail_msg("'%s' has a status", lines[i]);
}

/* What a message holds, and what lies outside of a frame, is no status. */
static void bytes_of_messages_are_no_status(void **state)
{
	(void)state;
	assert_int_equal(BODY("\0\0\0\0\x0egrpc-status: 0"), TAPIR_GRPC_NO_STATUS);
	assert_int_equal(BODY("grpc-status: 0\r\n"), TAPIR_GRPC_NO_STATUS);
	assert_int_equal(BODY("\x81\0\0\0\x0egrpc-status: 0"), TAPIR_GRPC_NO_STATUS);
	assert_int_equal(BODY("\x80\0\0\0"), TAPIR_GRPC_NO_STATUS);
	assert_int_equal(BODY("\x80\xff\xff\xff\xffgrpc-status: 0"), TAPIR_GRPC_NO_STATUS);
	assert_int_equal(BODY("\0\xff\xff\xff\xff\x80\0\0\0\x0egrpc-status: 0"),
			 TAPIR_GRPC_NO_STATUS);
	assert_int_equal(BODY("<html>grpc-status: 0</html>"), TAPIR_GRPC_NO_STATUS);
}

/* A line that is too long is none, however it ends. */
static void long_lines_are_passed_over(void **state)
{
	char body[5 + 300];

	(void)state;
	memset(body, ' ', sizeof(body));
	memcpy(body, "\x80\0\0\1\x2cgrpc-status:", 5 + 12);
	body[5 + 200] = '1';
	assert_int_equal(of_body(body, sizeof(body)), TAPIR_GRPC_NO_STATUS);
	memcpy(body + 5 + 280, "\ngrpc-status: 5", 15);
	assert_int_equal(of_body(body, sizeof(body)), 5);
}

/* 100 Continue, and what a proxy answers first. */
static void an_answer_begins_anew_with_its_status_line(void **state)
{
	struct tapir_grpc_status s;

	(void)state;
	tapir_grpc_status__init(&s);
	tapir_grpc_status__add_header(&s, "grpc-status: 0", 14);
	tapir_grpc_status__add_body(&s, "\0\0", 2);
	tapir_grpc_status__add_header(&s, "HTTP/1.1 200 OK\r\n", 17);
	assert_int_equal(s.status, TAPIR_GRPC_NO_STATUS);
	tapir_grpc_status__add_body(&s, "\x80\0\0\0\x0egrpc-status: 4", 19);
	assert_int_equal(s.status, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(status_is_read_from_a_header),
		cmocka_unit_test(status_is_read_from_trailers),
		cmocka_unit_test(malformed_status_is_none),
		cmocka_unit_test(bytes_of_messages_are_no_status),
		cmocka_unit_test(long_lines_are_passed_over),
		cmocka_unit_test(an_answer_begins_anew_with_its_status_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
