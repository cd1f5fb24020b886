// SPDX-License-Identifier: GPL-2.0-or-later
/* Events of a heap that are read later are read as if they were read at once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "heap/heap_spool.h"

#define OBJECTS 2000u /* of one event: 64 KB, as the runtime makes them at most */

static size_t put_objects(uint8_t *out, uint32_t number, uint64_t first_va)
{
	uint32_t cnt = OBJECTS;
	uint64_t object[4] = {first_va, 24, 77, 0};
	uint8_t *at = out;

	memcpy(at, &number, 4);
	memcpy(at + 4, &cnt, 4);
	memset(at + 8, 0, 2);
	for (at += 10; cnt--; at += sizeof(object), object[0] += 24)
		memcpy(at, object, sizeof(object));
	return (size_t)(at - out);
}

static void feed(struct tapir_heap_spool *s, struct tapir_heap_events *e, unsigned events)
{
	static uint8_t bytes[10 + OBJECTS * 32];
	uint32_t gc[4] = {3, 2, 0, 0};

	tapir_heap_spool__add(s, e, TAPIR_HEAP_GC_START, 10, gc, sizeof(gc));
	for (uint32_t i = 0; i < events; i++) {
		size_t len = put_objects(bytes, i, 0x1000000 + (uint64_t)i * OBJECTS * 24);

		tapir_heap_spool__add(s, e, TAPIR_HEAP_OBJECTS, 11 + i, bytes, len);
	}
	tapir_heap_spool__add(s, e, TAPIR_HEAP_GC_END, 20 + events, gc, 6);
}

static void events_are_read_when_it_is_emptied(void **state)
{
	struct tapir_heap_spool s = {};
	struct tapir_heap_events e = {};

	(void)state;
	feed(&s, &e, 300); /* five blocks */
	assert_int_equal(e.walk, TAPIR_HEAP_BEFORE);
	assert_int_equal(s.cnt, 5);
	tapir_heap_spool__empty(&s, &e);
	assert_int_equal(s.cnt, 0);
	assert_int_equal(e.walk, TAPIR_HEAP_AFTER);
	assert_int_equal(e.graph.va.cnt, 300 * OBJECTS);
	assert_int_equal(e.end_ns, 320);
	assert_true(tapir_heap_events__are_complete(&e));
	tapir_heap_spool__empty(&s, &e);
	tapir_heap_events__fini(&e);
	tapir_heap_spool__fini(&s);
}

static void the_oldest_are_read_when_there_is_no_room(void **state)
{
	struct tapir_heap_spool s = {.max_cnt = 2};
	struct tapir_heap_events e = {};
	unsigned events = 300;

	(void)state;
	feed(&s, &e, events);
	assert_int_equal(s.cnt, 2);
	assert_int_equal(e.walk, TAPIR_HEAP_IN_GC);
	assert_true(e.graph.va.cnt > 0);
	tapir_heap_spool__empty(&s, &e);
	assert_int_equal(e.graph.va.cnt, events * OBJECTS);
	assert_true(tapir_heap_events__are_complete(&e));
	tapir_heap_events__fini(&e);
}

/* No payload of the runtime is that long. */
static void an_event_beyond_a_block_is_read_after_those_before_it(void **state)
{
	struct tapir_heap_spool s = {};
	struct tapir_heap_events e = {};
	uint8_t *large = calloc(1, TAPIR_HEAP_SPOOL_BLOCK_BYTES);

	(void)state;
	feed(&s, &e, 1);
	tapir_heap_spool__add(&s, &e, TAPIR_HEAP_TYPES, 90, large, TAPIR_HEAP_SPOOL_BLOCK_BYTES);
	assert_int_equal(s.cnt, 0);
	assert_int_equal(e.walk, TAPIR_HEAP_AFTER);
	free(large);
	tapir_heap_events__fini(&e);
	feed(&s, &e, 1);
	tapir_heap_spool__fini(&s); /* unread */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_are_read_when_it_is_emptied),
		cmocka_unit_test(the_oldest_are_read_when_there_is_no_room),
		cmocka_unit_test(an_event_beyond_a_block_is_read_after_those_before_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
