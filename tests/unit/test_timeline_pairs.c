// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which event ends which interval: by thread, by key, by activity; and what is not known.
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

static void nested_and_overlapping_intervals_are_distinguished(void **state)
{
	(void)state;
	fire(REQ_BEGIN, 1, 1 * MS);
	fire(REQ_BEGIN, 1, 2 * MS);
	fire_number(LOCK_BEGIN, 1, 3 * MS, 5);
	fire_number(LOCK_BEGIN, 1, 4 * MS, 6);
	fire(REQ_END, 1, 5 * MS);
	fire_number(LOCK_END, 1, 6 * MS, 5);
	fire_number(LOCK_END, 1, 7 * MS, 6);
	fire(REQ_END, 1, 8 * MS);
	finish();
	assert_int_equal(closed_cnt, 4);
	assert_int_equal(closed[0].from_ns, 2 * MS);
	assert_int_equal(closed[1].from_ns, 3 * MS);
	assert_int_equal(closed[2].from_ns, 4 * MS);
	assert_int_equal(closed[3].from_ns, 1 * MS);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(closed[i].flags, i == 0 || i == 2 ? TAPIR_INTERVAL_NESTED : 0);
}

static void key_finds_the_begin_on_another_thread(void **state)
{
	(void)state;
	fire_number(POOL_BEGIN, 1, 10 * MS, 41);
	fire_number(POOL_BEGIN, 1, 11 * MS, 42);
	fire_number(POOL_END, 2, 15 * MS, 42);
	fire_number(POOL_END, 3, 16 * MS, 41);
	finish();
	assert_int_equal(closed_cnt, 2);
	assert_int_equal(closed[0].from_ns, 11 * MS);
	assert_int_equal(closed[0].tid, 1);
	assert_int_equal(closed[0].end_tid, 2);
	assert_true(closed[0].flags & TAPIR_INTERVAL_MIGRATED);
	assert_int_equal(closed[1].from_ns, 10 * MS);
	assert_int_equal(closed[1].end_tid, 3);
}

static void activity_is_followed_from_thread_to_thread(void **state)
{
	static const uint8_t id[16] = {1, 2, 3}, other[16] = {9};
	struct feeder_event e = {.probe_id = HTTP_BEGIN,
				 .tgid = 100,
				 .tid = 1,
				 .time_ns = 10 * MS,
				 .text = "shop.example",
				 .activity = id};

	(void)state;
	feeder_event(&feeder, e);
	e.activity = other;
	e.time_ns = 11 * MS;
	feeder_event(&feeder, e);
	feeder_event(&feeder, (struct feeder_event){.probe_id = REQ_BEGIN,
						    .tgid = 100,
						    .tid = 1,
						    .time_ns = 14 * MS,
						    .activity = id});
	feeder_event(&feeder, (struct feeder_event){.probe_id = REQ_BEGIN,
						    .tgid = 100,
						    .tid = 2,
						    .time_ns = 20 * MS,
						    .activity = id});
	feeder_event(&feeder, (struct feeder_event){.probe_id = HTTP_END,
						    .tgid = 100,
						    .tid = 2,
						    .time_ns = 23 * MS,
						    .activity = id});
	finish();
	assert_string_equal(closed[0].kind, "http_request");
	assert_string_equal(closed[0].label, "shop.example");
	/* From 11 to 14 ms its first thread worked for the other one. */
	assert_int_equal(closed[0].parts.ns[TAPIR_CAUSE_NONE][TAPIR_THREAD_RUNNING], 4 * MS);
	assert_int_equal(closed[0].parts.ns[TAPIR_CAUSE_NONE][TAPIR_THREAD_AWAITING], 9 * MS);
}

static void step(uint32_t probe, uint32_t tid, uint64_t time_ns, uint8_t flow, uint8_t parent)
{
	const uint8_t id[16] = {7, flow}, related[16] = {7, parent};

	feeder_event(&feeder, (struct feeder_event){.probe_id = probe,
						    .tgid = 100,
						    .tid = tid,
						    .time_ns = time_ns,
						    .text = "x",
						    .activity = flow ? id : NULL,
						    .related = parent ? related : NULL});
}

static const struct closed *closed_at(uint64_t from_ns)
{
	for (unsigned i = 0; i < closed_cnt; i++)
		if (closed[i].from_ns == from_ns)
			return &closed[i];
	fail_msg("nothing began there");
	return NULL;
}

/* 420 ms, 400 of them in a request that it awaits; its thread serves others meanwhile. */
static void activity_that_waits_for_its_child_is_inside_of_it(void **state)
{
	const struct closed *order_at;

	(void)state;
	step(ORDER_BEGIN, 1, 10 * MS, 1, 0);
	step(HTTP_BEGIN, 1, 20 * MS, 2, 1);
	step(ORDER_BEGIN, 1, 30 * MS, 3, 0); /* another one, on the same thread */
	step(ORDER_END, 1, 300 * MS, 3, 0);
	step(HTTP_END, 5, 420 * MS, 2, 1);
	step(ORDER_END, 5, 430 * MS, 1, 0);
	finish();
	order_at = closed_at(10 * MS);
	assert_int_equal(order_at->parts.ns[TAPIR_CAUSE_NONE][TAPIR_THREAD_IN_CHILD_ACTIVITY],
			 400 * MS);
	assert_int_equal(order_at->parts.ns[TAPIR_CAUSE_NONE][TAPIR_THREAD_RUNNING], 20 * MS);
	order_at = closed_at(30 * MS);
	assert_int_equal(order_at->parts.ns[TAPIR_CAUSE_NONE][TAPIR_THREAD_RUNNING], 270 * MS);
}

/* Two at a time, one of which outlives it. */
static void children_that_overlap_are_counted_once(void **state)
{
	(void)state;
	step(ORDER_BEGIN, 1, 10 * MS, 1, 0);
	step(HTTP_BEGIN, 1, 20 * MS, 2, 1);
	step(HTTP_BEGIN, 1, 30 * MS, 3, 1);
	step(HTTP_END, 2, 50 * MS, 2, 1);
	step(HTTP_END, 2, 60 * MS, 3, 1);
	step(HTTP_BEGIN, 2, 70 * MS, 4, 1);
	step(ORDER_END, 2, 80 * MS, 1, 0);
	step(HTTP_END, 2, 90 * MS, 4, 1);
	finish();
	assert_int_equal(
		closed_at(10 * MS)->parts.ns[TAPIR_CAUSE_NONE][TAPIR_THREAD_IN_CHILD_ACTIVITY],
		50 * MS);
	assert_int_equal(closed_at(70 * MS)->until_ns, 90 * MS);
}

/* It awaits a timer and continues on the same thread, which slept and worked for others meanwhile.
 */
static void time_of_a_thread_that_takes_other_work_is_not_the_activitys(void **state)
{
	const struct tapir_time_breakdown *parts;

	(void)state;
	step(ORDER_BEGIN, 1, 10 * MS, 1, 0);
	feeder_leave(&feeder, 1, 15 * MS, TAPIR_STATE_SLEEPING);
	feeder_come(&feeder, 1, 100 * MS, 60 * MS, 0); /* 40 ms of waiting for a CPU */
	step(ORDER_BEGIN, 1, 110 * MS, 2, 0);
	step(ORDER_END, 1, 200 * MS, 2, 0);
	step(ORDER_END, 1, 210 * MS, 1, 0);
	finish();
	parts = &closed_at(10 * MS)->parts;
	assert_int_equal(parts->ns[TAPIR_CAUSE_NONE][TAPIR_THREAD_RUNNING], 5 * MS);
	assert_int_equal(parts->ns[TAPIR_CAUSE_NONE][TAPIR_THREAD_RUNNABLE], 0);
	assert_int_equal(parts->ns[TAPIR_CAUSE_NONE][TAPIR_THREAD_AWAITING], 195 * MS);
	assert_int_equal(closed_at(110 * MS)->parts.ns[TAPIR_CAUSE_NONE][TAPIR_THREAD_RUNNING],
			 90 * MS);
}

/* The pool says when a thread is done with one. */
static void activity_leaves_a_thread_that_takes_its_next_work_item(void **state)
{
	const struct tapir_time_breakdown *parts;

	(void)state;
	step(ORDER_BEGIN, 1, 10 * MS, 1, 0);
	fire_number(POOL_BEGIN, 2, 20 * MS, 9);
	fire_number(POOL_END, 1, 30 * MS, 9);
	step(ORDER_END, 1, 210 * MS, 1, 0);
	finish();
	parts = &closed_at(10 * MS)->parts;
	assert_int_equal(parts->ns[TAPIR_CAUSE_NONE][TAPIR_THREAD_RUNNING], 20 * MS);
	assert_int_equal(parts->ns[TAPIR_CAUSE_NONE][TAPIR_THREAD_AWAITING], 180 * MS);
}

static void nested_intervals_of_a_thread_are_not_summed(void **state)
{
	const struct tapir_interval_kind *kind;

	(void)state;
	fire(REQ_BEGIN, 1, 1 * MS);
	fire(REQ_BEGIN, 1, 2 * MS);
	fire(REQ_END, 1, 5 * MS);
	fire(REQ_END, 1, 8 * MS);
	finish();
	assert_int_equal(closed[0].flags, TAPIR_INTERVAL_NESTED);
	assert_int_equal(closed[1].flags, 0);
	kind = &feeder.pairs.kinds.data[0];
	assert_int_equal(kind->cnt, 2);
	assert_int_equal(kind->sum_ns, 7 * MS);
}

/* Whoever was to go on with it could not, either. */
static void order(uint32_t probe, uint32_t tid, uint64_t time_ns, uint8_t flow)
{
	const uint8_t id[16] = {7, flow};

	feeder_event(&feeder, (struct feeder_event){.probe_id = probe,
						    .tgid = 100,
						    .tid = tid,
						    .time_ns = time_ns,
						    .activity = flow ? id : NULL});
}

static unsigned complete_cnt(void)
{
	unsigned cnt = 0;

	for (unsigned i = 0; i < closed_cnt && i < 64; i++)
		cnt += !(closed[i].flags & (TAPIR_INTERVAL_NO_BEGIN | TAPIR_INTERVAL_NO_END));
	return cnt;
}

/* An EventSource of a program's own, over awaits. */
static void events_of_one_id_are_a_pair_on_any_thread(void **state)
{
	(void)state;
	order(ORDER_BEGIN, 1, 10 * MS, 1);
	order(ORDER_BEGIN, 1, 11 * MS, 2);
	order(ORDER_END, 1, 12 * MS, 1);
	order(ORDER_END, 2, 40 * MS, 2);
	order(ORDER_END, 2, 41 * MS, 3);
	finish();
	assert_int_equal(closed[0].until_ns - closed[0].from_ns, 2 * MS);
	assert_int_equal(closed[1].until_ns - closed[1].from_ns, 29 * MS);
	assert_int_equal(complete_cnt(), 2);
	assert_true(closed[2].flags & TAPIR_INTERVAL_NO_BEGIN);
}

static void order_without_ids_has_no_duration_once_it_moves(void **state)
{
	const struct tapir_interval_kind *kind;

	(void)state;
	order(ORDER_BEGIN, 1, 10 * MS, 0);
	order(ORDER_BEGIN, 1, 11 * MS, 0); /* the first one is awaited */
	order(ORDER_END, 1, 12 * MS, 0);   /* of which of them? */
	order(ORDER_END, 2, 40 * MS, 0);
	finish();
	assert_int_equal(complete_cnt(), 0);
	kind = &feeder.pairs.kinds.data[0];
	assert_int_equal(kind->cnt, 0);
	assert_int_equal(kind->unbegun, 2);
	assert_int_equal(kind->unended, 2);
}

/* That it is in the table of pairs tells nothing of its threads. */
static void known_pair_without_ids_has_no_duration_once_it_moves(void **state)
{
	(void)state;
	step(HTTP_BEGIN, 1, 10 * MS, 0, 0);
	step(HTTP_BEGIN, 1, 11 * MS, 0, 0);
	step(HTTP_END, 1, 12 * MS, 0, 0);
	step(HTTP_END, 2, 40 * MS, 0, 0);
	finish();
	assert_int_equal(complete_cnt(), 0);
	assert_true(feeder.pairs.kinds.data[0].is_unknown_by_thread);
}

static void order_without_ids_that_stays_on_its_thread_has_one(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 20; i++) {
		order(ORDER_BEGIN, 1 + i % 3, (10 + i) * MS, 0);
		order(ORDER_END, 1 + i % 3, (10 + i) * MS + 1000, 0);
	}
	finish();
	assert_int_equal(complete_cnt(), 20);
	assert_int_equal(closed[19].until_ns - closed[19].from_ns, 1000);
}

/* Flows begin and end on any threads: each duration is the flow's own. */
static void durations_are_the_flows_own_whatever_happens(void **state)
{
	uint64_t begun_ns[40] = {}, took_ns[64], seed = 1, now_ns = MS;
	unsigned cnt = 0;

	(void)state;
	for (unsigned step = 0; cnt < 40; step++) {
		uint8_t flow;

		seed = tapir_hash__mix(seed, step);
		flow = (uint8_t)(1 + seed % 39);
		now_ns += 1 + (seed >> 40) % MS;
		order(begun_ns[flow] ? ORDER_END : ORDER_BEGIN, 1 + (uint32_t)(seed >> 20) % 4,
		      now_ns, flow);
		if (begun_ns[flow])
			took_ns[cnt++] = now_ns - begun_ns[flow];
		begun_ns[flow] = begun_ns[flow] ? 0 : now_ns;
	}
	finish();
	assert_int_equal(complete_cnt(), cnt);
	for (unsigned i = 0; i < cnt; i++)
		assert_int_equal(closed[i].until_ns - closed[i].from_ns, took_ns[i]);
}

static void gc_between_two_threads_is_a_part_of_the_activity(void **state)
{
	(void)state;
	fire_number(POOL_BEGIN, 1, 10 * MS, 41);
	fire(GC_BEGIN, 9, 12 * MS);
	fire(GC_END, 9, 17 * MS);
	fire_number(POOL_END, 2, 20 * MS, 41);
	finish();
	assert_int_equal(closed_cnt, 2);
	assert_string_equal(closed[1].kind, "queued");
	assert_int_equal(closed[1].parts.ns[TAPIR_CAUSE_GC][TAPIR_THREAD_AWAITING], 5 * MS);
	assert_int_equal(closed[1].parts.ns[TAPIR_CAUSE_NONE][TAPIR_THREAD_AWAITING], 5 * MS);
}

/* Nobody follows it any more: what it did then is not known. */
static void activity_whose_thread_died_is_not_known_after_it(void **state)
{
	(void)state;
	fire_number(POOL_BEGIN, 1, 10 * MS, 41);
	feeder_leave(&feeder, 1, 12 * MS, TAPIR_STATE_DEAD);
	fire_number(POOL_END, 2, 20 * MS, 41);
	finish();
	assert_int_equal(closed_cnt, 1);
	assert_int_equal(closed[0].parts.ns[TAPIR_CAUSE_NONE][TAPIR_THREAD_RUNNING], 2 * MS);
	assert_int_equal(closed[0].parts.ns[TAPIR_CAUSE_NONE][TAPIR_THREAD_UNKNOWN], 8 * MS);
}

static void users_pair_is_beside_what_the_names_say(void **state)
{
	(void)state;
	assert_int_equal(tapir_pairs__name(&feeder.pairs, "shop:request__start,gc__end"), 0);
	fire(REQ_BEGIN, 1, 1 * MS);
	fire(REQ_END, 1, 2 * MS);
	fire(GC_END, 1, 3 * MS);
	finish();
	assert_int_equal(closed_cnt, 3); /* each event has its other meaning, too */
	assert_string_equal(closed[1].kind, "request__start");
	assert_int_equal(closed[1].from_ns, 1 * MS);
	assert_int_equal(closed[1].until_ns, 3 * MS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nested_and_overlapping_intervals_are_distinguished),
		TEST(key_finds_the_begin_on_another_thread),
		TEST(activity_is_followed_from_thread_to_thread),
		TEST(activity_that_waits_for_its_child_is_inside_of_it),
		TEST(children_that_overlap_are_counted_once),
		TEST(time_of_a_thread_that_takes_other_work_is_not_the_activitys),
		TEST(activity_leaves_a_thread_that_takes_its_next_work_item),
		TEST(nested_intervals_of_a_thread_are_not_summed),
		TEST(events_of_one_id_are_a_pair_on_any_thread),
		TEST(order_without_ids_has_no_duration_once_it_moves),
		TEST(known_pair_without_ids_has_no_duration_once_it_moves),
		TEST(order_without_ids_that_stays_on_its_thread_has_one),
		TEST(durations_are_the_flows_own_whatever_happens),
		TEST(gc_between_two_threads_is_a_part_of_the_activity),
		TEST(activity_whose_thread_died_is_not_known_after_it),
		TEST(users_pair_is_beside_what_the_names_say),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
