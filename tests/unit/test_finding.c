// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the report leads with, of made-up recordings: events of a runtime.
 *
 * runtimes: dotnet
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "diagnose/diagnosis_impl.h"
#include "finding_fixture.h"

static void collections_are_reported_with_who_allocates(void **state)
{
	(void)state;
	fire(TICK, 1 * MS, 3000000, "Byte[]", 1);
	fire(TICK, 2 * MS, 5000000, "Byte[]", 2);
	fire(TICK, 3 * MS, 4000000, "Object", 1);
	fire(TICK, 4 * MS, 2000000, "Object", 0);
	collect(10 * MS, 30 * MS, 1, "2 AllocLarge NonConcurrentGC");
	collect(50 * MS, 10 * MS, 2, "0 AllocSmall NonConcurrentGC");
	collect(70 * MS, 20 * MS, 3, "2 Induced NonConcurrentGC");
	fire(TICK, 101 * MS, 0, "Object", 0);
	expect_finding(
		"60% of the time in GC: 3 collections (2 gen 2), 3 pauses of 60.00 ms in all, "
		"the longest 30.00 ms; the longest collection: "
		"AllocLarge NonConcurrentGC; 50% of 14.0 MB allocated from Shop.Draw(int)");
}

static void frameworks_method_is_reported_when_nobody_else_is_there(void **state)
{
	(void)state;
	fire(TICK, 1 * MS, 1000000, "Object", 3);
	collect(10 * MS, 40 * MS, 1, "1 AllocSmall NonConcurrentGC");
	fire(TICK, 101 * MS, 0, "Object", 0);
	expect_finding("40% of the time in GC: 1 collection, 1 pause of 40.00 ms in all, "
		       "the longest 40.00 ms; the longest collection: AllocSmall "
		       "NonConcurrentGC; 100% of 1.0 MB allocated from "
		       "System.Collections.List.Add(!0)");
}

/* Its time is not a pause. */
static void background_collection_is_no_reason(void **state)
{
	(void)state;
	fire(GC_START, 5 * MS, 1, "2 AllocLarge BackgroundGC", 0);
	collect(10 * MS, 20 * MS, 2, "0 AllocSmall ForegroundGC");
	fire(GC_END, 90 * MS, 1, NULL, 0);
	fire(TICK, 105 * MS, 0, "Object", 0);
	expect_finding(
		"20% of the time in GC: 2 collections (1 gen 2, 1 in the background), 1 pause "
		"of 20.00 ms in all, the longest 20.00 ms; the longest "
		"collection: AllocSmall ForegroundGC");
}

static void who_allocates_is_not_reported_without_collections(void **state)
{
	(void)state;
	fire(TICK, 1 * MS, 1000000, "Object", 1);
	collect(10 * MS, 1 * MS, 1, "2 Induced NonConcurrentGC");
	fire(TICK, 101 * MS, 0, "Object", 0);
	expect_finding("");
}

static void who_triggers_collections_is_reported_without_events_of_allocations(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		fire(GC_DUE, (10 + 20 * i) * MS, 0, "AllocSmall", i == 2 ? 1 : 2);
		collect((10 + 20 * i) * MS, 10 * MS, i + 1, "0 AllocSmall NonConcurrentGC");
	}
	fire(METHOD_LOADED, 101 * MS, 0, "Main", 0);
	expect_finding(
		"44% of the time in GC: 4 collections, 4 pauses of 40.00 ms in all, the "
		"longest 10.00 ms; the longest collection: AllocSmall NonConcurrentGC; 75% of "
		"the collections triggered by allocations in Shop.Price()");
	assert_string_equal(found.rows.data[0].subject, "Shop.Price()");
}

/* ---- other causes ---------------------------------------------------------------------------- */

static void threads_that_wait_for_each_other_are_a_deadlock(void **state)
{
	(void)state;
	fire_on(BLOCKED, 2, 10 * MS, 3, "0xa", 2);
	fire_on(BLOCKED, 3, 20 * MS, 2, "0xb", 2);
	fire_on(BLOCKED, 4, 30 * MS, 2, "0xa", 1);
	fire(TICK, 120 * MS, 0, "Object", 0);
	expect_finding("deadlock: 2 threads wait for each other's locks in Shop.Price(), for "
		       "100.00 ms when the recording ended; 1 more wait for locks");
	assert_int_equal(kind_at(0), TAPIR_FINDING_DEADLOCK);
}

static void threads_that_got_their_locks_are_no_deadlock(void **state)
{
	(void)state;
	fire_on(BLOCKED, 2, 10 * MS, 3, "0xa", 2);
	fire_on(ENTERED, 2, 15 * MS, 0, NULL, 0);
	fire_on(BLOCKED, 3, 20 * MS, 2, "0xb", 2);
	fire_on(ENTERED, 3, 22 * MS, 0, NULL, 0);
	fire(TICK, 1000 * MS, 0, "Object", 0);
	expect_finding("");
}

/* An owner chain that is a circle without the thread in question must end, too. */
static void chain_into_a_cycle_ends(void **state)
{
	(void)state;
	fire_on(BLOCKED, 1, 10 * MS, 2, "0xa", 0);
	fire_on(BLOCKED, 2, 11 * MS, 3, "0xb", 0);
	fire_on(BLOCKED, 3, 12 * MS, 2, "0xc", 0);
	fire_on(BLOCKED, 5, 12 * MS, 5, "0xd", 0); /* of itself: none */
	fire(TICK, 120 * MS, 0, "Object", 0);
	assert_int_equal(kind_at(0), TAPIR_FINDING_DEADLOCK);
	assert_true(found.rows.data[0].magnitude == 2);
}

static void waits_that_have_not_ended_count(void **state)
{
	(void)state;
	fire_on(BLOCKED, 2, 10 * MS, 9, "0xa", 2);
	fire(TICK, 110 * MS, 0, "Object", 0);
	expect_finding("threads waited at least 100.00 ms for locks, 100% of it for lock 0xa in "
		       "Shop.Price(); 1 still waiting at the end");
}

/* Without names its stack alone says nothing; it is that of a wait with events. */
static void wait_from_before_the_events_counts_by_its_stack(void **state)
{
	const uint64_t frames_va[] = {0x400040, 0x400050};
	struct tapir_rec_stack stack = {.stack_id = 20, .end = TAPIR_STACK_END_WHOLE};

	(void)state;
	feeder_add(&f, tapir_recbuf__stack(&f.buf, &stack, frames_va, 2));
	fire_on(BLOCKED, 3, 9 * MS, 9, "0xa", 0);
	for (uint32_t tid = 2; tid <= 3; tid++)
		feeder_switch(&f, 10 * MS,
			      (struct tapir_rec_switch){.out_tgid = TGID,
							.out_tid = tid,
							.out_state = TAPIR_STATE_SLEEPING,
							.out_stack_id = 20});
	feeder_come(&f, 2, 70 * MS, 70 * MS, 9);
	feeder_come(&f, 3, 109 * MS, 109 * MS, 9);
	fire_on(ENTERED, 3, 109 * MS, 0, NULL, 0);
	fire(TICK, 110 * MS, 0, "Object", 0);
	expect_finding("threads waited 160.00 ms for locks, 62% of it for lock 0xa");
}

static void exceptions_are_reported_with_their_thrower(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 50; i++)
		fire_on(THROWN, 1, (1 + i) * MS, 0, "System.FormatException", 1);
	fire(TICK, 501 * MS, 0, "Object", 0);
	expect_finding("100 exceptions a second, 100% of them System.FormatException, thrown by "
		       "Shop.Draw(int)");
	assert_string_equal(found.rows.data[0].view, "exceptions");
	assert_string_equal(found.rows.data[0].subject, "Shop.Draw(int)");
}

static void rate_is_a_lower_limit_where_events_were_lost(void **state)
{
	struct tapir_rec_loss loss = {.cause = TAPIR_LOSS_RING_FULL, .count = 1};

	(void)state;
	for (unsigned i = 0; i < 50; i++)
		fire_on(THROWN, 1, (1 + i) * MS, 0, "System.FormatException", 1);
	tapir_rec__init(&loss.h, TAPIR_REC_LOSS, sizeof(loss), 60 * MS);
	feeder_add(&f, &loss.h);
	fire(TICK, 501 * MS, 0, "Object", 0);
	expect_finding("at least 100 exceptions a second, 100% of them System.FormatException, "
		       "thrown by Shop.Draw(int)");
}

/* A table of findings is bounded: what finds no room in it is counted. */
static void types_beyond_the_table_are_counted(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4100; i++) {
		char type[32];

		snprintf(type, sizeof(type), "Shop.Sold%u", i);
		fire_on(THROWN, 1, MS + i, 0, type, 1);
	}
	fire(TICK, 501 * MS, 0, "Object", 0);
	assert_non_null(finding_text(0));
	assert_int_equal(finding.exceptions.types.rows.cnt, 4096);
	assert_int_equal(found.more, 4);
}

/* So are the sums by function, which name the place of a finding. */
static void functions_beyond_the_sums_are_counted(void **state)
{
	struct tapir_function_sums sums = {};

	(void)state;
	for (uint32_t name = 0; name <= 65536; name++)
		tapir_function_sums__add(&finding, &sums, name, 1);
	tapir_function_sums__add(&finding, &sums, 0, 1); /* it has its row */
	assert_int_equal(sums.sum, 65538);
	assert_int_equal(sums.top, 2);
	tapir_function_sums__fini(&sums);
	fire(TICK, 501 * MS, 0, "Object", 0);
	(void)finding_text(0);
	assert_int_equal(found.more, 1);
	assert_false(found.failed);
}

/* A type is named with those who threw it, not with those who threw most of all. */
static void thrower_is_that_of_the_type(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 30; i++)
		fire_on(THROWN, 1, (1 + i) * MS, 0, "System.FormatException", 2);
	for (unsigned i = 0; i < 40; i++)
		fire_on(THROWN, 1, (100 + i) * MS, 0, "Shop.SoldOut", i % 2 ? 1 : 2);
	fire(TICK, 701 * MS, 0, "Object", 0);
	expect_finding("100 exceptions a second, 43% of them System.FormatException, thrown by "
		       "Shop.Price()");
}

static void thrower_of_a_part_of_a_type_is_reported_so(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 70; i++)
		fire_on(THROWN, 1, (1 + i) * MS, 0, "Shop.SoldOut", i % 7 < 4 ? 1 : 2);
	fire(TICK, 701 * MS, 0, "Object", 0);
	expect_finding("100 exceptions a second, 100% of them Shop.SoldOut, 57% of these thrown by "
		       "Shop.Draw(int)");
}

static void few_exceptions_are_no_rate(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 5; i++)
		fire_on(THROWN, 1, (1 + i) * MS, 0, "System.FormatException", 1);
	fire(TICK, 20 * MS, 0, "Object", 0);
	expect_finding("");
}

/* 1.5 s asleep with this stack, while there are collections. */
static void finalizer_waits(uint64_t stack)
{
	call_thread(20, ".NET Finalizer");
	feeder_come(&f, 20, 2 * MS, 0, 0);
	feeder_switch(&f, 3 * MS,
		      (struct tapir_rec_switch){.out_tgid = TGID,
						.out_tid = 20,
						.out_state = TAPIR_STATE_SLEEPING,
						.out_stack_id = stack});
	for (unsigned i = 0; i < 4; i++)
		collect((100 + 300 * i) * MS, MS, i + 1, "AllocSmall");
	feeder_come(&f, 20, 1503 * MS, 1503 * MS, 1);
	fire(TICK, 1601 * MS, 0, "Object", 0);
}

static void finalizer_that_is_stuck_is_named(void **state)
{
	(void)state;
	finalizer_waits(8);
	expect_finding(
		"the finalizer thread has not caught up in 4 collections (1.599 s): it is in "
		"Shop.Draw(int)");
}

static void finalizer_that_waits_for_work_is_not_stuck(void **state)
{
	(void)state;
	add_stack(14, 0x400010, 0x400020, 0x400030);
	finalizer_waits(14);
	expect_finding("");
}

/* ---- locks without events -------------------------------------------------------------------- */

/* Asleep with this stack since before the recording. */
static void was_asleep(uint32_t tid, uint64_t stack)
{
	feeder_switch(&f, 2 * MS,
		      (struct tapir_rec_switch){.out_tgid = TGID,
						.out_tid = tid,
						.out_state = TAPIR_STATE_SLEEPING,
						.out_stack_id = stack,
						.flags = TAPIR_SWITCH_SNAPSHOT});
}

static void threads_that_wait_throughout_are_a_deadlock(void **state)
{
	(void)state;
	for (uint32_t tid = 11; tid < 14; tid++)
		was_asleep(tid, tid == 11 ? 7 : 6);
	was_asleep(14, 1); /* not for a lock */
	fire(TICK, 1002 * MS, 0, "Object", 0);
	expect_finding("deadlock, or a lock that is never released: 3 threads waited for locks "
		       "throughout (at least 1.000 s), 2 in Shop.Draw(int), 1 in Shop.Price()");
	assert_int_equal(kind_at(0), TAPIR_FINDING_DEADLOCK);
}

/* Events are recorded before switches are: a thread that fired one may sleep since then. */
static void snapshot_shows_what_became_of_a_thread_that_fired_an_event(void **state)
{
	(void)state;
	fire_on(METHOD_LOADED, 12, 1 * MS, 0, "Main", 0);
	feeder_come(&f, 13, 1 * MS, 0, 0); /* but this one runs: it has come to a CPU */
	for (uint32_t tid = 11; tid < 14; tid++)
		was_asleep(tid, 6);
	fire(TICK, 1002 * MS, 0, "Object", 0);
	expect_finding("deadlock, or a lock that is never released: 2 threads waited for locks "
		       "throughout (at least 1.001 s), 2 in Shop.Draw(int)");
}

/* .NET 8 without symbols: its functions say nothing. */
static void threads_that_wait_in_the_runtime_throughout_are_a_deadlock(void **state)
{
	(void)state;
	was_asleep(11, 13);
	was_asleep(12, 13);
	fire(TICK, 1002 * MS, 0, "Object", 0);
	expect_finding("deadlock, or a lock that is never released: 2 threads waited for locks "
		       "throughout (at least 1.000 s), 2 in Shop.Draw(int)");
}

static void what_the_holder_waits_for_is_reported(void **state)
{
	struct tapir_rec_wait wait = {.h = {.cpu = TAPIR_CPU_UNKNOWN, .time_ns = 2 * MS},
				      .tgid = TGID,
				      .owner_tid = 14,
				      .syscall = 202};

	(void)state;
	feeder_thread(&f, 14, "shop");
	was_asleep(14, 8); /* which none but a snapshot tells */
	for (uint32_t tid = 11; tid < 14; tid++) {
		was_asleep(tid, 6);
		wait.tid = tid;
		feeder_add(&f, tapir_recbuf__wait(&f.buf, &(struct tapir_wait_view){
								  .rec = &wait,
								  .text = feeder_sv("futex()")}));
	}
	fire(TICK, 1002 * MS, 0, "Object", 0);
	expect_finding(
		"deadlock, or a lock that is never released: 3 threads waited for locks "
		"throughout (at least 1.000 s), 3 in Shop.Draw(int); the thread that holds it, shop "
		"14, waits in Shop.Draw(int) (semaphore)");
}

static void threads_that_wait_where_others_pass_are_none(void **state)
{
	(void)state;
	was_asleep(11, 6);
	was_asleep(12, 6);
	was_asleep(13, 6);
	feeder_come(&f, 13, 500 * MS, 500 * MS, 1);
	fire(TICK, 1002 * MS, 0, "Object", 0);
	expect_finding(
		"threads waited at least 2.498 s for locks, 100% of it for monitor in Shop.Draw(int); "
		"2 still waiting at the end");
	assert_int_equal(kind_at(0), TAPIR_FINDING_LOCKS);
}

static void wait_that_has_events_counts_once(void **state)
{
	(void)state;
	feeder_come(&f, 11, 2 * MS, 0, 0);
	fire_on(BLOCKED, 11, 100 * MS, 9, "0xa", 6);
	feeder_switch(&f, 100 * MS,
		      (struct tapir_rec_switch){.out_tgid = TGID,
						.out_tid = 11,
						.out_state = TAPIR_STATE_SLEEPING,
						.out_stack_id = 6});
	feeder_come(&f, 11, 600 * MS, 600 * MS, 1);
	fire_on(ENTERED, 11, 600 * MS, 0, NULL, 0);
	fire(TICK, 1002 * MS, 0, "Object", 0);
	expect_finding("threads waited 500.00 ms for locks, 100% of it for lock 0xa in "
		       "Shop.Draw(int)");
}

/* 100 ms of every 200, ended by another thread. */
static void waits_often(uint32_t tid, uint64_t stack, uint32_t waker)
{
	feeder_come(&f, tid, 2 * MS, 0, 0);
	for (uint64_t at = 100; at < 1000; at += 200) {
		feeder_switch(&f, at * MS,
			      (struct tapir_rec_switch){.out_tgid = TGID,
							.out_tid = tid,
							.out_state = TAPIR_STATE_SLEEPING,
							.out_stack_id = stack});
		feeder_come(&f, tid, (at + 100) * MS, (at + 100) * MS, waker);
	}
}

static void semaphore_that_threads_pass_on_is_a_lock(void **state)
{
	(void)state;
	waits_often(11, 8, 12);
	waits_often(12, 8, 11);
	fire(TICK, 1002 * MS, 0, "Object", 0);
	expect_finding("threads waited 1.000 s for a semaphore that is used as a lock: 1.0 "
		       "of 2 threads at any time, in Shop.Draw(int)");
	assert_string_equal(found.rows.data[0].view, "offcpu");
}

static void semaphore_that_others_release_is_none(void **state)
{
	(void)state;
	waits_often(11, 8, 13);
	waits_often(12, 8, 13);
	waits_often(13, 9, 12); /* it waits elsewhere */
	fire(TICK, 1002 * MS, 0, "Object", 0);
	expect_finding("");
}

static void producer_waits_for_room_in_a_queue(void **state)
{
	(void)state;
	waits_often(11, 10, 12);
	waits_often(13, 10, 12);
	fire(TICK, 1002 * MS, 0, "Object", 0);
	expect_finding("threads waited 1.000 s for a full queue in Shop.Price()");
}

/* Readers that never get it while writers take turns. */
static void lock_that_others_get_meanwhile_is_no_deadlock(void **state)
{
	(void)state;
	was_asleep(11, 11);
	was_asleep(12, 11);
	waits_often(13, 12, 14);
	fire(TICK, 1002 * MS, 0, "Object", 0);
	expect_finding(
		"threads waited at least 2.500 s for locks, 100% of it for reader-writer lock in "
		"Shop.Draw(int); 2 still waiting at the end");
	assert_int_equal(kind_at(0), TAPIR_FINDING_LOCKS);
}

/* The more it costs, the earlier it comes. */
static void worse_one_of_two_leads(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 30; i++)
		fire_on(THROWN, 1, (1 + i) * MS, 0, "System.FormatException", 1);
	for (uint32_t tid = 2; tid < 5; tid++)
		fire_on(BLOCKED, tid, 10 * MS, 9, "0xa", 2);
	fire(TICK, 1001 * MS, 0, "Object", 0);
	assert_int_equal(kind_at(0), TAPIR_FINDING_LOCKS);
	assert_int_equal(kind_at(1), TAPIR_FINDING_EXCEPTIONS);
	assert_true(found.rows.data[0].severity > found.rows.data[1].severity);
}

static void percentiles_never_exceed_the_largest_value(void **state)
{
	struct tapir_histogram h = {};
	uint64_t seed = 42, most = 0;

	(void)state;
	for (unsigned i = 0; i < 2000; i++) {
		uint64_t value;

		seed = tapir_hash__mix(seed, i);
		value = seed >> (seed & 63);
		if (value >> 58)
			continue;
		most = value > most ? value : most;
		tapir_histogram__add(&h, value);
		for (unsigned p = 0; p <= 100; p += 25)
			assert_true(tapir_histogram__percentile(&h, p) <= most);
		assert_true(tapir_histogram__percentile(&h, 50) <=
			    tapir_histogram__percentile(&h, 99));
	}
}

static uint32_t node_of(uint64_t stack_id)
{
	const struct tapir_stack_ref ref = {.tgid = TGID, .time_ns = 5 * MS, .stack_id = stack_id};

	return tapir_timeline__node(f.tl, &ref);
}

static void collector_without_names_is_reported_by_the_method(void **state)
{
	const struct tapir_stack_tree *tree = tapir_timeline__stacks(f.tl);
	uint32_t drawn, node;

	(void)state;
	add_stack(4, 0x210, 0x400040, 0x310); /* no collector on top */
	drawn = tapir_work__collecting_node(tree, node_of(2));
	assert_string_equal(tree->names.data[tree->nodes.data[drawn].name], "Shop.Price()");
	node = node_of(4);
	assert_int_equal(tapir_work__collecting_node(tree, node), node);
	assert_int_equal(tapir_work__collecting_node(tree, TAPIR_NO_NODE), TAPIR_NO_NODE);
}

static void flow(uint32_t probe, uint32_t tid, uint64_t time_ns, uint8_t id, uint8_t parent)
{
	const uint8_t activity[16] = {id}, related[16] = {parent};

	feeder_event(&f, (struct feeder_event){.probe_id = probe,
					       .tgid = TGID,
					       .tid = tid,
					       .time_ns = time_ns,
					       .activity = id ? activity : NULL,
					       .related = parent ? related : NULL});
}

/* Two at a time on one thread: which of them ended first is not known. */
static void requests_without_ids_are_said_to_have_no_duration(void **state)
{
	(void)state;
	feeder_probe(&f, 90, "System.Net.Http", "RequestStart", NULL, NULL);
	feeder_probe(&f, 91, "System.Net.Http", "RequestStop", NULL, NULL);
	for (uint64_t ms = 10; ms < 1000; ms += 100) {
		flow(90, 1, ms * MS, 0, 0);
		flow(90, 1, (ms + 1) * MS, 0, 0);
		flow(91, 1, (ms + 50) * MS, 0, 0);
		flow(91, 2, (ms + 60) * MS, 0, 0);
	}
	assert_string_equal(finding_text(0),
			    "20 times System.Net.Http:http_request, how long is not known: its "
			    "events have no activity id and change threads (record --activities)");
}

static void requests_without_their_key_are_said_to_have_no_duration(void **state)
{
	(void)state;
	feeder_probe(&f, 90, "Microsoft-AspNetCore-Server-Kestrel", "RequestStart", NULL, NULL);
	feeder_probe(&f, 91, "Microsoft-AspNetCore-Server-Kestrel", "RequestStop", NULL, NULL);
	for (uint64_t ms = 10; ms < 1000; ms += 100) {
		flow(90, 1, ms * MS, 0, 0);
		flow(91, 1, (ms + 50) * MS, 0, 0);
	}
	assert_string_equal(finding_text(0),
			    "10 times Microsoft-AspNetCore-Server-Kestrel:server_request, how long "
			    "is not known: its events were recorded without requestId");
}

static void requests_from_before_the_ids_are_not_reported(void **state)
{
	(void)state;
	feeder_probe(&f, 90, "System.Net.Http", "RequestStart", NULL, NULL);
	feeder_probe(&f, 91, "System.Net.Http", "RequestStop", NULL, NULL);
	flow(90, 1, 10 * MS, 0, 0);
	flow(90, 1, 11 * MS, 0, 0);
	for (uint8_t id = 1; id < 10; id++) {
		flow(90, 1, (100 + 100 * id) * MS, id, 0);
		flow(91, 2, (150 + 100 * id) * MS, id, 0);
	}
	(void)finding_text(0);
	for (size_t i = 0; i < found.rows.cnt; i++)
		assert_int_not_equal(found.rows.data[i].kind,
				     TAPIR_FINDING_REQUESTS_WITHOUT_DURATION);
}

static void slow_requests_are_reported_with_what_they_waited_for(void **state)
{
	(void)state;
	feeder_probe(&f, 90, "System.Net.Http", "RequestStart", NULL, NULL);
	feeder_probe(&f, 91, "System.Net.Http", "RequestStop", NULL, NULL);
	for (uint64_t at = 1; at < 6; at++) {
		flow(ASK, 1, at * 1000 * MS, 1, 0);
		flow(90, 1, at * 1000 * MS + 20 * MS, 2, 1);
		flow(91, 2, at * 1000 * MS + 420 * MS, 2, 1);
		flow(ASKED, 2, at * 1000 * MS + 420 * MS, 1, 0);
	}
	assert_non_null(strstr(finding_text(0), "Shop-Orders:Order takes "));
	assert_non_null(strstr(finding_text(0), ", 95% of their time in http_request"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(collections_are_reported_with_who_allocates),
		TEST(frameworks_method_is_reported_when_nobody_else_is_there),
		TEST(background_collection_is_no_reason),
		TEST(who_allocates_is_not_reported_without_collections),
		TEST(who_triggers_collections_is_reported_without_events_of_allocations),
		TEST(collector_without_names_is_reported_by_the_method),
		TEST(threads_that_wait_for_each_other_are_a_deadlock),
		TEST(threads_that_got_their_locks_are_no_deadlock),
		TEST(chain_into_a_cycle_ends),
		TEST(waits_that_have_not_ended_count),
		TEST(wait_from_before_the_events_counts_by_its_stack),
		TEST(exceptions_are_reported_with_their_thrower),
		TEST(rate_is_a_lower_limit_where_events_were_lost),
		TEST(types_beyond_the_table_are_counted),
		TEST(functions_beyond_the_sums_are_counted),
		TEST(thrower_is_that_of_the_type),
		TEST(few_exceptions_are_no_rate),
		TEST(threads_that_wait_throughout_are_a_deadlock),
		TEST(snapshot_shows_what_became_of_a_thread_that_fired_an_event),
		TEST(threads_that_wait_in_the_runtime_throughout_are_a_deadlock),
		TEST(what_the_holder_waits_for_is_reported),
		TEST(threads_that_wait_where_others_pass_are_none),
		TEST(wait_that_has_events_counts_once),
		TEST(semaphore_that_threads_pass_on_is_a_lock),
		TEST(semaphore_that_others_release_is_none),
		TEST(producer_waits_for_room_in_a_queue),
		TEST(lock_that_others_get_meanwhile_is_no_deadlock),
		TEST(thrower_of_a_part_of_a_type_is_reported_so),
		TEST(finalizer_that_is_stuck_is_named),
		TEST(finalizer_that_waits_for_work_is_not_stuck),
		TEST(worse_one_of_two_leads),
		TEST(requests_without_ids_are_said_to_have_no_duration),
		TEST(requests_without_their_key_are_said_to_have_no_duration),
		TEST(requests_from_before_the_ids_are_not_reported),
		TEST(slow_requests_are_reported_with_what_they_waited_for),
		cmocka_unit_test(percentiles_never_exceed_the_largest_value),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
