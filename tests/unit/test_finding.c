// SPDX-License-Identifier: GPL-2.0-or-later
/* What the report leads with, of made-up recordings: the collector, and who gives it work. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyze/finding.h"
#include "base/diag.h"
#include "timeline_feeder.h"

#define RUNTIME "Microsoft-Windows-DotNETRuntime"
#define TGID	100

static struct feeder f;
static struct tapir_finding finding;

enum { PAUSE = 1, GOES_ON, GC_START, GC_END, TICK };

/* Methods at 0x100, 0x200, ... and a runtime without symbols at 0x400000. */
static void describe_code(void)
{
	static const char *const methods[] = {"System.Collections.List.Add(!0)", "Shop.Draw(int)",
					      "Shop.Price()"};
	struct tapir_rec_mapping mapping = {.h.time_ns = 1,
					    .tgid = TGID,
					    .flags = TAPIR_MAPPING_EXEC,
					    .start_va = 0x400000,
					    .end_va = 0x500000,
					    .file_id = 7};

	for (unsigned i = 0; i < 3; i++) {
		struct tapir_rec_jit jit = {.h.time_ns = 1,
					    .tgid = TGID,
					    .start_va = 0x100 * (i + 1),
					    .size = 0x100,
					    .from_ns = 1};

		feeder_add(&f, tapir_recbuf__jit(&f.buf, &jit, feeder_sv(methods[i])));
	}
	feeder_add(&f, tapir_recbuf__mapping(&f.buf, &mapping, feeder_sv("/x/libcoreclr.so")));
}

static void add_stack(uint64_t id, uint64_t inner_va, uint64_t middle_va, uint64_t outer_va)
{
	const uint64_t frames_va[] = {inner_va, middle_va, outer_va};
	struct tapir_rec_stack stack = {.stack_id = id};

	feeder_add(&f, tapir_recbuf__stack(&f.buf, &stack, frames_va, 3));
}

static int setup(void **state)
{
	(void)state;
	finding = (struct tapir_finding){};
	if (feeder_init(&f, NULL))
		return -1;
	finding.tl = f.tl;
	feeder_probe(&f, PAUSE, RUNTIME, "GCSuspendEEBegin", NULL, NULL);
	feeder_probe(&f, GOES_ON, RUNTIME, "GCRestartEEEnd", NULL, NULL);
	feeder_probe(&f, GC_START, RUNTIME, "GCStart", "Count", "Depth");
	feeder_probe(&f, GC_END, RUNTIME, "GCEnd", "Count", NULL);
	feeder_probe(&f, TICK, RUNTIME, "GCAllocationTick", "AllocationAmount64", "TypeName");
	describe_code();
	add_stack(1, 0x400010, 0x110, 0x210); /* Draw, by List.Add */
	add_stack(2, 0x400020, 0x310, 0x210); /* Price, by Draw */
	add_stack(3, 0x400030, 0x120, 0x110); /* nobody but the framework */
	return tapir_timeline__listen(f.tl, &tapir_finding_fns, &finding);
}

static int teardown(void **state)
{
	(void)state;
	tapir_finding__fini(&finding);
	feeder_fini(&f);
	tapir_diag__clear();
	return 0;
}

static void fire(uint32_t probe, uint64_t time_ns, uint64_t number, const char *text,
		 uint64_t stack)
{
	feeder_event(&f, (struct feeder_event){.probe_id = probe,
					       .tgid = TGID,
					       .tid = 1,
					       .time_ns = time_ns,
					       .number = number,
					       .has_number = probe > GOES_ON,
					       .text = text,
					       .stack_id = stack});
}

static void collect(uint64_t from_ns, uint64_t took_ns, uint64_t count, const char *what)
{
	fire(PAUSE, from_ns, 0, NULL, 0);
	fire(GC_START, from_ns, count, what, 0);
	fire(GC_END, from_ns + took_ns, count, NULL, 0);
	fire(GOES_ON, from_ns + took_ns, 0, NULL, 0);
}

static void expect_finding(const char *wanted)
{
	struct tapir_str text = {};

	assert_int_equal(tapir_timeline__finish(f.tl), 0);
	tapir_finding__add_text(&finding, &text);
	assert_string_equal(text.data ? text.data : "", wanted);
	tapir_str__fini(&text);
}

static void collections_are_told_with_who_allocates(void **state)
{
	(void)state;
	fire(TICK, 1 * MS, 3000000, "Byte[]", 1);
	fire(TICK, 2 * MS, 5000000, "Byte[]", 2);
	fire(TICK, 3 * MS, 4000000, "Object", 1);
	fire(TICK, 4 * MS, 2000000, "Object", 0);
	collect(10 * MS, 30 * MS, 1, "2 AllocLarge NonConcurrentGC");
	collect(50 * MS, 10 * MS, 2, "0 AllocSmall NonConcurrentGC");
	collect(70 * MS, 20 * MS, 3, "2 Induced NonConcurrentGC");
	fire(TICK, 101 * MS, 0, "Object", 0);
	expect_finding("60% of the time in GC: 3 pauses of 60.00 ms in all (60% of the time), the "
		       "longest 30.00 ms, 2 of 3 collections gen 2, the longest AllocLarge "
		       "NonConcurrentGC; 50% of 14.0 MB allocated from Shop.Draw(int)");
}

static void frameworks_method_is_told_when_nobody_else_is_there(void **state)
{
	(void)state;
	fire(TICK, 1 * MS, 1000000, "Object", 3);
	collect(10 * MS, 40 * MS, 1, "1 AllocSmall NonConcurrentGC");
	fire(TICK, 101 * MS, 0, "Object", 0);
	expect_finding("40% of the time in GC: 1 pause of 40.00 ms in all (40% of the time), the "
		       "longest 40.00 ms; 100% of 1.0 MB allocated from "
		       "System.Collections.List.Add(!0)");
}

/* Its time is not a pause. */
static void background_collection_is_no_reason(void **state)
{
	(void)state;
	fire(GC_START, 5 * MS, 1, "2 AllocLarge BackgroundGC", 0);
	collect(10 * MS, 20 * MS, 2, "0 AllocSmall ForegroundGC");
	fire(GC_END, 90 * MS, 1, NULL, 0);
	fire(TICK, 105 * MS, 0, "Object", 0);
	expect_finding("20% of the time in GC: 1 pause of 20.00 ms in all (20% of the time), the "
		       "longest 20.00 ms");
}

static void who_allocates_is_not_told_without_collections(void **state)
{
	(void)state;
	fire(TICK, 1 * MS, 1000000, "Object", 1);
	collect(10 * MS, 1 * MS, 1, "2 Induced NonConcurrentGC");
	fire(TICK, 101 * MS, 0, "Object", 0);
	expect_finding("");
}

static uint32_t node_of(uint64_t stack_id)
{
	const struct tapir_stack_ref ref = {.tgid = TGID, .time_ns = 5 * MS, .stack_id = stack_id};

	return tapir_timeline__node(f.tl, &ref);
}

static void collector_without_names_is_told_by_the_method(void **state)
{
	const struct tapir_stack_tree *tree = tapir_timeline__stacks(f.tl);
	uint32_t drawn, node;

	(void)state;
	add_stack(4, 0x210, 0x400040, 0x310); /* no collector on top */
	drawn = tapir_work__collecting_node(tree, node_of(2));
	assert_string_equal(tree->names.data[tree->nodes.data[drawn].name], "Shop.Price()");
	node = node_of(4);
	assert_int_equal(tapir_work__collecting_node(tree, node), node);
	assert_int_equal(tapir_work__collecting_node(tree, TAPIR_NO_NODE), TAPIR_NO_NODE);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(collections_are_told_with_who_allocates),
		TEST(frameworks_method_is_told_when_nobody_else_is_there),
		TEST(background_collection_is_no_reason),
		TEST(who_allocates_is_not_told_without_collections),
		TEST(collector_without_names_is_told_by_the_method),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
