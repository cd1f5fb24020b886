// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The first finding of made-up recordings without events: locks by the stacks of
 * waits, the work of throwing exceptions.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "finding_case.h"

enum { MONITOR = 1, LOCK, LONG_LOCK, IDLE, THROW, GIL, UNNAMED, AWAIT, REGEX };

/* A native function in a mapping of its own. */
static void name_function(unsigned at, const char *name)
{
	struct tapir_rec_symbol symbol = {.file_id = 0x1000 * (uint64_t)at, .size = 0x1000};

	feeder_mapping(&f, 0x1000 * (uint64_t)at, "/x/libjvm.so");
	feeder_add(&f, tapir_recbuf__symbol(&f.buf, &symbol, feeder_sv(name)));
}

static void add_stack(uint64_t id, unsigned inner, unsigned middle, unsigned outer)
{
	const uint64_t frames_va[] = {0x1000ull * inner + 8, 0x1000ull * middle + 8,
				      0x1000ull * outer + 8};

	feeder_stack(&f, id, frames_va, 3);
}

static int setup(void **state)
{
	static const char *const names[] = {
		"pthread_cond_wait",
		"ObjectMonitor::enter",
		"void Shop.reserve()",
		"void jdk.internal.misc.Unsafe.park(boolean, long)",
		"int java.util.concurrent.locks.AbstractQueuedSynchronizer.acquire(int)",
		"java_lang_Throwable::fill_in_stack_trace",
		"java.lang.Throwable java.lang.Throwable.fillInStackTrace(int)",
		"take_gil",
		"PyEval_RestoreThread",
		"void java.util.concurrent.locks.LockSupport.park(java.lang.Object)",
		"Interpreter",
		"void java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject.await()",
		"boolean java.util.regex.Pattern$GroupCurly.match0(java.util.regex.Matcher, int)",
		"int java.util.concurrent.locks.AbstractQueuedLongSynchronizer.acquire(long)",
	};

	(void)state;
	if (finding_begin())
		return -1;
	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strchr(names[i], '.') || !strcmp(names[i], "Interpreter"))
			name_method(i + 1, names[i]);
		else
			name_function(i + 1, names[i]);
	add_stack(MONITOR, 1, 2, 3);
	add_stack(LOCK, 1, 4, 5);
	add_stack(LONG_LOCK, 1, 4, 14);
	add_stack(IDLE, 1, 4, 3);
	add_stack(THROW, 6, 7, 3);
	add_stack(GIL, 1, 8, 9);
	add_stack(UNNAMED, 4, 10, 11);
	add_stack(AWAIT, 4, 10, 12);
	add_stack(REGEX, 13, 13, 13);
	return finding_listen();
}

/* Waits at that address. */
static void leave_at(uint64_t futex_va, uint32_t tid, uint64_t time_ns, uint64_t stack)
{
	struct {
		struct tapir_rec_switch sw;
		uint64_t futex_va;
	} rec = {.sw = {.out_tgid = TGID,
			.out_tid = tid,
			.out_state = TAPIR_STATE_SLEEPING,
			.flags = TAPIR_SWITCH_HAS_FUTEX,
			.out_stack_id = stack},
		 .futex_va = futex_va};

	tapir_rec__init(&rec.sw.h, TAPIR_REC_SWITCH, sizeof(rec), time_ns);
	feeder_add(&f, &rec.sw.h);
}

static void leave(uint32_t tid, uint64_t time_ns, uint64_t stack)
{
	feeder_switch(&f, time_ns,
		      (struct tapir_rec_switch){.out_tgid = TGID,
						.out_tid = tid,
						.out_state = TAPIR_STATE_SLEEPING,
						.out_stack_id = stack});
}

/* Waits of 8 ms, 2 ms on the CPU, from 10 ms to 1 s. */
static void wait_often(uint32_t tid, const char *comm, uint64_t stack)
{
	feeder_thread(&f, tid, comm);
	feeder_come(&f, tid, 10 * MS, 0, 0);
	for (uint64_t at = 12; at < 1000; at += 10) {
		leave(tid, at * MS, stack);
		feeder_come(&f, tid, (at + 8) * MS, (at + 8) * MS, 1);
	}
}

static void wait_for(uint32_t tid, uint64_t from_ms, uint64_t until_ms, uint64_t stack,
		     uint32_t waker)
{
	leave(tid, from_ms * MS, stack);
	feeder_come(&f, tid, until_ms * MS, until_ms * MS, waker);
}

static void wait_for_ever(uint32_t tid, const char *comm, uint64_t stack)
{
	feeder_thread(&f, tid, comm);
	feeder_come(&f, tid, 10 * MS, 0, 0);
	leave(tid, 11 * MS, stack);
}

static void convoy_is_reported_with_its_threads_and_method(void **state)
{
	(void)state;
	wait_often(2, "clerk-1", MONITOR);
	wait_often(3, "clerk-2", MONITOR);
	end_at(1010 * MS);
	expect(TAPIR_FINDING_LOCKS, "threads waited 1.584 s for a monitor: 1.6 of 2 threads at any "
				    "time, clerk-*, in Shop.reserve()");
}

static void monitors_that_are_never_got_are_a_deadlock(void **state)
{
	(void)state;
	wait_for_ever(2, "transfer-1", MONITOR);
	wait_for_ever(3, "transfer-2", MONITOR);
	end_at(1010 * MS);
	expect(TAPIR_FINDING_DEADLOCK,
	       "deadlock, or a lock that is never released: 2 threads, transfer-*, waited for a "
	       "monitor throughout the recording (at least 1.000 s) in Shop.reserve()");
}

/* A monitor is not fair: where many want it, some may not get it for seconds. */
static void threads_without_luck_in_a_convoy_are_no_deadlock(void **state)
{
	(void)state;
	wait_often(2, "clerk-1", MONITOR);
	wait_for_ever(3, "clerk-2", MONITOR);
	wait_for_ever(4, "clerk-3", MONITOR);
	end_at(1010 * MS);
	assert_int_equal(found.rows.data[0].kind, TAPIR_FINDING_LOCKS);
	assert_non_null(strstr(found.rows.data[0].text, " of 3 threads at any time, clerk-*, in "
							"Shop.reserve()"));
}

/* A snapshot has a thread that waits for a lock that another holds. */
static void is_held_up(uint32_t tid, const char *comm, uint64_t time_ns, uint32_t owner,
		       uint16_t flags)
{
	const struct tapir_rec_wait wait = {.h = {.cpu = TAPIR_CPU_UNKNOWN, .time_ns = time_ns},
					    .tgid = TGID,
					    .tid = tid,
					    .owner_tid = owner,
					    .syscall = 202};

	feeder_thread(&f, tid, comm);
	feeder_switch(&f, time_ns,
		      (struct tapir_rec_switch){.out_tgid = TGID,
						.out_tid = tid,
						.out_state = TAPIR_STATE_SLEEPING,
						.flags = TAPIR_SWITCH_SNAPSHOT | flags});
	feeder_add(&f,
		   tapir_recbuf__wait(&f.buf, &(struct tapir_wait_view){
						      .rec = &wait, .text = feeder_sv("futex()")}));
}

static void owners_in_a_snapshot_make_a_deadlock(void **state)
{
	(void)state;
	is_held_up(2, "left", 10 * MS, 3, 0);
	is_held_up(3, "right", 10 * MS, 2, 0);
	is_held_up(4, "crowd", 10 * MS, 2, 0);
	is_held_up(2, "left", 1010 * MS, 3, TAPIR_SWITCH_AT_END);
	is_held_up(3, "right", 1010 * MS, 2, TAPIR_SWITCH_AT_END);
	is_held_up(4, "crowd", 1010 * MS, 2, TAPIR_SWITCH_AT_END);
	end_at(1010 * MS);
	expect(TAPIR_FINDING_DEADLOCK,
	       "deadlock: 2 threads wait for each other's locks (left 2, right 3), "
	       "for at least 1.000 s when the recording ended; 1 more wait for locks");
}

static void is_seen_to_wait(uint32_t tid, uint64_t time_ns, uint32_t owner_tid,
			    struct tapir_wait_view texts)
{
	const struct tapir_rec_wait wait = {.h = {.cpu = TAPIR_CPU_UNKNOWN, .time_ns = time_ns},
					    .tgid = TGID,
					    .tid = tid,
					    .owner_tid = owner_tid};

	texts.rec = &wait;
	texts.text = feeder_sv("futex()");
	feeder_add(&f, tapir_recbuf__wait(&f.buf, &texts));
}

static void is_owned(uint32_t tid, uint64_t time_ns, uint32_t owner_tid)
{
	is_seen_to_wait(tid, time_ns, owner_tid, (struct tapir_wait_view){});
}

/* Thread 4 waits for 3, which waits for 2. */
static void the_last_of_those_who_hold_a_lock_is_reported(void **state)
{
	(void)state;
	feeder_thread(&f, 2, "keeper");
	feeder_come(&f, 2, 10 * MS, 0, 0);
	leave(2, 12 * MS, MONITOR + 100); /* who knows where */
	wait_for_ever(3, "transfer-1", MONITOR);
	wait_for_ever(4, "transfer-2", MONITOR);
	is_owned(3, 1000 * MS, 2);
	is_owned(4, 1000 * MS, 3);
	end_at(1010 * MS);
	expect(TAPIR_FINDING_LOCKS,
	       "a lock is not released: 2 threads, transfer-*, waited for a "
	       "monitor throughout the recording (at least 1.000 s) in Shop.reserve(); "
	       "keeper 2 holds it");
}

/* PostgreSQL's deadlock_timeout: it looks, and waits on for the same lock. */
static void timer_that_ends_a_wait_is_no_release(void **state)
{
	(void)state;
	feeder_thread(&f, 2, "keeper");
	feeder_come(&f, 2, 10 * MS, 0, 0);
	leave(2, 12 * MS, MONITOR + 100);
	wait_for_ever(3, "transfer", MONITOR);
	feeder_switch(&f, 500 * MS,
		      (struct tapir_rec_switch){.in_tgid = TGID,
						.in_tid = 3,
						.in_wake_ns = 500 * MS,
						.flags = TAPIR_SWITCH_WOKEN_BY_IRQ});
	leave(3, 501 * MS, MONITOR);
	is_owned(3, 1000 * MS, 2);
	end_at(1010 * MS);
	expect(TAPIR_FINDING_LOCKS,
	       "threads waited 998.00 ms for a monitor: 1.0 of 1 threads at any "
	       "time, transfer, in Shop.reserve(); keeper 2 holds it");
}

/* Some kernels do not tell that it was a timer: whoever ran then counts as the one that woke it. */
static void thread_that_waits_for_the_same_again_never_got_it(void **state)
{
	(void)state;
	feeder_thread(&f, 2, "keeper");
	feeder_come(&f, 2, 10 * MS, 0, 0);
	leave(2, 12 * MS, MONITOR + 100);
	wait_for_ever(3, "transfer", MONITOR);
	is_owned(3, 20 * MS, 2);
	feeder_come(&f, 3, 500 * MS, 500 * MS, 9);
	leave(3, 501 * MS, MONITOR);
	is_owned(3, 1000 * MS, 2);
	end_at(1010 * MS);
	expect(TAPIR_FINDING_LOCKS,
	       "threads waited 998.00 ms for a monitor: 1.0 of 1 threads at any "
	       "time, transfer, in Shop.reserve(); keeper 2 holds it");
}

/* They began before the recording: only the snapshot has them. */
static void statements_of_a_waiter_and_its_holder_are_reported(void **state)
{
	(void)state;
	feeder_thread(&f, 2, "keeper");
	feeder_come(&f, 2, 10 * MS, 0, 0);
	leave(2, 12 * MS, MONITOR + 100);
	wait_for_ever(3, "transfer", MONITOR);
	is_seen_to_wait(
		3, 20 * MS, 2,
		(struct tapir_wait_view){.statement = feeder_sv("update a set n = 5 where id = 7;"),
					 .holder_statement = feeder_sv("select f(60)")});
	end_at(1010 * MS);
	expect(TAPIR_FINDING_LOCKS,
	       "threads waited 999.00 ms for a monitor: 1.0 of 1 threads at any "
	       "time, transfer, in Shop.reserve(), most for update a set n = ? "
	       "where id = ?; keeper 2 holds it, in select f(?)");
}

/* Processes of a server are read one after the other at first: then owners are left out. */
static void holder_that_one_snapshot_knows_is_no_other_one(void **state)
{
	(void)state;
	feeder_thread(&f, 2, "keeper");
	feeder_come(&f, 2, 10 * MS, 0, 0);
	leave(2, 12 * MS, MONITOR + 100);
	wait_for_ever(3, "transfer", MONITOR);
	is_seen_to_wait(3, 20 * MS, 0, (struct tapir_wait_view){.object = feeder_sv("row 7")});
	feeder_come(&f, 3, 500 * MS, 500 * MS, 9);
	leave(3, 501 * MS, MONITOR);
	is_seen_to_wait(3, 1000 * MS, 2, (struct tapir_wait_view){.object = feeder_sv("row 7")});
	end_at(1010 * MS);
	expect(TAPIR_FINDING_LOCKS,
	       "threads waited 998.00 ms for a monitor (row 7): 1.0 of 1 threads at any "
	       "time, transfer, in Shop.reserve(); keeper 2 holds it");
}

static void lock_that_had_two_holders_was_released(void **state)
{
	(void)state;
	feeder_thread(&f, 2, "keeper");
	feeder_come(&f, 2, 10 * MS, 0, 0);
	leave(2, 12 * MS, MONITOR + 100);
	wait_for_ever(3, "transfer", MONITOR);
	is_owned(3, 20 * MS, 4);
	feeder_come(&f, 3, 500 * MS, 500 * MS, 4);
	leave(3, 501 * MS, MONITOR);
	is_owned(3, 1000 * MS, 2);
	end_at(1010 * MS);
	expect(TAPIR_FINDING_LOCKS,
	       "threads waited 998.00 ms for a monitor: 1.0 of 1 threads at any "
	       "time, transfer, in Shop.reserve()");
}

/* It waited for a lock that it got, and holds one that the other waits for now. */
static void waits_of_two_snapshots_make_no_deadlock(void **state)
{
	(void)state;
	is_held_up(2, "left", 10 * MS, 3, 0);
	feeder_come(&f, 2, 500 * MS, 500 * MS, 3);
	is_held_up(3, "right", 1010 * MS, 2, TAPIR_SWITCH_AT_END);
	end_at(1010 * MS);
	for (size_t i = 0; i < found.rows.cnt; i++)
		assert_int_not_equal(found.rows.data[i].kind, TAPIR_FINDING_DEADLOCK);
}

static void one_thread_that_waits_is_no_deadlock(void **state)
{
	(void)state;
	wait_for_ever(2, "transfer-1", MONITOR);
	end_at(1010 * MS);
	assert_int_equal(found.rows.data[0].kind, TAPIR_FINDING_LOCKS);
}

/* A latch or a semaphore: who never gets it waits for work. */
static void synchronizers_that_are_never_got_are_idle(void **state)
{
	(void)state;
	wait_for_ever(2, "main", LOCK);
	wait_for_ever(3, "worker-1", LOCK);
	end_at(1010 * MS);
	for (size_t i = 0; i < found.rows.cnt; i++)
		assert_int_equal(found.rows.data[i].kind, TAPIR_FINDING_IDLE);
}

/* The recorder's last look at counters came 0.4 s after the last look at threads, at load. */
static void what_is_recorded_after_the_end_makes_no_share_smaller(void **state)
{
	struct tapir_rec_counter counter = {.tgid = TGID};

	(void)state;
	wait_often(2, "clerk-1", MONITOR);
	wait_often(3, "clerk-2", MONITOR);
	feeder_switch(
		&f, 1010 * MS,
		(struct tapir_rec_switch){.out_tgid = TGID,
					  .out_tid = 2,
					  .out_state = TAPIR_STATE_SLEEPING,
					  .out_stack_id = IDLE,
					  .flags = TAPIR_SWITCH_SNAPSHOT | TAPIR_SWITCH_AT_END});
	tapir_rec__init(&counter.h, TAPIR_REC_COUNTER, sizeof(counter), 1410 * MS);
	feeder_add(&f, &counter.h);
	assert_int_equal(tapir_timeline__finish(f.tl), 0);
	tapir_diagnosis__list(&finding, &found);
	expect(TAPIR_FINDING_LOCKS, "threads waited 1.584 s for a monitor: 1.6 of 2 threads at any "
				    "time, clerk-*, in Shop.reserve()");
	assert_int_equal(tapir_timeline__switched_ns(f.tl), 1000 * MS);
}

static void locks_of_java_util_concurrent_count_when_they_are_got(void **state)
{
	(void)state;
	wait_often(2, "cashier-1", LOCK);
	wait_often(5, "cashier-2", LONG_LOCK);
	wait_for_ever(3, "main", LOCK);
	wait_often(4, "pool-1-thread-1", IDLE); /* parks for work: no lock */
	end_at(1010 * MS);
	expect(TAPIR_FINDING_LOCKS, "threads waited 1.584 s for a java.util.concurrent lock: 1.6 "
				    "of 2 threads at any time, cashier-*");
}

/* Interpreted methods have no names: 2.7 threads were reported where 5 waited. */
static void waits_of_interpreted_code_are_what_the_thread_waits_for_else(void **state)
{
	(void)state;
	wait_often(2, "cashier-1", LOCK);
	for (uint64_t at = 1002; at < 2000; at += 10) {
		leave(2, at * MS, UNNAMED);
		feeder_come(&f, 2, (at + 8) * MS, (at + 8) * MS, 1);
	}
	end_at(2010 * MS);
	expect(TAPIR_FINDING_LOCKS, "threads waited 1.592 s for a java.util.concurrent lock: 0.8 "
				    "of 1 threads at any time, cashier-*");
	assert_string_equal(found.rows.data[0].evidence,
			    "199 waits; 800.00 ms of them have truncated stacks");
}

/* A worker that also parks for work: what its unnamed waits were for is not known. */
static void waits_of_interpreted_code_stay_unknown_where_there_are_two_reasons(void **state)
{
	(void)state;
	wait_often(2, "worker", LOCK);
	for (uint64_t at = 1002; at < 2000; at += 10) {
		leave(2, at * MS, at < 1100 ? AWAIT : UNNAMED);
		feeder_come(&f, 2, (at + 8) * MS, (at + 8) * MS, 1);
	}
	end_at(2010 * MS);
	expect(TAPIR_FINDING_LOCKS, "threads waited 792.00 ms for a java.util.concurrent lock: 0.4 "
				    "of 1 threads at any time, worker");
}

/* Nor is it, unless the address tells: a thread that sleeps while it has the lock does so
 * elsewhere. */
static void waits_of_cut_stacks_are_what_the_thread_waits_for_at_that_address(void **state)
{
	static const struct {
		uint64_t futex_va, stack;
	} waits[] = {{0x7f28, LOCK}, {0x7f2c, UNNAMED}, {0x8f28, AWAIT}, {0x8f2c, UNNAMED}};

	(void)state;
	feeder_thread(&f, 2, "worker");
	feeder_come(&f, 2, 10 * MS, 0, 0);
	for (uint64_t at = 12; at < 2012; at += 10) {
		leave_at(waits[at / 10 % 4].futex_va, 2, at * MS, waits[at / 10 % 4].stack);
		feeder_come(&f, 2, (at + 8) * MS, (at + 8) * MS, 1);
	}
	end_at(2012 * MS);
	expect(TAPIR_FINDING_LOCKS, "threads waited 800.00 ms for a java.util.concurrent lock: 0.4 "
				    "of 1 threads at any time, worker");
}

/* A short wait for the queue's lock does not make a wait for work one. */
static void waits_of_interpreted_code_stay_unknown_where_locks_are_few(void **state)
{
	(void)state;
	wait_often(2, "worker", LOCK);
	leave(2, 1001 * MS, UNNAMED);
	feeder_come(&f, 2, 6001 * MS, 6001 * MS, 1);
	end_at(6010 * MS);
	expect(TAPIR_FINDING_LOCKS, "threads waited 792.00 ms for a java.util.concurrent lock: 0.1 "
				    "of 1 threads at any time, worker");
}

static void interpreter_lock_is_reported(void **state)
{
	(void)state;
	wait_often(2, "worker", GIL);
	wait_often(3, "worker", GIL);
	end_at(1010 * MS);
	assert_int_equal(found.rows.data[0].kind, TAPIR_FINDING_LOCKS);
	assert_non_null(strstr(found.rows.data[0].text, " for the GIL: 1.6 of 2 threads"));
}

/* The stack ends in compiled code without frame pointers: who asked for it is not known. */
static void matching_is_reported_when_callers_are_missing(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 800; i++) {
		struct tapir_rec_sample sample = {
			.tgid = TGID, .tid = 2, .period = MS, .stack_id = REGEX};

		tapir_rec__init(&sample.h, TAPIR_REC_SAMPLE, sizeof(sample), (10 + i) * MS);
		feeder_add(&f, &sample.h);
	}
	end_at(1000 * MS);
	expect(TAPIR_FINDING_CPU_ACTIVITY,
	       "100% of the CPU matches regular expressions (a pattern may backtrack)");
}

static void throwing_is_reported_without_events(void **state)
{
	(void)state;
	feeder_come(&f, 2, 1 * MS, 0, 0);
	for (unsigned i = 0; i < 100; i++) {
		struct tapir_rec_sample one = {
			.tgid = TGID, .tid = 2, .period = MS, .stack_id = i % 4 ? THROW : MONITOR};

		tapir_rec__init(&one.h, TAPIR_REC_SAMPLE, sizeof(one), (2 + i) * MS);
		feeder_add(&f, &one.h);
	}
	end_at(105 * MS);
	expect(TAPIR_FINDING_THROWING,
	       "75% of the CPU creates and throws exceptions, most in Shop.reserve()");
}

/* A pool that has nothing to do, or whose threads wait for tasks of the same pool. */
static void threads_that_are_parked_throughout_are_reported(void **state)
{
	(void)state;
	for (uint32_t tid = 2; tid < 6; tid++)
		wait_for_ever(tid, "pool-1-thread", UNNAMED);
	wait_for_ever(6, "main", UNNAMED);
	end_at(1010 * MS);
	assert_int_equal(found.rows.data[0].kind, TAPIR_FINDING_IDLE);
	assert_non_null(strstr(found.rows.data[0].text,
			       "; 4 threads pool-* stayed parked throughout "
			       "(idle, or waiting for each other)"));
}

/* ---- threads --------------------------------------------------------------------------------- */

static void threads_that_are_started_all_the_time_are_reported(void **state)
{
	struct tapir_rec_thread thread = {.tgid = TGID, .comm = "task-1"};

	(void)state;
	feeder_come(&f, 2, 1 * MS, 0, 0);
	for (uint32_t i = 0; i < 100; i++) {
		thread.tid = 1000 + i;
		thread.start_ns = (10 + 10 * (uint64_t)i) * MS;
		tapir_rec__init(&thread.h, TAPIR_REC_THREAD, sizeof(thread), thread.start_ns);
		feeder_add(&f, &thread.h);
		thread.start_ns = 0; /* a ring describes the thread again, and does not know it */
		thread.h.time_ns++;
		feeder_add(&f, &thread.h);
		wait_for(thread.tid, 11 + 10 * (uint64_t)i, 12 + 10 * (uint64_t)i, IDLE, 1);
	}
	end_at(1011 * MS);
	expect(TAPIR_FINDING_THREADS, "99 threads are started a second, most of them task-*");
}

/* ---- pools of objects ------------------------------------------------------------------------ */

/* A connection goes from one to the other; of thread 4 no stack tells where it waits. */
static void objects_that_threads_pass_on_are_reported(void **state)
{
	(void)state;
	for (uint32_t tid = 2; tid < 5; tid++) {
		feeder_thread(&f, tid, "http");
		feeder_come(&f, tid, 1 * MS, 0, 0);
	}
	for (uint64_t at = 100; at < 1000; at += 300) {
		wait_for(2, at, at + 100, IDLE, 3);
		wait_for(3, at + 100, at + 200, IDLE, 2);
		wait_for(4, at + 200, at + 300, UNNAMED, 2);
	}
	end_at(1001 * MS);
	expect(TAPIR_FINDING_LOCKS,
	       "threads waited 900.00 ms for a permit or a pooled object that is "
	       "used as a lock: 0.9 of 3 threads at any time, in "
	       "Shop.reserve()");
}

/* Thread 5 gives it to them: they wait for work. */
static void work_that_another_thread_gives_is_no_pool(void **state)
{
	(void)state;
	for (uint32_t tid = 2; tid < 4; tid++)
		feeder_come(&f, tid, 1 * MS, 0, 0);
	for (uint64_t at = 100; at < 1000; at += 300) {
		wait_for(2, at, at + 100, IDLE, 5);
		wait_for(3, at + 100, at + 200, IDLE, 5);
	}
	end_at(1001 * MS);
	for (size_t i = 0; i < found.rows.cnt; i++)
		assert_int_not_equal(found.rows.data[i].kind, TAPIR_FINDING_LOCKS);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, finding_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(convoy_is_reported_with_its_threads_and_method),
		TEST(monitors_that_are_never_got_are_a_deadlock),
		TEST(threads_without_luck_in_a_convoy_are_no_deadlock),
		TEST(owners_in_a_snapshot_make_a_deadlock),
		TEST(waits_of_two_snapshots_make_no_deadlock),
		TEST(one_thread_that_waits_is_no_deadlock),
		TEST(synchronizers_that_are_never_got_are_idle),
		TEST(locks_of_java_util_concurrent_count_when_they_are_got),
		TEST(what_is_recorded_after_the_end_makes_no_share_smaller),
		TEST(waits_of_interpreted_code_are_what_the_thread_waits_for_else),
		TEST(waits_of_interpreted_code_stay_unknown_where_there_are_two_reasons),
		TEST(waits_of_interpreted_code_stay_unknown_where_locks_are_few),
		TEST(waits_of_cut_stacks_are_what_the_thread_waits_for_at_that_address),
		TEST(interpreter_lock_is_reported),
		TEST(matching_is_reported_when_callers_are_missing),
		TEST(throwing_is_reported_without_events),
		TEST(the_last_of_those_who_hold_a_lock_is_reported),
		TEST(timer_that_ends_a_wait_is_no_release),
		TEST(thread_that_waits_for_the_same_again_never_got_it),
		TEST(statements_of_a_waiter_and_its_holder_are_reported),
		TEST(holder_that_one_snapshot_knows_is_no_other_one),
		TEST(lock_that_had_two_holders_was_released),
		TEST(threads_that_are_started_all_the_time_are_reported),
		TEST(threads_that_are_parked_throughout_are_reported),
		TEST(objects_that_threads_pass_on_are_reported),
		TEST(work_that_another_thread_gives_is_no_pool),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
