// SPDX-License-Identifier: GPL-2.0-or-later
/* Functions of a CPython without -X perf, by looks at its threads, of made-up recordings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "finding_case.h"

/* Stacks: samples have the interpreter's functions, looks have Python's. */
enum { COMPUTES = 1, NATIVE, DRAWS, PARSES, LOOPS, CALLS_BACK, WAITS, ASKS, CALLED };

enum {
	EVAL = 1,
	STRIPPED,
	START,
	PY_DRAW,
	PY_PARSE,
	PY_LOADS,
	PY_RUN_ONCE,
	PY_MODULE,
	PY_THREAD,
	LIBX,
	TAKE_GIL,
	EPOLL,
};

static void name_symbol(unsigned at, const char *file, const char *name)
{
	struct tapir_rec_symbol symbol = {.file_id = 0x1000 * (uint64_t)at, .size = 0x1000};

	feeder_mapping(&f, 0x1000 * (uint64_t)at, file);
	if (name)
		feeder_add(&f, tapir_recbuf__symbol(&f.buf, &symbol, feeder_sv(name)));
}

static int setup(void **state)
{
	(void)state;
	if (finding_begin())
		return -1;
	name_symbol(EVAL, "/x/python3.11", "_PyEval_EvalFrameDefault");
	name_symbol(STRIPPED, "/x/python3.11", NULL);
	name_symbol(START, "/x/libc.so.6", "clone3");
	name_symbol(LIBX, "/x/libx.so", "crunch");
	name_symbol(TAKE_GIL, "/x/python3.11", "take_gil");
	name_symbol(EPOLL, "/x/libc.so.6", "epoll_wait");
	name_method(PY_DRAW, "py::draw:/srv/shop.py");
	name_method(PY_PARSE, "py::parse:/srv/shop.py");
	name_method(PY_LOADS, "py::loads:/usr/lib/python3.11/json/__init__.py");
	name_method(PY_RUN_ONCE,
		    "py::BaseEventLoop._run_once:/usr/lib/python3.11/asyncio/base_events.py");
	name_method(PY_MODULE, "py::<module>:/srv/shop.py");
	name_method(PY_THREAD, "py::Thread.run:/usr/lib/python3.11/threading.py");
	FINDING_STACK(COMPUTES, STRIPPED, EVAL, START);
	FINDING_STACK(NATIVE, LIBX, START);
	FINDING_STACK(DRAWS, PY_DRAW, PY_MODULE);
	FINDING_STACK(PARSES, PY_LOADS, PY_PARSE, PY_MODULE);
	FINDING_STACK(LOOPS, PY_RUN_ONCE, PY_MODULE);
	FINDING_STACK(CALLS_BACK, PY_DRAW, PY_RUN_ONCE, PY_MODULE);
	FINDING_STACK(WAITS, TAKE_GIL, EVAL, START);
	FINDING_STACK(ASKS, EPOLL, STRIPPED, EVAL, START);
	FINDING_STACK(CALLED, STRIPPED, EVAL, STRIPPED, EVAL, START);
	feeder_thread(&f, 2, "python3");
	feeder_thread(&f, 3, "worker");
	return finding_listen();
}

static void sample(uint32_t tid, uint64_t at_ms, uint64_t stack)
{
	struct tapir_rec_sample one = {.tgid = TGID, .tid = tid, .period = MS, .stack_id = stack};

	tapir_rec__init(&one.h, TAPIR_REC_SAMPLE, sizeof(one), at_ms * MS);
	feeder_add(&f, &one.h);
}

static void look(uint32_t tid, uint64_t at_ms, uint64_t stack)
{
	struct tapir_rec_interp_sample one = {.tgid = TGID, .tid = tid, .stack_id = stack};

	tapir_rec__init(&one.h, TAPIR_REC_INTERP_SAMPLE, sizeof(one), at_ms * MS);
	feeder_add(&f, &one.h);
}

/* It computes for a second, and every fifth look finds it elsewhere. */
static void compute(uint64_t stack)
{
	feeder_come(&f, 2, 1 * MS, 1 * MS, 0);
	for (uint64_t at = 2; at < 1000; at++) {
		sample(2, at, stack);
		if (at % 50 == 0)
			look(2, at, at % 250 ? DRAWS : PARSES);
	}
}

static void function_that_computes_has_a_name(void **state)
{
	(void)state;
	compute(COMPUTES);
	end_at(1001 * MS);
	expect(TAPIR_FINDING_CPU,
	       "1.00 CPUs used, most in draw shop.py (16 of 19 times that running threads' frames were read)");
	assert_string_equal(found.rows.data[0].subject, "py::draw:/srv/shop.py");
}

/* A thread that sleeps uses no CPU, wherever it is. */
static void looks_at_threads_that_sleep_do_not_count(void **state)
{
	(void)state;
	finding_sleep(3, 1, COMPUTES);
	for (uint64_t at = 40; at < 1000; at += 10)
		look(3, at, PARSES);
	compute(COMPUTES);
	end_at(1001 * MS);
	expect(TAPIR_FINDING_CPU,
	       "1.00 CPUs used, most in draw shop.py (16 of 19 times that running threads' frames were read)");
}

/* A CPU that other threads use is not what a function of Python uses. */
static void nothing_is_said_where_another_thread_computes(void **state)
{
	(void)state;
	feeder_come(&f, 3, 1 * MS, 1 * MS, 0);
	feeder_come(&f, 2, 1 * MS, 1 * MS, 0);
	for (uint64_t at = 2; at < 1000; at++) {
		sample(3, at, NATIVE);
		if (at % 50 == 0)
			look(2, at, DRAWS);
	}
	end_at(1001 * MS);
	expect(TAPIR_FINDING_CPU, "1.00 CPUs used, 100% of the CPU in crunch");
}

static void few_looks_tell_nothing(void **state)
{
	(void)state;
	feeder_come(&f, 2, 1 * MS, 1 * MS, 0);
	for (uint64_t at = 2; at < 1000; at++)
		sample(2, at, COMPUTES);
	for (uint64_t at = 100; at < 800; at += 100)
		look(2, at, DRAWS);
	end_at(1001 * MS);
	assert_null(strstr(found.rows.data[0].text, "draw"));
}

/* Who has the lock of the interpreter has it in a function. */
static void holder_of_the_gil_has_a_function(void **state)
{
	(void)state;
	finding_sleep(3, 1, WAITS);
	compute(COMPUTES);
	feeder_come(&f, 3, 1000 * MS, 1000 * MS, 2);
	end_at(1001 * MS);
	assert_int_equal(found.rows.data[0].kind, TAPIR_FINDING_LOCKS);
	assert_non_null(strstr(
		found.rows.data[0].text,
		"; thread 2 (python3) holds it: 100% of the interpreter's CPU time, "
		"most in draw shop.py (16 of 19 times that running threads' frames were read)"));
}

/*
 * A callback that is no task, on a CPU: neither its stacks nor snapshots tell that the thread runs
 * a loop, looks do.
 */
static void callback_that_computes_blocks_the_loop(void **state)
{
	(void)state;
	feeder_come(&f, 2, 1 * MS, 1 * MS, 0);
	look(2, 2, LOOPS);
	for (uint64_t from = 2; from < 1000; from += 200) {
		for (uint64_t at = from; at < from + 100; at++)
			sample(2, at, CALLED);
		for (uint64_t at = from + 5; at < from + 100; at += 50)
			look(2, at, CALLS_BACK);
		finding_sleep(2, from + 100, ASKS);
		feeder_come(&f, 2, (from + 199) * MS, (from + 199) * MS, 0);
	}
	end_at(1003 * MS);
	assert_int_equal(found.rows.data[0].kind, TAPIR_FINDING_LOOP);
	assert_non_null(strstr(found.rows.data[0].text, "; it was seen in draw shop.py"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, finding_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(function_that_computes_has_a_name),
		TEST(looks_at_threads_that_sleep_do_not_count),
		TEST(nothing_is_said_where_another_thread_computes),
		TEST(few_looks_tell_nothing),
		TEST(holder_of_the_gil_has_a_function),
		TEST(callback_that_computes_blocks_the_loop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
