// SPDX-License-Identifier: GPL-2.0-or-later
/* Stacks live for two segments, are stored once, and what is dropped gives its memory back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "trace/stack_store.h"

#define FRAMES 30

static struct tapir_stack_store store;

static int teardown(void **state)
{
	(void)state;
	tapir_stack_store__fini(&store);
	return 0;
}

static void put(uint64_t id, uint64_t frame_va)
{
	struct {
		struct tapir_rec_stack rec;
		uint64_t frames_va[FRAMES];
	} s = {.rec = {.h = {.type = TAPIR_REC_STACK, .size = sizeof(s)},
		       .stack_id = id,
		       .frame_cnt = FRAMES}};

	for (unsigned i = 0; i < FRAMES; i++)
		s.frames_va[i] = frame_va + i;
	assert_int_equal(tapir_stack_store__put(&store, &s.rec), 0);
}

/* The address in its last frame; 0: it is not known, or not what was put. */
static uint64_t va_of(uint64_t id)
{
	const struct tapir_rec_stack *rec = tapir_stack_store__find(&store, id, NULL);
	const uint64_t *frames_va = rec ? (const uint64_t *)(rec + 1) : NULL;

	if (!rec || rec->stack_id != id || rec->frame_cnt != FRAMES)
		return 0;
	return frames_va[FRAMES - 1] == frames_va[0] + FRAMES - 1 ? frames_va[0] : 0;
}

static void stack_is_dropped_when_it_was_in_neither_of_two_segments(void **state)
{
	bool is_now = true;

	(void)state;
	assert_null(tapir_stack_store__find(&store, 7, &is_now));
	assert_false(is_now);
	put(7, 100);
	put(8, 200);
	tapir_stack_store__next_generation(&store);
	assert_non_null(tapir_stack_store__find(&store, 7, &is_now));
	assert_false(is_now);
	tapir_stack_store__keep(&store, 7);
	assert_non_null(tapir_stack_store__find(&store, 7, &is_now));
	assert_true(is_now);
	tapir_stack_store__next_generation(&store);
	assert_int_equal(va_of(7), 100);
	assert_int_equal(va_of(8), 0);
	tapir_stack_store__keep(&store, 8); /* it is unknown, which changes nothing */
	tapir_stack_store__next_generation(&store);
	assert_int_equal(va_of(7), 0);
}

static void newer_one_is_found_when_an_id_is_put_again(void **state)
{
	(void)state;
	put(7, 100);
	put(7, 101);
	assert_int_equal(va_of(7), 101);
	tapir_stack_store__next_generation(&store);
	put(7, 102);
	assert_int_equal(va_of(7), 102);
	assert_int_equal(store.cnt, 1);
}

#define MANY 40000u /* about ten blocks */

static void memory_is_that_of_one_segment_when_stacks_are_in_each(void **state)
{
	uint64_t bytes;

	(void)state;
	for (uint64_t id = 1; id <= MANY; id++)
		put(id, id);
	bytes = store.bytes;
	for (unsigned segment = 0; segment < 5; segment++) {
		tapir_stack_store__next_generation(&store);
		for (uint64_t id = 1; id <= MANY; id++)
			tapir_stack_store__keep(&store, id);
		assert_int_equal(store.bytes, bytes);
	}
	for (uint64_t id = 1; id <= MANY; id++)
		assert_int_equal(va_of(id), id);
}

/* Every third goes in each segment, and another one comes. */
static void what_remains_is_moved_when_most_of_it_goes(void **state)
{
	uint64_t bytes;

	(void)state;
	for (uint64_t id = 1; id <= MANY; id++)
		put(id, id);
	bytes = store.bytes;
	for (uint64_t segment = 1; segment <= 12; segment++) {
		tapir_stack_store__next_generation(&store);
		for (uint64_t id = 1; id <= MANY; id++)
			if (id % 3 == segment % 3)
				put(id + segment * MANY, id);
			else
				tapir_stack_store__keep(&store, id);
		assert_true(store.bytes <= bytes * 2);
		for (uint64_t id = 1; id <= MANY; id++)
			if (id % 3 == segment % 3)
				assert_int_equal(va_of(id + segment * MANY), id);
		for (uint64_t id = 1; id <= MANY; id++)
			if (segment == 1 || (segment == 2 && id % 3 == 0))
				assert_int_equal(va_of(id), id);
	}
	tapir_stack_store__next_generation(&store);
	tapir_stack_store__next_generation(&store);
	assert_int_equal(store.cnt, 0);
	assert_true(store.bytes < 2u << 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(stack_is_dropped_when_it_was_in_neither_of_two_segments,
					  teardown),
		cmocka_unit_test_teardown(newer_one_is_found_when_an_id_is_put_again, teardown),
		cmocka_unit_test_teardown(memory_is_that_of_one_segment_when_stacks_are_in_each,
					  teardown),
		cmocka_unit_test_teardown(what_remains_is_moved_when_most_of_it_goes, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
