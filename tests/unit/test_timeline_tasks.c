// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What an activity awaits, and its time in the queue: by events of .NET's tasks and its pool.
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

#define TPL "System.Threading.Tasks.TplEventSource"

enum { AWAIT = 100, RESUMED, NAMED, COMPLETE };

static uint64_t awaited_ns;
static char awaited_label[64];
static unsigned awaited_cnt;

static void on_awaited(void *ctx, struct tapir_interval *i, uint64_t ns)
{
	(void)ctx;
	awaited_ns += ns;
	awaited_cnt++;
	snprintf(awaited_label, sizeof(awaited_label), "%s",
		 i->await_label ? i->await_label : "(none)");
}

static const struct tapir_timeline_fns await_fns = {.awaited = on_awaited};

static int setup_tasks(void **state)
{
	struct tapir_rec_probe probe = {.probe_id = AWAIT};
	const struct tapir_field fields[] = {{.type = TAPIR_FIELD_UINT, .size = 8},
					     {.type = TAPIR_FIELD_UINT, .size = 8}};
	const struct tapir_sv names[] = {feeder_sv("TaskID"), feeder_sv("Behavior")};

	if (setup(state))
		return -1;
	awaited_ns = awaited_cnt = 0;
	*awaited_label = '\0';
	feeder_add(&feeder, tapir_recbuf__probe(&feeder.buf, &probe, feeder_sv(TPL),
						feeder_sv("TaskWaitBegin"), feeder_sv("/bin/x"),
						feeder_sv(""), fields, names, 2));
	feeder_probe(&feeder, RESUMED, TPL, "TaskWaitEnd", "TaskID", NULL);
	feeder_probe(&feeder, NAMED, TPL, "TraceOperationBegin", "TaskID", "OperationName");
	feeder_probe(&feeder, COMPLETE, TPL, "TraceOperationEnd", "TaskID", NULL);
	return tapir_timeline__listen(feeder.tl, &await_fns, NULL);
}

static void order(uint32_t probe, uint32_t tid, uint64_t time_ns, uint8_t flow)
{
	const uint8_t id[16] = {7, flow};

	feeder_event(&feeder, (struct feeder_event){.probe_id = probe,
						    .tgid = 100,
						    .tid = tid,
						    .time_ns = time_ns,
						    .activity = id});
}

static void await_task(uint32_t tid, uint64_t time_ns, uint64_t task, uint64_t behavior)
{
	static const uint8_t id[16] = {7, 1};
	struct tapir_rec_event fixed = {.h = {.time_ns = time_ns},
					.probe_id = AWAIT,
					.tgid = 100,
					.tid = tid,
					.flags = TAPIR_EVENT_ACTIVITY};
	uint64_t payload[] = {task, behavior};
	struct tapir_event_view view = {.rec = &fixed,
					.activity_id = id,
					.payload = (const uint8_t *)payload,
					.payload_bytes = sizeof(payload)};

	feeder_add(&feeder, tapir_recbuf__event(&feeder.buf, &view));
}

static void name_task(uint64_t time_ns, uint64_t task, const char *name)
{
	feeder_event(&feeder, (struct feeder_event){.probe_id = NAMED,
						    .tgid = 100,
						    .tid = 1,
						    .time_ns = time_ns,
						    .number = task,
						    .has_number = true,
						    .text = name});
}

/* Of the order, which is the only one. */
static uint64_t part(enum tapir_thread_state state)
{
	const struct closed *c = closed;
	uint64_t sum = 0;

	while (c < &closed[closed_cnt] && strcmp(c->kind, "Order") != 0)
		c++;
	assert_true(c < &closed[closed_cnt]);
	for (unsigned cause = 0; cause < TAPIR_CAUSE_CNT; cause++)
		sum += c->parts.ns[cause][state];
	return sum;
}

static uint64_t all_parts(void)
{
	uint64_t sum = 0;

	for (unsigned state = 0; state < TAPIR_THREAD_STATE_CNT; state++)
		sum += part(state);
	return sum;
}

/* 100 ms: 5 of work, a timer, 20 in the queue, 10 of work; the thread serves others meanwhile. */
static void await_is_reported_with_its_task_and_its_time_in_the_queue(void **state)
{
	(void)state;
	order(ORDER_BEGIN, 1, 10 * MS, 1);
	name_task(14 * MS, 50, "Task.Delay");
	await_task(1, 15 * MS, 50, 2);
	feeder_leave(&feeder, 1, 40 * MS, TAPIR_STATE_SLEEPING); /* it spun for work until then */
	fire_number(POOL_BEGIN, 3, 80 * MS, 9);
	feeder_come(&feeder, 1, 81 * MS, 80 * MS, 0);
	fire_number(POOL_END, 1, 100 * MS, 9);
	fire_number(RESUMED, 1, 100 * MS, 50);
	order(ORDER_END, 1, 110 * MS, 1);
	finish();
	assert_int_equal(part(TAPIR_THREAD_RUNNING), 15 * MS);
	assert_int_equal(part(TAPIR_THREAD_AWAITING), 65 * MS);
	assert_int_equal(part(TAPIR_THREAD_QUEUED), 20 * MS);
	assert_int_equal(part(TAPIR_THREAD_SLEEPING) + part(TAPIR_THREAD_RUNNABLE), 0);
	assert_int_equal(all_parts(), 100 * MS);
	assert_int_equal(awaited_ns, 65 * MS);
	assert_string_equal(awaited_label, "Task.Delay");
}

/* The outer methods await their callee's task at the same time. */
static void innermost_await_names_what_is_awaited(void **state)
{
	(void)state;
	order(ORDER_BEGIN, 1, 10 * MS, 1);
	name_task(11 * MS, 50, "Async: <Load>d__3");
	name_task(11 * MS, 51, "Async: <Serve>d__4");
	await_task(1, 15 * MS, 50, 2);
	await_task(1, 15 * MS, 51, 2);
	fire_number(RESUMED, 2, 95 * MS, 50);
	fire_number(COMPLETE, 2, 96 * MS, 51);
	order(ORDER_END, 2, 110 * MS, 1);
	finish();
	assert_string_equal(awaited_label, "Load (async)");
	assert_int_equal(awaited_ns, 80 * MS);
	assert_int_equal(part(TAPIR_THREAD_RUNNING), 20 * MS);
	assert_int_equal(all_parts(), 100 * MS);
}

/* Task.Wait: the thread waits, and its own stack tells. */
static void task_that_a_thread_waits_for_is_not_awaited(void **state)
{
	(void)state;
	feeder_come(&feeder, 1, 5 * MS, 5 * MS, 0);
	order(ORDER_BEGIN, 1, 10 * MS, 1);
	await_task(1, 15 * MS, 50, 1);
	feeder_leave(&feeder, 1, 15 * MS, TAPIR_STATE_SLEEPING);
	feeder_come(&feeder, 1, 95 * MS, 95 * MS, 0);
	fire_number(RESUMED, 1, 95 * MS, 50);
	order(ORDER_END, 1, 110 * MS, 1);
	finish();
	assert_int_equal(awaited_cnt, 0);
	assert_int_equal(part(TAPIR_THREAD_SLEEPING), 80 * MS);
	assert_int_equal(all_parts(), 100 * MS);
}

/* A task that is complete later than the activity that awaited it, and one that nobody awaits. */
static void end_of_an_activity_forgets_what_it_awaited(void **state)
{
	(void)state;
	order(ORDER_BEGIN, 1, 10 * MS, 1);
	await_task(1, 15 * MS, 50, 2);
	order(ORDER_END, 2, 110 * MS, 1);
	fire_number(RESUMED, 2, 120 * MS, 50);
	fire_number(RESUMED, 2, 121 * MS, 51);
	fire_number(COMPLETE, 2, 122 * MS, 52);
	fire_number(POOL_END, 2, 123 * MS, 5);
	finish();
	assert_string_equal(awaited_label, "(none)");
	assert_int_equal(all_parts(), 100 * MS);
}

static void tasks_beyond_the_bound_are_counted(void **state)
{
	const unsigned most = 65536;

	(void)state;
	for (unsigned task = 0; task < most + 3; task++)
		name_task(10 * MS, 1000 + task, "Task.Delay");
	name_task(11 * MS, 1000, "Task.Run"); /* it has its place */
	finish();
	/* Each event began an interval, too, of which there may be as many. */
	assert_int_equal(stats()->no_room, 3 + 4);
}

#define TASK_TEST(name) cmocka_unit_test_setup_teardown(name, setup_tasks, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TASK_TEST(await_is_reported_with_its_task_and_its_time_in_the_queue),
		TASK_TEST(innermost_await_names_what_is_awaited),
		TASK_TEST(task_that_a_thread_waits_for_is_not_awaited),
		TASK_TEST(end_of_an_activity_forgets_what_it_awaited),
		TASK_TEST(tasks_beyond_the_bound_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
