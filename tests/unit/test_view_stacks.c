// SPDX-License-Identifier: GPL-2.0-or-later
/* The views of snapshots on made-up recordings: which snapshot, where a thread runs, deadlocks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "output/render/views.h"
#include "base/diag.h"
#include "timeline_feeder.h"

static struct feeder f;
static struct tapir_view_result result;
static const struct tapir_view *view;
static void *ctx;

static int setup(void **state)
{
	const struct tapir_timeline_opts opts = {.wants_stacks = true};
	const uint64_t one[] = {0x1100, 0x1200}, other[] = {0x1300, 0x1400};

	(void)state;
	result = (struct tapir_view_result){};
	if (feeder_init(&f, &opts))
		return -1;
	feeder_mapping(&f, 0x1000, "/bin/x");
	feeder_stack(&f, 7, one, 2);
	return feeder_stack(&f, 8, other, 2) < 0;
}

static int teardown(void **state)
{
	(void)state;
	tapir_view_result__fini(&result);
	feeder_fini(&f);
	tapir_view__free(view, ctx);
	tapir_diag__clear();
	return 0;
}

static void ask(const char *name, const char *threads)
{
	const char *arg;

	view = tapir_view__find(name, &arg);
	assert_non_null(view);
	ctx = tapir_view__start(view, f.tl, threads, 0);
	assert_non_null(ctx);
	assert_int_equal(tapir_timeline__listen(f.tl, &view->fns, ctx), 0);
}

static void answer(void)
{
	assert_int_equal(tapir_timeline__finish(f.tl), 0);
	result.tree = tapir_timeline__stacks(f.tl);
	assert_int_equal(tapir_view__finish(view, ctx, &result), 0);
	assert_false(result.failed);
}

static void sleeps(uint32_t tid, uint64_t time_ns, uint16_t flags, uint64_t stack_id)
{
	feeder_switch(&f, time_ns,
		      (struct tapir_rec_switch){.out_tgid = 100,
						.out_tid = tid,
						.out_state = TAPIR_STATE_SLEEPING,
						.out_stack_id = stack_id,
						.flags = TAPIR_SWITCH_SNAPSHOT | flags});
}

static void runs(uint32_t tid, uint64_t time_ns, uint16_t flags)
{
	feeder_switch(&f, time_ns,
		      (struct tapir_rec_switch){.in_tgid = 100,
						.in_tid = tid,
						.flags = TAPIR_SWITCH_SNAPSHOT | flags});
}

static void waits(uint32_t tid, uint64_t time_ns, uint32_t owner_tid)
{
	const struct tapir_rec_wait wait = {.h = {.cpu = TAPIR_CPU_UNKNOWN, .time_ns = time_ns},
					    .tgid = 100,
					    .tid = tid,
					    .owner_tid = owner_tid,
					    .syscall = 202};

	feeder_add(&f, tapir_recbuf__wait(&f.buf, &(struct tapir_wait_view){
							  .rec = &wait,
							  .text = feeder_sv("futex(wait 0x10)")}));
}

/* Of the first group with that many frames; NULL: not found. */
static const struct tapir_view_result_table *frames(size_t cnt)
{
	const struct tapir_view_result_table *t;

	tapir_vec_for_each (t, &result.tables)
		if (!strcmp(t->key, "frames") && tapir_view_result_table__rows(t) == cnt)
			return t;
	return NULL;
}

static size_t rows(const char *key)
{
	const struct tapir_view_result_table *t;

	tapir_vec_for_each (t, &result.tables)
		if (!strcmp(t->key, key))
			return tapir_view_result_table__rows(t);
	return SIZE_MAX;
}

static void each_view_shows_its_own_snapshot(void **state)
{
	(void)state;
	ask("stacks", NULL);
	sleeps(1, 10 * MS, 0, 7);
	sleeps(2, 10 * MS, 0, 7);
	sleeps(1, 90 * MS, TAPIR_SWITCH_AT_END, 8);
	answer();
	assert_string_equal(result.headline.data,
			    "2 threads, 0 running, 1 different stack; 2 share one");
	teardown(NULL);
	assert_int_equal(setup(NULL), 0);
	ask("stacks-end", NULL);
	sleeps(1, 10 * MS, 0, 7);
	sleeps(2, 10 * MS, 0, 7);
	sleeps(1, 90 * MS, TAPIR_SWITCH_AT_END, 8);
	answer();
	assert_string_equal(result.headline.data, "1 thread, 0 running, 1 different stack");
}

static void thread_that_runs_has_the_stack_of_the_next_sample(void **state)
{
	(void)state;
	ask("stacks", NULL);
	feeder_sample(&f, 100, 1, 9 * MS, 8); /* before */
	runs(1, 10 * MS, 0);
	runs(2, 10 * MS, 0);
	feeder_sample(&f, 100, 1, 12 * MS, 7);
	feeder_sample(&f, 100, 2, 500 * MS, 7); /* another time */
	answer();
	assert_string_equal(result.headline.data, "2 threads, 2 running, 2 different stacks");
	assert_non_null(frames(2));
	assert_non_null(frames(0));
}

static void thread_that_ran_at_the_end_has_the_stack_of_the_last_sample(void **state)
{
	(void)state;
	ask("stacks-end", NULL);
	feeder_sample(&f, 100, 1, 80 * MS, 8);
	feeder_sample(&f, 100, 1, 88 * MS, 7);
	feeder_sample(&f, 100, 2, 1 * MS, 7);
	runs(1, 290 * MS, TAPIR_SWITCH_AT_END);
	runs(2, 90 * MS, TAPIR_SWITCH_AT_END);
	answer();
	assert_string_equal(result.headline.data, "2 threads, 2 running, 2 different stacks");
	assert_non_null(frames(2)); /* thread 2's, of 89 ms before; thread 1's are 202 ms old */
}

static void deadlock_leads_and_a_filter_hides_none(void **state)
{
	(void)state;
	ask("stacks", "nobody*");
	for (uint32_t tid = 1; tid <= 3; tid++) {
		sleeps(tid, tid * MS, 0, 7);
		waits(tid, tid * MS, tid % 3 + 1);
	}
	answer();
	assert_int_equal(rows("deadlocks"), 1);
	assert_non_null(strstr(result.headline.data, "deadlock: "));
	assert_int_equal(rows("groups"), 0);
}

#define RUNTIME "Microsoft-Windows-DotNETRuntime"
enum { BLOCKED = 900, ENTERED };

static void contends(uint32_t tid, uint64_t time_ns, uint32_t probe_id, uint64_t owner)
{
	feeder_event(&f, (struct feeder_event){.probe_id = probe_id,
					       .tgid = 100,
					       .tid = tid,
					       .time_ns = time_ns,
					       .number = owner,
					       .has_number = true});
}

static void contention_events(void)
{
	feeder_probe(&f, BLOCKED, RUNTIME, "ContentionStart", "LockOwnerThreadID", NULL);
	feeder_probe(&f, ENTERED, RUNTIME, "ContentionStop", "DurationNs", NULL);
}

static void owners_of_monitors_are_those_of_the_waits_that_are_open(void **state)
{
	(void)state;
	contention_events();
	ask("stacks-end", NULL);
	contends(1, 10 * MS, BLOCKED, 3); /* over */
	contends(1, 20 * MS, ENTERED, 5);
	contends(1, 30 * MS, BLOCKED, 2);
	contends(2, 31 * MS, BLOCKED, 1);
	contends(3, 32 * MS, BLOCKED, 77); /* not a thread of this process */
	for (uint32_t tid = 1; tid <= 3; tid++)
		sleeps(tid, 90 * MS, TAPIR_SWITCH_AT_END, 7);
	answer();
	assert_int_equal(rows("deadlocks"), 1);
	assert_non_null(strstr(result.headline.data, " 1 waits for a lock that "));
	assert_non_null(strstr(result.headline.data, " 2 waits for a lock that "));
	assert_null(strstr(result.headline.data, " 3 waits for a lock"));
}

static void monitor_that_was_entered_has_no_waiters(void **state)
{
	(void)state;
	contention_events();
	ask("stacks-end", NULL);
	contends(1, 30 * MS, BLOCKED, 2);
	contends(2, 31 * MS, BLOCKED, 1);
	contends(2, 40 * MS, ENTERED, 5);
	sleeps(1, 90 * MS, TAPIR_SWITCH_AT_END, 7);
	sleeps(2, 90 * MS, TAPIR_SWITCH_AT_END, 7);
	answer();
	assert_int_equal(rows("deadlocks"), 0);
	assert_non_null(strstr(result.headline.data, "; 1 waits for a lock that "));
}

static void wait_of_the_other_snapshot_counts_for_nothing(void **state)
{
	(void)state;
	ask("stacks", NULL);
	sleeps(1, 1 * MS, 0, 7);
	waits(1, 1 * MS, 2);
	sleeps(2, 2 * MS, 0, 7);
	waits(2, 2 * MS, 0);
	sleeps(2, 900 * MS, TAPIR_SWITCH_AT_END, 7); /* by then they are stuck */
	waits(2, 900 * MS, 1);
	answer();
	assert_int_equal(rows("deadlocks"), 0);
	assert_non_null(strstr(result.headline.data, "; 1 waits for a lock that "));
}

static void stacks_are_found_as_those_of_threads_too(void **state)
{
	const char *arg = NULL;

	(void)state;
	assert_ptr_equal(tapir_view__find("threads", &arg), tapir_view__find("stacks", &arg));
	assert_non_null(tapir_view__find("stacks", &arg));
	assert_null(tapir_view__find("thread", &arg));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stacks_are_found_as_those_of_threads_too),
		cmocka_unit_test_setup_teardown(each_view_shows_its_own_snapshot, setup, teardown),
		cmocka_unit_test_setup_teardown(thread_that_runs_has_the_stack_of_the_next_sample,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
			thread_that_ran_at_the_end_has_the_stack_of_the_last_sample, setup,
			teardown),
		cmocka_unit_test_setup_teardown(deadlock_leads_and_a_filter_hides_none, setup,
						teardown),
		cmocka_unit_test_setup_teardown(
			owners_of_monitors_are_those_of_the_waits_that_are_open, setup, teardown),
		cmocka_unit_test_setup_teardown(monitor_that_was_entered_has_no_waiters, setup,
						teardown),
		cmocka_unit_test_setup_teardown(wait_of_the_other_snapshot_counts_for_nothing,
						setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
