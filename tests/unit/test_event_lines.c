// SPDX-License-Identifier: GPL-2.0-or-later
/* Payloads as values, values and records as lines of text and JSON; also of wrong payloads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decode/value.h"
#include "output/export/event_lines.h"
#include "trace/recbuf.h"

#define SV(text)      ((struct tapir_sv){"" text, sizeof("" text) - 1})
#define TGID	      100
#define START_NS      1000000000ull
#define FIELD_CNT_MAX 16
#define PAYLOAD_BYTES 512

/* A probe with the fields given, and an event of it. */
struct fixture {
	struct tapir_catalog *catalog;
	struct tapir_recbuf probe_buf, event_buf;
	struct tapir_field fields[FIELD_CNT_MAX];
	struct tapir_sv names[FIELD_CNT_MAX];
	unsigned field_cnt;
	uint64_t slots[FIELD_CNT_MAX];
	uint8_t var[PAYLOAD_BYTES];
	size_t var_bytes;
	uint16_t fault_mask;
	uint64_t stack_id;
	struct tapir_str out;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->catalog = tapir_catalog__new(TAPIR_CATALOG_READ, NULL);
	assert_non_null(f->catalog);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	tapir_catalog__free(f->catalog);
	tapir_recbuf__fini(&f->probe_buf);
	tapir_recbuf__fini(&f->event_buf);
	tapir_str__fini(&f->out);
	free(f);
	return 0;
}

static void add(struct fixture *f, struct tapir_sv name, uint8_t type, uint8_t size, uint64_t slot)
{
	unsigned i = f->field_cnt++;

	assert_true(i < FIELD_CNT_MAX);
	f->fields[i] = (struct tapir_field){.type = type, .size = size};
	f->names[i] = name;
	f->slots[i] = slot;
}

static void add_bytes(struct fixture *f, struct tapir_sv name, uint8_t type, const void *bytes,
		      uint32_t len, uint32_t flags)
{
	struct tapir_slot_bytes slot = {.len_bytes = len, .flags = flags};
	uint64_t bits;

	memcpy(&bits, &slot, sizeof(bits));
	add(f, name, type, 0, bits);
	memcpy(f->var + f->var_bytes, bytes, len);
	f->var_bytes += len;
}

static const struct tapir_rec *event(struct fixture *f, size_t payload_bytes)
{
	uint8_t payload[PAYLOAD_BYTES * 2];
	struct tapir_rec_event fixed = {.h = {.cpu = 3, .time_ns = START_NS + 1500000},
					.probe_id = 9,
					.tgid = TGID,
					.tid = TGID + 1,
					.fault_mask = f->fault_mask,
					.stack_id = f->stack_id};
	struct tapir_event_view view = {
		.rec = &fixed, .payload = payload, .payload_bytes = payload_bytes};

	memcpy(payload, f->slots, f->field_cnt * 8);
	memcpy(payload + f->field_cnt * 8, f->var, f->var_bytes);
	return tapir_recbuf__event(&f->event_buf, &view);
}

static const char *render(struct fixture *f, enum tapir_event_format format, size_t payload_bytes)
{
	struct tapir_rec_probe probe = {.probe_id = 9, .version = 2};
	struct tapir_event_lines *lines = tapir_event_lines__new(format, f->catalog, START_NS);

	assert_non_null(lines);
	tapir_catalog__describe(f->catalog, tapir_recbuf__probe(&f->probe_buf, &probe, SV("prov"),
								SV("ev"), SV("/bin/x"), SV(""),
								f->fields, f->names, f->field_cnt));
	tapir_str__clear(&f->out);
	tapir_event_lines__add(lines, event(f, payload_bytes), &f->out);
	tapir_event_lines__free(lines);
	assert_false(f->out.failed);
	return f->out.data;
}

static size_t whole(const struct fixture *f)
{
	return f->field_cnt * 8 + f->var_bytes;
}

static void check_args(struct fixture *f, size_t payload_bytes, const char *text, const char *json)
{
	char want[1024];

	snprintf(want, sizeof(want), "%s\n", text);
	assert_non_null(strstr(render(f, TAPIR_EVENT_TEXT, payload_bytes), "prov:ev"));
	assert_non_null(strstr(f->out.data, want));
	snprintf(want, sizeof(want), "\"version\":2,\"args\":%s}\n", json);
	if (!strstr(render(f, TAPIR_EVENT_JSON, payload_bytes), want))
		fail_msg("%s\nhas no %s", f->out.data, want);
}

/* ---- values ----------------------------------------------------------------------------- */

static uint64_t f64_bits(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static uint64_t f32_bits(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static void numbers_are_exact_at_their_limits(void **state)
{
	struct fixture *f = *state;

	add(f, SV("low"), TAPIR_FIELD_INT, 8, (uint64_t)INT64_MIN);
	add(f, SV("high"), TAPIR_FIELD_UINT, 8, UINT64_MAX);
	add(f, SV(""), TAPIR_FIELD_PTR, 8, 0xffffffffff600000);
	add(f, SV("yes"), TAPIR_FIELD_BOOL, 1, 1);
	add(f, SV("c"), TAPIR_FIELD_CHAR, 1, 'Z');
	add(f, SV("nl"), TAPIR_FIELD_CHAR, 1, '\n');
	check_args(f, whole(f),
		   "low=-9223372036854775808 high=18446744073709551615 "
		   "arg2=0xffffffffff600000 yes=true c='Z' nl=10",
		   "{\"low\":-9223372036854775808,\"high\":18446744073709551615,"
		   "\"arg2\":18446744073699065856,\"yes\":true,\"c\":90,\"nl\":10}");
}

static void floats_have_the_fewest_digits_that_read_back(void **state)
{
	struct fixture *f = *state;

	add(f, SV("a"), TAPIR_FIELD_FLOAT, 8, f64_bits(0.1));
	add(f, SV("b"), TAPIR_FIELD_FLOAT, 4, f32_bits(0.1f));
	add(f, SV("c"), TAPIR_FIELD_FLOAT, 8, f64_bits(-2e300));
	check_args(f, whole(f), "a=0.1 b=0.1 c=-2e+300", "{\"a\":0.1,\"b\":0.1,\"c\":-2e+300}");
}

/* Seconds are written without printf, which decides how. */
static void billionths_are_written_as_printf_writes_them(void **state)
{
	static const double values[] = {0,	  0.0001,	0.00009999,  0.1, 1,   1.000000001,
					12.5,	  59.999999999, 3,	     1e5, 1e6, 999999.999,
					86400.25, 1.0 / 3,	1.0000000005};
	struct tapir_str out = {};
	char text[32];

	(void)state;
	for (size_t i = 0; i < 20000; i++) {
		double number = i < sizeof(values) / sizeof(*values)
					? values[i]
					: (double)(i * 7919ull * i % 10000000000000ull) / 1e9;
		const struct tapir_value value = {
			.type = TAPIR_FIELD_FLOAT, .size = sizeof(double), .f64 = number};
		int digits = 15;

		do
			snprintf(text, sizeof(text), "%.*g", digits, number);
		while (digits++ < 17 && strtod(text, NULL) != number);
		tapir_str__clear(&out);
		tapir_value__add_text(&out, &value);
		assert_string_equal(out.data, text);
	}
	tapir_str__fini(&out);
}

static void json_has_null_and_a_mark_when_float_is_no_number(void **state)
{
	struct fixture *f = *state;

	add(f, SV("a"), TAPIR_FIELD_FLOAT, 8, f64_bits((double)NAN));
	add(f, SV("b"), TAPIR_FIELD_FLOAT, 8, f64_bits((double)-INFINITY));
	check_args(f, whole(f), "a=nan b=-inf",
		   "{\"a\":null,\"b\":null},\"marks\":{\"a\":\"nan\",\"b\":\"infinite\"}");
}

static void numbers_of_16_bytes_are_whole(void **state)
{
	struct fixture *f = *state;
	__int128 low = (__int128)((unsigned __int128)1 << 127);
	unsigned __int128 high = ~(unsigned __int128)0;

	add_bytes(f, SV("a"), TAPIR_FIELD_I128, &low, 16, 0);
	add_bytes(f, SV("b"), TAPIR_FIELD_U128, &high, 16, 0);
	check_args(f, whole(f),
		   "a=-170141183460469231731687303715884105728 "
		   "b=340282366920938463463374607431768211455",
		   "{\"a\":-170141183460469231731687303715884105728,"
		   "\"b\":340282366920938463463374607431768211455}");
}

static void strings_say_what_they_are_not(void **state)
{
	struct fixture *f = *state;

	add_bytes(f, SV("a"), TAPIR_FIELD_STR, "", 0, 0);
	add_bytes(f, SV("b"), TAPIR_FIELD_STR, "", 0, TAPIR_SLOT_NULL);
	add_bytes(f, SV("c"), TAPIR_FIELD_STR, "say \"hi\"\n\x1b[31m", 14, 0);
	add_bytes(f, SV("d"), TAPIR_FIELD_STRN, "caf\xc3\xa9", 4, TAPIR_SLOT_CUT);
	add_bytes(f, SV("e"), TAPIR_FIELD_BLOB, "\x01\xfe", 2, 0);
	check_args(f, whole(f),
		   "a=\"\" b=<null> c=\"say \\\"hi\\\"\\n\\x1b[31m\" d=\"caf\"\xe2\x80\xa6 "
		   "e=0x01fe",
		   "{\"a\":\"\",\"b\":null,\"c\":\"say \\\"hi\\\"\\n\\u001b[31m\",\"d\":\"caf\","
		   "\"e\":\"01fe\"},\"marks\":{\"b\":\"null\",\"d\":\"cut\"}");
}

static void value_is_marked_when_it_could_not_be_read(void **state)
{
	struct fixture *f = *state;

	add(f, SV("a"), TAPIR_FIELD_INT, 4, 0);
	add(f, SV("b"), TAPIR_FIELD_NONE, 8, 0);
	f->fields[1].reason = TAPIR_OPERAND_VECTOR_REG;
	add_bytes(f, SV("c"), TAPIR_FIELD_STR, "", 0, 0);
	f->fault_mask = 1u << 0 | 1u << 2;
	check_args(f, whole(f),
		   "a=<fault> b=<unreadable: vector register: not among the registers a probe "
		   "sees> c=<fault>",
		   "{\"a\":null,\"b\":null,\"c\":null},\"marks\":{\"a\":\"fault\",\"b\":\"vector "
		   "register: not among the registers a probe sees\",\"c\":\"fault\"}");
}

/* ---- payloads that are not what the layout says ------------------------------------------ */

static void values_are_missing_when_payload_is_short(void **state)
{
	struct fixture *f = *state;

	add(f, SV("a"), TAPIR_FIELD_INT, 4, 7);
	add(f, SV("b"), TAPIR_FIELD_INT, 4, 8);
	check_args(f, 12, "a=7 b=<missing> rest=0x08000000",
		   "{\"a\":7,\"b\":null,\"rest\":\"08000000\"},\"marks\":{\"b\":\"missing\"}");
}

static void string_ends_with_payload_when_its_length_lies(void **state)
{
	struct fixture *f = *state;

	add_bytes(f, SV("a"), TAPIR_FIELD_STR, "abcdef", 6, 0);
	add_bytes(f, SV("b"), TAPIR_FIELD_STR, "", 0, 0);
	f->slots[0] = UINT32_MAX;
	check_args(f, whole(f), "a=\"abcdef\"\xe2\x80\xa6 b=\"\"",
		   "{\"a\":\"abcdef\",\"b\":\"\"},\"marks\":{\"a\":\"cut\"}");
}

static void rest_is_shown_when_payload_is_long(void **state)
{
	struct fixture *f = *state;

	add(f, SV("a"), TAPIR_FIELD_INT, 4, 7);
	memcpy(f->var, "\xab\xcd", 2);
	f->var_bytes = 2;
	check_args(f, whole(f), "a=7 rest=0xabcd", "{\"a\":7,\"rest\":\"abcd\"}");
}

/* ---- lines ------------------------------------------------------------------------------ */

static void event_line_has_all_keys(void **state)
{
	struct fixture *f = *state;

	assert_string_equal(render(f, TAPIR_EVENT_JSON, 0),
			    "{\"type\":\"event\",\"time_ns\":1001500000,\"utc\":null,\"cpu\":3,"
			    "\"pid\":100,\"tid\":101,\"comm\":null,\"provider\":\"prov\","
			    "\"event\":\"ev\",\"version\":2,\"args\":{}}\n");
	assert_string_equal(render(f, TAPIR_EVENT_TEXT, 0),
			    "    0.001500 ?                100/101         prov:ev\n");
}

static void frames_have_name_or_module(void **state)
{
	struct fixture *f = *state;
	struct tapir_recbuf b = {};
	struct tapir_rec_stack stack = {
		.stack_id = 0xabc, .flags = TAPIR_STACK_MORE, .end = TAPIR_STACK_END_MORE};
	struct tapir_rec_mapping mapping = {.h.time_ns = 1,
					    .tgid = TGID,
					    .flags = TAPIR_MAPPING_EXEC,
					    .start_va = 0x400000,
					    .end_va = 0x500000,
					    .file_off = 0x1000,
					    .file_id = 7};
	struct tapir_rec_symbol symbol = {.file_id = 7, .start_off = 0x1100, .size = 0x100};
	/* in main; the byte behind main, whose call is still in it; in no symbol; in no file */
	uint64_t frames_va[] = {0x400110, 0x400200, 0x400300, 0x900000};

	tapir_catalog__describe(f->catalog, tapir_recbuf__mapping(&b, &mapping, SV("/bin/x")));
	tapir_catalog__describe(f->catalog, tapir_recbuf__symbol(&b, &symbol, SV("main")));
	tapir_catalog__describe(f->catalog, tapir_recbuf__stack(&b, &stack, frames_va, 4));
	f->stack_id = 0xabc;
	assert_non_null(strstr(render(f, TAPIR_EVENT_TEXT, 0),
			       "                 main+0x10 (x)\n"
			       "                 main+0x100 (x)\n"
			       "                 x+0x1300\n"
			       "                 0x900000\n"
			       "                 <callers lost: frame limit reached>\n"));
	assert_non_null(
		strstr(render(f, TAPIR_EVENT_JSON, 0),
		       "\"stack\":[{\"addr\":4194576,\"name\":\"main\",\"module\":\"/bin/x\","
		       "\"offset\":16},{\"addr\":4194816,\"name\":\"main\",\"module\":\"/bin/x\","
		       "\"offset\":256},{\"addr\":4195072,\"name\":null,\"module\":\"/bin/x\","
		       "\"offset\":4864},{\"addr\":9437184,\"name\":null,\"module\":null,"
		       "\"offset\":0}],\"stack_end\":\"more\",\"stack_mark\":\"cut\"}"));
	tapir_recbuf__fini(&b);
}

static void loss_says_how_many_of_what_and_why(void **state)
{
	struct fixture *f = *state;
	struct tapir_rec_loss loss = {.probe_id = 9,
				      .cause = TAPIR_LOSS_RING_FULL,
				      .count = 12,
				      .from_ns = START_NS,
				      .until_ns = START_NS + 500000000};
	struct tapir_event_lines *lines;

	render(f, TAPIR_EVENT_TEXT, 0);
	tapir_rec__init(&loss.h, TAPIR_REC_LOSS, sizeof(loss), START_NS + 500000000);
	lines = tapir_event_lines__new(TAPIR_EVENT_TEXT, f->catalog, START_NS);
	tapir_str__clear(&f->out);
	tapir_event_lines__add(lines, &loss.h, &f->out);
	assert_non_null(strstr(f->out.data, "*** LOST 12 events of prov:ev: "));
	assert_non_null(strstr(f->out.data, " from 0.000000 to 0.500000\n"));
	tapir_event_lines__free(lines);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(numbers_are_exact_at_their_limits),
		TEST(floats_have_the_fewest_digits_that_read_back),
		TEST(billionths_are_written_as_printf_writes_them),
		TEST(json_has_null_and_a_mark_when_float_is_no_number),
		TEST(numbers_of_16_bytes_are_whole),
		TEST(strings_say_what_they_are_not),
		TEST(value_is_marked_when_it_could_not_be_read),
		TEST(values_are_missing_when_payload_is_short),
		TEST(string_ends_with_payload_when_its_length_lies),
		TEST(rest_is_shown_when_payload_is_long),
		TEST(event_line_has_all_keys),
		TEST(frames_have_name_or_module),
		TEST(loss_says_how_many_of_what_and_why),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
