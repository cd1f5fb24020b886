// SPDX-License-Identifier: GPL-2.0-or-later
/* The first finding of made-up recordings that have nothing but a JVM's own counters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "finding_case.h"

static int setup(void **state)
{
	(void)state;
	return finding_begin() ? -1 : finding_listen();
}

static void count_kind(uint64_t time_ns, const char *name, const char *tags, uint32_t kind,
		       double value)
{
	struct tapir_rec_counter fixed = {
		.h.time_ns = time_ns, .tgid = TGID, .kind = kind, .value = value};

	feeder_add(&f, tapir_recbuf__counter(&f.buf, &fixed, feeder_sv("hsperfdata"),
					     feeder_sv(name), feeder_sv(""), feeder_sv(tags)));
}

static void gauge(uint64_t time_ns, const char *name, double value)
{
	count_kind(time_ns, name, "", TAPIR_COUNTER_GAUGE, value);
}

static void collect(uint64_t time_ns, const char *tags, double cnt, double ms)
{
	count_kind(time_ns, "collections", tags, TAPIR_COUNTER_RATE, cnt);
	count_kind(time_ns, "gc-time", tags, TAPIR_COUNTER_RATE, ms);
}

static void calls_of_system_gc_are_reported(void **state)
{
	(void)state;
	feeder_come(&f, 2, 1 * MS, 0, 0);
	collect(500 * MS, "cause=System.gc()", 4, 20);
	collect(750 * MS, "cause=System.gc()", 3, 20);
	collect(1000 * MS, "cause=System.gc()", 1, 10);
	collect(1001 * MS, "cause=G1 Evacuation Pause", 2, 3);
	end_at(2001 * MS);
	expect(TAPIR_FINDING_INDUCED_GC,
	       "System.gc() makes the JVM collect 4.0 times a second: 8 of "
	       "10 collections, 50 ms in all (2% of the time)");
}

/* 80 collections of the JVM's own and a last one that was asked for, between two polls. */
static void cause_of_the_last_collection_is_not_that_of_all(void **state)
{
	(void)state;
	feeder_come(&f, 2, 1 * MS, 0, 0);
	collect(500 * MS, "cause=System.gc()", 81, 160);
	end_at(2001 * MS);
	for (size_t i = 0; i < found.rows.cnt; i++)
		assert_int_not_equal(found.rows.data[i].kind, TAPIR_FINDING_INDUCED_GC);
}

static void humongous_objects_are_reported(void **state)
{
	(void)state;
	feeder_come(&f, 2, 1 * MS, 0, 0);
	for (int i = 0; i < 3; i++)
		collect((500 + (uint64_t)i * 250) * MS, "cause=G1 Humongous Allocation", 4, 8);
	end_at(2001 * MS);
	expect(TAPIR_FINDING_HUMONGOUS,
	       "humongous allocations, of half a G1 region and more, make the JVM collect 6.0 times a "
	       "second: 12 of 12 collections, 24 ms in all (1% of the time)");
}

static void few_collections_are_no_habit(void **state)
{
	(void)state;
	feeder_come(&f, 2, 1 * MS, 0, 0);
	collect(500 * MS, "cause=System.gc()", 4, 20);
	count_kind(501 * MS, "collections", "System.gc()", TAPIR_COUNTER_RATE, 100); /* no cause */
	count_kind(502 * MS, "collections", "cause=System.gc()", TAPIR_COUNTER_RATE, -1);
	end_at(2001 * MS);
	for (size_t i = 0; i < found.rows.cnt; i++)
		assert_int_not_equal(found.rows.data[i].kind, TAPIR_FINDING_INDUCED_GC);
}

static void old_generation_that_grows_is_reported(void **state)
{
	(void)state;
	feeder_come(&f, 2, 1 * MS, 0, 0);
	gauge(1 * MS, "old-generation", 100e6);
	gauge(1001 * MS, "old-generation", 150e6);
	gauge(2001 * MS, "old-generation", 148e6);
	gauge(4001 * MS, "old-generation", 300e6);
	end_at(4001 * MS);
	expect(TAPIR_FINDING_HEAP,
	       "the old generation grows by 50.0 MB/s: from 100.0 MB to 300.0 MB in 4.0 s");
}

/* Read each second, filled by collections: what it has then it has had since the last one. */
static void growth_is_counted_from_collection_to_collection(void **state)
{
	static const double ended_ms[] = {900, 900, 2100, 3300, 3300},
			    mb[] = {100, 100, 160, 220, 220};

	(void)state;
	feeder_come(&f, 2, 1 * MS, 0, 0);
	for (uint64_t i = 0; i < 5; i++) {
		gauge((1 + i * 1000) * MS, "collection-ended", ended_ms[i]);
		gauge((1 + i * 1000) * MS, "old-generation", mb[i] * 1e6);
	}
	end_at(4001 * MS);
	expect(TAPIR_FINDING_HEAP,
	       "the old generation grows by 50.0 MB/s: from 100.0 MB to 220.0 MB in 2.4 s");
}

/* A program that fills a cache of 1 GB in its first two seconds, and then grows by mb a fifth of
 * one. */
static void load_and_grow(double mb)
{
	feeder_come(&f, 2, 1 * MS, 0, 0);
	for (uint64_t i = 0; i < 50; i++)
		gauge((1 + i * 200) * MS, "old-generation",
		      (100 * (double)(i < 10 ? i : 10) + mb * (double)i) * 1e6);
	end_at(10001 * MS);
}

static void what_is_loaded_at_the_start_is_no_growth(void **state)
{
	(void)state;
	load_and_grow(0);
	for (size_t i = 0; i < found.rows.cnt; i++)
		assert_int_not_equal(found.rows.data[i].kind, TAPIR_FINDING_HEAP);
}

static void growth_is_counted_without_what_is_loaded_at_the_start(void **state)
{
	(void)state;
	load_and_grow(10);
	expect(TAPIR_FINDING_HEAP,
	       "the old generation grows by 50.0 MB/s: from 1240.0 MB to 1490.0 MB in 5.0 s");
}

static void metaspace_that_was_not_measured_is_not_0(void **state)
{
	(void)state;
	feeder_come(&f, 2, 1 * MS, 0, 0);
	for (uint64_t i = 0; i < 4; i++) {
		gauge((1 + i * 1000) * MS, "classes-loaded", 1000 + 500 * (double)i);
		gauge((1 + i * 1000) * MS, "metaspace", i < 2 ? 0 : 10e6 + 1e6 * (double)i);
	}
	end_at(3001 * MS);
	expect(TAPIR_FINDING_CLASSES,
	       "500 classes are loaded a second, none is unloaded: 1500 more in "
	       "3.0 s; metaspace grew from 12.0 MB to 13.0 MB");
}

static void old_generation_that_is_collected_is_no_leak(void **state)
{
	(void)state;
	feeder_come(&f, 2, 1 * MS, 0, 0);
	gauge(1 * MS, "old-generation", 100e6);
	gauge(1001 * MS, "old-generation", 320e6);
	gauge(2001 * MS, "old-generation", 110e6);
	gauge(4001 * MS, "old-generation", 300e6);
	end_at(4001 * MS);
	for (size_t i = 0; i < found.rows.cnt; i++)
		assert_int_not_equal(found.rows.data[i].kind, TAPIR_FINDING_HEAP);
}

static void classes_without_end_are_reported(void **state)
{
	(void)state;
	feeder_come(&f, 2, 1 * MS, 0, 0);
	for (uint64_t i = 0; i < 4; i++) {
		gauge((1 + 1000 * i) * MS, "classes-loaded", 1000 + 2000 * (double)i);
		gauge((1 + 1000 * i) * MS, "classes-unloaded", 5);
		gauge((1 + 1000 * i) * MS, "metaspace", 10e6 + 1e6 * (double)i);
	}
	end_at(3001 * MS);
	expect(TAPIR_FINDING_CLASSES,
	       "2000 classes are loaded a second, none is unloaded: 6000 more "
	       "in 3.0 s; metaspace grew from 10.0 MB to 13.0 MB");
}

/* Each second by 51 MB. */
static void grow_from(unsigned kb)
{
	struct tapir_str text = {};

	tapir_str__addf(&text, "%u", TGID);
	for (unsigned i = 0; i < 5; i++)
		tapir_str__addf(&text, " %u:%u:0", (i + 1) * 1000, kb + i * 50000);
	feeder_add(&f, tapir_recbuf__meta(&f.buf, 1, feeder_sv("memory"), feeder_sv(text.data)));
	tapir_str__fini(&text);
	feeder_come(&f, 2, 1 * MS, 0, 0);
	gauge(1 * MS, "heap-committed", 384e6);
	end_at(5001 * MS);
}

static bool is_said_to_grow(void)
{
	const struct tapir_finding *row;

	tapir_vec_for_each (row, &found.rows)
		if (row->kind == TAPIR_FINDING_MEMORY)
			return true;
	return false;
}

/* A heap's memory becomes resident when it is used for the first time. */
static void jvm_that_fills_its_heap_does_not_grow(void **state)
{
	(void)state;
	grow_from(100000);
	assert_false(is_said_to_grow());
}

static void jvm_that_has_more_than_its_heap_grows(void **state)
{
	(void)state;
	grow_from(400000);
	assert_true(is_said_to_grow());
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, finding_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(calls_of_system_gc_are_reported),
		TEST(cause_of_the_last_collection_is_not_that_of_all),
		TEST(humongous_objects_are_reported),
		TEST(few_collections_are_no_habit),
		TEST(jvm_that_fills_its_heap_does_not_grow),
		TEST(jvm_that_has_more_than_its_heap_grows),
		TEST(old_generation_that_grows_is_reported),
		TEST(growth_is_counted_from_collection_to_collection),
		TEST(what_is_loaded_at_the_start_is_no_growth),
		TEST(growth_is_counted_without_what_is_loaded_at_the_start),
		TEST(metaspace_that_was_not_measured_is_not_0),
		TEST(old_generation_that_is_collected_is_no_leak),
		TEST(classes_without_end_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
