// SPDX-License-Identifier: GPL-2.0-or-later
/* Ids of a trace in the payload of an event, as DiagnosticSource writes them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "trace/recbuf.h"
#include "trace/record.h"
#include "trace/trace_filter.h"

#define TRACE	   "4bf92f3577b34da6a3ce929d0e0e4736"
#define SPAN	   "00f067aa0ba902b7"
#define TEXT(text) (text), sizeof(text)

/* Finds the ids of an event with that payload, whose characters have so many bytes. */
static bool find(const char *text, size_t bytes, size_t width, struct tapir_trace_ids *out)
{
	struct tapir_recbuf buf = {};
	uint8_t payload[512] = {};
	struct tapir_rec_event fixed = {.tgid = 100, .tid = 100};
	struct tapir_event_view view = {
		.rec = &fixed, .payload = payload, .payload_bytes = bytes * width};
	bool found;

	for (size_t i = 0; i < bytes; i++)
		payload[i * width] = (uint8_t)text[i];
	found = tapir_trace__find_ids(tapir_recbuf__event(&buf, &view), out);
	tapir_recbuf__fini(&buf);
	return found;
}

static void ids_are_found_in_either_encoding(void **state)
{
	(void)state;
	for (size_t width = 1; width <= 2; width++) {
		struct tapir_trace_ids ids = {};

		assert_true(find(TEXT("Path\0/7\0TraceId\0" TRACE "\0SpanId\0" SPAN), width, &ids));
		assert_int_equal(ids.trace_id[0], 0x4b);
		assert_int_equal(ids.trace_id[15], 0x36);
		assert_int_equal(ids.span_id[7], 0xb7);
	}
}

static void traceparent_in_a_text_has_the_ids(void **state)
{
	(void)state;
	for (size_t width = 1; width <= 2; width++) {
		struct tapir_trace_ids ids = {};

		assert_true(find(TEXT("GET /7 00-1 traceparent: 00-" TRACE "-" SPAN "-01"), width,
				 &ids));
		assert_int_equal(ids.trace_id[0], 0x4b);
		assert_int_equal(ids.trace_id[15], 0x36);
		assert_int_equal(ids.span_id[0], 0);
		assert_int_equal(ids.span_id[7], 0xb7);
	}
}

static void text_that_only_looks_like_a_traceparent_is_none(void **state)
{
	static const char *const texts[] = {"00-",
					    "00-" TRACE,
					    "00-" TRACE "-",
					    "00-" TRACE "-" SPAN,
					    "00-" TRACE "-" SPAN "0-01",
					    "00-" TRACE "0-" SPAN "-01",
					    "01-" TRACE "-" SPAN "-01",
					    "00-00000000000000000000000000000000-" SPAN "-01",
					    "00-4bf92f3577b34da6a3ce929d0e0e473g-" SPAN "-01"};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		for (size_t width = 1; width <= 2; width++) {
			struct tapir_trace_ids ids = {.span_id = {7}};

			assert_false(find(texts[i], strlen(texts[i]), width, &ids));
			assert_int_equal(ids.span_id[0], 7);
		}
}

static void trace_without_a_span_is_one(void **state)
{
	struct tapir_trace_ids ids = {};

	(void)state;
	assert_true(find(TEXT("TraceId\0none\0TraceId\0" TRACE "\0SpanId\0short"), 2, &ids));
	assert_int_equal(ids.trace_id[15], 0x36);
	for (size_t i = 0; i < sizeof(ids.span_id); i++)
		assert_int_equal(ids.span_id[i], 0);
}

static void what_only_looks_like_an_id_is_none(void **state)
{
	struct tapir_trace_ids ids = {.span_id[0] = 7};

	(void)state;
	assert_false(find(TEXT("TraceId"), 2, &ids));
	assert_false(find(TEXT("TraceId\0" TRACE "0"), 2, &ids));
	assert_false(find(TEXT("TraceId\0004bf92f3577b34da6a3ce929d0e0e473g"), 1, &ids));
	assert_false(find("TraceId\0" TRACE, 8 + 32, 2, &ids)); /* its end is cut */
	assert_false(find("", 0, 1, &ids));
	assert_int_equal(ids.span_id[0], 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ids_are_found_in_either_encoding),
		cmocka_unit_test(traceparent_in_a_text_has_the_ids),
		cmocka_unit_test(text_that_only_looks_like_a_traceparent_is_none),
		cmocka_unit_test(trace_without_a_span_is_one),
		cmocka_unit_test(what_only_looks_like_an_id_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
