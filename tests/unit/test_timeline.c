// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The join on made-up recordings: every nanosecond once, intervals whole, half, nested, crossing
 * threads; ids used again; files that lie.
 *
 * runtimes: dotnet
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "timeline_fixture.h"

/* ---- parts ---------------------------------------------------------------------------------- */

static void parts_are_what_the_thread_did(void **state)
{
	const struct closed *c = &closed[0];

	(void)state;
	fire(REQ_BEGIN, 1, 10 * MS);
	feeder_leave(&feeder, 1, 13 * MS, TAPIR_STATE_SLEEPING);
	feeder_come(&feeder, 1, 20 * MS, 18 * MS, 7);
	feeder_leave(&feeder, 1, 21 * MS, 0);
	feeder_come(&feeder, 1, 25 * MS, 0, 0);
	fire(REQ_END, 1, 30 * MS);
	finish();
	assert_int_equal(closed_cnt, 1);
	assert_string_equal(c->kind, "request");
	assert_int_equal(c->parts.ns[TAPIR_CAUSE_NONE][TAPIR_THREAD_RUNNING], 9 * MS);
	assert_int_equal(c->parts.ns[TAPIR_CAUSE_NONE][TAPIR_THREAD_SLEEPING], 5 * MS);
	assert_int_equal(c->parts.ns[TAPIR_CAUSE_NONE][TAPIR_THREAD_RUNNABLE], 6 * MS);
	assert_int_equal(wait_cnt, 2);
	assert_int_equal(feeder.pairs.kinds.data[0].cnt, 1);
	assert_int_equal(feeder.pairs.kinds.data[0].worst_ns, 20 * MS);
}

static void waits_say_who_ended_them(void **state)
{
	(void)state;
	fire(REQ_BEGIN, 1, 10 * MS);
	feeder_leave(&feeder, 1, 13 * MS, TAPIR_STATE_SLEEPING);
	feeder_come(&feeder, 1, 20 * MS, 18 * MS, 7);
	finish();
	assert_int_equal(last_wait.waker_tid, 7);
	assert_int_equal(last_wait.from_ns, 13 * MS);
	assert_int_equal(last_wait.wake_ns, 18 * MS);
	assert_int_equal(last_wait.until_ns, 20 * MS);
	assert_int_equal(last_wait.parts.ns[TAPIR_CAUSE_NONE][TAPIR_THREAD_SLEEPING], 5 * MS);
}

/* The collector stops all threads of the process, those asleep too, and no other process. */
/* Away for 10 ms with a stack of these. */
static void wait_with(uint32_t tid, const uint64_t *frames_va, unsigned cnt)
{
	feeder_stack(&feeder, 70 + tid, frames_va, cnt);
	feeder_switch(&feeder, 10 * MS,
		      (struct tapir_rec_switch){.out_tgid = 100,
						.out_tid = tid,
						.out_state = TAPIR_STATE_SLEEPING,
						.out_stack_id = 70 + tid});
	feeder_come(&feeder, tid, (20 + tid) * MS, 0, 0);
}

static void waits_of_our_own_thread_are_not_reported(void **state)
{
	static const uint64_t ours[] = {0x1010, 0x5010, 0x1020}, plain[] = {0x1010, 0x3010, 0x1020},
			      callback[] = {0x5010, 0x3010, 0x1020}, other[] = {0x6010, 0x1020},
			      unknown[] = {0x1010, 0x2010};

	(void)state;
	feeder_mapping(&feeder, 0x1000, "/lib/libc.so.6");
	feeder_mapping(&feeder, 0x3000, "/app/app.dll");
	feeder_mapping(&feeder, 0x5000, "/memfd:libtapir-coreclr-e44c9ba560cf275f.so (deleted)");
	feeder_mapping(&feeder, 0x6000, "/app/libtapir-coreclr-mine.so");
	wait_with(1, plain, 3);
	wait_with(2, callback, 3);
	wait_with(3, other, 2);
	wait_with(4, unknown, 2);
	finish();
	assert_int_equal(wait_cnt, 4);
	assert_int_equal(last_wait.until_ns, 24 * MS);
	wait_with(5, ours, 3);
	finish();
	assert_int_equal(wait_cnt, 4);
}

static void gc_is_a_part_of_what_all_threads_do(void **state)
{
	(void)state;
	fire(REQ_BEGIN, 1, 10 * MS);
	fire(REQ_BEGIN, 2, 10 * MS);
	feeder_leave(&feeder, 2, 11 * MS, TAPIR_STATE_SLEEPING);
	fire(GC_BEGIN, 9, 15 * MS);
	feeder_sample(&feeder, 100, 1, 17 * MS, 0);
	fire(GC_END, 9, 20 * MS);
	fire(GC_BEGIN, 9, 22 * MS);
	fire(GC_END, 9, 23 * MS);
	feeder_come(&feeder, 2, 26 * MS, 24 * MS, 1);
	fire(REQ_END, 1, 30 * MS);
	fire(REQ_END, 2, 31 * MS);
	finish();
	assert_int_equal(closed_cnt, 4);
	assert_int_equal(sample_cause, TAPIR_CAUSE_GC);
	assert_string_equal(closed[0].kind, "gc");
	assert_int_equal(closed[2].parts.ns[TAPIR_CAUSE_GC][TAPIR_THREAD_RUNNING], 6 * MS);
	assert_int_equal(closed[2].parts.ns[TAPIR_CAUSE_NONE][TAPIR_THREAD_RUNNING], 14 * MS);
	assert_int_equal(closed[3].parts.ns[TAPIR_CAUSE_GC][TAPIR_THREAD_SLEEPING], 6 * MS);
	assert_int_equal(closed[3].parts.ns[TAPIR_CAUSE_NONE][TAPIR_THREAD_SLEEPING], 7 * MS);
	assert_int_equal(closed[3].parts.ns[TAPIR_CAUSE_NONE][TAPIR_THREAD_RUNNABLE], 2 * MS);
}

static void innermost_interval_with_a_cause_names_the_time(void **state)
{
	(void)state;
	fire(REQ_BEGIN, 1, 10 * MS);
	fire_number(LOCK_BEGIN, 1, 12 * MS, 0xabc);
	feeder_leave(&feeder, 1, 13 * MS, TAPIR_STATE_SLEEPING);
	feeder_come(&feeder, 1, 18 * MS, 18 * MS, 2);
	fire_number(LOCK_END, 1, 19 * MS, 0xabc);
	fire(REQ_END, 1, 20 * MS);
	finish();
	assert_int_equal(closed_cnt, 2);
	assert_int_equal(closed[1].parts.ns[TAPIR_CAUSE_LOCK][TAPIR_THREAD_SLEEPING], 5 * MS);
	assert_int_equal(closed[1].parts.ns[TAPIR_CAUSE_LOCK][TAPIR_THREAD_RUNNING], 2 * MS);
	assert_int_equal(closed[1].parts.ns[TAPIR_CAUSE_NONE][TAPIR_THREAD_RUNNING], 3 * MS);
}

static void order_of_time_is_found_when_cpus_come_one_by_one(void **state)
{
	(void)state;
	fire(REQ_BEGIN, 1, 10 * MS);
	fire(REQ_END, 1, 30 * MS);
	feeder_come(&feeder, 1, 20 * MS, 20 * MS, 0);
	feeder_leave(&feeder, 1, 12 * MS, TAPIR_STATE_SLEEPING);
	finish();
	assert_int_equal(closed[0].parts.ns[TAPIR_CAUSE_NONE][TAPIR_THREAD_SLEEPING], 8 * MS);
	assert_int_equal(stats()->late + stats()->unpaired, 0);
}

/* ---- what is incomplete ------------------------------------------------------------------------ */

static void half_intervals_are_shown(void **state)
{
	(void)state;
	feeder_sample(&feeder, 100, 1, 5 * MS, 0);
	fire(REQ_END, 1, 10 * MS);
	fire(REQ_BEGIN, 2, 12 * MS);
	feeder_sample(&feeder, 100, 1, 20 * MS, 0);
	finish();
	assert_int_equal(closed_cnt, 2);
	assert_int_equal(closed[0].flags, TAPIR_INTERVAL_NO_BEGIN);
	assert_int_equal(closed[0].from_ns, 5 * MS);
	assert_int_equal(closed[1].flags, TAPIR_INTERVAL_NO_END);
	assert_int_equal(closed[1].until_ns, 20 * MS);
	assert_int_equal(feeder.pairs.kinds.data[0].cnt, 0);
	assert_int_equal(feeder.pairs.kinds.data[0].unbegun, 1);
	assert_int_equal(feeder.pairs.kinds.data[0].unended, 1);
}

static void gc_without_end_ends_where_the_next_begins(void **state)
{
	(void)state;
	fire(GC_BEGIN, 9, 10 * MS);
	fire(GC_BEGIN, 9, 20 * MS);
	fire(GC_END, 9, 25 * MS);
	feeder_sample(&feeder, 100, 1, 30 * MS, 0);
	finish();
	assert_int_equal(closed_cnt, 2);
	assert_int_equal(closed[0].flags, TAPIR_INTERVAL_NO_END);
	assert_int_equal(closed[1].flags, 0);
	assert_int_equal(sample_cause, TAPIR_CAUSE_NONE);
}

static void thread_that_dies_ends_its_intervals(void **state)
{
	(void)state;
	fire(REQ_BEGIN, 1, 10 * MS);
	feeder_leave(&feeder, 1, 15 * MS, TAPIR_STATE_DEAD);
	fire(REQ_BEGIN, 1, 20 * MS); /* the id is another thread's now */
	fire(REQ_END, 1, 22 * MS);
	finish();
	assert_int_equal(closed_cnt, 2);
	assert_int_equal(closed[0].flags, TAPIR_INTERVAL_NO_END);
	assert_int_equal(closed[0].until_ns, 15 * MS);
	assert_int_equal(closed[1].from_ns, 20 * MS);
}

static void feeder_fork(uint32_t tgid, uint64_t time_ns)
{
	struct tapir_rec_process process = {
		.h.time_ns = time_ns, .tgid = tgid, .kind = TAPIR_PROCESS_FORK};

	assert_int_equal(feeder_add(&feeder, tapir_recbuf__process(&feeder.buf, &process,
								   feeder_sv("x"), feeder_sv(""),
								   feeder_sv(""), feeder_sv(""))),
			 0);
}

/* What a thread did last is asked for afterwards; it is not what another did by the same id. */
static void id_that_is_used_again_has_no_past(void **state)
{
	(void)state;
	fire(REQ_BEGIN, 1, 10 * MS);
	fire(REQ_END, 1, 12 * MS);
	feeder_leave(&feeder, 1, 15 * MS, TAPIR_STATE_DEAD);
	fire(POOL_END, 1, 20 * MS);
	fire(REQ_BEGIN, 100, 21 * MS);
	fire(REQ_END, 100, 22 * MS);
	feeder_exit(&feeder, 100, 23 * MS);
	feeder_fork(100, 24 * MS);
	fire(POOL_END, 100, 25 * MS);
	finish();
	assert_non_null(tapir_timeline__thread(feeder.tl, 1));
	assert_int_equal(tapir_timeline__thread(feeder.tl, 1)->last_until_ns, 0);
	assert_non_null(tapir_timeline__thread(feeder.tl, 100));
	assert_int_equal(tapir_timeline__thread(feeder.tl, 100)->last_until_ns, 0);
}

static void tid_of_another_process_is_another_thread(void **state)
{
	(void)state;
	fire(REQ_BEGIN, 1, 10 * MS);
	feeder_event(&feeder,
		     (struct feeder_event){
			     .probe_id = REQ_END, .tgid = 200, .tid = 1, .time_ns = 20 * MS});
	finish();
	assert_int_equal(closed_cnt, 2);
	assert_int_equal(closed[0].flags, TAPIR_INTERVAL_NO_END);
	assert_int_equal(closed[1].flags, TAPIR_INTERVAL_NO_BEGIN);
}

/* Its record comes ahead of the events before it. */
static void process_that_ends_ends_all_of_its_intervals(void **state)
{
	(void)state;
	feeder_exit(&feeder, 100, 50 * MS);
	fire(REQ_BEGIN, 1, 10 * MS);
	fire(GC_BEGIN, 2, 20 * MS);
	fire_number(POOL_BEGIN, 2, 21 * MS, 1);
	fire(REQ_BEGIN, 1, 60 * MS); /* the ids are used again */
	fire(REQ_END, 1, 61 * MS);
	finish();
	assert_int_equal(closed_cnt, 4);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(closed[i].flags, TAPIR_INTERVAL_NO_END);
		assert_int_equal(closed[i].until_ns, 50 * MS);
	}
	assert_int_equal(closed[3].flags, 0);
	assert_int_equal(closed[3].parts.ns[TAPIR_CAUSE_GC][TAPIR_THREAD_RUNNING], 0);
}

static void event_of_a_sleeping_thread_means_that_it_runs(void **state)
{
	(void)state;
	fire(REQ_BEGIN, 1, 10 * MS);
	feeder_leave(&feeder, 1, 12 * MS, TAPIR_STATE_SLEEPING); /* its return is lost */
	fire(REQ_END, 1, 20 * MS);
	finish();
	assert_int_equal(closed[0].parts.ns[TAPIR_CAUSE_NONE][TAPIR_THREAD_SLEEPING], 8 * MS);
	assert_int_equal(stats()->unpaired, 1);
	assert_int_equal(wait_cnt, 1);
	assert_int_equal(last_wait.from_ns, 12 * MS);
	assert_int_equal(last_wait.until_ns, 20 * MS);
}

/* The kernel of a virtual machine did not trace its return: else a second of waiting was in no
 * view. */
static void thread_that_leaves_twice_has_waited_in_between(void **state)
{
	(void)state;
	feeder_leave(&feeder, 1, 10 * MS, TAPIR_STATE_SLEEPING);
	feeder_leave(&feeder, 1, 1010 * MS, TAPIR_STATE_SLEEPING);
	feeder_come(&feeder, 1, 1020 * MS, 1015 * MS, 7);
	finish();
	assert_int_equal(wait_cnt, 2);
	assert_int_equal(waited_ns, 1010 * MS);
	assert_int_equal(last_wait.from_ns, 1010 * MS);
	assert_int_equal(last_wait.waker_tid, 7);
	assert_int_equal(stats()->unpaired, 1);
}

/* The kernel shows some switches to no program: of pid 1, for one, that it left its CPU. */
static void thread_whose_cpu_others_have_does_not_run(void **state)
{
	(void)state;
	feeder_swap(&feeder, 3, 0, 1, 10 * MS);
	feeder_sample(&feeder, 100, 1, 12 * MS, 0);
	feeder_swap(&feeder, 3, 0, 2, 20 * MS);
	feeder_swap(&feeder, 3, 2, 0, 25 * MS);
	feeder_sample(&feeder, 100, 3, 1010 * MS, 0);
	finish();
	assert_int_equal(stats()->unpaired, 1);
	assert_int_equal(stats()->cpu_ns, 7 * MS);
	assert_int_equal(wait_cnt, 0);
}

/* It came to another CPU: it had left, and for how long it was away is not known. */
static void thread_that_comes_twice_has_left_in_between(void **state)
{
	(void)state;
	feeder_swap(&feeder, 3, 0, 1, 10 * MS);
	feeder_swap(&feeder, 4, 0, 1, 1000 * MS);
	feeder_swap(&feeder, 3, 0, 2, 1001 * MS); /* which is not where it is */
	feeder_swap(&feeder, 3, 2, 0, 1002 * MS);
	feeder_swap(&feeder, 4, 1, 0, 1004 * MS);
	finish();
	assert_int_equal(stats()->unpaired, 1);
	assert_int_equal(stats()->cpu_ns, 5 * MS);
	assert_int_equal(wait_cnt, 0);
}

static void utc_that_jumps_changes_nothing(void **state)
{
	struct tapir_rec_clock clock = {.utc_ns = 5};

	(void)state;
	fire(REQ_BEGIN, 1, 10 * MS);
	for (unsigned i = 0; i < 5; i++) {
		tapir_rec__init(&clock.h, TAPIR_REC_CLOCK, sizeof(clock), (11 + i) * MS);
		clock.utc_ns = i % 2 ? UINT64_MAX - i : i;
		feeder_add(&feeder, &clock.h);
	}
	fire(REQ_END, 1, 20 * MS);
	finish();
	assert_int_equal(closed[0].until_ns - closed[0].from_ns, 10 * MS);
}

/* ---- bounds ----------------------------------------------------------------------------------- */

static void hundred_thousand_threads_have_their_states(void **state)
{
	const unsigned cnt = 100000;

	(void)state;
	fire(GC_BEGIN, 1, 1);
	for (unsigned i = 0; i < cnt; i++)
		feeder_leave(&feeder, i + 10, 2 + i, TAPIR_STATE_SLEEPING);
	for (unsigned i = 0; i < 2000; i++) {
		fire(GC_END, 1, MS + 2 * i);
		fire(GC_BEGIN, 1, MS + 2 * i + 1);
	}
	for (unsigned i = 0; i < cnt; i++)
		feeder_come(&feeder, i + 10, 2 * MS + i, 2 * MS + i, 0);
	finish();
	assert_int_equal(wait_cnt, cnt);
	assert_int_equal(stats()->no_room + stats()->unpaired, 0);
	assert_true(stats()->sleeping_ns > (uint64_t)cnt * MS);
}

static void threads_are_bounded_when_file_is_hostile(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < TAPIR_TIMELINE_MAX_THREADS + 50; i++)
		feeder_sample(&feeder, 100, i + 1, i, 0);
	finish();
	assert_int_equal(stats()->no_room, 50);
}

static void open_intervals_are_bounded_when_none_ends(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 100000; i++)
		fire(REQ_BEGIN, 1, i);
	for (uint32_t i = 0; i < 100000; i++)
		fire_number(POOL_BEGIN, 1, 100000 + i, i);
	finish();
	assert_true(stats()->no_room > 30000);
	/* Work that is queued is remembered apart from its interval: what has no room there counts.
	 */
	assert_int_equal(closed_cnt, 200000 - (stats()->no_room - (100000 - 65536)));
}

static void range_and_ids_choose_what_is_reported(void **state)
{
	static const uint32_t tids[] = {2};
	const struct tapir_timeline_opts opts = {
		.from_ns = 20 * MS, .until_ns = 40 * MS, .tids = tids, .tid_cnt = 1};

	(void)state;
	feeder_fini(&feeder);
	assert_int_equal(setup_with(&opts), 0);
	for (uint32_t tid = 1; tid <= 2; tid++) {
		fire(REQ_BEGIN, tid, 10 * MS);
		fire(REQ_END, tid, 15 * MS);
		fire(REQ_BEGIN, tid, 18 * MS);
		fire(REQ_END, tid, 25 * MS);
		fire(REQ_BEGIN, tid, 50 * MS);
		fire(REQ_END, tid, 55 * MS);
	}
	finish();
	assert_int_equal(closed_cnt, 1);
	assert_int_equal(closed[0].tid, 2);
	assert_int_equal(closed[0].until_ns, 25 * MS);
}

/* Six threads waited as "6.2 threads" where their waits had begun before the range. */
static void wait_counts_from_the_begin_of_the_range_on(void **state)
{
	const struct tapir_timeline_opts opts = {.from_ns = 16 * MS, .until_ns = 40 * MS};

	(void)state;
	feeder_fini(&feeder);
	assert_int_equal(setup_with(&opts), 0);
	fire(REQ_BEGIN, 1, 10 * MS);
	feeder_leave(&feeder, 1, 13 * MS, TAPIR_STATE_SLEEPING);
	feeder_come(&feeder, 1, 20 * MS, 18 * MS, 7);
	feeder_leave(&feeder, 2, 13 * MS, TAPIR_STATE_SLEEPING);
	feeder_come(&feeder, 2, 20 * MS, 14 * MS, 7);
	finish();
	assert_int_equal(wait_cnt, 2);
	assert_int_equal(last_wait.from_ns, 16 * MS);
	assert_int_equal(last_wait.wake_ns, 16 * MS);
	assert_int_equal(last_wait.until_ns, 20 * MS);
}

static unsigned truncated_cnt;
static uint64_t truncated_ns;

static void on_cut_wait(void *ctx, const struct tapir_wait *w)
{
	(void)ctx;
	truncated_cnt++;
	truncated_ns += w->wake_ns - w->from_ns;
}

static const struct tapir_timeline_fns cut_fns = {.open_ended_wait = on_cut_wait};

/* They were told by nobody: four threads that wait all the time were "idle" in a part of it. */
static void wait_counts_to_the_end_of_the_range(void **state)
{
	const struct tapir_timeline_opts opts = {.from_ns = 16 * MS, .until_ns = 40 * MS};

	(void)state;
	feeder_fini(&feeder);
	assert_int_equal(setup_with(&opts), 0);
	assert_int_equal(tapir_timeline__listen(feeder.tl, &cut_fns, NULL), 0);
	truncated_cnt = truncated_ns = 0;
	fire(REQ_BEGIN, 1, 10 * MS);
	feeder_leave(&feeder, 1, 13 * MS, TAPIR_STATE_SLEEPING); /* all of it: 24 ms */
	feeder_leave(&feeder, 2, 30 * MS, TAPIR_STATE_SLEEPING); /* 10 ms of it */
	feeder_leave(&feeder, 3, 41 * MS, TAPIR_STATE_SLEEPING);
	feeder_come(&feeder, 1, 50 * MS, 50 * MS, 7);
	feeder_come(&feeder, 2, 60 * MS, 60 * MS, 7);
	finish();
	assert_int_equal(wait_cnt, 0);
	assert_int_equal(truncated_cnt, 2);
	assert_int_equal(truncated_ns, 34 * MS);
	assert_int_equal(tapir_timeline__within_ns(feeder.tl, 10 * MS, 50 * MS), 24 * MS);
	assert_int_equal(tapir_timeline__within_ns(feeder.tl, 50 * MS, 60 * MS), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(parts_are_what_the_thread_did),
		TEST(waits_say_who_ended_them),
		TEST(waits_of_our_own_thread_are_not_reported),
		TEST(gc_is_a_part_of_what_all_threads_do),
		TEST(innermost_interval_with_a_cause_names_the_time),
		TEST(order_of_time_is_found_when_cpus_come_one_by_one),
		TEST(half_intervals_are_shown),
		TEST(gc_without_end_ends_where_the_next_begins),
		TEST(thread_that_dies_ends_its_intervals),
		TEST(id_that_is_used_again_has_no_past),
		TEST(tid_of_another_process_is_another_thread),
		TEST(process_that_ends_ends_all_of_its_intervals),
		TEST(event_of_a_sleeping_thread_means_that_it_runs),
		TEST(thread_that_leaves_twice_has_waited_in_between),
		TEST(thread_whose_cpu_others_have_does_not_run),
		TEST(thread_that_comes_twice_has_left_in_between),
		TEST(utc_that_jumps_changes_nothing),
		TEST(hundred_thousand_threads_have_their_states),
		TEST(threads_are_bounded_when_file_is_hostile),
		TEST(open_intervals_are_bounded_when_none_ends),
		TEST(range_and_ids_choose_what_is_reported),
		TEST(wait_counts_from_the_begin_of_the_range_on),
		TEST(wait_counts_to_the_end_of_the_range),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
