// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The functions of a made-up V8, with the offsets of Node 20 and of Node 24: what is right, what
 * moved, and what is not right.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bpf/interp_logic.bpf.h"
#include "fake_memory.h"
#include "runtime/v8/v8_functions.h"

enum {
	MAP = MEMORY_VA, /* 0x10 each, by type */
	FUNCTION = MEMORY_VA + 0x4000,
	SCOPE = MEMORY_VA + 0x4100,
	SCRIPT = MEMORY_VA + 0x4800,
	TEXT = MEMORY_VA + 0x5000, /* 0x200 each */
	TYPE_FUNCTION = 262,
	TYPE_SCOPE = 261,
	TYPE_SCRIPT = 167,
	TYPE_OTHER = 300,
	ONE_BYTE = 8,
	TWO_BYTE = 0,
	IN_PIECES = 1,
	OUTSIDE = 2,
	CUT_OUT = 3,
	MOVED = 5,
};

static const struct tapir_v8 node_20 = {.constants = {
						[TAPIR_V8_SHARED] = 24,
						[TAPIR_V8_NAME] = 16,
						[TAPIR_V8_SCRIPT] = 32,
						[TAPIR_V8_SCRIPT_SOURCE] = 8,
						[TAPIR_V8_SCRIPT_NAME] = 16,
						[TAPIR_V8_MAP_TYPE] = 12,
						[TAPIR_V8_STRING_LENGTH] = 12,
						[TAPIR_V8_CONS_FIRST] = 16,
						[TAPIR_V8_CONS_SECOND] = 24,
						[TAPIR_V8_THIN_ACTUAL] = 16,
						[TAPIR_V8_SLICED_PARENT] = 16,
						[TAPIR_V8_SLICED_OFFSET] = 24,
						[TAPIR_V8_EXTERNAL_RESOURCE] = 16,
						[TAPIR_V8_CHARS] = 16,
						[TAPIR_V8_TYPE_FUNCTION] = TYPE_FUNCTION,
						[TAPIR_V8_TYPE_SCOPE] = TYPE_SCOPE,
						[TAPIR_V8_TYPE_SCRIPT] = TYPE_SCRIPT,
						[TAPIR_V8_FIRST_NO_STRING] = 128,
						[TAPIR_V8_FIRST_VARIABLES] = 3,
						[TAPIR_V8_LOCALS] = 2,
						[TAPIR_V8_FP_FUNCTION] = -16,
						[TAPIR_V8_FP_CONTEXT] = -8,
						[TAPIR_V8_SMALL_SHIFT] = 31,
						[TAPIR_V8_OBJECT_TAG] = 1,
					}};

static struct fake_memory memory;
static struct tapir_v8 v8;

static void put(uint64_t va, uint64_t value)
{
	fake_memory__put(&memory, va, value);
}

static uint64_t small(uint32_t value)
{
	return (uint64_t)value << 32;
}

static uint64_t object(uint64_t va, uint16_t type)
{
	uint64_t map = MAP + 0x10ull * type;

	fake_memory__put32(&memory, map + 12, type);
	put(va, map + 1);
	return va + 1;
}

static uint64_t string(unsigned idx, uint16_t type, uint32_t len)
{
	uint64_t va = TEXT + 0x200ull * idx;

	object(va, type);
	fake_memory__put32(&memory, va + 12, len);
	return va + 1;
}

static uint64_t text(unsigned idx, const char *chars)
{
	uint64_t text = string(idx, ONE_BYTE, (uint32_t)strlen(chars));

	memcpy(memory.bytes + (text - 1 + 16 - MEMORY_VA), chars, strlen(chars));
	return text;
}

/* "draw", in the second line of its script, from the 5th character on. */
static void add_function(void)
{
	const int32_t *c = v8.constants;
	bool is_early = c[TAPIR_V8_FIRST_VARIABLES] == 5;

	object(FUNCTION, TYPE_FUNCTION);
	put(FUNCTION + (unsigned)c[TAPIR_V8_NAME], object(SCOPE, TYPE_SCOPE));
	put(FUNCTION + (unsigned)c[TAPIR_V8_SCRIPT], object(SCRIPT, TYPE_SCRIPT));
	put(SCRIPT + 8, text(0, "one();\nabcd(){}\n"));
	put(SCRIPT + 16, text(1, "/srv/shop.js"));
	put(SCOPE + 8 + 16, small(0)); /* context locals */
	for (unsigned i = 0; is_early && i < 2; i++)
		put(SCOPE + 8 + 8 * (3 + i), small(11 + 4 * i));
	put(SCOPE + 8 + 8 * (is_early ? 5 : 3), text(2, "draw"));
	put(SCOPE + 8 + 8 * (is_early ? 6 : 4), small(0));
	for (unsigned i = 0; !is_early && i < 2; i++)
		put(SCOPE + 8 + 8 * (5 + i), small(11 + 4 * i));
}

static int setup(void **state)
{
	(void)state;
	memory = (struct fake_memory){.size = MEMORY_BYTES};
	v8 = node_20;
	add_function();
	return 0;
}

static uint64_t cookie(void)
{
	uint64_t words[TAPIR_INTERP_WORDS] = {};
	struct tapir_interp how;

	tapir_v8__interp(&v8, &how);
	memcpy(words, memory.bytes + (FUNCTION - MEMORY_VA), TAPIR_INTERP_FRAME_BYTES);
	return tapir_interp__slot_cookie(&how, words, 7);
}

static void is_named(uint64_t cookie, const char *expected)
{
	const struct tapir_process_memory source = fake_memory__of(&memory);
	struct tapir_str name = {};
	bool is = tapir_v8__add_name(&v8, &source, FUNCTION, cookie, &name);

	assert_int_equal(is, expected != NULL);
	if (is)
		assert_string_equal(name.data, expected);
	tapir_str__fini(&name);
}

static void name_is(uint64_t name, const char *expected)
{
	put(SCOPE + 8 + 24, name);
	is_named(cookie(), expected);
}

/* ---- what is right -------------------------------------------------------------------------- */

static void function_has_name_script_line_and_column(void **state)
{
	(void)state;
	is_named(cookie(), "draw /srv/shop.js:2:5");
}

static void positions_of_v8_13_are_before_the_names(void **state)
{
	(void)state;
	v8.constants[TAPIR_V8_NAME] = 24;
	v8.constants[TAPIR_V8_SCRIPT] = 40;
	v8.constants[TAPIR_V8_FIRST_VARIABLES] = 5;
	add_function();
	is_named(cookie(), "draw /srv/shop.js:2:5");
}

static void names_are_behind_those_of_locals(void **state)
{
	(void)state;
	put(SCOPE + 8 + 16, small(2));
	for (unsigned i = 0; i < 2; i++) {
		put(SCOPE + 8 + 24 + 8 * i, text(3 + i, "local"));
		put(SCOPE + 8 + 40 + 8 * i, small(1));
	}
	put(SCOPE + 8 + 56, text(2, "draw"));
	put(SCOPE + 8 + 64, small(0));
	put(SCOPE + 8 + 72, small(11));
	put(SCOPE + 8 + 80, small(15));
	is_named(cookie(), "draw /srv/shop.js:2:5");
}

static void function_without_a_name_has_the_inferred_one_or_none(void **state)
{
	uint64_t empty = text(3, ""), inferred = text(4, "shop.draw");

	(void)state;
	put(SCOPE + 8 + 24, inferred);
	put(SCOPE + 8 + 32, small(11));
	put(SCOPE + 8 + 40, small(15));
	put(SCOPE + 8 + 48, SCRIPT + 1);
	is_named(cookie(), "shop.draw /srv/shop.js:2:5");
	put(SCOPE + 8 + 24, empty);
	put(SCOPE + 8 + 32, small(0));
	put(SCOPE + 8 + 40, inferred);
	put(SCOPE + 8 + 48, small(11));
	put(SCOPE + 8 + 56, small(15));
	is_named(cookie(), "shop.draw /srv/shop.js:2:5");
	for (unsigned i = 0; i < 2; i++) {
		put(SCOPE + 8 + 24 + 8 * i, small(11 + 4 * i));
		put(SCOPE + 8 + 40 + 8 * i, SCOPE + 1);
	}
	is_named(cookie(), "(anonymous) /srv/shop.js:2:5");
}

/* An inferred name that was never needed is no string. */
static void function_has_its_line_whatever_is_inferred(void **state)
{
	(void)state;
	put(SCOPE + 8 + 40, SCRIPT + 1);
	put(SCOPE + 8 + 48, small(11));
	put(SCOPE + 8 + 56, small(15));
	is_named(cookie(), "draw /srv/shop.js:2:5");
	put(SCOPE + 8 + 24, small(0)); /* a computed name */
	is_named(cookie(), "(anonymous) /srv/shop.js:2:5");
	put(SCOPE + 8 + 40, text(3, "Shop.<computed>"));
	is_named(cookie(), "Shop.<computed> /srv/shop.js:2:5");
	put(SCOPE + 8 + 24, SCRIPT + 1);
	put(SCOPE + 8 + 32, small(11));
	put(SCOPE + 8 + 40, small(15));
	put(SCOPE + 8 + 48, SCOPE + 1);
	is_named(cookie(), "(anonymous) /srv/shop.js:2:5");
}

static void script_without_a_file_is_called_as_v8_does(void **state)
{
	(void)state;
	put(SCRIPT + 16, small(0));
	is_named(cookie(), "draw <anonymous>:2:5");
}

static void name_that_is_not_compiled_yet_has_no_line(void **state)
{
	(void)state;
	put(FUNCTION + 16, text(2, "draw"));
	is_named(cookie(), "draw /srv/shop.js");
}

static void strings_of_all_forms_are_read(void **state)
{
	static const uint16_t wide[] = {0xe9, 0x63cf, 0xd83d, 0xde00};
	uint64_t parts, cut, moved, outside;

	(void)state;
	parts = string(3, IN_PIECES | ONE_BYTE, 8);
	put(parts - 1 + 16, text(4, "get "));
	put(parts - 1 + 24, text(5, "draw"));
	name_is(parts, "get draw /srv/shop.js:2:5");
	cut = string(6, CUT_OUT | ONE_BYTE, 4);
	put(cut - 1 + 16, text(7, "a draw of it"));
	put(cut - 1 + 24, small(2));
	name_is(cut, "draw /srv/shop.js:2:5");
	moved = string(8, MOVED | ONE_BYTE, 4);
	put(moved - 1 + 16, text(9, "draw"));
	name_is(moved, "draw /srv/shop.js:2:5");
	outside = string(10, OUTSIDE | ONE_BYTE, 4);
	put(outside - 1 + 24, text(11, "draw") - 1 + 16);
	name_is(outside, "draw /srv/shop.js:2:5");
	memcpy(memory.bytes + (string(12, TWO_BYTE, 4) - 1 + 16 - MEMORY_VA), wide, sizeof(wide));
	name_is(TEXT + 0x200ull * 12 + 1, "é描😀 /srv/shop.js:2:5");
}

/* ---- what is not ---------------------------------------------------------------------------- */

static void function_that_moved_has_no_name(void **state)
{
	uint64_t seen = cookie();

	(void)state;
	put(FUNCTION + 16, text(3, "other"));
	is_named(seen, NULL);
}

static void other_objects_have_no_name(void **state)
{
	(void)state;
	object(FUNCTION, TYPE_OTHER);
	is_named(cookie(), NULL);
	add_function();
	put(FUNCTION + 32, object(SCRIPT, TYPE_OTHER)); /* what is built in has no script */
	is_named(cookie(), NULL);
	add_function();
	object(SCOPE, TYPE_OTHER);
	is_named(cookie(), NULL);
	add_function();
	put(FUNCTION + 16, small(5));
	is_named(cookie(), NULL);
}

static void circles_end(void **state)
{
	uint64_t self = string(3, IN_PIECES | ONE_BYTE, 8);

	(void)state;
	put(self - 1 + 16, self);
	put(self - 1 + 24, self);
	name_is(self, NULL);
	self = string(3, MOVED | ONE_BYTE, 8);
	put(self - 1 + 16, self);
	name_is(self, NULL);
	self = string(3, CUT_OUT | ONE_BYTE, 8);
	put(self - 1 + 24, small(1));
	name_is(self, NULL);
	assert_true(memory.read_cnt < 5000);
}

static void lengths_that_lie_give_no_name(void **state)
{
	uint64_t cut;

	(void)state;
	name_is(string(85, ONE_BYTE, 1000) /* beyond the memory */, NULL);
	name_is(text(3, "dr\x1b[mw"), NULL);
	cut = string(6, CUT_OUT | ONE_BYTE, 4);
	put(cut - 1 + 16, text(7, "draw"));
	put(cut - 1 + 24, small(5));
	name_is(cut, NULL);
	put(SCOPE + 8 + 16, small(UINT32_MAX));
	is_named(cookie(), NULL);
}

static void source_that_is_shorter_gives_no_line(void **state)
{
	(void)state;
	put(SCRIPT + 8, text(0, "one();\n"));
	is_named(cookie(), "draw /srv/shop.js");
}

static void unknown_layouts_are_refused(void **state)
{
	(void)state;
	assert_true(tapir_v8__is_known(&v8));
	for (int i = 0; i < TAPIR_V8_CONSTANT_CNT; i++) {
		v8 = node_20;
		v8.constants[i] = 0;
		assert_false(tapir_v8__is_known(&v8));
	}
	v8 = node_20;
	v8.constants[TAPIR_V8_SMALL_SHIFT] = 0; /* compressed pointers */
	assert_false(tapir_v8__is_known(&v8));
	v8 = node_20;
	v8.constants[TAPIR_V8_SCRIPT] = TAPIR_INTERP_FRAME_BYTES;
	assert_false(tapir_v8__is_known(&v8));
}

static void constants_are_known_by_their_names_whatever_their_type(void **state)
{
	(void)state;
	assert_int_equal(tapir_v8__constant("class_SharedFunctionInfo__script__Tagged_HeapObject_"),
			 TAPIR_V8_SCRIPT);
	assert_int_equal(
		tapir_v8__constant("class_SharedFunctionInfo__script_or_debug_info__HeapObject"),
		TAPIR_V8_SCRIPT);
	assert_int_equal(tapir_v8__constant("class_Script__type__SMI"), TAPIR_V8_CONSTANT_CNT);
	assert_int_equal(tapir_v8__constant("HeapObjectTag"), TAPIR_V8_OBJECT_TAG);
	assert_int_equal(tapir_v8__constant("HeapObjectTagMask"), TAPIR_V8_CONSTANT_CNT);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup(name, setup)
	const struct CMUnitTest tests[] = {
		CASE(function_has_name_script_line_and_column),
		CASE(positions_of_v8_13_are_before_the_names),
		CASE(names_are_behind_those_of_locals),
		CASE(function_without_a_name_has_the_inferred_one_or_none),
		CASE(function_has_its_line_whatever_is_inferred),
		CASE(script_without_a_file_is_called_as_v8_does),
		CASE(name_that_is_not_compiled_yet_has_no_line),
		CASE(strings_of_all_forms_are_read),
		CASE(function_that_moved_has_no_name),
		CASE(other_objects_have_no_name),
		CASE(circles_end),
		CASE(lengths_that_lie_give_no_name),
		CASE(source_that_is_shorter_gives_no_line),
		CASE(unknown_layouts_are_refused),
		CASE(constants_are_known_by_their_names_whatever_their_type),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
