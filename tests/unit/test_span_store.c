// SPDX-License-Identifier: GPL-2.0-or-later
/* span_store.h: trees of spans, also of ids that no honest program would make. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/spans/span_store.h"

#define TRACE "4bf92f3577b34da6a3ce929d0e0e4736"

static uint32_t add(struct tapir_span_store *s, uint64_t id, uint64_t parent, uint64_t from_ns,
		    uint64_t until_ns)
{
	struct tapir_span like = {
		.trace = TRACE, .id = id, .parent_id = parent, .tgid = 7, .from_ns = from_ns};
	uint32_t idx = tapir_span_store__begin(s, &like);

	if (idx != TAPIR_NO_SPAN)
		s->all.data[idx].until_ns = until_ns;
	return idx;
}

struct seen {
	unsigned cnt, depth;
	uint64_t own_ns;
	const struct tapir_span_store *s;
};

static void see(void *ctx, const struct tapir_span *span, uint32_t idx, unsigned depth)
{
	struct seen *seen = ctx;

	(void)span;
	seen->cnt++;
	seen->depth = depth > seen->depth ? depth : seen->depth;
	seen->own_ns += tapir_span_store__self_ns(seen->s, idx);
}

static struct seen walk(struct tapir_span_store *s, uint32_t root)
{
	struct seen seen = {.s = s};

	tapir_span_store__each_below(s, root, see, &seen);
	return seen;
}

/* 100 ns: a child from 10 to 30, another from 40 to 90 with one inside from 50 to 80. */
static void own_times_add_up_to_the_whole(void **state)
{
	struct tapir_span_store s = {};
	uint32_t root = add(&s, 1, 99, 1000, 1100), second;
	struct seen seen;

	(void)state;
	add(&s, 2, 1, 1010, 1030);
	second = add(&s, 3, 1, 1040, 1090);
	add(&s, 4, 3, 1050, 1080);
	tapir_span_store__link(&s);
	assert_int_equal(tapir_span_store__self_ns(&s, root), 30);
	assert_int_equal(tapir_span_store__self_ns(&s, second), 20);
	seen = walk(&s, root);
	assert_int_equal(seen.cnt, 4);
	assert_int_equal(seen.depth, 2);
	assert_int_equal(seen.own_ns, 100);
	tapir_span_store__fini(&s);
}

/* Parallel children, and one that outlives its parent, cover no time twice. */
static void overlapping_children_are_counted_once(void **state)
{
	struct tapir_span_store s = {};
	uint32_t root = add(&s, 1, 0, 1000, 1100);

	(void)state;
	add(&s, 2, 1, 1010, 1060);
	add(&s, 3, 1, 1020, 1050);
	add(&s, 4, 1, 1090, 1500);
	tapir_span_store__link(&s);
	assert_int_equal(tapir_span_store__self_ns(&s, root), 40);
	tapir_span_store__fini(&s);
}

/* A server ends its span after its client has the answer, and calls others then. */
static void time_after_the_callers_end_is_not_counted(void **state)
{
	struct tapir_span_store s = {};
	uint32_t root = add(&s, 1, 0, 1000, 1100), server, late;
	struct seen seen;

	(void)state;
	add(&s, 2, 1, 1010, 1090);
	server = add(&s, 3, 2, 1020, 1500);
	add(&s, 4, 3, 1050, 1200);
	late = add(&s, 5, 3, 1300, 1400);
	tapir_span_store__link(&s);
	seen = walk(&s, root);
	assert_int_equal(seen.cnt, 5);
	assert_int_equal(seen.own_ns, 100);
	assert_int_equal(tapir_span__counted_ns(&s.all.data[server]), 70);
	assert_int_equal(tapir_span__counted_ns(&s.all.data[late]), 0);
	tapir_span_store__fini(&s);
}

static void circles_end(void **state)
{
	struct tapir_span_store s = {};
	uint32_t self = add(&s, 5, 5, 1000, 1100), a = add(&s, 6, 7, 2000, 2100);

	(void)state;
	add(&s, 7, 6, 2000, 2100);
	tapir_span_store__link(&s);
	assert_false(s.all.data[self].has_parent);
	assert_int_equal(walk(&s, self).cnt, 1);
	assert_int_equal(walk(&s, a).cnt, 2);
	tapir_span_store__fini(&s);
}

/* An id that is used again names another span: children belong to the one that was open. */
static void reused_ids_are_other_spans(void **state)
{
	struct tapir_span_store s = {};
	uint32_t first = add(&s, 1, 0, 1000, 1100), again, child;

	(void)state;
	again = add(&s, 1, 0, 5000, 5100);
	assert_int_not_equal(first, again);
	child = add(&s, 2, 1, 5010, 5020);
	add(&s, 3, 1, 3000, 3010); /* neither was open then */
	tapir_span_store__link(&s);
	assert_int_equal(walk(&s, again).cnt, 2);
	assert_int_equal(walk(&s, first).cnt, 1);
	assert_true(s.all.data[child].has_parent);
	assert_false(s.all.data[child + 1].has_parent);
	tapir_span_store__fini(&s);
}

static void one_span_that_two_sources_announce_is_one(void **state)
{
	struct tapir_span_store s = {};
	struct tapir_span like = {.trace = TRACE, .id = 1, .tgid = 7, .from_ns = 1000};
	uint32_t bare = tapir_span_store__begin(&s, &like);

	(void)state;
	like.label = strdup("GET /order/1");
	assert_int_equal(tapir_span_store__begin(&s, &like), bare);
	assert_int_equal(s.all.cnt, 1);
	assert_string_equal(s.all.data[bare].label, "GET /order/1");
	tapir_span_store__fini(&s);
}

static void ten_thousand_are_open_at_once(void **state)
{
	struct tapir_span_store s = {};
	uint32_t root = add(&s, 1, 0, 1000, 0);

	(void)state;
	for (uint64_t i = 2; i <= 10001; i++)
		add(&s, i, 1, 1000 + i, 0);
	for (uint64_t i = 2; i <= 10001; i++)
		s.all.data[tapir_span_store__find(&s, TRACE, i, 7)].until_ns = 30000 + i;
	s.all.data[root].until_ns = 50000;
	tapir_span_store__link(&s);
	assert_int_equal(walk(&s, root).cnt, 10001);
	tapir_span_store__fini(&s);
}

static void what_is_too_much_is_counted(void **state)
{
	struct tapir_span_store s = {};

	(void)state;
	for (uint64_t i = 0; i < TAPIR_SPANS_MAX + 3; i++)
		add(&s, i + 1, i, 1000 + i, 900000); /* each in the one before */
	assert_int_equal(s.dropped_cnt, 3);
	tapir_span_store__link(&s);
	assert_int_equal(walk(&s, 0).cnt, TAPIR_SPAN_DEPTH_MAX + 1);
	tapir_span_store__fini(&s);
}

static void waits_beyond_the_places_are_one(void **state)
{
	static const char *const reasons[] = {"mutex", "sleep", "mutex", "poll", "futex", NULL};
	struct tapir_span span = {};

	(void)state;
	for (unsigned i = 0; i < 6; i++)
		tapir_span_store__add_wait(&span, reasons[i], 10);
	assert_string_equal(span.waits[0].reason, "mutex");
	assert_int_equal(span.waits[0].ns, 20);
	assert_null(span.waits[TAPIR_SPAN_REASONS_MAX - 1].reason);
	assert_int_equal(span.waits[TAPIR_SPAN_REASONS_MAX - 1].ns, 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(own_times_add_up_to_the_whole),
		cmocka_unit_test(overlapping_children_are_counted_once),
		cmocka_unit_test(time_after_the_callers_end_is_not_counted),
		cmocka_unit_test(circles_end),
		cmocka_unit_test(reused_ids_are_other_spans),
		cmocka_unit_test(one_span_that_two_sources_announce_is_one),
		cmocka_unit_test(ten_thousand_are_open_at_once),
		cmocka_unit_test(what_is_too_much_is_counted),
		cmocka_unit_test(waits_beyond_the_places_are_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
