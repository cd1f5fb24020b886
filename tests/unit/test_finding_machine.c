// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the report leads with, of made-up recordings: CPU and memory.
 *
 * runtimes: dotnet
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "finding_fixture.h"

static void process_that_hardly_runs_is_idle_whoever_compiles(void **state)
{
	(void)state;
	finding.has_clock = true;
	call_thread(7, ".NET Tiered Com");
	call_thread(8, ".NET EventPipe");
	sample(7, 1 * MS, 20, 1);
	sample(8, 1 * MS, 500, 1);
	fire(TICK, 4001 * MS, 0, "Object", 0);
	expect_finding("idle: 0.02 s of CPU in 4.0 s; requests and awaits were not "
		       "recorded (--profile http, --profile async)");
	assert_true(tapir_diagnosis__cpus(&finding) < 0.01);
}

/* Draw waits for 39 of 40 ms. */
static void wait_for_others(uint32_t tid)
{
	feeder_come(&f, tid, 2 * MS, 0, 0);
	for (uint64_t at = 3; at < 4000; at += 40) {
		feeder_switch(&f, at * MS,
			      (struct tapir_rec_switch){.out_tgid = TGID,
							.out_tid = tid,
							.out_state = TAPIR_STATE_SLEEPING,
							.out_stack_id = 14});
		feeder_come(&f, tid, (at + 39) * MS, (at + 39) * MS, 1);
	}
}

/* For a slow thread, or for work: only the program knows. */
static void idle_process_shows_where_threads_wait_for_others(void **state)
{
	(void)state;
	finding.has_clock = true;
	for (uint32_t tid = 2; tid < 5; tid++)
		wait_for_others(tid);
	sample(1, 1 * MS, 20, 1);
	fire(TICK, 4003 * MS, 0, "Object", 0);
	expect_finding("idle: 0.02 s of CPU in 4.0 s; 2.9 threads waited in Shop.Draw(int) "
		       "(condition): for work, or for other threads; requests and awaits were not "
		       "recorded (--profile http, --profile async)");
}

static void single_waiting_thread_is_not_named(void **state)
{
	(void)state;
	finding.has_clock = true;
	wait_for_others(2);
	sample(1, 1 * MS, 20, 1);
	fire(TICK, 4003 * MS, 0, "Object", 0);
	expect_finding("idle: 0.02 s of CPU in 4.0 s; requests and awaits were not "
		       "recorded (--profile http, --profile async)");
}

/* Only one, in a pool that is not starved: others may wait for what it consumes. */
static void idle_process_shows_where_a_pools_thread_is_blocked(void **state)
{
	(void)state;
	finding.has_clock = true;
	call_thread(2, ".NET TP Worker");
	for (uint32_t tid = 3; tid < 6; tid++) {
		call_thread(tid, ".NET TP Worker");
		feeder_come(&f, tid, 2 * MS, 0, 0);
		fire_on(POOL_IDLE, tid, 3 * MS, 0, NULL, 0);
		feeder_leave(&f, tid, 4 * MS, TAPIR_STATE_SLEEPING);
	}
	wait_for_others(2);
	for (uint32_t tid = 3; tid < 6; tid++)
		feeder_come(&f, tid, 4001 * MS, 4001 * MS, 1);
	sample(1, 1 * MS, 20, 1);
	fire(TICK, 4003 * MS, 0, "Object", 0);
	expect_finding("idle: 0.02 s of CPU in 4.0 s; threads of the pool were blocked for 3.900 s "
		       "in Shop.Draw(int); requests and awaits were not recorded (--profile http, "
		       "--profile async)");
}

static void busy_function_is_the_programs_own(void **state)
{
	(void)state;
	finding.has_clock = true;
	sample(1, 1 * MS, 300, 1);
	sample(1, 301 * MS, 100, 2);
	fire(TICK, 401 * MS, 0, "Object", 0);
	expect_finding("1.00 CPUs used, 75% of the CPU in Shop.Draw(int) (75% within "
		       "libcoreclr.so+0x10)");
}

/* tid compiles for ms of 1,000 ms, from from_ms on. */
static void compile(uint32_t tid, uint64_t from_ms, unsigned ms, bool is_tiered)
{
	finding.has_clock = true;
	call_thread(tid, is_tiered ? ".NET Tiered Com" : "shop");
	sample(tid, from_ms * MS, ms, 5);
	fire_on(METHOD_LOADED, tid, (from_ms + 1) * MS, 0, "Draw", is_tiered ? 0 : 1);
}

static void code_that_is_generated_all_the_time_is_a_finding(void **state)
{
	(void)state;
	compile(1, 200, 600, false);
	fire(TICK, 1001 * MS, 0, "Object", 0);
	expect_finding("100% of the CPU in the JIT compiler: 1 methods, 1 a second, most for "
		       "Shop.Draw(int)");
}

static void warming_up_costs_half(void **state)
{
	(void)state;
	compile(7, 1, 600, true);
	fire(TICK, 1001 * MS, 0, "Object", 0);
	expect_finding("100% of the CPU in the JIT compiler: 1 methods, 1 a second; the program is "
		       "warming up");
	assert_true(found.rows.data[0].magnitude < 31);
}

static void share_of_a_cpu_that_is_hardly_used_is_no_finding(void **state)
{
	(void)state;
	compile(1, 1, 150, false);
	fire(TICK, 1001 * MS, 0, "Object", 0);
	assert_int_not_equal(kind_at(0), TAPIR_FINDING_JIT);
}

static void measured(const char *key, const char *value)
{
	feeder_add(&f, tapir_recbuf__meta(&f.buf, 1, feeder_sv(key), feeder_sv(value)));
}

static void quota_is_named_with_its_cgroup(void **state)
{
	(void)state;
	finding.has_clock = true;
	measured("quota", "20000 100000 4200000000 60 55 6000000000 /sys/fs/cgroup/cpu/shop");
	sample(1, 1 * MS, 300, 1);
	fire(TICK, 1001 * MS, 0, "Object", 0);
	expect_finding("throttled 4.2 s of 6.0 s by a quota of 20% of a CPU (cgroup "
		       "/sys/fs/cgroup/cpu/shop)");
	assert_int_equal(kind_at(1), TAPIR_FINDING_CPU);
}

/* Runs for 300 ms of a second, and could have for 600 more. */
static void wait_for_a_cpu(void)
{
	finding.has_clock = true;
	sample(1, 1 * MS, 300, 1);
	feeder_come(&f, 1, 2 * MS, 0, 0);
	feeder_leave(&f, 1, 302 * MS, 0);
	feeder_come(&f, 1, 902 * MS, 0, 0);
	fire(TICK, 1001 * MS, 0, "Object", 0);
}

static void neighbours_that_have_the_cpus_are_named(void **state)
{
	(void)state;
	measured("neighbours", "1000000000 2 1600000000\n1500000000 77 cc1\n100000000 78 as\n");
	wait_for_a_cpu();
	expect_finding("threads waited 600.00 ms for a CPU, 67% of their runnable time: "
		       "other processes used 1.60 of 2 CPUs, most cc1 (77) 1.50, as (78) 0.10");
}

/* A machine that builds programs: each compiler lives for a moment. */
static void neighbours_that_have_ended_count(void **state)
{
	(void)state;
	measured("neighbours", "1000000000 2 300000000 1900000000\n300000000 78 make\n");
	wait_for_a_cpu();
	expect_finding("threads waited 600.00 ms for a CPU, 67% of their runnable time: "
		       "other processes used 1.60 of 2 CPUs, most make (78) 0.30, processes that "
		       "have ended 1.30");
}

static void neighbours_that_used_next_to_nothing_have_no_name(void **state)
{
	(void)state;
	measured("neighbours", "1000000000 2 20000000 1900000000\n20000000 15 rcu_preempt\n");
	wait_for_a_cpu();
	expect_finding("threads waited 600.00 ms for a CPU, 67% of their runnable time: "
		       "other processes used 1.60 of 2 CPUs, 1.58 of it by processes that have "
		       "ended");
}

static void neighbours_that_leave_cpus_are_no_cause(void **state)
{
	(void)state;
	measured("neighbours", "1000000000 8 1600000000\n1500000000 77 cc1\n");
	wait_for_a_cpu();
	assert_int_equal(kind_at(0), TAPIR_FINDING_CPU);
}

/* Four threads wait for CPUs, 800 ms each of a second. */
static void want_more_cpus_than_there_are(unsigned used_ms)
{
	finding.has_clock = true;
	sample(1, 1 * MS, used_ms, 1);
	for (uint32_t tid = 2; tid <= 5; tid++) {
		feeder_come(&f, tid, 2 * MS, 0, 0);
		feeder_leave(&f, tid, 202 * MS, 0);
		feeder_come(&f, tid, 1002 * MS, 0, 0);
	}
	fire(TICK, 1002 * MS, 0, "Object", 0);
}

static void waits_of_threads_for_one_another_are_not_the_neighbours(void **state)
{
	(void)state;
	measured("neighbours", "1000000000 2 1000000000\n1000000000 77 cc1\n");
	want_more_cpus_than_there_are(800);
	assert_int_equal(kind_at(0), TAPIR_FINDING_CPU);
	assert_int_equal(kind_at(1), TAPIR_FINDING_KIND_CNT);
	assert_non_null(
		strstr(found.rows.data[0].text,
		       "; its threads want 4.0 CPUs of 2: they waited 3.200 s for one, most "
		       "of it for one another"));
}

static void neighbours_that_take_most_are_named_beside_own_threads(void **state)
{
	(void)state;
	measured("neighbours", "1000000000 3 2600000000\n2600000000 77 cc1\n");
	want_more_cpus_than_there_are(300);
	expect_finding("threads waited 3.200 s for a CPU, 91% of their runnable time, at "
		       "least 500.00 ms of it for one another: other processes used 2.60 of 3 "
		       "CPUs, most cc1 (77) 2.60");
}

/* Three of them, for the same lock; one waits for a CPU. */
static void neighbours_come_after_what_far_more_threads_wait_for(void **state)
{
	const struct tapir_finding *row;

	(void)state;
	measured("neighbours", "1000000000 2 1600000000\n1500000000 77 cc1\n");
	for (uint64_t at = 3; at < 1000; at += 40) {
		for (uint32_t tid = 11; tid < 14; tid++) {
			feeder_switch(&f, at * MS,
				      (struct tapir_rec_switch){.out_tgid = TGID,
								.out_tid = tid,
								.out_state = TAPIR_STATE_SLEEPING,
								.out_stack_id = 6});
			feeder_come(&f, tid, (at + 39) * MS, (at + 39) * MS, 1);
		}
	}
	wait_for_a_cpu();
	assert_int_equal(kind_at(0), TAPIR_FINDING_LOCKS);
	tapir_vec_for_each (row, &found.rows)
		if (row->kind == TAPIR_FINDING_NOISY_NEIGHBOUR)
			break;
	assert_true(row < found.rows.data + found.rows.cnt);
	assert_true(row->severity < 12);
}

static void memory_that_grows_all_the_time_is_a_finding(void **state)
{
	(void)state;
	measured("memory", "100 1000:90000:50000 2000:100000:50000 3000:110000:50000 "
			   "4000:120000:50000 5000:130000:50000\n");
	fire(GC_START, 1 * MS, 1, "0 AllocSmall NonConcurrentGC", 0);
	fire(TICK, 1001 * MS, 0, "Object", 0);
	expect_finding("resident memory grows by 10.2 MB/s: from 102.4 MB to 133.1 MB in 3.0 s");
}

static void memory_of_the_heap_names_who_needs_more(void **state)
{
	(void)state;
	measured("memory", "100 1000:90000:50000 2000:100000:50000 3000:110000:50000 "
			   "4000:120000:50000 5000:130000:50000\n");
	fire(GC_START, 1 * MS, 1, "0 AllocSmall NonConcurrentGC", 0);
	for (uint64_t ms = 10; ms < 60; ms += 10)
		fire(HEAP_GREW, ms * MS, 4194264, "SmallObjectHeap", ms < 40 ? 1 : 2);
	fire(TICK, 1001 * MS, 0, "Object", 0);
	expect_finding("resident memory grows by 10.2 MB/s: from 102.4 MB to 133.1 MB in 3.0 s; "
		       "the heap took memory 5 times, most for Shop.Draw(int)");
}

/* It grows by 10 MB a second, from exec() at 0.5 s on. */
static void memory_of_a_start(const char *until)
{
	feeder_process(&f, TGID, 500 * MS, TAPIR_PROCESS_EXEC);
	measured("memory", until);
	fire(GC_START, 1 * MS, 1, "0 AllocSmall NonConcurrentGC", 0);
	fire(TICK, 1001 * MS, 0, "Object", 0);
}

static void memory_that_a_program_takes_when_it_starts_is_none(void **state)
{
	(void)state;
	memory_of_a_start(
		"100 1000:90000:5 3000:110000:5 5000:130000:5 7000:150000:5 9000:170000:5 "
		"10499:185000:5\n");
	for (size_t i = 0; kind_at(i) != TAPIR_FINDING_KIND_CNT; i++)
		assert_int_not_equal(kind_at(i), TAPIR_FINDING_MEMORY);
}

static void memory_is_measured_from_when_the_program_has_started(void **state)
{
	(void)state;
	memory_of_a_start("100 1000:10000:5 10499:90000:5 10500:100000:5 11500:110000:5 "
			  "12500:120000:5 13500:130000:5 14500:140000:5\n");
	expect_finding("resident memory grows by 10.2 MB/s: from 112.6 MB to 143.4 MB in 3.0 s");
}

/* It wants half a CPU: a second of neighbours costs it less than a whole one. */
static void neighbours_cost_less_what_hardly_wants_a_cpu(void **state)
{
	double whole;

	(void)state;
	measured("neighbours", "1000000000 2 1900000000\n1900000000 77 cc1\n");
	finding.has_clock = true;
	sample(1, 1 * MS, 100, 1);
	feeder_come(&f, 2, 2 * MS, 0, 0);
	feeder_leave(&f, 2, 302 * MS, 0);
	feeder_come(&f, 2, 702 * MS, 0, 0);
	fire(TICK, 1001 * MS, 0, "Object", 0);
	expect_finding("threads waited 400.00 ms for a CPU, 80% of their runnable time: "
		       "other processes used 1.90 of 2 CPUs, most cc1 (77) 1.90");
	whole = found.rows.data[0].magnitude;
	assert_true(whole > 39 && whole < 41);
}

static void memory_that_was_filled_once_is_none(void **state)
{
	(void)state;
	measured("memory", "100 1000:90000:5 2000:190000:5 3000:230000:5 4000:230000:5 "
			   "5000:230000:5 6000:230000:5\n");
	fire(TICK, 1001 * MS, 0, "Object", 0);
	expect_finding("");
}

static void nonsense_that_was_measured_is_nothing(void **state)
{
	(void)state;
	measured("memory", "x 1:2:3\n7 8:9");
	measured("quota", "20000 0 9999999999999999999999 1 1 1 /x");
	measured("neighbours", "0 0 0\n\n");
	fire(TICK, 1001 * MS, 0, "Object", 0);
	expect_finding("");
}

static void call_first_thread(const char *comm, uint64_t time_ns)
{
	struct tapir_rec_thread thread = {.tgid = TGID, .tid = 1, .start_ns = 1};

	memcpy(thread.comm, comm, strlen(comm));
	tapir_rec__init(&thread.h, TAPIR_REC_THREAD, sizeof(thread), time_ns);
	feeder_add(&f, &thread.h);
}

/* Until then its only thread has tapir's name. */
static void samples_after_the_exec_of_a_program_are_its_own(void **state)
{
	(void)state;
	call_first_thread("tapir", 1);
	feeder_sample(&f, TGID, 1, 2 * MS, 2);
	call_first_thread("shop", 3 * MS);
	for (unsigned i = 0; i < 100; i++)
		feeder_sample(&f, TGID, 1, (4 + i) * MS, 2);
	(void)finding_text(0);
	assert_int_equal(finding.cpu.samples, 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(process_that_hardly_runs_is_idle_whoever_compiles),
		TEST(idle_process_shows_where_threads_wait_for_others),
		TEST(single_waiting_thread_is_not_named),
		TEST(idle_process_shows_where_a_pools_thread_is_blocked),
		TEST(busy_function_is_the_programs_own),
		TEST(code_that_is_generated_all_the_time_is_a_finding),
		TEST(warming_up_costs_half),
		TEST(share_of_a_cpu_that_is_hardly_used_is_no_finding),
		TEST(quota_is_named_with_its_cgroup),
		TEST(neighbours_that_have_the_cpus_are_named),
		TEST(neighbours_that_have_ended_count),
		TEST(neighbours_that_used_next_to_nothing_have_no_name),
		TEST(neighbours_that_leave_cpus_are_no_cause),
		TEST(waits_of_threads_for_one_another_are_not_the_neighbours),
		TEST(neighbours_that_take_most_are_named_beside_own_threads),
		TEST(neighbours_come_after_what_far_more_threads_wait_for),
		TEST(memory_that_grows_all_the_time_is_a_finding),
		TEST(memory_of_the_heap_names_who_needs_more),
		TEST(memory_that_a_program_takes_when_it_starts_is_none),
		TEST(memory_is_measured_from_when_the_program_has_started),
		TEST(neighbours_cost_less_what_hardly_wants_a_cpu),
		TEST(memory_that_was_filled_once_is_none),
		TEST(nonsense_that_was_measured_is_nothing),
		TEST(samples_after_the_exec_of_a_program_are_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
