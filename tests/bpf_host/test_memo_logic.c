// SPDX-License-Identifier: GPL-2.0-or-later
/* When a kernel stack is taken for the one that was walked before: stacks that are built here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "bpf/memo_logic.bpf.h"

#define TEXT(n) (0xffffffff81000000ull + 0x1230 * (n))
#define FRAMES	4u
#define WORDS	64u

static const uint64_t frames[FRAMES] = {TEXT(1), TEXT(2), TEXT(3), TEXT(4)};
static const uint32_t places[FRAMES] = {5, 11, 20, 40};
static uint64_t stack[TAPIR_MEMO_WORDS];
static struct tapir_memo memo;

static int setup(void **state)
{
	(void)state;
	memset(stack, 0, sizeof(stack));
	memset(&memo, 0, sizeof(memo));
	for (uint32_t i = 0; i < FRAMES; i++)
		stack[places[i]] = frames[i];
	return 0;
}

/* As learn_stack of kernel_memo.bpf.h; how many frames were found. */
static uint32_t learn(struct tapir_memo_search *search)
{
	memo.slot_cnt = 0;
	*search = (struct tapir_memo_search){.low_va = UINT64_MAX};
	for (uint32_t i = 0; i < FRAMES; i++)
		tapir_memo__look_for(search, frames[i]);
	for (uint32_t i = 0; i < WORDS; i++)
		tapir_memo__learn(&memo, search, i, stack[i],
				  search->found_cnt < FRAMES ? frames[search->found_cnt] : 0);
	return search->found_cnt;
}

static void keep(void)
{
	uint64_t kept = 0;

	for (uint32_t i = 0; i < memo.slot_cnt; i++)
		kept = tapir_memo__keep(&memo, i, kept, stack);
	memo.slot_cnt = (uint32_t)kept;
}

static void stack_matches_whatever_its_data_are(void **state)
{
	struct tapir_memo_search search;

	(void)state;
	assert_int_equal(learn(&search), FRAMES);
	assert_int_equal(memo.slot_cnt, FRAMES);
	assert_int_equal(memo.word_cnt, places[FRAMES - 1] + 1);
	assert_true(tapir_memo__matches(&memo, stack));
	for (uint32_t i = 0; i < WORDS; i++)
		if (!stack[i])
			stack[i] = 0x5555 * i;
	assert_true(tapir_memo__matches(&memo, stack));
}

static void stack_differs_when_any_frame_does(void **state)
{
	struct tapir_memo_search search;

	(void)state;
	learn(&search);
	for (uint32_t i = 0; i < FRAMES; i++) {
		stack[places[i]] = TEXT(9);
		assert_false(tapir_memo__matches(&memo, stack));
		stack[places[i]] = 0;
		assert_false(tapir_memo__matches(&memo, stack));
		stack[places[i]] = frames[i];
	}
	assert_true(tapir_memo__matches(&memo, stack));
}

/* What an earlier call left is held until it changes; the frames' own places are held for ever. */
static void leftovers_are_let_go_at_the_next_walk(void **state)
{
	struct tapir_memo_search search;

	(void)state;
	stack[3] = frames[2];
	stack[15] = frames[0];
	assert_int_equal(learn(&search), FRAMES);
	assert_int_equal(memo.slot_cnt, FRAMES + 2);
	stack[15] = 7;
	assert_false(tapir_memo__matches(&memo, stack));
	keep();
	assert_int_equal(memo.slot_cnt, FRAMES + 1);
	assert_true(tapir_memo__matches(&memo, stack));
	stack[3] = 7;
	keep();
	assert_int_equal(memo.slot_cnt, FRAMES);
	for (uint32_t i = 0; i < FRAMES; i++)
		assert_int_equal(memo.slots[i], places[i]);
}

/* A return probe replaces the address on the stack; the walk reports the one it had. */
static void nothing_is_learned_when_a_frame_is_not_on_the_stack(void **state)
{
	struct tapir_memo_search search;

	(void)state;
	stack[places[1]] = TEXT(77);
	assert_true(learn(&search) < FRAMES);
}

static void full_when_there_are_more_places_than_slots(void **state)
{
	struct tapir_memo_search search;

	(void)state;
	for (uint32_t i = 0; i < WORDS; i++)
		stack[i] = frames[i % FRAMES];
	learn(&search);
	assert_int_equal(search.is_full, 1);
	assert_int_equal(memo.slot_cnt, TAPIR_MEMO_SLOTS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(stack_matches_whatever_its_data_are, setup),
		cmocka_unit_test_setup(stack_differs_when_any_frame_does, setup),
		cmocka_unit_test_setup(leftovers_are_let_go_at_the_next_walk, setup),
		cmocka_unit_test_setup(nothing_is_learned_when_a_frame_is_not_on_the_stack, setup),
		cmocka_unit_test_setup(full_when_there_are_more_places_than_slots, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
