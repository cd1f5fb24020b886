// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the report says of a heap of .NET that grows, or seems to.
 *
 * runtimes: dotnet
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "finding_case.h"

#define RUNTIME "Microsoft-Windows-DotNETRuntime"
#define MB	1000000u

enum { GC_START = 1, HEAP, BEGIN, END, FINALIZED };

static int setup(void **state)
{
	(void)state;
	if (finding_begin())
		return -1;
	finding_probe(GC_START, RUNTIME, "GCStart", (const char *const[]){"Count", "Depth", NULL});
	finding_probe(HEAP, RUNTIME, "GCHeapStats",
		      (const char *const[]){"GenerationSize0", "GenerationSize1", "GenerationSize2",
					    "GenerationSize3", "GenerationSize4", NULL});
	return finding_listen();
}

static void collect(uint64_t ms, uint64_t depth, const uint64_t megabytes[5])
{
	uint64_t bytes[5];

	for (unsigned i = 0; i < 5; i++)
		bytes[i] = megabytes[i] * MB;
	finding_fire(GC_START, ms, 0, (const uint64_t[]){ms, depth}, 2);
	finding_fire(HEAP, ms + 5, 0, bytes, 5);
}

static bool is_said_to_grow(void)
{
	const struct tapir_finding *row;

	tapir_vec_for_each (row, &found.rows)
		if (row->kind == TAPIR_FINDING_HEAP)
			return true;
	return false;
}

/* What survives collections of gen 0 lies in gen 1 until that is collected, in a sound program,
 * too. */
static void gen_1_that_was_not_collected_does_not_grow(void **state)
{
	(void)state;
	feeder_come(&f, 99, 0, 0, 0);
	for (uint64_t i = 0; i < 5; i++)
		collect(i * 1000, 0, (const uint64_t[5]){0, 6 + 5 * i, 2});
	end_at(5000 * MS);
	assert_false(is_said_to_grow());
}

/* The collection before the first that is measured says nothing of what grew since. */
static void gen_1_collected_before_says_nothing(void **state)
{
	(void)state;
	feeder_come(&f, 99, 0, 0, 0);
	for (uint64_t i = 0; i < 5; i++)
		collect(i * 1000, !i, (const uint64_t[5]){0, 6 + 5 * i, 2});
	end_at(5000 * MS);
	assert_false(is_said_to_grow());
}

static void gen_1_grows_where_it_was_collected(void **state)
{
	(void)state;
	feeder_come(&f, 99, 0, 0, 0);
	for (uint64_t i = 0; i < 5; i++)
		collect(i * 1000, i == 3, (const uint64_t[5]){0, 6 + 5 * i, 2});
	end_at(5000 * MS);
	expect(TAPIR_FINDING_HEAP,
	       "the heap grows by 5.0 MB/s: 28.0 MB survive the last of 5 collections, 8.0 MB the first, "
	       "4.0 s before, most in gen 1");
}

/* Of older generations, without gen 1, whose rest has not been collected. */
static void older_generations_grow_by_themselves(void **state)
{
	(void)state;
	feeder_come(&f, 99, 0, 0, 0);
	for (uint64_t i = 0; i < 5; i++)
		collect(i * 1000, 0, (const uint64_t[5]){9, 6 + 50 * i, 2, 10 + 5 * i});
	end_at(5000 * MS);
	expect(TAPIR_FINDING_HEAP,
	       "the heap grows by 5.0 MB/s: 32.0 MB survive the last of 5 collections, 12.0 MB the first, "
	       "4.0 s before, most in large objects");
}

/* It ends high by chance. */
static void heap_that_falls_back_does_not_grow(void **state)
{
	static const uint64_t sizes[] = {10, 40, 40, 10, 40};

	(void)state;
	feeder_come(&f, 99, 0, 0, 0);
	for (uint64_t i = 0; i < 5; i++)
		collect(i * 1000, 1, (const uint64_t[5]){0, 2, sizes[i]});
	end_at(5000 * MS);
	assert_false(is_said_to_grow());
}

/* A collection on the thread that allocates looks like that thread's work. */
static void share_of_the_collectors_threads_is_a_lower_limit(void **state)
{
	(void)state;
	feeder_thread(&f, 98, ".NET BGC");
	feeder_thread(&f, 99, "server-0");
	feeder_come(&f, 99, 0, 0, 0);
	for (uint64_t i = 0; i < 400; i++)
		feeder_sample(&f, 100, i % 4 ? 99 : 98, i * MS, 0);
	end_at(400 * MS);
	expect(TAPIR_FINDING_GC, "at least 25% of the CPU in GC, whose events were not recorded");
}

static void pause_of(uint32_t tgid, uint64_t from_ms, uint64_t until_ms)
{
	for (uint32_t probe = BEGIN; probe <= END; probe++)
		feeder_event(&f, (struct feeder_event){
					 .probe_id = probe,
					 .tgid = tgid,
					 .tid = tgid,
					 .time_ns = (probe == BEGIN ? from_ms : until_ms) * MS});
}

/* A JVM, CPython and a .NET program at once each have their own pauses. */
static void pauses_of_processes_are_not_added(void **state)
{
	const char *text = NULL;
	const struct tapir_finding *row;

	(void)state;
	feeder_come(&f, 99, 0, 0, 0);
	feeder_probe(&f, BEGIN, "hotspot", "gc__begin", NULL, NULL);
	feeder_probe(&f, END, "hotspot", "gc__end", NULL, NULL);
	for (uint64_t i = 0; i < 10; i++) {
		pause_of(100, 100 * i, 100 * i + 40);
		pause_of(200, 100 * i, 100 * i + 60);
		pause_of(300, 100 * i, 100 * i + 50);
	}
	end_at(1000 * MS);
	tapir_vec_for_each (row, &found.rows)
		if (row->kind == TAPIR_FINDING_GC)
			text = row->text;
	assert_non_null(text);
	assert_non_null(strstr(text, "% of the time in GC: 10 pauses of 600.00 ms in all in "));
	assert_non_null(strstr(text, " (200), the longest 60.00 ms"));
}

/* Heaps of two sizes, one after the other, are no heap that grows. */
static void heaps_of_processes_are_not_one(void **state)
{
	const uint64_t small[5] = {0, 0, 5 * MB}, large[5] = {0, 0, 500 * MB};

	(void)state;
	feeder_come(&f, 99, 0, 0, 0);
	for (uint64_t i = 0; i < 6; i++)
		finding_fire_of(i < 3 ? 200 : 300, HEAP, 100 + i * 500, 0, i < 3 ? small : large,
				5);
	end_at(5000 * MS);
	assert_false(is_said_to_grow());
}

static bool is_finalizer_named(void)
{
	const struct tapir_finding *row;

	tapir_vec_for_each (row, &found.rows)
		if (row->kind == TAPIR_FINDING_FINALIZER)
			return true;
	return false;
}

/* Finalizers run in one process, which catches up; the other has none. */
static void finalizers_of_processes_are_not_one(void **state)
{
	const uint64_t values[5] = {};

	(void)state;
	finding_probe(FINALIZED, RUNTIME, "GCFinalizersEnd", (const char *const[]){"Count", NULL});
	name_method(1, "Shop.Close()");
	FINDING_STACK(1, 1);
	feeder_thread(&f, 98, ".NET Finalizer");
	feeder_come(&f, 99, 0, 0, 0);
	for (uint64_t i = 0; i < 6; i++) {
		finding_fire_of(i % 2 ? TGID : 300, GC_START, 100 + i * 500, 0, values, 2);
		feeder_sample(&f, TGID, 98, (110 + i * 500) * MS, 1);
	}
	finding_fire_of(TGID, FINALIZED, 4000, 0, values, 1);
	end_at(5000 * MS);
	assert_false(is_finalizer_named());
}

static void finalizer_that_does_not_catch_up_is_named(void **state)
{
	const uint64_t values[5] = {};

	(void)state;
	name_method(1, "Shop.Close()");
	FINDING_STACK(1, 1);
	feeder_thread(&f, 98, ".NET Finalizer");
	feeder_come(&f, 99, 0, 0, 0);
	for (uint64_t i = 0; i < 6; i++) {
		finding_fire_of(TGID, GC_START, 100 + i * 500, 0, values, 2);
		feeder_sample(&f, TGID, 98, (110 + i * 500) * MS, 1);
	}
	end_at(5000 * MS);
	expect(TAPIR_FINDING_FINALIZER, "the finalizer thread has not caught up in 6 collections "
					"(4.900 s): it is in Shop.Close()");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, finding_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(gen_1_that_was_not_collected_does_not_grow),
		TEST(gen_1_collected_before_says_nothing),
		TEST(gen_1_grows_where_it_was_collected),
		TEST(older_generations_grow_by_themselves),
		TEST(heap_that_falls_back_does_not_grow),
		TEST(pauses_of_processes_are_not_added),
		TEST(heaps_of_processes_are_not_one),
		TEST(finalizers_of_processes_are_not_one),
		TEST(finalizer_that_does_not_catch_up_is_named),
		TEST(share_of_the_collectors_threads_is_a_lower_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
