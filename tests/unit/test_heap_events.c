// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The events of a heap: made-up ones of a heap that is known, the same with one left out, cut at
 * each byte, or of two collections; and the histogram of a JVM.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "base/str.h"
#include "heap/heap_events.h"

static void put(struct tapir_str *s, uint64_t value, unsigned bytes)
{
	tapir_str__add(s, (const char *)&value, bytes);
}

static void put_text(struct tapir_str *s, const char *text)
{
	for (; *text; text++)
		put(s, (uint8_t)*text, 2);
	put(s, 0, 2);
}

static void put_type(struct tapir_str *s, uint64_t id, const char *name)
{
	put(s, id, 8);
	put(s, 1, 8);
	put(s, 2, 4);
	put(s, 0, 4);
	put(s, 18, 1);
	put_text(s, name);
	put(s, 1, 4);
	put(s, 0x77, 8);
}

static void put_head(struct tapir_str *s, uint32_t idx, uint32_t cnt)
{
	put(s, idx, 4);
	put(s, cnt, 4);
	put(s, 0, 2);
}

static void put_object(struct tapir_str *s, uint64_t va, uint64_t bytes, uint64_t type,
		       uint64_t edges)
{
	put(s, va, 8);
	put(s, bytes, 8);
	put(s, type, 8);
	put(s, edges, 8);
}

static void put_edge(struct tapir_str *s, uint64_t va)
{
	put(s, va, 8);
	put(s, 0, 4);
}

#define EVENTS 10

struct event {
	uint16_t id;
	struct tapir_str payload;
};

/* A list in a static field, with two orders, in two events of objects and two of references. */
static void make(struct event all[EVENTS])
{
	static const uint16_t ids[EVENTS] = {
		TAPIR_HEAP_GC_START,   TAPIR_HEAP_TYPES,  TAPIR_HEAP_STATICS, TAPIR_HEAP_ROOTS,
		TAPIR_HEAP_OBJECTS,    TAPIR_HEAP_EDGES,  TAPIR_HEAP_OBJECTS, TAPIR_HEAP_EDGES,
		TAPIR_HEAP_DEPENDENTS, TAPIR_HEAP_GC_END,
	};

	for (unsigned i = 0; i < EVENTS; i++)
		all[i] = (struct event){.id = ids[i]};
	put(&all[0].payload, 7, 4); /* number, generation, reason, kind, runtime, client */
	put(&all[0].payload, 2, 4);
	put(&all[0].payload, 1, 4);
	put(&all[0].payload, 0, 8);
	put(&all[0].payload, 0, 6);
	put(&all[1].payload, 2, 4);
	put(&all[1].payload, 0, 2);
	put_type(&all[1].payload, 501, "My.List`1[My.Order,X`2[A[],B[,]]]");
	put_type(&all[1].payload, 502, "My.Order[]");
	put(&all[2].payload, 1, 4);
	put(&all[2].payload, 9, 8);
	put(&all[2].payload, 0, 2);
	put(&all[2].payload, 0x99, 8);
	put(&all[2].payload, 0x1000, 8);
	put(&all[2].payload, 501, 8);
	put(&all[2].payload, 0, 4);
	put_text(&all[2].payload, "Kept");
	put_head(&all[3].payload, 0, 2);
	for (unsigned weak = 0; weak < 2; weak++) {
		put(&all[3].payload, weak ? 0x3000 : 0x2000, 8);
		put(&all[3].payload, 2, 1);
		put(&all[3].payload, weak ? 2 : 1, 4);
		put(&all[3].payload, 0, 8);
	}
	put_head(&all[4].payload, 0, 2);
	put_object(&all[4].payload, 0x1000, 24, 501, 2);
	put_object(&all[4].payload, 0x2000, 32, 502, 0);
	put_head(&all[5].payload, 0, 1);
	put_edge(&all[5].payload, 0x2000);
	put_head(&all[6].payload, 1, 1);
	put_object(&all[6].payload, 0x3000, 40, 502, 0);
	put_head(&all[7].payload, 1, 1);
	put_edge(&all[7].payload, 0x3000);
	put_head(&all[8].payload, 0, 1);
	put(&all[8].payload, 0x2000, 8);
	put(&all[8].payload, 0x3000, 8);
	put(&all[8].payload, 0, 8);
	put(&all[9].payload, 7, 4);
	put(&all[9].payload, 2, 6);
}

static void feed(struct tapir_heap_events *e, const struct event *event, uint64_t time_ns)
{
	tapir_heap_events__add(e, event->id, time_ns, event->payload.data, event->payload.len);
}

static void free_all(struct event all[EVENTS])
{
	for (unsigned i = 0; i < EVENTS; i++)
		tapir_str__fini(&all[i].payload);
}

static void events_become_objects_references_and_roots(void **state)
{
	struct tapir_heap_events e = {};
	struct event all[EVENTS];

	(void)state;
	make(all);
	for (unsigned i = 0; i < EVENTS; i++)
		feed(&e, &all[i], 1000 + i);
	assert_true(tapir_heap_events__are_complete(&e));
	assert_int_equal(e.graph.va.cnt, 3);
	assert_int_equal(e.graph.edge_va.cnt, 2);
	assert_int_equal(e.graph.roots.cnt, 2); /* not the weak one */
	assert_string_equal(e.graph.roots.data[0].name, "Kept");
	assert_int_equal(e.graph.roots.data[1].kind, TAPIR_HEAP_ROOT_PINNED);
	assert_int_equal(e.graph.dependents.cnt, 1);
	assert_string_equal(e.graph.types.data[0].name, "My.List<My.Order, X<A[], B[,]>>");
	assert_string_equal(e.graph.types.data[1].name, "My.Order[]");
	assert_int_equal(e.end_ns - e.start_ns, 9);
	tapir_heap_events__fini(&e);
	free_all(all);
}

/*
 * By the numbers and by what objects promise. Of the last event of a kind without references, and
 * of types and statics, the recording's own counts tell.
 */
static void a_missing_event_is_noticed(void **state)
{
	(void)state;
	for (unsigned missing = 0; missing < EVENTS; missing++) {
		struct tapir_heap_events e = {};
		struct event all[EVENTS];
		bool is_numbered = missing == 4 || missing == 5 || missing == 7;
		bool is_bound = missing == 0 || missing == 9;

		make(all);
		for (unsigned i = 0; i < EVENTS; i++)
			if (i != missing)
				feed(&e, &all[i], i);
		assert_int_equal(tapir_heap_events__are_complete(&e), !is_numbered && !is_bound);
		tapir_heap_events__fini(&e);
		free_all(all);
	}
}

static void a_payload_that_is_cut_is_counted(void **state)
{
	struct event all[EVENTS];

	(void)state;
	make(all);
	for (unsigned cut = 0; cut < EVENTS; cut++) {
		size_t least = cut == 0 || cut == EVENTS - 1 ? 4 : all[cut].payload.len;

		for (size_t len = 0; len < least; len++) {
			struct tapir_heap_events e = {};

			for (unsigned i = 0; i < cut; i++)
				feed(&e, &all[i], i);
			tapir_heap_events__add(&e, all[cut].id, cut, all[cut].payload.data, len);
			assert_int_equal(e.malformed_cnt, 1);
			assert_false(tapir_heap_events__are_complete(&e));
			tapir_heap_events__fini(&e);
		}
	}
	free_all(all);
}

/* A collection without a list, one that another tool's session began before ours, and a second. */
static void the_first_whole_list_counts(void **state)
{
	struct tapir_heap_events e = {};
	struct event all[EVENTS];

	(void)state;
	make(all);
	feed(&e, &all[6], 1); /* of one whose beginning was not seen */
	feed(&e, &all[9], 2);
	feed(&e, &all[0], 3);
	feed(&e, &all[9], 4);
	assert_int_equal(e.walk, TAPIR_HEAP_BEFORE);
	for (unsigned round = 0; round < 2; round++)
		for (unsigned i = 0; i < EVENTS; i++)
			feed(&e, &all[i], 10 + i);
	assert_true(tapir_heap_events__are_complete(&e));
	assert_int_equal(e.graph.va.cnt, 3);
	tapir_heap_events__fini(&e);
	free_all(all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_become_objects_references_and_roots),
		cmocka_unit_test(a_missing_event_is_noticed),
		cmocka_unit_test(a_payload_that_is_cut_is_counted),
		cmocka_unit_test(the_first_whole_list_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
