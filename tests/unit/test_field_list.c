// SPDX-License-Identifier: GPL-2.0-or-later
/* user/decode/field_list.h: METADATA of format 2, as libtapir writes it and as nobody should. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <errno.h>
#include <string.h>

#include "decode/field_list.h"
#include "decode/value.h"
#include "tapir/provider.h"

/* Counted array of structures, and what surrounds it. */
static const uint8_t good[] = {4,
			       0,
			       1,
			       0,
			       9,
			       0,
			       0,
			       0, /* four fields, opcode 1, task 9 */
			       TAPIR_TYPE_U16,
			       0,
			       0,
			       0,
			       0,
			       0,
			       1,
			       0,
			       'n', /* n */
			       TAPIR_TYPE_STRUCT,
			       TAPIR_REPEAT_COUNT_FIELD,
			       0,
			       0,
			       2,
			       0,
			       1,
			       0,
			       's',
			       TAPIR_TYPE_U8,
			       0,
			       0,
			       0,
			       0,
			       0,
			       1,
			       0,
			       'a', /* in s */
			       TAPIR_TYPE_UTF8,
			       0,
			       0,
			       0,
			       0,
			       0,
			       1,
			       0,
			       'b', /* in s */
			       TAPIR_TYPE_BINARY,
			       TAPIR_REPEAT_COUNT_U16,
			       0,
			       0,
			       0,
			       0,
			       1,
			       0,
			       'x',
			       TAPIR_TYPE_U32,
			       TAPIR_REPEAT_COUNT_FIXED,
			       2,
			       0,
			       0,
			       0,
			       1,
			       0,
			       'f'};

static void fields_are_read_with_what_is_in_them(void **state)
{
	const uint8_t payload[] = {2,	 0,    7, 'h', 'i', 0, 8, 0, 2, 0,
				   0xab, 0xcd, 1, 0,   0,   0, 2, 0, 0, 0};
	struct tapir_field_list *list;
	struct tapir_value values[8];
	struct tapir_str text = {};
	unsigned faults, cnt;

	(void)state;
	assert_int_equal(tapir_field_list__parse(good, sizeof(good), &list), 0);
	assert_int_equal(list->opcode, 1);
	assert_int_equal(list->task, 9);
	cnt = tapir_packed__decode(&list->layout, payload, sizeof(payload), values, 8, &faults);
	assert_int_equal(cnt, 4);
	assert_int_equal(faults, 0);
	for (unsigned i = 0; i < cnt; i++) {
		tapir_str__adds(&text, " ");
		tapir_value__add_json(&text, &values[i]);
	}
	assert_string_equal(text.data,
			    " 2 [{\"a\":7,\"b\":\"hi\"},{\"a\":8,\"b\":\"\"}] \"abcd\" [1,2]");
	tapir_str__fini(&text);
	tapir_field_list__free(list);
}

static void a_list_that_is_cut_anywhere_is_refused(void **state)
{
	uint8_t longer[sizeof(good) + 1];
	struct tapir_field_list *list;

	(void)state;
	for (size_t len = 0; len < sizeof(good); len++)
		assert_int_equal(tapir_field_list__parse(good, len, &list), -EINVAL);
	memcpy(longer, good, sizeof(good));
	longer[sizeof(good)] = 0;
	assert_int_equal(tapir_field_list__parse(longer, sizeof(longer), &list), -EINVAL);
}

static void nonsense_is_refused(void **state)
{
	static const struct {
		size_t at;
		uint8_t value;
	} cases[] = {
		{8, TAPIR_TYPE_CNT},	       /* no such type */
		{9, 5},			       /* no such repetition */
		{9, TAPIR_REPEAT_COUNT_FIELD}, /* counted by itself */
		{14, 0},		       /* no name */
		{8, TAPIR_TYPE_UTF8},	       /* text as a count */
		{19, 1},		       /* counted by itself */
		{21, 0},		       /* a structure of nothing */
		{30, 1},		       /* a number with members */
		{45, 0},		       /* bytes without a length */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct tapir_field_list *list;
		uint8_t bad[sizeof(good)];

		memcpy(bad, good, sizeof(bad));
		bad[cases[i].at] = cases[i].value;
		assert_int_equal(tapir_field_list__parse(bad, sizeof(bad), &list), -EINVAL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_are_read_with_what_is_in_them),
		cmocka_unit_test(a_list_that_is_cut_anywhere_is_refused),
		cmocka_unit_test(nonsense_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
