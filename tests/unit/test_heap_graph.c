// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Objects, references and roots as a graph; what objects retain, compared with what becomes
 * unreachable when they are removed; shortest paths to roots.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heap/heap_dominators.h"
#include "heap/heap_paths.h"

#define MAX 40u

/* A heap as lists of numbers: object i is at VA(i), has 10 + i bytes. */
struct plan {
	unsigned cnt, edge_cnt, root_cnt;
	unsigned type[MAX], from[MAX * MAX], to[MAX * MAX], root[MAX];
};

#define VA(i) (0x7f0000000000ull + (i)*0x18ull)

/* order: by which objects are added. */
static void build(struct tapir_heap_graph *g, const struct plan *p, const unsigned *order)
{
	for (unsigned n = 0; n < p->cnt; n++) {
		unsigned i = order ? order[n] : n, edges = 0;

		for (unsigned e = 0; e < p->edge_cnt; e++)
			edges += p->from[e] == i;
		assert_true(
			tapir_heap_graph__add_object(g, VA(i), 10 + i, 100 + p->type[i], edges));
		for (unsigned e = 0; e < p->edge_cnt; e++)
			if (p->from[e] == i)
				assert_true(tapir_heap_graph__add_edge(g, VA(p->to[e])));
	}
	for (unsigned r = 0; r < p->root_cnt; r++)
		assert_true(tapir_heap_graph__add_root(g, VA(p->root[r]), TAPIR_HEAP_ROOT_HANDLE,
						       NULL));
	assert_int_equal(tapir_heap_graph__seal(g), 0);
}

static void mark(const struct plan *p, unsigned object, const bool *removed, bool *seen)
{
	if (seen[object] || removed[object])
		return;
	seen[object] = true;
	for (unsigned e = 0; e < p->edge_cnt; e++)
		if (p->from[e] == object)
			mark(p, p->to[e], removed, seen);
}

/* Bytes that can be reached when the objects of a type are not there; MAX: all are. */
static uint64_t reachable(const struct plan *p, unsigned without)
{
	bool removed[MAX] = {}, seen[MAX] = {};
	uint64_t bytes = 0;

	for (unsigned i = 0; i < p->cnt; i++)
		removed[i] = p->type[i] == without;
	for (unsigned r = 0; r < p->root_cnt; r++)
		mark(p, p->root[r], removed, seen);
	for (unsigned i = 0; i < p->cnt; i++)
		bytes += seen[i] ? 10 + i : 0;
	return bytes;
}

/* ---- retained ----------------------------------------------------------------------------------- */

static uint64_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return *state >> 33;
}

/* Each object has a type of its own: what it retains is what is lost without it. */
static void check_retained(const struct plan *p, const unsigned *order)
{
	struct tapir_heap_graph g = {};
	struct tapir_heap_retained retained;

	build(&g, p, order);
	assert_int_equal(tapir_heap_retained__init(&retained, &g), 0);
	assert_int_equal(retained.reachable_bytes, reachable(p, MAX));
	for (unsigned i = 0; i < p->cnt; i++)
		assert_int_equal(retained.by_type[tapir_heap_graph__type(&g, 100 + i)],
				 reachable(p, MAX) - reachable(p, i));
	tapir_heap_retained__fini(&retained);
	tapir_heap_graph__fini(&g);
}

static void retained_bytes_are_what_is_lost_without_the_object(void **state)
{
	uint64_t seed = 19;

	(void)state;
	for (int round = 0; round < 400; round++) {
		struct plan p = {.cnt = 1 + (unsigned)next_random(&seed) % (MAX - 1)};
		unsigned order[MAX];

		p.edge_cnt = (unsigned)next_random(&seed) % (3 * p.cnt);
		p.root_cnt = (unsigned)next_random(&seed) % 4;
		for (unsigned i = 0; i < p.cnt; i++)
			p.type[i] = order[i] = i;
		for (unsigned e = 0; e < p.edge_cnt; e++) {
			p.from[e] = (unsigned)next_random(&seed) % p.cnt;
			p.to[e] = (unsigned)next_random(&seed) % p.cnt;
		}
		for (unsigned r = 0; r < p.root_cnt; r++)
			p.root[r] = (unsigned)next_random(&seed) % p.cnt;
		for (unsigned i = 0; i < p.cnt && round % 2; i++) { /* any order */
			unsigned other = (unsigned)next_random(&seed) % p.cnt, was = order[i];

			order[i] = order[other];
			order[other] = was;
		}
		check_retained(&p, order);
	}
}

/* 0 -> 1 -> 2 -> 3, all of one type: 1 to 3 are counted with 0. */
static void a_chain_of_one_type_is_counted_once(void **state)
{
	const struct plan p = {
		.cnt = 4, .edge_cnt = 3, .root_cnt = 1, .from = {0, 1, 2}, .to = {1, 2, 3}};
	struct tapir_heap_retained retained;
	struct tapir_heap_graph g = {};

	(void)state;
	build(&g, &p, NULL);
	assert_int_equal(tapir_heap_retained__init(&retained, &g), 0);
	assert_int_equal(retained.by_type[0], 10 + 11 + 12 + 13);
	assert_int_equal(retained.reachable_cnt, 4);
	tapir_heap_retained__fini(&retained);
	tapir_heap_graph__fini(&g);
}

/* As deep as a list may be: nothing recurses. */
static void a_list_of_a_million_objects_is_held_by_its_first(void **state)
{
	const uint32_t cnt = 1000000;
	struct tapir_heap_retained retained;
	struct tapir_heap_paths paths;
	struct tapir_heap_graph g = {};

	(void)state;
	for (uint32_t i = 0; i < cnt; i++) {
		assert_true(
			tapir_heap_graph__add_object(&g, VA(i), 24, 100 + (i > 0), i + 1 < cnt));
		if (i + 1 < cnt)
			assert_true(tapir_heap_graph__add_edge(&g, VA(i + 1)));
	}
	tapir_heap_graph__add_root(&g, VA(0), TAPIR_HEAP_ROOT_STATIC, "First");
	assert_int_equal(tapir_heap_graph__seal(&g), 0);
	assert_int_equal(tapir_heap_retained__init(&retained, &g), 0);
	assert_int_equal(retained.by_type[0], 24ull * cnt);
	assert_int_equal(retained.by_type[1], 24ull * (cnt - 1));
	assert_int_equal(tapir_heap_paths__init(&paths, &g), 0);
	assert_int_equal(paths.steps.cnt, 3);
	assert_int_equal(paths.steps.data[paths.best[1]].cnt, cnt - 1);
	tapir_heap_paths__fini(&paths);
	tapir_heap_retained__fini(&retained);
	tapir_heap_graph__fini(&g);
}

/* ---- references --------------------------------------------------------------------------------- */

static void a_reference_to_nothing_is_counted(void **state)
{
	struct tapir_heap_graph g = {};

	(void)state;
	assert_true(tapir_heap_graph__add_object(&g, 0x1000, 24, 1, 2));
	assert_true(tapir_heap_graph__add_edge(&g, 0x1000));
	assert_true(tapir_heap_graph__add_edge(&g, 0x1008)); /* inside it */
	assert_true(tapir_heap_graph__add_root(&g, 0x2000, TAPIR_HEAP_ROOT_STACK, NULL));
	assert_int_equal(tapir_heap_graph__seal(&g), 0);
	assert_int_equal(g.edges_left, 1);
	assert_int_equal(g.first_edge[1] - g.first_edge[0], 1);
	assert_int_equal(g.roots.data[0].object, TAPIR_HEAP_NO_OBJECT);
	tapir_heap_graph__fini(&g);
}

static void an_address_that_occurs_twice_is_one_object(void **state)
{
	struct tapir_heap_graph g = {};

	(void)state;
	tapir_heap_graph__add_object(&g, 0x3000, 24, 1, 0);
	tapir_heap_graph__add_object(&g, 0x1000, 32, 2, 0);
	tapir_heap_graph__add_object(&g, 0x3000, 40, 3, 0);
	assert_int_equal(tapir_heap_graph__seal(&g), 0);
	assert_int_equal(g.va.cnt, 2);
	assert_int_equal(g.bytes.data[tapir_heap_graph__find(&g, 0x3000)], 24);
	tapir_heap_graph__fini(&g);
}

/* The value of a dependent handle lives as long as its key. */
static void a_key_holds_the_value_of_a_dependent_handle(void **state)
{
	const struct tapir_heap_dependent pair = {0x1000, 0x2000};
	struct tapir_heap_retained retained;
	struct tapir_heap_graph g = {};

	(void)state;
	tapir_heap_graph__add_object(&g, 0x1000, 24, 1, 0);
	tapir_heap_graph__add_object(&g, 0x2000, 100, 2, 0);
	tapir_heap_graph__add_root(&g, 0x1000, TAPIR_HEAP_ROOT_STACK, NULL);
	assert_true(tapir_vec__push(&g.dependents, pair));
	assert_int_equal(tapir_heap_graph__seal(&g), 0);
	assert_int_equal(tapir_heap_retained__init(&retained, &g), 0);
	assert_int_equal(retained.by_type[0], 124);
	tapir_heap_retained__fini(&retained);
	tapir_heap_graph__fini(&g);
}

/* ---- paths --------------------------------------------------------------------------------------- */

/* Of two ways to a root, of equal length, the one of a static field; else the shorter one. */
static void the_shortest_path_is_taken_and_a_static_field_preferred(void **state)
{
	const struct plan p = {.cnt = 4,
			       .edge_cnt = 4,
			       .type = {0, 1, 2, 3},
			       .from = {0, 1, 2, 0},
			       .to = {3, 2, 3, 1}};
	struct tapir_heap_paths paths;
	struct tapir_heap_graph g = {};
	const struct tapir_heap_step *step;
	char text[64];

	(void)state;
	tapir_heap_graph__add_root(&g, VA(0), TAPIR_HEAP_ROOT_STACK, NULL);
	tapir_heap_graph__add_root(&g, VA(0), TAPIR_HEAP_ROOT_STATIC, "Kept");
	build(&g, &p, NULL);
	assert_int_equal(tapir_heap_paths__init(&paths, &g), 0);
	step = &paths.steps.data[paths.best[3]];
	assert_int_equal(step->depth, 2);
	step = &paths.steps.data[step->parent];
	assert_int_equal(step->type, 0);
	step = &paths.steps.data[step->parent];
	assert_int_equal(step->parent, TAPIR_HEAP_NO_STEP);
	assert_string_equal(tapir_heap_root__text(&g.roots.data[step->type], text, sizeof(text)),
			    "static Kept");
	tapir_heap_paths__fini(&paths);
	tapir_heap_graph__fini(&g);
}

/* The last of three regions is listed before the second: their references are still those of their
 * objects. */
static void regions_in_any_order_are_sorted(void **state)
{
	static const uint64_t regions[] = {0x10000000, 0x30000000, 0x20000000};
	struct tapir_heap_graph g = {};
	uint32_t last;

	(void)state;
	for (unsigned r = 0; r < 3; r++)
		for (uint64_t i = 0; i < 1000; i++)
			tapir_heap_graph__add_object(&g, regions[r] + 32 * i, r + 1, 7, 1);
	for (unsigned r = 0; r < 3; r++)
		for (uint64_t i = 0; i < 1000; i++)
			tapir_heap_graph__add_edge(&g, regions[(r + 1) % 3] + 32 * (999 - i));
	assert_int_equal(tapir_heap_graph__seal(&g), 0);
	for (uint32_t i = 1; i < g.va.cnt; i++)
		assert_true(g.va.data[i] > g.va.data[i - 1]);
	last = tapir_heap_graph__find(&g, regions[2] + 32 * 999);
	assert_int_equal(g.bytes.data[last], 3);
	assert_int_equal(g.edges[g.first_edge[last]], tapir_heap_graph__find(&g, regions[0]));
	tapir_heap_graph__fini(&g);
}

/* What a thread works with at this moment: a static field holds it for longer, and from further
 * away. */
static void a_stack_is_named_only_where_nothing_else_holds_it(void **state)
{
	const struct plan p = {
		.cnt = 4, .edge_cnt = 2, .type = {0, 1, 2, 3}, .from = {0, 1}, .to = {1, 2}};
	struct tapir_heap_paths paths;
	struct tapir_heap_graph g = {};

	(void)state;
	tapir_heap_graph__add_root(&g, VA(2), TAPIR_HEAP_ROOT_STACK, NULL);
	tapir_heap_graph__add_root(&g, VA(3), TAPIR_HEAP_ROOT_STACK, NULL);
	tapir_heap_graph__add_root(&g, VA(0), TAPIR_HEAP_ROOT_STATIC, "Kept");
	build(&g, &p, NULL);
	assert_int_equal(tapir_heap_paths__init(&paths, &g), 0);
	assert_int_equal(paths.steps.data[paths.best[2]].depth, 3);
	assert_int_equal(paths.steps.data[paths.best[3]].depth, 1);
	assert_int_equal(paths.unreachable_cnt, 0);
	tapir_heap_paths__fini(&paths);
	tapir_heap_graph__fini(&g);
}

/* Two types in turn, deeper than a path may be. */
static void a_path_that_is_too_deep_is_cut(void **state)
{
	const uint32_t cnt = 1000;
	struct tapir_heap_paths paths;
	struct tapir_heap_graph g = {};
	uint64_t sum = 0;

	(void)state;
	for (uint32_t i = 0; i < cnt; i++) {
		tapir_heap_graph__add_object(&g, VA(i), 24, 100 + i % 2, i + 1 < cnt);
		if (i + 1 < cnt)
			tapir_heap_graph__add_edge(&g, VA(i + 1));
	}
	tapir_heap_graph__add_root(&g, VA(0), TAPIR_HEAP_ROOT_STACK, NULL);
	assert_int_equal(tapir_heap_graph__seal(&g), 0);
	assert_int_equal(tapir_heap_paths__init(&paths, &g), 0);
	assert_in_range(paths.steps.cnt, 50, 70);
	for (size_t i = 0; i < paths.steps.cnt; i++)
		sum += paths.steps.data[i].cnt;
	assert_int_equal(sum, cnt);
	assert_true(paths.steps.data[paths.best[1]].is_truncated);
	tapir_heap_paths__fini(&paths);
	tapir_heap_graph__fini(&g);
}

static void an_empty_heap_has_nothing(void **state)
{
	struct tapir_heap_retained retained;
	struct tapir_heap_paths paths;
	struct tapir_heap_graph g = {};

	(void)state;
	assert_int_equal(tapir_heap_graph__seal(&g), 0);
	assert_int_equal(tapir_heap_retained__init(&retained, &g), 0);
	assert_int_equal(retained.reachable_cnt, 0);
	assert_int_equal(tapir_heap_paths__init(&paths, &g), 0);
	assert_int_equal(paths.steps.cnt, 0);
	tapir_heap_paths__fini(&paths);
	tapir_heap_retained__fini(&retained);
	tapir_heap_graph__fini(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(retained_bytes_are_what_is_lost_without_the_object),
		cmocka_unit_test(a_chain_of_one_type_is_counted_once),
		cmocka_unit_test(a_list_of_a_million_objects_is_held_by_its_first),
		cmocka_unit_test(a_reference_to_nothing_is_counted),
		cmocka_unit_test(an_address_that_occurs_twice_is_one_object),
		cmocka_unit_test(a_key_holds_the_value_of_a_dependent_handle),
		cmocka_unit_test(the_shortest_path_is_taken_and_a_static_field_preferred),
		cmocka_unit_test(regions_in_any_order_are_sorted),
		cmocka_unit_test(a_stack_is_named_only_where_nothing_else_holds_it),
		cmocka_unit_test(a_path_that_is_too_deep_is_cut),
		cmocka_unit_test(an_empty_heap_has_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
