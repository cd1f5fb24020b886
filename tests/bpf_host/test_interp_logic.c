// SPDX-License-Identifier: GPL-2.0-or-later
/* Frames of an interpreter are built here, well-formed and hostile ones, and read back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "bpf/interp_logic.bpf.h"

#define CODE 0x7f0000001000ull

static struct tapir_interp_list list;

static int setup(void **state)
{
	(void)state;
	memset(&list, 0, sizeof(list));
	return 0;
}

static void words_of_a_frame_are_where_the_data_says(void **state)
{
	/* The layout of CPython 3.12: the owner is the byte at 70. */
	const struct tapir_interp how = {.previous = 8,
					 .last = 70,
					 .last_mask = 0xff,
					 .last_value = 3,
					 .flags = TAPIR_INTERP_LAST_IS_BARE};
	uint64_t words[TAPIR_INTERP_WORDS] = {CODE | 1, 0x1234, [8] = 3ull << 48 | 7};

	(void)state;
	assert_int_equal(tapir_interp__word(words, how.previous), 0x1234);
	assert_true(tapir_interp__is_last(&how, words));
	assert_int_equal(tapir_interp__code(&how, words, 1), 0);
	assert_int_equal(tapir_interp__code(&how, words, 0), CODE); /* without its tag */
	words[8] = 3;						    /* another byte */
	assert_false(tapir_interp__is_last(&how, words));
}

static void data_beyond_a_frame_reads_none_of_it(void **state)
{
	const struct tapir_interp how = {
		.code = UINT16_MAX, .last = UINT16_MAX, .last_mask = 0xff, .last_value = 1};
	const uint64_t words[TAPIR_INTERP_WORDS] = {};

	(void)state;
	assert_int_equal(tapir_interp__word(words, UINT16_MAX), 0);
	assert_false(tapir_interp__is_last(&how, words));
	assert_int_equal(tapir_interp__code(&how, words, 0), 0);
}

static void what_cannot_be_an_address_is_no_function(void **state)
{
	const struct tapir_interp how = {};
	uint64_t words[TAPIR_INTERP_WORDS] = {7};

	(void)state;
	assert_int_equal(tapir_interp__code(&how, words, 0), 0);
	words[0] = UINT64_MAX;
	assert_int_equal(tapir_interp__code(&how, words, 0), 0);
}

static void frame_without_a_function_ends_those_before_it(void **state)
{
	(void)state;
	tapir_interp__add(&list, 0, 0, 1); /* there are none */
	assert_int_equal(list.cnt, 0);
	tapir_interp__add(&list, CODE, 0x50, 0);
	tapir_interp__add(&list, CODE + 8, 0x60, 0);
	tapir_interp__add(&list, 0, 0, 1);
	tapir_interp__add(&list, 0, 0, 1); /* 3.15 ends in two */
	assert_int_equal(list.cnt, 2);
	assert_int_equal(list.frames[0].cookie, 0x50);
	assert_int_equal(list.frames[1].cookie, 0x60 | TAPIR_INTERP_FRAME_LAST);
}

static uint64_t id_of(uint64_t va, uint64_t cookie, int is_last)
{
	memset(&list, 0, sizeof(list));
	tapir_interp__add(&list, CODE, 0x40, 0);
	tapir_interp__add(&list, va, cookie, is_last);
	return tapir_interp__stack_id(list.stack_id, 17);
}

static void stacks_differ_by_functions_cookies_and_calls(void **state)
{
	uint64_t id = id_of(CODE + 8, 0x50, 0);

	(void)state;
	assert_int_equal(id, id_of(CODE + 8, 0x50, 0));
	assert_int_not_equal(id, id_of(CODE + 16, 0x50, 0));
	assert_int_not_equal(id, id_of(CODE + 8, 0x58, 0));
	assert_int_not_equal(id, id_of(CODE + 8, 0x50, 1));
	assert_int_not_equal(id, tapir_interp__stack_id(list.stack_id, 18));
}

static void full_list_stays_in_its_bounds(void **state)
{
	struct {
		struct tapir_interp_list list;
		uint64_t behind;
	} full = {.behind = 4711};

	(void)state;
	for (unsigned i = 0; i < 3 * TAPIR_INTERP_FRAMES; i++)
		tapir_interp__add(&full.list, CODE + 8 * i, i, i & 1);
	assert_int_equal(full.behind, 4711);
}

static void environments_are_known_by_their_flags(void **state)
{
	static const struct {
		uint64_t flags;
		enum tapir_interp_env env;
	} cases[] = {
		{0x11110003, TAPIR_INTERP_ENV_METHOD},	   {0x222201e1, TAPIR_INTERP_ENV_METHOD},
		{0x33330023, TAPIR_INTERP_ENV_METHOD},	   {0x44440023, TAPIR_INTERP_ENV_METHOD},
		{0x77770021, TAPIR_INTERP_ENV_METHOD},	   {0x78880021, TAPIR_INTERP_ENV_METHOD},
		{0x55550083, TAPIR_INTERP_ENV_C},	   {0x66660081, TAPIR_INTERP_ENV_BARE},
		{0x799900a3, TAPIR_INTERP_ENV_OUTERMOST},  {0, TAPIR_INTERP_ENV_UNKNOWN},
		{0x11110002, TAPIR_INTERP_ENV_UNKNOWN},	   {UINT64_MAX, TAPIR_INTERP_ENV_UNKNOWN},
		{0x7f0011110001, TAPIR_INTERP_ENV_METHOD}, {0x12110001, TAPIR_INTERP_ENV_UNKNOWN},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_int_equal(tapir_interp__env(cases[i].flags), cases[i].env);
}

static void array_has_its_innermost_frame_in_it(void **state)
{
	uint64_t words[TAPIR_INTERP_WORDS] = {CODE, 0x1000, CODE + 0x7fc0};

	(void)state;
	assert_int_equal(tapir_interp__array_end(words), CODE + 0x8000);
	words[2] = CODE + 0x8000;
	assert_int_equal(tapir_interp__array_end(words), 0);
	words[2] = CODE - 8;
	assert_int_equal(tapir_interp__array_end(words), 0);
	words[2] = CODE + 4;
	assert_int_equal(tapir_interp__array_end(words), 0);
	words[2] = CODE + 8;
	words[1] = UINT64_MAX;
	assert_int_equal(tapir_interp__array_end(words), 0);
	words[1] = TAPIR_INTERP_ARRAY_WORDS + 1;
	assert_int_equal(tapir_interp__array_end(words), 0);
	words[1] = 0x1000;
	words[0] = words[2] = 0;
	assert_int_equal(tapir_interp__array_end(words), 0);
}

static void owner_is_no_part_of_the_id(void **state)
{
	uint64_t id = id_of(CODE + 8, 0x50, 0);

	(void)state;
	tapir_interp__set_owner(&list, CODE + 0x100);
	assert_int_equal(list.frames[1].owner, CODE + 0x100);
	assert_int_equal(tapir_interp__stack_id(list.stack_id, 17), id);
	list.cnt = 0; /* there is none to have it */
	tapir_interp__set_owner(&list, CODE);
	tapir_interp__add(&list, CODE, 0x40, 0);
	assert_int_equal(list.frames[0].owner, 0);
}

static void methods_differ_by_each_thing_that_is_read_of_them(void **state)
{
	const uint64_t hash = tapir_interp__method_hash(CODE, 3, CODE + 8, 5);

	(void)state;
	assert_true(tapir_interp__method_hash(CODE + 8, 3, CODE + 8, 5) != hash);
	assert_true(tapir_interp__method_hash(CODE, 4, CODE + 8, 5) != hash);
	assert_true(tapir_interp__method_hash(CODE, 3, CODE + 16, 5) != hash);
	assert_true(tapir_interp__method_hash(CODE, 3, CODE + 8, 0) != hash);
	assert_true(tapir_interp__indexed(hash, 7) >> TAPIR_INTERP_IDX_BITS ==
		    tapir_interp__indexed(hash, TAPIR_MAX_FRAMES) >> TAPIR_INTERP_IDX_BITS);
	assert_int_equal(tapir_interp__indexed(hash, TAPIR_MAX_FRAMES) &
				 ((1u << TAPIR_INTERP_IDX_BITS) - 1),
			 TAPIR_MAX_FRAMES << TAPIR_INTERP_IDX_SHIFT);
}

static void addresses_that_no_structure_can_have_are_refused(void **state)
{
	static const uint64_t wrong[] = {0, 8, CODE + 1, CODE + 4, 1ull << 56, UINT64_MAX - 7};

	(void)state;
	assert_true(tapir_interp__is_metadata(CODE));
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		assert_false(tapir_interp__is_metadata(wrong[i]));
}

static void records_have_room_for_all_frames(void **state)
{
	struct tapir_rec_stack stack = {.frame_cnt = TAPIR_FRAMES};

	(void)state;
	assert_int_equal(
		tapir_interp__record_bytes(tapir_interp__room(&stack), TAPIR_INTERP_FRAMES),
		sizeof(struct tapir_rec_interp_stack));
	stack.frame_cnt++;
	assert_int_equal(tapir_interp__room(&stack), TAPIR_MAX_FRAMES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(words_of_a_frame_are_where_the_data_says, setup),
		cmocka_unit_test_setup(data_beyond_a_frame_reads_none_of_it, setup),
		cmocka_unit_test_setup(what_cannot_be_an_address_is_no_function, setup),
		cmocka_unit_test_setup(frame_without_a_function_ends_those_before_it, setup),
		cmocka_unit_test_setup(stacks_differ_by_functions_cookies_and_calls, setup),
		cmocka_unit_test_setup(full_list_stays_in_its_bounds, setup),
		cmocka_unit_test_setup(environments_are_known_by_their_flags, setup),
		cmocka_unit_test_setup(array_has_its_innermost_frame_in_it, setup),
		cmocka_unit_test_setup(owner_is_no_part_of_the_id, setup),
		cmocka_unit_test_setup(methods_differ_by_each_thing_that_is_read_of_them, setup),
		cmocka_unit_test_setup(addresses_that_no_structure_can_have_are_refused, setup),
		cmocka_unit_test_setup(records_have_room_for_all_frames, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
