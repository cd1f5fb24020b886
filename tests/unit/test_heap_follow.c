// SPDX-License-Identifier: GPL-2.0-or-later
/* Sampled objects through made-up collections: what moves, stays, is gone, and what is not known.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/str.h"
#include "heap/heap_events.h"
#include "heap/heap_follow.h"

#define BACKGROUND 1u

static struct tapir_heap_follow f;
static uint32_t gc_number;

static int setup(void **state)
{
	(void)state;
	f = (struct tapir_heap_follow){};
	gc_number = 0;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	tapir_heap_follow__fini(&f);
	return 0;
}

static void put(struct tapir_str *s, uint64_t value, unsigned bytes)
{
	tapir_str__add(s, (const char *)&value, bytes);
}

static void fire(uint16_t id, struct tapir_str *payload)
{
	tapir_heap_follow__event(&f, id, payload->data, payload->len);
	tapir_str__fini(payload);
}

static void begin(uint32_t generation, uint32_t type)
{
	struct tapir_str s = {};

	put(&s, ++gc_number, 4);
	put(&s, generation, 4);
	put(&s, 0, 4);
	put(&s, type, 4);
	put(&s, 0, 8);
	put(&s, 0, 2);
	fire(TAPIR_HEAP_GC_START, &s);
}

static void end_of(uint32_t number)
{
	struct tapir_str s = {};

	put(&s, number, 4);
	put(&s, 0, 6);
	fire(TAPIR_HEAP_GC_END, &s);
}

static void end(void)
{
	end_of(gc_number);
}

static void range(uint64_t from, uint64_t to, uint64_t bytes)
{
	struct tapir_str s = {};

	put(&s, 0, 4);
	put(&s, 1, 4);
	put(&s, 0, 2);
	put(&s, from, 8);
	if (from != to)
		put(&s, to, 8);
	put(&s, bytes, 8);
	fire(from == to ? TAPIR_HEAP_SURVIVED : TAPIR_HEAP_MOVED, &s);
}

static void generation(uint8_t number, uint64_t from, uint64_t bytes)
{
	struct tapir_str s = {};

	put(&s, number, 1);
	put(&s, from, 8);
	put(&s, bytes / 2, 8);
	put(&s, bytes, 8);
	put(&s, 0, 2);
	fire(TAPIR_HEAP_GENERATION, &s);
}

/* type_id: who it is in a test. */
static void allocate(uint64_t va, uint64_t type_id, bool is_small)
{
	tapir_heap_follow__add(
		&f, &(struct tapir_heap_sample){
			    .va = va, .type_id = type_id, .bytes = 100, .is_small = is_small});
}

/* 0: it is gone. */
static uint64_t where(uint64_t type_id)
{
	for (size_t i = 0; i < f.samples.cnt; i++)
		if (f.samples.data[i].type_id == type_id)
			return f.samples.data[i].va;
	return 0;
}

static void objects_move_stay_and_go(void **state)
{
	(void)state;
	allocate(0x1000, 1, true);
	allocate(0x1040, 2, true);
	allocate(0x1080, 3, true);
	begin(0, 0);
	range(0x1040, 0x800, 0x40);
	range(0x1080, 0x1080, 0x10);
	end();
	assert_int_equal(where(1), 0);
	assert_int_equal(where(2), 0x800);
	assert_int_equal(where(3), 0x1080);
	assert_int_equal(f.taken_cnt, 3);
	assert_int_equal(f.taken_bytes, 300);
}

/* Moves are of one moment: what comes to where another one was is not moved once more. */
static void moves_of_one_collection_are_not_chained(void **state)
{
	(void)state;
	allocate(0x1000, 1, true);
	allocate(0x2000, 2, true);
	begin(0, 0);
	range(0x1000, 0x2000, 0x100);
	range(0x2000, 0x3000, 0x100);
	end();
	assert_int_equal(where(1), 0x2000);
	assert_int_equal(where(2), 0x3000);
}

static void an_older_generation_is_not_reported_and_not_gone(void **state)
{
	(void)state;
	allocate(0x1000, 1, true);
	begin(0, 0);
	range(0x1000, 0x9000, 0x100);
	end();
	generation(1, 0x9000, 0x1000);
	begin(0, 0);
	end();
	assert_int_equal(where(1), 0x9000);
	begin(1, 0);
	end();
	assert_int_equal(where(1), 0);
}

static void an_unknown_generation_is_believed_until_all_is_collected(void **state)
{
	(void)state;
	allocate(0x1000, 1, true);
	begin(0, 0);
	range(0x1000, 0x9000, 0x100);
	end();
	begin(1, 0);
	end();
	assert_int_equal(where(1), 0x9000);
	begin(2, 0);
	end();
	assert_int_equal(where(1), 0);
}

/* ... unless something else was moved to where it was. */
static void what_is_overwritten_is_gone(void **state)
{
	(void)state;
	allocate(0x1000, 1, true);
	begin(0, 0);
	range(0x1000, 0x9000, 0x100);
	end();
	allocate(0x2000, 2, true);
	begin(0, 0);
	range(0x2000, 0x8f80, 0x100);
	end();
	assert_int_equal(where(1), 0);
	assert_int_equal(where(2), 0x8f80);
}

static void large_objects_go_with_the_oldest_generation_alone(void **state)
{
	(void)state;
	allocate(0x100000, 1, false);
	allocate(0x200000, 2, false);
	begin(1, 0);
	end();
	assert_int_equal(where(1), 0x100000);
	begin(2, 0);
	range(0x200000, 0x200000, 0x20000);
	end();
	assert_int_equal(where(1), 0);
	assert_int_equal(where(2), 0x200000);
}

static void an_object_at_the_address_of_another_replaces_it(void **state)
{
	(void)state;
	allocate(0x100000, 1, false);
	allocate(0x100000, 2, false);
	begin(2, 0);
	range(0x100000, 0x100000, 0x20000);
	end();
	assert_int_equal(where(1), 0);
	assert_int_equal(where(2), 0x100000);
}

/* It reports what it found alive when it began, and another collection may come in between. */
static void a_background_collection_ends_nothing(void **state)
{
	uint32_t background;

	(void)state;
	begin(2, BACKGROUND);
	background = gc_number;
	allocate(0x1000, 1, true);
	range(0x5000, 0x5000, 0x10);
	begin(0, 2);
	range(0x1000, 0x3000, 0x10);
	end();
	end_of(background);
	assert_int_equal(where(1), 0x3000);
}

/* ... but what was old then and is not in its report. */
static void a_background_collection_frees_what_was_old(void **state)
{
	uint32_t background;

	(void)state;
	allocate(0x100000, 1, false);
	allocate(0x200000, 2, false);
	begin(2, BACKGROUND);
	background = gc_number;
	generation(3, 0x100000, 0x200000);
	allocate(0x180000, 3, false);
	range(0x200000, 0x200000, 0x20000);
	end_of(background);
	assert_int_equal(where(1), 0);
	assert_int_equal(where(2), 0x200000);
	assert_int_equal(where(3), 0x180000);
}

/* The generations that are reported after the moves are of memory as it is then. */
static void generations_within_a_collection_wait_for_its_end(void **state)
{
	(void)state;
	allocate(0x1000, 1, true);
	begin(0, 0);
	generation(0, 0x1000, 0x1000);
	range(0x1800, 0x3000, 0x10);
	generation(2, 0x1000, 0x1000);
	end();
	assert_int_equal(where(1), 0);
}

static void malformed_events_are_counted(void **state)
{
	static const uint8_t bytes[40] = {1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff};
	static const struct {
		uint16_t id;
		size_t good_bytes;
	} events[] = {{TAPIR_HEAP_GC_START, 16},
		      {TAPIR_HEAP_GC_END, 4},
		      {TAPIR_HEAP_SURVIVED, 41},
		      {TAPIR_HEAP_MOVED, 41},
		      {TAPIR_HEAP_GENERATION, 25}};
	uint64_t bad = 0;

	(void)state;
	allocate(0x1000, 1, true);
	begin(0, 0);
	for (size_t e = 0; e < sizeof(events) / sizeof(*events); e++)
		for (size_t len = 0; len <= sizeof(bytes); len++) {
			tapir_heap_follow__event(&f, events[e].id, bytes, len);
			bad += len < events[e].good_bytes;
		}
	assert_int_equal(f.malformed_cnt, bad);
	tapir_heap_follow__event(&f, 9999, bytes, sizeof(bytes));
	assert_int_equal(f.malformed_cnt, bad);
}

/* A hostile process: ranges that overlap, each over all samples, end at the bound. */
static void steps_are_bounded(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 100000; i++)
		allocate(0x1000 + i, i + 1, true);
	begin(0, 0);
	for (unsigned i = 0; i < 2000 && !f.is_full; i++)
		range(0, 1, UINT64_MAX);
	assert_true(f.is_full);
	end();
}

static void more_samples_than_fit_are_noticed(void **state)
{
	(void)state;
	for (uint64_t i = 0; i <= TAPIR_HEAP_MAX_SAMPLES; i++)
		allocate(0x1000 + 8 * i, i + 1, true);
	assert_true(f.is_full);
	assert_int_equal(f.samples.cnt, TAPIR_HEAP_MAX_SAMPLES);
	assert_int_equal(f.taken_cnt, TAPIR_HEAP_MAX_SAMPLES + 1u);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(objects_move_stay_and_go),
		TEST(moves_of_one_collection_are_not_chained),
		TEST(an_older_generation_is_not_reported_and_not_gone),
		TEST(an_unknown_generation_is_believed_until_all_is_collected),
		TEST(what_is_overwritten_is_gone),
		TEST(large_objects_go_with_the_oldest_generation_alone),
		TEST(an_object_at_the_address_of_another_replaces_it),
		TEST(a_background_collection_ends_nothing),
		TEST(a_background_collection_frees_what_was_old),
		TEST(generations_within_a_collection_wait_for_its_end),
		TEST(malformed_events_are_counted),
		TEST(steps_are_bounded),
		TEST(more_samples_than_fit_are_noticed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
