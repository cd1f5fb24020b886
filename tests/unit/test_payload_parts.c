// SPDX-License-Identifier: GPL-2.0-or-later
/* include/tapir/payload_parts.h: fields of payloads, whole, cut at each byte, and with counts that
 * cannot be. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <stdlib.h>

#include "tapir/payload_parts.h"

#define ONE(name, type)                                                                            \
	{                                                                                          \
		name, NULL, 0, 0, TAPIR_TYPE_##type, TAPIR_REPEAT_NONE,                            \
		{                                                                                  \
			0, 0                                                                       \
		}                                                                                  \
	}
#define MANY(name, type, by)                                                                       \
	{                                                                                          \
		name, NULL, 0, 0, TAPIR_TYPE_##type, TAPIR_REPEAT_COUNT_##by,                      \
		{                                                                                  \
			0, 0                                                                       \
		}                                                                                  \
	}

static const struct tapir_event_field point[] = {ONE("X", I16), ONE("Name", UTF8)};
static const struct tapir_event_field fields[] = {
	ONE("Count", I32),
	ONE("Text", UTF8),
	ONE("Wide", UTF16),
	{"Points", point, 2, 0, TAPIR_TYPE_STRUCT, TAPIR_REPEAT_COUNT_FIELD, {0, 0}},
	MANY("Words", U32, U16),
	{"Fixed", NULL, 0, 3, TAPIR_TYPE_U8, TAPIR_REPEAT_COUNT_FIXED, {0, 0}},
	ONE("Last", U64),
};
#define FIELD_CNT (sizeof(fields) / sizeof(fields[0]))

static const struct tapir_event_about about = {"P", "E", fields, 0, 1, 0, 4, FIELD_CNT, 0, 0, {0}};

static const uint8_t whole[] = {
	2,   0,	  0,   0,			      /* Count */
	'h', 'i', 0,				      /* Text */
	'w', 0,	  0,   0,			      /* Wide */
	1,   0,	  'a', 0, 0xff, 0xff, 'b', 'c', 0,    /* Points */
	2,   0,	  1,   0, 0,	0,    9,   0,	0, 0, /* Words */
	7,   8,	  9,				      /* Fixed */
	1,   2,	  3,   4, 5,	6,    7,   8,	      /* Last */
};

static void each_field_is_found(void **state)
{
	static const struct {
		uint32_t at, bytes, cnt;
	} expected[FIELD_CNT] = {{0, 4, 1},  {4, 3, 1},	 {7, 4, 1}, {11, 9, 2},
				 {22, 8, 2}, {30, 3, 3}, {33, 8, 1}};
	struct tapir_payload_part parts[FIELD_CNT];

	(void)state;
	assert_int_equal(tapir_payload__locate(&about, whole, sizeof(whole), parts, FIELD_CNT),
			 FIELD_CNT);
	for (size_t i = 0; i < FIELD_CNT; i++) {
		assert_int_equal(parts[i].at - whole, expected[i].at);
		assert_int_equal(parts[i].bytes, expected[i].bytes);
		assert_int_equal(parts[i].cnt, expected[i].cnt);
	}
	assert_string_equal(tapir_part__text8(&parts[1]), "hi");
	assert_true(tapir_part__number(&parts[6]) == 0x0807060504030201ull);
	assert_int_equal(tapir_payload__locate(&about, whole, sizeof(whole), parts, 2), 2);
}

/* Each in memory of its own size: a sanitizer sees what is read beyond. */
static void a_cut_payload_has_the_fields_before_the_cut(void **state)
{
	static const uint32_t ends[FIELD_CNT] = {4, 7, 11, 20, 30, 33, 41};

	(void)state;
	for (uint32_t bytes = 0; bytes < sizeof(whole); bytes++) {
		struct tapir_payload_part parts[FIELD_CNT];
		uint8_t *cut = malloc(bytes ? bytes : 1);
		uint32_t expected = 0;

		memcpy(cut, whole, bytes);
		while (ends[expected] <= bytes)
			expected++;
		assert_int_equal(tapir_payload__locate(&about, cut, bytes, parts, FIELD_CNT),
				 expected);
		free(cut);
	}
}

static void counts_that_cannot_be_end_the_payload(void **state)
{
	static const int32_t counts[] = {-1, INT32_MIN, INT32_MAX, 70000};
	struct tapir_payload_part parts[FIELD_CNT];
	uint8_t payload[sizeof(whole)];

	(void)state;
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		memcpy(payload, whole, sizeof(whole));
		memcpy(payload, &counts[i], sizeof(counts[i]));
		assert_true(tapir_payload__locate(&about, payload, sizeof(payload), parts,
						  FIELD_CNT) == 3);
	}
	memcpy(payload, whole, sizeof(whole));
	payload[20] = payload[21] = 0xff; /* words */
	assert_int_equal(tapir_payload__locate(&about, payload, sizeof(payload), parts, FIELD_CNT),
			 4);
}

/* An empty structure takes no byte: as many as one likes would take for ever. */
static void elements_without_bytes_are_refused(void **state)
{
	static const struct tapir_event_field nothing[] = {
		{"F", NULL, 0, 0, TAPIR_TYPE_U8, TAPIR_REPEAT_COUNT_FIXED, {0, 0}}};
	static const struct tapir_event_field list[] = {
		ONE("n", U32),
		{"s", nothing, 1, 0, TAPIR_TYPE_STRUCT, TAPIR_REPEAT_COUNT_FIELD, {0, 0}}};
	static const struct tapir_event_about empty = {"P", "E", list, 0, 1, 0, 4, 2, 0, 0, {0}};
	const uint8_t payload[] = {0xff, 0xff, 0xff, 0xff};
	struct tapir_payload_part parts[2];

	(void)state;
	assert_int_equal(tapir_payload__locate(&empty, payload, 4, parts, 2), 1);
}

static void texts_become_utf8_and_are_cut_at_a_character(void **state)
{
	static const struct {
		uint16_t units[8];
		uint32_t cnt;
		const char *text;
	} cases[] = {
		{{'a', 0xe9, 0x20ac, 0}, 4, "a\u00e9\u20ac"},
		{{0xd83d, 0xde00, 0}, 3, "\U0001F600"},
		{{0xd83d, 'x', 0}, 3, "\ufffdx"},
		{{0xdc00, 0}, 2, "\ufffd"},
		{{'a', 'b'}, 2, "ab"}, /* without a NUL */
		{{'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'}, 8, "abcde..."},
		{{0}, 0, ""},
	};
	char text[12];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct tapir_payload_part part = {(const uint8_t *)cases[i].units,
							cases[i].cnt * 2, 1};

		tapir_part__text16(&part, text, sizeof(text));
		assert_string_equal(text, cases[i].text);
	}
}

static void parts_that_are_missing_are_zero(void **state)
{
	const struct tapir_payload_part none = {NULL, 0, 0}, half = {whole + 33, 2, 1};
	char id[37];

	(void)state;
	assert_int_equal(tapir_part__number(&none), 0);
	assert_int_equal(tapir_part__number(&half), 0x0201);
	assert_string_equal(tapir_part__text8(&none), "");
	tapir_part__guid(&none, id);
	assert_string_equal(id, "00000000-0000-0000-0000-000000000000");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_field_is_found),
		cmocka_unit_test(a_cut_payload_has_the_fields_before_the_cut),
		cmocka_unit_test(counts_that_cannot_be_end_the_payload),
		cmocka_unit_test(elements_without_bytes_are_refused),
		cmocka_unit_test(texts_become_utf8_and_are_cut_at_a_character),
		cmocka_unit_test(parts_that_are_missing_are_zero),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
