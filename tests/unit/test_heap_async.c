// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Suspended async methods of a heap: what each awaits, who awaits it, and which wait for each
 * other. References are in the order in which .NET lists them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "heap/heap_async.h"

#define MAX	  20u
#define VA(i)	  (0x7f0000000000ull + (i)*0x18ull)
#define BOX	  "AsyncStateMachineBox<System.String, Shop.Orders+<Pay>d__3>"
#define OTHER_BOX "AsyncStateMachineBox<System.Threading.Tasks.VoidTaskResult, Shop+<Serve>d__1>"
#define POOLED	  "StateMachineBox<Shop+<Read>d__7>"
#define SEMAPHORE "System.Threading.SemaphoreSlim"
#define TASK	  "System.Threading.Tasks.Task<System.Int32>"
#define SOURCE	  "System.Threading.Tasks.TaskCompletionSource<System.Int32>"

/* An object: the name of its type, and what it refers to, by numbers from 1 on; 0 ends it. */
struct object {
	const char *type;
	unsigned to[MAX];
};

static void build(struct tapir_heap_graph *g, const struct object *objects, unsigned cnt)
{
	for (unsigned i = 0; i < cnt; i++) {
		unsigned edges = 0;

		while (objects[i].to[edges])
			edges++;
		assert_true(tapir_heap_graph__add_object(g, VA(i), 24, i, edges));
		g->types.data[tapir_heap_graph__type(g, i)].name = objects[i].type;
		for (unsigned e = 0; e < edges; e++)
			assert_true(tapir_heap_graph__add_edge(g, VA(objects[i].to[e] - 1)));
	}
	assert_int_equal(tapir_heap_graph__seal(g), 0);
}

static void find(struct tapir_heap_async *a, const struct object *objects, unsigned cnt)
{
	struct tapir_heap_graph g = {};

	build(&g, objects, cnt);
	assert_int_equal(tapir_heap_async__init(a, &g), 0);
	tapir_heap_graph__fini(&g);
}

#define FIND(a, ...)                                                                               \
	do {                                                                                       \
		static const struct object objects_[] = {__VA_ARGS__};                             \
		find(a, objects_, sizeof(objects_) / sizeof(objects_[0]));                         \
	} while (0)

static void method_awaits_the_task_that_continues_it(void **state)
{
	struct tapir_heap_async a;

	(void)state;
	/* 1: box: itself, then the delay; 3: a task that is a local variable, before the builder */
	FIND(&a, {BOX, {3, 1, 2}}, {"DelayPromise", {1}}, {TASK, {}});
	assert_int_equal(a.methods.cnt, 1);
	assert_int_equal(a.methods.data[0].awaited, 1);
	assert_string_equal(a.methods.data[0].awaited_text, "a delay");
	assert_int_equal(a.unknown_cnt + a.stuck_cnt, 0);
	tapir_heap_async__fini(&a);
}

static void task_that_does_not_continue_a_method_is_not_awaited(void **state)
{
	struct tapir_heap_async a;

	(void)state;
	FIND(&a, {BOX, {1, 2}}, {TASK, {}});
	assert_int_equal(a.unknown_cnt, 1);
	tapir_heap_async__fini(&a);
	/* Nor is one that continues it by a list in which it is not. */
	FIND(&a, {BOX, {1, 2}}, {TASK, {3}},
	     {"System.Collections.Generic.List<System.Object>", {4}}, {"System.Object[]", {}});
	assert_int_equal(a.unknown_cnt, 1);
	tapir_heap_async__fini(&a);
}

static void method_that_has_ended_is_none(void **state)
{
	struct tapir_heap_async a;

	(void)state;
	FIND(&a, {BOX, {2}}, {"System.Object", {}});
	assert_int_equal(a.methods.cnt, 0);
	tapir_heap_async__fini(&a);
}

static void callers_are_found_through_context_delegate_list_and_combined_task(void **state)
{
	struct tapir_heap_async a;

	(void)state;
	FIND(&a, {BOX, {2, 3, 1, 4}}, {"System.Threading.ExecutionContext", {}},
	     {"WhenAllPromise", {5}}, {"DelayPromise", {8}}, {"System.Object[]", {6}},
	     {OTHER_BOX, {2, 6, 3}}, {POOLED, {2, 7, 6}},
	     {"System.Collections.Generic.List<System.Object>", {9}}, {"System.Action", {1}});
	assert_int_equal(a.methods.cnt, 3);
	assert_int_equal(a.methods.data[0].caller, 1);
	assert_int_equal(a.methods.data[0].part_of, 2);
	assert_string_equal(a.methods.data[0].awaited_text, "a delay");
	assert_int_equal(a.methods.data[1].awaited, 2);
	assert_null(a.methods.data[1].awaited_text);
	/* The pooled one refers to a method that does not refer to it. */
	assert_int_equal(a.unknown_cnt, 1);
	tapir_heap_async__fini(&a);
}

static void iterator_awaits_by_its_state_machine(void **state)
{
	struct tapir_heap_async a;

	(void)state;
	FIND(&a, {"AsyncStateMachineBox<V, Shop+<Pages>d__4>", {2}}, {"<Pages>d__4", {4, 1, 3}},
	     {"DelayPromise", {1}}, {OTHER_BOX, {4, 2}});
	assert_int_equal(a.methods.cnt, 2);
	assert_int_equal(a.methods.data[0].step, 1);
	assert_string_equal(a.methods.data[0].awaited_text, "a delay");
	assert_int_equal(a.methods.data[1].callee, 0);
	assert_int_equal(a.methods.data[0].caller, 1);
	tapir_heap_async__fini(&a);
}

static void methods_that_await_each_other_are_certain(void **state)
{
	struct tapir_heap_async a;

	(void)state;
	FIND(&a, {BOX, {5, 1, 2}}, {OTHER_BOX, {1, 2, 1}}, {BOX, {3, 4}}, {"DelayPromise", {3}},
	     {"System.Collections.Generic.List<System.Object>", {2, 6}}, {BOX, {6, 1}});
	assert_int_equal(a.stuck_cnt, 2);
	/* The way round is not shown as callers; who awaits the circle is one, and not of it. */
	assert_int_equal(a.methods.data[0].caller, 3);
	assert_int_equal(a.methods.data[1].caller, TAPIR_HEAP_NO_METHOD);
	assert_false(a.methods.data[3].is_stuck);
	assert_true(a.methods.data[0].is_certain && a.methods.data[1].is_certain);
	assert_false(a.methods.data[2].is_stuck);
	tapir_heap_async__fini(&a);
}

/* 1 and 2 are semaphores, 3 and 4 who waits for each; 5 has 1 and awaits 2, 6 the reverse. */
#define TWO                                                                                        \
	{SEMAPHORE, {3}}, {SEMAPHORE, {4}}, {"TaskNode", {6}}, {"TaskNode", {5}},                  \
		{BOX, {1, 2, 5, 4}},                                                               \
	{                                                                                          \
		BOX,                                                                               \
		{                                                                                  \
			1, 2, 6, 3                                                                 \
		}                                                                                  \
	}

static void methods_with_each_other_s_semaphores_wait_for_each_other(void **state)
{
	struct tapir_heap_async a;

	(void)state;
	FIND(&a, TWO);
	assert_int_equal(a.stuck_cnt, 2);
	assert_false(a.methods.data[0].is_certain);
	assert_int_equal(a.methods.data[0].holder, 1);
	assert_string_equal(a.methods.data[0].awaited_text, "a semaphore");
	tapir_heap_async__fini(&a);
}

static void method_that_can_go_on_may_release_what_it_refers_to(void **state)
{
	struct tapir_heap_async a;

	(void)state;
	FIND(&a, TWO, {BOX, {1, 7, 8}}, {"DelayPromise", {7}});
	assert_int_equal(a.stuck_cnt, 0);
	tapir_heap_async__fini(&a);
	/* Or it is not known what it awaits. */
	FIND(&a, TWO, {BOX, {2, 7}});
	assert_int_equal(a.stuck_cnt, 0);
	tapir_heap_async__fini(&a);
}

static void waiters_of_one_semaphore_wait_for_nobody_known(void **state)
{
	struct tapir_heap_async a;

	(void)state;
	FIND(&a, {SEMAPHORE, {2, 3}}, {"TaskNode", {4, 3}}, {"TaskNode", {5, 2}}, {BOX, {1, 4, 2}},
	     {BOX, {1, 5, 3}});
	assert_int_equal(a.stuck_cnt, 0);
	assert_int_equal(a.methods.data[1].holder, 0);
	tapir_heap_async__fini(&a);
}

static void sources_are_held_like_semaphores(void **state)
{
	struct tapir_heap_async a;

	(void)state;
	FIND(&a, {SOURCE, {3}}, {SOURCE, {4}}, {TASK, {6}}, {TASK, {5}}, {BOX, {1, 5, 4}},
	     {BOX, {2, 6, 3}});
	assert_int_equal(a.stuck_cnt, 2);
	assert_string_equal(a.methods.data[0].awaited_text, "a TaskCompletionSource");
	tapir_heap_async__fini(&a);
}

static void methods_are_named_as_in_source_code(void **state)
{
	static const char *const names[][2] = {
		{BOX, "Shop.Orders.Pay (async)"},
		{"StateMachineBox<Shop+<Read>d__7<System.Int32>>", "Shop.Read (async)"},
		{"AsyncStateMachineBox<System.Int32, Shop+<>c+<<Main>b__5_1>d>",
		 "Shop.Main (lambda 5_1) (async)"},
		{"AsyncStateMachineBox<A<B, C>, Shop+<<Main>g__Ask|0_0>d>",
		 "Shop.Main.Ask (local) (async)"},
		/* Not of a compiler: as they are. */
		{"StateMachineBox<", "StateMachineBox<"},
		{"StateMachineBox<>", "StateMachineBox<>"},
		{"StateMachineBox<,>", "StateMachineBox<,>"},
		{"StateMachineBox", "StateMachineBox"},
		{"StateMachineBox<>d<>>>", "StateMachineBox<>d<>>>"},
		{"StateMachineBox<Shop>", "StateMachineBox<Shop>"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct tapir_str out = {};

		tapir_heap_async_type__add_method(&out, names[i][0]);
		assert_string_equal(out.data, names[i][1]);
		tapir_str__fini(&out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(method_awaits_the_task_that_continues_it),
		cmocka_unit_test(task_that_does_not_continue_a_method_is_not_awaited),
		cmocka_unit_test(method_that_has_ended_is_none),
		cmocka_unit_test(callers_are_found_through_context_delegate_list_and_combined_task),
		cmocka_unit_test(iterator_awaits_by_its_state_machine),
		cmocka_unit_test(methods_that_await_each_other_are_certain),
		cmocka_unit_test(methods_with_each_other_s_semaphores_wait_for_each_other),
		cmocka_unit_test(method_that_can_go_on_may_release_what_it_refers_to),
		cmocka_unit_test(waiters_of_one_semaphore_wait_for_nobody_known),
		cmocka_unit_test(sources_are_held_like_semaphores),
		cmocka_unit_test(methods_are_named_as_in_source_code),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
