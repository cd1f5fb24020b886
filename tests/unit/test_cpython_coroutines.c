// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Coroutines of a made-up CPython 3.12, and lists of objects that are not what they claim: what is
 * found ends, and is what is there.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>

#include "fake_memory.h"
#include "runtime/cpython/cpython_coroutines.h"
#include "runtime/cpython/cpython_lines.h"

enum {
	RUNTIME = MEMORY_VA,
	INTERPRETER = MEMORY_VA + 0x100,
	GC = INTERPRETER + 112,
	HEADS = GC + 24,
	PERMANENT_HEAD = GC + 104,
	COLLECTING = GC + 200,
	TYPES = MEMORY_VA + 0x1000,   /* 0x200 each: the type, and its name at 0x180 */
	OBJECTS = MEMORY_VA + 0x3000, /* 0x100 each, two words of the list first */
	CODES = MEMORY_VA + 0x8000,   /* 0x200 each */
	TEXTS = MEMORY_VA + 0xa000,   /* 0x80 each */
	TABLES = MEMORY_VA + 0xd000,  /* 0x40 each */
	FRAME = 72,
	UNIT = 3,
	ASCII_STATE = 1 << 2 | 1 << 5 | 1 << 6,
};

enum { COROUTINE_TYPE, TASK_TYPE, FUTURE_TYPE, ITER_TYPE, METHOD_TYPE, LOCK_TYPE, LIST_TYPE };

static struct fake_memory memory;
static struct tapir_cpython python;
static unsigned object_cnt, text_cnt, code_cnt;
static uint64_t last_va;
static char said[2048];

static void put(uint64_t va, uint64_t value)
{
	fake_memory__put(&memory, va, value);
}

static uint64_t type_va(unsigned idx)
{
	return TYPES + 0x200ull * idx;
}

static int setup(void **state)
{
	static const char *const names[] = {
		"coroutine", "_asyncio.Task", "_asyncio.Future", "_asyncio.FutureIter", "method",
		"Lock",	     "list"};

	(void)state;
	memory = (struct fake_memory){.size = MEMORY_BYTES};
	object_cnt = text_cnt = code_cnt = 0;
	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++) {
		put(type_va(i) + 24, type_va(i) + 0x180);
		strcpy((char *)memory.bytes + (type_va(i) + 0x180 - MEMORY_VA), names[i]);
	}
	python = (struct tapir_cpython){.runtime_va = RUNTIME,
					.version = 0x030c,
					.coroutine_type_va = type_va(COROUTINE_TYPE),
					.layout = {.interpreters = 40,
						   .gc = 112,
						   .name = 128,
						   .file = 112,
						   .text_len = 16,
						   .text_state = 32,
						   .ascii_bytes = 40,
						   .compact_bytes = 56}};
	put(RUNTIME + 40, INTERPRETER);
	for (unsigned i = 0; i < 3; i++)
		put(HEADS + 24ull * i, HEADS + 24ull * i);
	put(PERMANENT_HEAD, PERMANENT_HEAD);
	last_va = HEADS;
	return 0;
}

static uint64_t add_text(const char *text)
{
	uint64_t va = TEXTS + 0x80ull * text_cnt++;

	put(va + 16, strlen(text));
	fake_memory__put32(&memory, va + 32, ASCII_STATE);
	memcpy(memory.bytes + (va + 40 - MEMORY_VA), text, strlen(text));
	return va;
}

/* A function whose units from 3 on are two lines below its first. */
static uint64_t add_code(const char *name, const char *file, uint32_t first_line)
{
	static const uint8_t table[] = {0x80 | 13 << 3 | 2, 0, 0x80 | 12 << 3 | 3, 0, 0};
	uint64_t va = CODES + 0x200ull * code_cnt, table_va = TABLES + 0x40ull * code_cnt++;

	put(va + 128, add_text(name));
	put(va + 112, add_text(file));
	fake_memory__put32(&memory, va + 68, first_line);
	put(va + 136, table_va);
	put(table_va + 16, sizeof(table));
	memcpy(memory.bytes + (table_va + 32 - MEMORY_VA), table, sizeof(table));
	return va;
}

/* An object at the end of the youngest list. */
static uint64_t add_object(unsigned type)
{
	uint64_t head_va = OBJECTS + 0x100ull * object_cnt++;

	put(last_va, head_va);
	put(head_va, HEADS);
	put(head_va + 16 + 8, type_va(type));
	last_va = head_va;
	return head_va + 16;
}

/* A coroutine that awaits an object, and has another one below it on its stack, 0: none. */
static uint64_t add_coroutine(uint64_t code_va, uint64_t awaited_va, uint64_t value_va)
{
	uint64_t va = add_object(COROUTINE_TYPE), frame_va = va + FRAME;

	memory.bytes[va + 67 - MEMORY_VA] = 0xff;
	put(frame_va, code_va);
	put(frame_va + 56, code_va + 192 + 2 * UNIT);
	fake_memory__put32(&memory, frame_va + 64, 2);
	put(frame_va + 72, value_va);
	put(frame_va + 80, awaited_va);
	return va;
}

static uint64_t add_task(uint64_t coroutine_va, const char *name)
{
	uint64_t va = add_object(TASK_TYPE);

	put(va + 136, coroutine_va);
	put(va + 144, add_text(name));
	return va;
}

static void add_said(void *ctx, const struct tapir_suspended_stack *stack)
{
	size_t len = strlen(said);

	(void)ctx;
	(void)snprintf(said + len, sizeof(said) - len,
		       "%s%.*sawaits %.*s, held by %.*s, task %.*s\n",
		       stack->is_stuck ? "stuck " : "", (int)stack->frames.len, stack->frames.data,
		       (int)stack->awaits.len, stack->awaits.data, (int)stack->holder.len,
		       stack->holder.data, (int)stack->task.len, stack->task.data);
}

static struct tapir_suspended_sink list(int expected)
{
	const struct tapir_process_memory source = fake_memory__of(&memory);
	struct tapir_suspended_sink sink = {.add = add_said};

	said[0] = 0;
	assert_int_equal(tapir_cpython_coroutines__list(&python, &source, false, &sink), expected);
	return sink;
}

/* ---- what is right -------------------------------------------------------------------------- */

static void chain_of_awaits_is_one_stack(void **state)
{
	uint64_t inner, task;

	(void)state;
	inner = add_coroutine(add_code("Shop.pay", "/srv/shop.py", 10), add_object(FUTURE_TYPE), 0);
	task = add_task(inner, "paying");
	(void)add_object(LIST_TYPE);
	(void)add_coroutine(add_code("main", "/srv/main.py", 1), task, 0);
	assert_int_equal(list(0).cnt, 2);
	assert_string_equal(said, "Shop.pay(/srv/shop.py:12)\nmain(/srv/main.py:3)\n"
				  "awaits a future, held by , task paying\n");
}

static void iterator_of_a_future_leads_to_it(void **state)
{
	uint64_t iter;

	(void)state;
	iter = add_object(ITER_TYPE);
	put(iter + 16, add_object(FUTURE_TYPE));
	(void)add_coroutine(add_code("main", "/srv/main.py", 1), iter, 0);
	list(0);
	assert_string_equal(said, "main(/srv/main.py:3)\nawaits a future, held by , task \n");
}

static void coroutine_that_runs_is_not_suspended(void **state)
{
	uint64_t va;

	(void)state;
	va = add_coroutine(add_code("main", "/srv/main.py", 1), add_object(FUTURE_TYPE), 0);
	memory.bytes[va + 67 - MEMORY_VA] = 0;
	assert_int_equal(list(0).cnt, 0);
	memory.bytes[va + 67 - MEMORY_VA] = 0xfe; /* it never ran */
	assert_int_equal(list(0).cnt, 0);
}

static uint64_t add_exit(uint64_t lock_va)
{
	uint64_t method_va = add_object(METHOD_TYPE), function_va = add_object(LIST_TYPE);

	put(method_va + 16, function_va);
	put(method_va + 24, lock_va);
	put(function_va + 48, add_code("_Mixin.__aexit__", "/lib/python3.12/asyncio/locks.py", 1));
	return method_va;
}

/* Its task is in `async with` of one lock and acquires another one. */
static void add_holder(const char *name, uint64_t acquire_va, uint64_t held_va, uint64_t wanted_va)
{
	uint64_t future_va = add_object(FUTURE_TYPE),
		 acquiring = add_coroutine(acquire_va, future_va, wanted_va);

	(void)add_coroutine(add_code(name, "/srv/shop.py", 20), acquiring, add_exit(held_va));
}

static void tasks_that_have_each_others_locks_are_stuck(void **state)
{
	uint64_t acquire_va, locks[2];

	(void)state;
	acquire_va = add_code("Lock.acquire", "/usr/lib/python3.12/asyncio/locks.py", 90);
	locks[0] = add_object(LOCK_TYPE);
	locks[1] = add_object(LOCK_TYPE);
	add_holder("sell", acquire_va, locks[0], locks[1]);
	add_holder("refund", acquire_va, locks[1], locks[0]);
	assert_int_equal(list(0).stuck_cnt, 2);
	assert_non_null(strstr(said, "stuck Lock.acquire(/usr/lib/python3.12/asyncio/locks.py:92)\n"
				     "sell(/srv/shop.py:22)\nawaits a future, held by refund("));
	assert_non_null(strstr(said, "held by sell("));
}

static void lock_whose_holder_goes_on_is_no_circle(void **state)
{
	uint64_t acquire_va, lock;

	(void)state;
	acquire_va = add_code("Lock.acquire", "/usr/lib/python3.12/asyncio/locks.py", 90);
	lock = add_object(LOCK_TYPE);
	add_holder("sell", acquire_va, add_object(LOCK_TYPE), lock);
	(void)add_coroutine(add_code("nap", "/srv/shop.py", 1), add_object(FUTURE_TYPE),
			    add_exit(lock));
	assert_int_equal(list(0).stuck_cnt, 0);
	assert_non_null(strstr(said, "held by nap("));
}

static void tasks_that_await_each_other_are_stuck(void **state)
{
	uint64_t first, second;

	(void)state;
	first = add_coroutine(add_code("first", "/srv/a.py", 1), 0, 0);
	second = add_coroutine(add_code("second", "/srv/a.py", 8), add_task(first, "1"), 0);
	put(first + FRAME + 80, add_task(second, "2"));
	assert_int_equal(list(0).stuck_cnt, 2);
	assert_string_equal(said, "stuck first(/srv/a.py:3)\nsecond(/srv/a.py:10)\n"
				  "awaits second(/srv/a.py:10), held by , task 1\n"
				  "stuck second(/srv/a.py:10)\nfirst(/srv/a.py:3)\n"
				  "awaits first(/srv/a.py:3), held by , task 2\n");
}

/* ---- what is not ---------------------------------------------------------------------------- */

static void other_versions_are_not_known(void **state)
{
	(void)state;
	python.version = 0x030e;
	list(-EOPNOTSUPP);
	python.version = 0x030c;
	python.layout.gc = 0;
	list(-EOPNOTSUPP);
}

static void list_that_does_not_end_where_it_began_is_torn(void **state)
{
	static const uint64_t wrong[] = {
		0, 1, OBJECTS, OBJECTS + 0x100, 0xdeadbeef000, MEMORY_VA + MEMORY_BYTES - 8};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		(void)setup(NULL);
		(void)add_object(LIST_TYPE);
		(void)add_object(LIST_TYPE);
		(void)add_object(LIST_TYPE);
		put(last_va, wrong[i]);
		list(-EAGAIN);
	}
}

static void collector_that_works_is_waited_for(void **state)
{
	(void)state;
	(void)add_object(LIST_TYPE);
	list(0);
	put(COLLECTING, 1);
	list(-EAGAIN);
}

static void object_without_a_type_ends_a_list(void **state)
{
	(void)state;
	put(add_object(LIST_TYPE) + 8, MEMORY_VA + 0xf000);
	(void)add_object(LIST_TYPE);
	list(-EAGAIN);
}

static void values_out_of_bounds_are_no_coroutine(void **state)
{
	static const int32_t tops[] = {0, -1, INT32_MIN, INT32_MAX, 65537};
	uint64_t va;

	(void)state;
	va = add_coroutine(add_code("main", "/srv/main.py", 1), add_object(FUTURE_TYPE), 0);
	for (size_t i = 0; i < sizeof(tops) / sizeof(*tops); i++) {
		fake_memory__put32(&memory, va + FRAME + 64, (uint32_t)tops[i]);
		assert_int_equal(list(0).cnt, 0);
	}
}

static void wrappers_in_a_circle_end(void **state)
{
	uint64_t iter;

	(void)state;
	iter = add_object(ITER_TYPE);
	put(iter + 16, iter);
	(void)add_coroutine(add_code("main", "/srv/main.py", 1), iter, 0);
	list(0);
	assert_string_equal(said, "main(/srv/main.py:3)\nawaits , held by , task \n");
}

/* ---- lines ---------------------------------------------------------------------------------- */

static void lines_are_those_of_the_table(void **state)
{
	static const uint8_t short_form[] = {0x80,	    0,	 0xda, 8, 9, 0x80 | 15 << 3,
					     0x80 | 1 << 3, 0x10};
	static const uint8_t long_form[] = {0x80 | 14 << 3 | 1, 0x48, 0x01, 0, 1, 1,
					    0x80 | 13 << 3,	3};

	(void)state;
	assert_int_equal(tapir_cpython_lines__at(short_form, sizeof(short_form), 5, 0), 5);
	assert_int_equal(tapir_cpython_lines__at(short_form, sizeof(short_form), 5, 1), 6);
	assert_int_equal(tapir_cpython_lines__at(short_form, sizeof(short_form), 5, 3), 6);
	assert_int_equal(tapir_cpython_lines__at(short_form, sizeof(short_form), 5, 4), 0);
	assert_int_equal(tapir_cpython_lines__at(short_form, sizeof(short_form), 5, 5), 6);
	assert_int_equal(tapir_cpython_lines__at(short_form, sizeof(short_form), 5, 6), 0);
	/* 0x48 0x01: 8 + 64 = 72, a delta of 36; 3: a delta of -1. */
	assert_int_equal(tapir_cpython_lines__at(long_form, sizeof(long_form), 5, 1), 41);
	assert_int_equal(tapir_cpython_lines__at(long_form, sizeof(long_form), 5, 2), 40);
}

static void wrong_tables_have_no_line(void **state)
{
	static const uint8_t unended[] = {0xf7, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f};
	static const uint8_t headless[] = {0x01, 0x80};

	(void)state;
	assert_int_equal(tapir_cpython_lines__at(NULL, 0, 5, 0), 0);
	assert_int_equal(tapir_cpython_lines__at(headless, sizeof(headless), 5, 0), 0);
	assert_int_equal(tapir_cpython_lines__at(unended, sizeof(unended), 5, 0), 0);
	assert_int_equal(tapir_cpython_lines__at(unended, 1, -5, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(chain_of_awaits_is_one_stack, setup),
		cmocka_unit_test_setup(iterator_of_a_future_leads_to_it, setup),
		cmocka_unit_test_setup(coroutine_that_runs_is_not_suspended, setup),
		cmocka_unit_test_setup(tasks_that_have_each_others_locks_are_stuck, setup),
		cmocka_unit_test_setup(lock_whose_holder_goes_on_is_no_circle, setup),
		cmocka_unit_test_setup(tasks_that_await_each_other_are_stuck, setup),
		cmocka_unit_test_setup(other_versions_are_not_known, setup),
		cmocka_unit_test_setup(list_that_does_not_end_where_it_began_is_torn, setup),
		cmocka_unit_test_setup(collector_that_works_is_waited_for, setup),
		cmocka_unit_test_setup(object_without_a_type_ends_a_list, setup),
		cmocka_unit_test_setup(values_out_of_bounds_are_no_coroutine, setup),
		cmocka_unit_test_setup(wrappers_in_a_circle_end, setup),
		cmocka_unit_test(lines_are_those_of_the_table),
		cmocka_unit_test(wrong_tables_have_no_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
