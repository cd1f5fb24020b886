// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * CPU time that .NET uses for what is meant to be done once, and processes that are started.
 *
 * runtimes: dotnet
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "finding_state.h"

enum { VFORK = 1, CHILD, OWN, CONNECTS, GOES_ON, STARTS, LIBRARY, POOL_STARTS };
enum { CONNECT = 100 };

static void add_libc(void)
{
	struct tapir_rec_symbol symbol = {.file_id = 0x5000, .size = 0x1000};

	feeder_mapping(&f, 0x5000, "/x/libc.so.6");
	feeder_add(&f, tapir_recbuf__symbol(&f.buf, &symbol, feeder_sv("__lll_lock_wait")));
}

/* Stacks: innermost function first. */
static int setup(void **state)
{
	const uint64_t starts[] = {0x5008, 0x4008, 0x2008};
	const uint64_t child[] = {0x1008, 0x2008}, own[] = {0x2008};
	const uint64_t pool_starts[] = {0x5008, 0x4008};
	const uint64_t connects[] = {0x3008, 0x2008}, should_continue[] = {0x2008, 0x3008};

	(void)state;
	if (finding_begin())
		return -1;
	name_method(1, "System.Diagnostics.Process.StartCore(System.Diagnostics.ProcessStartInfo)");
	name_method(2, "Shop.Ask()");
	name_method(3, "System.Net.Sockets.Socket.ConnectAsync(SocketAsyncEventArgs)");
	name_method(4, "System.Threading.Thread.Start()");
	add_libc();
	feeder_kernel_function(&f, VFORK, "kernel_clone");
	feeder_stack(&f, STARTS, starts, 3);
	feeder_stack(&f, POOL_STARTS, pool_starts, 2);
	feeder_stack(&f, CHILD, child, 2);
	feeder_stack(&f, OWN, own, 1);
	feeder_stack(&f, CONNECTS, connects, 2);
	feeder_stack(&f, GOES_ON, should_continue, 2);
	feeder_stack(&f, LIBRARY, connects, 1);
	return finding_listen();
}

static void sample(unsigned cnt, uint64_t stack)
{
	static uint64_t ms;

	for (unsigned i = 0; i < cnt; i++) {
		struct tapir_rec_sample one = {
			.tgid = TGID, .tid = 2, .period = MS, .stack_id = stack};

		tapir_rec__init(&one.h, TAPIR_REC_SAMPLE, sizeof(one), ++ms * MS);
		feeder_add(&f, &one.h);
	}
}

static const struct tapir_finding *found_at(uint64_t ms, enum tapir_finding_kind kind)
{
	feeder_come(&f, 99, ms * MS, ms * MS, 0);
	assert_int_equal(tapir_timeline__finish(f.tl), 0);
	tapir_diagnosis__list(&finding, &found);
	assert_false(found.failed);
	for (size_t i = 0; i < found.rows.cnt; i++)
		if (found.rows.data[i].kind == kind)
			return &found.rows.data[i];
	return NULL;
}

/* Nor is it what the program's own code does that goes on there. */
static void connections_are_what_the_cpu_is_used_for(void **state)
{
	const struct tapir_finding *row;

	(void)state;
	feeder_come(&f, 99, 0, 0, 0);
	sample(600, CONNECTS);
	sample(300, GOES_ON);
	sample(100, OWN);
	row = found_at(1001, TAPIR_FINDING_CPU_ACTIVITY);
	assert_non_null(row);
	assert_string_equal(row->text,
			    "60% of the CPU opens and closes connections (an HttpClient may be "
			    "created for each request), most for Shop.Ask()");
}

/* Who waits until a child runs its program; each takes 5 ms. */
static void start_children(unsigned cnt, uint64_t stack)
{
	for (uint64_t ms = 0; ms < 10 * cnt; ms += 10) {
		feeder_switch(&f, ms * MS,
			      (struct tapir_rec_switch){.out_tgid = TGID,
							.out_tid = 2,
							.out_state = TAPIR_STATE_SLEEPING,
							.out_stack_id = stack,
							.out_kstack_id = VFORK});
		feeder_come(&f, 2, (ms + 5) * MS, (ms + 5) * MS, 99);
	}
}

static void processes_that_are_started_are_counted(void **state)
{
	const struct tapir_finding *row;

	(void)state;
	feeder_come(&f, 99, 0, 0, 0);
	start_children(100, CHILD);
	row = found_at(1001, TAPIR_FINDING_PROCESSES);
	assert_non_null(row);
	assert_string_equal(row->text, "100 processes are started a second, most by Shop.Ask()");
	assert_true(row->magnitude > 99 && row->magnitude < 101);
}

static void few_processes_are_no_finding(void **state)
{
	(void)state;
	feeder_come(&f, 99, 0, 0, 0);
	start_children(20, CHILD);
	assert_null(found_at(1000, TAPIR_FINDING_PROCESSES));
}

static void connect_often(unsigned cnt, uint64_t stack)
{
	finding_probe(CONNECT, "System.Net.Sockets", "ConnectStart",
		      (const char *const[]){"address", NULL});
	for (unsigned i = 0; i < cnt; i++)
		finding_fire(CONNECT, 1 + i, stack, (const uint64_t[]){0}, 1);
}

static void connections_are_counted_with_who_asks_for_them(void **state)
{
	const struct tapir_finding *row;

	(void)state;
	feeder_come(&f, 99, 0, 0, 0);
	connect_often(100, OWN);
	row = found_at(1001, TAPIR_FINDING_CONNECTIONS);
	assert_non_null(row);
	assert_string_equal(row->text, "100 connections are opened a second, most for Shop.Ask(): "
				       "an HttpClient, or another client, may be created for each "
				       "request");
}

/* A thread of the pool opens it: the program's own code is where the rest of the work is. */
static void who_makes_clients_is_known_by_the_cpu_time_for_it(void **state)
{
	const struct tapir_finding *row;

	(void)state;
	feeder_come(&f, 99, 0, 0, 0);
	connect_often(100, LIBRARY);
	sample(5, CONNECTS);
	row = found_at(1001, TAPIR_FINDING_CONNECTIONS);
	assert_non_null(row);
	assert_string_equal(row->subject, "Shop.Ask()");
}

static void few_connections_are_no_finding(void **state)
{
	(void)state;
	feeder_come(&f, 99, 0, 0, 0);
	connect_often(40, OWN);
	assert_null(found_at(1001, TAPIR_FINDING_CONNECTIONS));
}

static void describe_thread(uint32_t tid, uint64_t start_ms)
{
	struct tapir_rec_thread thread = {
		.tgid = TGID, .tid = tid, .start_ns = start_ms * MS, .comm = "shop"};

	tapir_rec__init(&thread.h, TAPIR_REC_THREAD, sizeof(thread), start_ms * MS);
	feeder_add(&f, &thread.h);
}

/* Threads that start one after another, each with a lock of the runtime held by another one. */
static void start_threads(unsigned cnt, uint64_t others)
{
	for (uint32_t i = 0; i < cnt; i++) {
		uint64_t ms = 10 + 5 * (uint64_t)i;

		describe_thread(1000 + i, ms);
		feeder_come(&f, 1000 + i, ms * MS, ms * MS, 0);
		feeder_leave(&f, 1000 + i, (ms + 1) * MS, TAPIR_STATE_SLEEPING);
		finding_sleep(2, ms, i % 3 ? others : STARTS);
		feeder_come(&f, 2, (ms + 4) * MS, (ms + 4) * MS, 99);
	}
}

/* That the runtime's lists of them are locked is no convoy of the program's. */
static void threads_that_are_started_name_who_starts_them(void **state)
{
	const struct tapir_finding *row;

	(void)state;
	feeder_come(&f, 99, 0, 0, 0);
	start_threads(198, STARTS);
	row = found_at(1001, TAPIR_FINDING_THREADS);
	assert_non_null(row);
	assert_string_equal(row->text, "199 threads are started a second, most by Shop.Ask()");
	for (size_t i = 0; i < found.rows.cnt; i++)
		assert_int_not_equal(found.rows.data[i].kind, TAPIR_FINDING_LOCKS);
}

/* A library's threads start most of them, at the program's request. */
static void threads_that_are_started_name_what_the_program_starts(void **state)
{
	const struct tapir_finding *row;

	(void)state;
	feeder_come(&f, 99, 0, 0, 0);
	start_threads(198, POOL_STARTS);
	row = found_at(1001, TAPIR_FINDING_THREADS);
	assert_non_null(row);
	assert_string_equal(row->text,
			    "199 threads are started a second, 33% of them by Shop.Ask()");
}

/* Of a JVM, which says nothing about it. */
static const struct tapir_finding *finalize(uint64_t busy_ms)
{
	struct tapir_rec_thread thread = {
		.tgid = TGID, .tid = 30, .start_ns = 1, .comm = "Finalizer"};

	tapir_rec__init(&thread.h, TAPIR_REC_THREAD, sizeof(thread), 1);
	feeder_add(&f, &thread.h);
	feeder_come(&f, 99, 0, 0, 0);
	feeder_come(&f, 30, 1 * MS, 0, 0);
	for (uint64_t ms = 10; ms < 2000; ms += 100) {
		finding_sleep(30, ms, OWN);
		feeder_come(&f, 30, (ms + busy_ms) * MS, (ms + busy_ms) * MS, 99);
		finding_sleep(30, ms + busy_ms, POOL_STARTS);
		feeder_come(&f, 30, (ms + 100) * MS, (ms + 100) * MS, 99);
	}
	return found_at(2011, TAPIR_FINDING_FINALIZER);
}

static void finalizer_without_a_rest_is_named(void **state)
{
	const struct tapir_finding *row = finalize(95);

	(void)state;
	assert_non_null(row);
	assert_string_equal(row->text, "the finalizer thread is saturated: 95% of the time in "
				       "finalizers, most in Shop.Ask()");
	assert_float_equal(row->magnitude, 1.9, 0.01);
}

static void finalizer_that_rests_is_no_finding(void **state)
{
	(void)state;
	assert_null(finalize(50));
}

static void snapshot(uint32_t tid, uint64_t ms, bool is_at_end)
{
	feeder_switch(&f, ms * MS,
		      (struct tapir_rec_switch){.out_tgid = TGID,
						.out_tid = tid,
						.out_state = TAPIR_STATE_SLEEPING,
						.out_stack_id = OWN,
						.flags = TAPIR_SWITCH_SNAPSHOT |
							 (is_at_end ? TAPIR_SWITCH_AT_END : 0)});
}

static void threads_that_do_not_end_are_a_leak(void **state)
{
	const struct tapir_finding *row;

	(void)state;
	feeder_come(&f, 99, 0, 0, 0);
	for (uint32_t tid = 200; tid < 210; tid++)
		snapshot(tid, 1, false);
	start_threads(100, STARTS);
	for (uint32_t tid = 200; tid < 210; tid++)
		snapshot(tid, 1000, true);
	for (uint32_t tid = 1000; tid < 1100; tid++)
		snapshot(tid, 1000, true);
	row = found_at(1001, TAPIR_FINDING_THREAD_GROWTH);
	assert_non_null(row);
	assert_string_equal(row->text, "100 more threads each second: 10 at the beginning, 110 at "
				       "the end, most of the new ones in Shop.Ask()");
	assert_ptr_equal(row, &found.rows.data[0]);
}

static void pool_that_has_grown_is_no_leak(void **state)
{
	(void)state;
	feeder_come(&f, 99, 0, 0, 0);
	snapshot(200, 1, false);
	start_threads(10, STARTS);
	for (uint32_t tid = 1000; tid < 1010; tid++)
		snapshot(tid, 1000, true);
	assert_null(found_at(1001, TAPIR_FINDING_THREAD_GROWTH));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, finding_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(connections_are_what_the_cpu_is_used_for),
		TEST(processes_that_are_started_are_counted),
		TEST(connections_are_counted_with_who_asks_for_them),
		TEST(who_makes_clients_is_known_by_the_cpu_time_for_it),
		TEST(few_connections_are_no_finding),
		TEST(few_processes_are_no_finding),
		TEST(threads_that_are_started_name_who_starts_them),
		TEST(threads_that_are_started_name_what_the_program_starts),
		TEST(finalizer_without_a_rest_is_named),
		TEST(finalizer_that_rests_is_no_finding),
		TEST(threads_that_do_not_end_are_a_leak),
		TEST(pool_that_has_grown_is_no_leak),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
