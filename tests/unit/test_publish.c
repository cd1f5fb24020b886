// SPDX-License-Identifier: GPL-2.0-or-later
// with: usdt/coreclr/coreclr_blob.c usdt/coreclr/coreclr_text.c usdt/coreclr/coreclr_layout.c
// with: usdt/coreclr/coreclr_payload.c usdt/coreclr/coreclr_json.c
/*
 * --publish usdt inside the process: fields and JSON as tapir's own decoder has them, numbers as
 * the C library reads them. What is made of them: test_publish_probes.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "decode/event_blob.h"
#include "decode/value.h"
#include "publish_case.h"

/* ---- blobs and payloads ------------------------------------------------------------------------ */

static void field_v2(struct bytes *b, const char *name, const void *type, uint32_t type_bytes)
{
	u(b, 4 + 2 * strlen(name) + 2 + type_bytes, 4);
	wide(b, name);
	put(b, type, type_bytes);
}

static uint8_t memory[1 << 20];
static uint64_t memory_used;

static void *take(uint64_t bytes)
{
	uint8_t *at = memory + memory_used;

	memory_used += (bytes + 15) & ~15ull;
	return memory_used <= sizeof(memory) ? memset(at, 0, bytes) : NULL;
}

static struct coreclr_layout layout_of(const struct bytes *blob, const struct bytes *payload)
{
	struct coreclr_layout layout;

	memory_used = 0;
	assert_int_equal(coreclr_layout__parse(blob->data, blob->len, take, &layout), 0);
	layout.is_self = coreclr_payload__way(&layout, payload->data, payload->len);
	return layout;
}

static const char *json_of(const struct bytes *blob, const struct bytes *payload)
{
	static char out[CORECLR_JSON_BYTES];
	const struct coreclr_layout layout = layout_of(blob, payload);
	uint32_t len = coreclr_json__write(&layout, payload->data, payload->len, out);

	assert_int_equal(strlen(out), len);
	assert_true(len < sizeof(out));
	return out;
}

/* The same bytes by tapir's own decoder, as the same JSON object. */
static char *decoded(const struct bytes *blob, const struct bytes *payload)
{
	struct tapir_event_blob *event;
	struct tapir_value values[64];
	struct tapir_str out = {};
	unsigned faults, cnt;

	assert_int_equal(tapir_event_blob__parse(blob->data, blob->len, &event), 0);
	cnt = tapir_packed__decode(&event->layout, payload->data, payload->len, values, 64,
				   &faults);
	if (faults && event->other.field_cnt) {
		struct tapir_value again[64];
		unsigned other_odd,
			other_cnt = tapir_packed__decode(&event->other, payload->data, payload->len,
							 again, 64, &other_odd);

		if (!other_odd) {
			memcpy(values, again, sizeof(again));
			cnt = other_cnt;
		}
	}
	tapir_str__addc(&out, '{');
	for (unsigned i = 0; i < cnt; i++) {
		tapir_str__addf(&out, "%s\"%.*s\":", i ? "," : "", (int)values[i].name.len,
				values[i].name.data);
		tapir_value__add_json(&out, &values[i]);
	}
	tapir_str__addc(&out, '}');
	tapir_event_blob__free(event);
	return out.data;
}

static void check_same(const struct bytes *blob, const struct bytes *payload)
{
	char *wanted = decoded(blob, payload);

	assert_string_equal(json_of(blob, payload), wanted);
	free(wanted);
}

/* ---- fields -------------------------------------------------------------------------------------- */

static void every_type_is_as_tapir_decodes_it(void **state)
{
	struct bytes blob, payload;

	(void)state;
	for (int is_self = 0; is_self < 2; is_self++) {
		all_types(&blob, &payload, is_self);
		check_same(&blob, &payload);
	}
}

static void nested_objects_and_arrays_are_as_tapir_decodes_them(void **state)
{
	const uint32_t array_of_int[] = {CORECLR_ARRAY, CORECLR_I32},
		       array_of_text[] = {CORECLR_ARRAY, CORECLR_TEXT},
		       array_of_byte[] = {CORECLR_ARRAY, CORECLR_U8};
	struct bytes blob, payload = {}, fields = {}, object = {};

	(void)state;
	u(&object, CORECLR_OBJECT, 4);
	u(&object, 2, 4);
	field_v2(&object, "X", &(uint32_t){CORECLR_I32}, 4);
	field_v2(&object, "Ys", array_of_text, 8);
	u(&fields, 4, 4);
	field_v2(&fields, "In", object.data, object.len);
	field_v2(&fields, "Is", array_of_int, 8);
	field_v2(&fields, "Raw", array_of_byte, 8);
	field_v2(&fields, "Last", &(uint32_t){CORECLR_TEXT}, 4);
	head(&blob, "Deep", 0);
	u(&blob, fields.len, 4);
	u(&blob, 2, 1);
	put(&blob, fields.data, fields.len);
	u(&payload, 5, 4);
	u(&payload, 2, 2);
	wide(&payload, "one");
	wide(&payload, "two");
	u(&payload, 2, 2);
	u(&payload, 7, 4);
	u(&payload, (uint64_t)-8, 4);
	u(&payload, 3, 2);
	u(&payload, 0xffeedd, 3);
	wide(&payload, "end");
	check_same(&blob, &payload);
	assert_string_equal(json_of(&blob, &payload),
			    "{\"In\":{\"X\":5,\"Ys\":[\"one\",\"two\"]},\"Is\":[7,-8],"
			    "\"Raw\":\"ddeeff\",\"Last\":\"end\"}");
}

static void json_is_complete_when_the_payload_is_not(void **state)
{
	struct bytes blob, payload, part;

	(void)state;
	for (int is_self = 0; is_self < 2; is_self++) {
		all_types(&blob, &payload, is_self);
		for (uint32_t len = 0; len < payload.len; len++) {
			const char *json;

			part = payload;
			part.len = len;
			json = json_of(&blob, &part);
			assert_int_equal(json[strlen(json) - 1], '}');
			assert_non_null(strstr(json, len < payload.len - 2 ? "\"s\":" : "\"b\":"));
		}
	}
	head(&blob, "Short", 2);
	field(&blob, CORECLR_I32, "a");
	field(&blob, CORECLR_TEXT, "b");
	payload = (struct bytes){.len = 3};
	assert_string_equal(json_of(&blob, &payload), "{\"a\":null,\"b\":null}");
	payload = (struct bytes){.data = {1, 0, 0, 0, 'x', 0, 0, 0, 0xab, 0xcd}, .len = 10};
	assert_string_equal(json_of(&blob, &payload), "{\"a\":1,\"b\":\"x\",\"rest\":\"abcd\"}");
}

static void json_says_so_when_it_finds_no_room(void **state)
{
	static const char end[] = ",\"tapir_cut\":true}";
	struct bytes blob, payload = {};
	const char *json;
	char rest[64];

	(void)state;
	head(&blob, "Long", 3);
	field(&blob, CORECLR_TEXT, "a");
	field(&blob, CORECLR_I32, "b");
	field(&blob, CORECLR_TEXT, "c");
	for (unsigned cnt = 3300; cnt < 3700; cnt++) {
		payload.len = 0;
		for (unsigned i = 0; i < cnt; i++)
			u(&payload, i % 3 ? 'y' : 0xe9, 2);
		u(&payload, 0, 2);
		u(&payload, 77, 4);
		wide(&payload, "z");
		json = json_of(&blob, &payload);
		snprintf(rest, sizeof(rest), "%s", json + strlen(json) - sizeof(end) + 1);
		assert_string_equal(rest, end);
		for (size_t at = 0, n; json[at]; at += n) {
			n = tapir_utf8__len((const uint8_t *)json + at, strlen(json) - at);
			assert_true(n > 0);
		}
	}
}

/* ---- random descriptions, and payloads that fit them ------------------------------------------- */

static uint64_t random_state = 88172645463325252ull;

static uint64_t random_u64(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	return random_state ^= random_state << 17;
}

static void random_text(struct bytes *payload)
{
	static const uint16_t units[] = {'a', 'B', '7', ' ', '"', '\\', '\n', 0xe9, 0x20ac, 0xd800};

	for (uint64_t cnt = random_u64() % 9; cnt; cnt--) {
		uint16_t unit = units[random_u64() % 10];

		u(payload, unit, 2);
		if (unit == 0xd800) /* U+10302 */
			u(payload, 0xdf02, 2);
	}
	u(payload, 0, 2);
}

static void random_value(unsigned type, struct bytes *payload)
{
	double d = (double)(int64_t)(random_u64() % 100000) / 8 - 5000;
	float f = (float)d;

	if (type == CORECLR_TEXT)
		random_text(payload);
	else if (type == CORECLR_F64 || type == CORECLR_DECIMAL)
		put(payload, &d, 8);
	else if (type == CORECLR_F32)
		put(payload, &f, 4);
	else if (type == CORECLR_BOOL)
		u(payload, random_u64() & 1, 1);
	else if (type == CORECLR_CHAR)
		u(payload, 'a' + random_u64() % 26, 2);
	else if (type == CORECLR_TIME)
		u(payload, 130000000000000000ull + random_u64() % 1000000000000000ull, 8);
	else
		for (uint32_t i = coreclr_type__bytes((uint8_t)type, 1); i; i--)
			u(payload, random_u64(), 1);
}

static void random_fields(struct bytes *fields, struct bytes *payload, unsigned depth);

/* A type as V2 has it, and cnt values of it. */
static void random_type(struct bytes *type, struct bytes *payload, unsigned depth, unsigned cnt)
{
	unsigned code = 3 + (unsigned)(random_u64() % 16);
	struct bytes unused = {};

	if (depth < 3 && random_u64() % 5 == 0) {
		uint64_t seed = random_state;

		u(type, CORECLR_OBJECT, 4);
		random_fields(type, cnt ? payload : &unused, depth + 1);
		for (unsigned i = 1; i < cnt; i++) { /* the same again */
			struct bytes again = {};

			random_state = seed;
			random_fields(&again, payload, depth + 1);
		}
		return;
	}
	u(type, code, 4);
	for (unsigned i = 0; i < cnt; i++)
		random_value(code, payload);
}

static void random_fields(struct bytes *fields, struct bytes *payload, unsigned depth)
{
	unsigned cnt = 1 + (unsigned)(random_u64() % 4);

	u(fields, cnt, 4);
	for (unsigned i = 0; i < cnt; i++) {
		struct bytes type = {}, values = {};
		char name[8];

		snprintf(name, sizeof(name), "f%u_%u", depth, i);
		if (random_u64() % 4) {
			random_type(&type, payload, depth, 1);
		} else {
			unsigned element_cnt = (unsigned)(random_u64() % 4);

			u(&type, CORECLR_ARRAY, 4);
			random_type(&type, &values, depth, element_cnt);
			u(payload, element_cnt, 2);
			put(payload, values.data, values.len);
		}
		field_v2(fields, name, type.data, type.len);
	}
}

static void a_thousand_descriptions_by_chance_are_as_tapir_decodes_them(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 1000; i++) {
		struct bytes blob, fields = {}, payload = {};

		random_fields(&fields, &payload, 0);
		head(&blob, "Chance", 0);
		u(&blob, fields.len, 4);
		u(&blob, 2, 1);
		put(&blob, fields.data, fields.len);
		check_same(&blob, &payload);
	}
}

/* ---- arguments ------------------------------------------------------------------------------------ */

static void fields_are_reported_with_their_types_and_names(void **state)
{
	const uint32_t array_of_int[] = {CORECLR_ARRAY, CORECLR_I32};
	struct coreclr_signature s;
	struct coreclr_layout layout;
	struct bytes blob, payload, fields = {}, object = {};

	(void)state;
	all_types(&blob, &payload, 0);
	layout = layout_of(&blob, &payload);
	coreclr_payload__sign(&layout, 0, &s);
	assert_string_equal(s.operands, "1@%rdi 2@%rsi -1@%rdx 1@%rcx -2@%r8 2@%r9 -4@%rax 4@%r10 "
					"-8@%rbx 8@%r12 4@%r13 8@%r14");
	assert_string_equal(s.kinds, "buiuiuiuiuff");
	assert_memory_equal(s.names, "b\0c\0s8\0u8", 10);
	u(&object, CORECLR_OBJECT, 4);
	u(&object, 1, 4);
	field_v2(&object, "X", &(uint32_t){CORECLR_GUID}, 4);
	u(&fields, 2, 4);
	field_v2(&fields, "In", object.data, object.len);
	field_v2(&fields, "Is", array_of_int, 8);
	head(&blob, "Deep", 0);
	u(&blob, fields.len, 4);
	u(&blob, 2, 1);
	put(&blob, fields.data, fields.len);
	layout = layout_of(&blob, &payload);
	coreclr_payload__sign(&layout, 0, &s);
	assert_string_equal(s.operands, "8@%rdi 8@%rsi 4@%rdx");
	assert_string_equal(s.kinds, "ppu");
	assert_memory_equal(s.names, "In_X\0Is\0Is_Count", 17);
}

/* ---- numbers ------------------------------------------------------------------------------------- */

/* As few digits as read back the same. */
static void check_double(uint64_t bits)
{
	char out[TEXT_NUMBER_BYTES + 1], text[40];
	uint32_t len = text_number__float(out, bits, 8);
	double value, back;
	int digit_cnt = 0, p = 1;

	memcpy(&value, &bits, 8);
	assert_true(len < TEXT_NUMBER_BYTES);
	out[len] = 0;
	if (value != value || value - value != 0) {
		assert_string_equal(out, "null");
		return;
	}
	back = strtod(out, NULL);
	assert_memory_equal(&back, &value, 8);
	for (; p < 17; p++) {
		snprintf(text, sizeof(text), "%.*e", p - 1, value);
		if (strtod(text, NULL) == value)
			break;
	}
	for (const char *c = out; *c && *c != 'e'; c++)
		digit_cnt += *c >= '0' && *c <= '9';
	if (strchr(out, 'e'))
		assert_true(digit_cnt <= p);
}

static void doubles_are_short_and_read_back_the_same(void **state)
{
	const double some[] = {0.0,
			       -0.0,
			       0.1,
			       1.0,
			       -1.5,
			       334.75,
			       1e21,
			       1e22,
			       1e23,
			       5e-324,
			       1e-6,
			       1e-7,
			       123456,
			       9.5,
			       1e308,
			       0.3,
			       1e15,
			       1.7e308,
			       4.9e-5,
			       2.2250738585072014e-308,
			       9007199254740993.0};
	char out[TEXT_NUMBER_BYTES + 1];
	uint64_t bits;

	(void)state;
	for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++) {
		memcpy(&bits, &some[i], 8);
		check_double(bits);
	}
	for (int i = 0; i < 20000; i++) {
		check_double(random_u64());
		bits = (random_u64() & 0x800fffffffffffffull) | (1000 + random_u64() % 60) << 52;
		check_double(bits);
		check_double(1ull << (random_u64() % 63) | random_u64() << 63);
	}
	for (int i = 0; i < 20000; i++) {
		uint32_t low = (uint32_t)random_u64();
		float value, back;

		memcpy(&value, &low, 4);
		out[text_number__float(out, low, 4)] = 0;
		back = strtof(out, NULL);
		if (value == value && value - value == 0)
			assert_memory_equal(&back, &value, 4);
	}
	out[text_number__float(out, 0x3dcccccd, 4)] = 0;
	assert_string_equal(out, "0.1");
}

static void times_are_as_the_c_library_has_them(void **state)
{
	char out[TEXT_NUMBER_BYTES + 1], wanted[64];

	(void)state;
	for (int i = 0; i < 20000; i++) {
		uint64_t filetime = random_u64() % 2650467744000000000ull; /* 10000-01-01 */
		time_t seconds = (time_t)(filetime / 10000000) - 11644473600;
		struct tm tm;

		gmtime_r(&seconds, &tm);
		snprintf(wanted, sizeof(wanted), "%04d-%02d-%02dT%02d:%02d:%02d.%07" PRIu64 "Z",
			 tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min,
			 tm.tm_sec, filetime % 10000000);
		out[text_number__time(out, filetime)] = 0;
		assert_string_equal(out, wanted);
	}
}

/* ---- malformed -------------------------------------------------------------------------------------- */

static void a_description_that_is_cut_or_lies_is_refused_or_shortened(void **state)
{
	struct coreclr_layout layout;
	struct bytes blob, payload, deep;

	(void)state;
	all_types(&blob, &payload, 1);
	for (uint32_t len = 0; len < blob.len; len++) {
		uint8_t *exact = malloc(len ? len : 1);

		memcpy(exact, blob.data, len);
		memory_used = 0;
		assert_int_equal(coreclr_layout__parse(exact, len, take, &layout), -EPROTO);
		free(exact);
	}
	head(&deep, "x", 1);
	for (unsigned i = 0; i < 9; i++) {
		u(&deep, CORECLR_OBJECT, 4);
		u(&deep, 1, 4);
	}
	assert_int_equal(coreclr_layout__parse(deep.data, deep.len, take, &layout), -EPROTO);
	head(&blob, "x", 3);
	field(&blob, CORECLR_I32, "a");
	u(&blob, 99, 4); /* no such type */
	assert_int_equal(coreclr_layout__parse(blob.data, blob.len, take, &layout), 0);
	assert_int_equal(layout.cnt, 1);
	head(&blob, "x", 2);
	field(&blob, CORECLR_I32, "a");
	u(&blob, CORECLR_ARRAY, 4); /* of objects with nothing in them */
	u(&blob, CORECLR_OBJECT, 4);
	u(&blob, 0, 4);
	wide(&blob, "b");
	assert_int_equal(coreclr_layout__parse(blob.data, blob.len, take, &layout), 0);
	assert_int_equal(layout.cnt, 1);
	head(&blob, "x", 400);
	for (unsigned i = 0; i < 400; i++)
		field(&blob, CORECLR_U8, "a");
	memory_used = 0;
	assert_int_equal(coreclr_layout__parse(blob.data, blob.len, take, &layout), 0);
	assert_int_equal(layout.cnt, CORECLR_FIELD_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_type_is_as_tapir_decodes_it),
		cmocka_unit_test(nested_objects_and_arrays_are_as_tapir_decodes_them),
		cmocka_unit_test(a_thousand_descriptions_by_chance_are_as_tapir_decodes_them),
		cmocka_unit_test(json_is_complete_when_the_payload_is_not),
		cmocka_unit_test(json_says_so_when_it_finds_no_room),
		cmocka_unit_test(fields_are_reported_with_their_types_and_names),
		cmocka_unit_test(doubles_are_short_and_read_back_the_same),
		cmocka_unit_test(times_are_as_the_c_library_has_them),
		cmocka_unit_test(a_description_that_is_cut_or_lies_is_refused_or_shortened),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
