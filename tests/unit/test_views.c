// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Views on made-up recordings: what their results say, cell by cell.
 *
 * runtimes: dotnet
 */
#include "view_fixture.h"

/* ---- cpu -------------------------------------------------------------------------------------- */

static void samples_of_a_hundred_thousand_threads_are_all_counted(void **state)
{
	const unsigned cnt = 100000;

	(void)state;
	ask("cpu", UINT32_MAX);
	for (unsigned i = 0; i < 2 * cnt; i++)
		feeder_sample(&f, 100, 1000 + i % cnt, 1 + i, 0);
	assert_int_equal(answer(), 0);
	assert_int_equal(fact("samples"), 2 * cnt);
	assert_int_equal(cell(table("works", 0), 0, "samples")->u64, 2 * cnt);
	assert_int_equal(tapir_view_result_table__rows(table("threads", 0)), 65536);
	assert_int_equal(cell(table("threads", 0), 65535, "samples")->u64, 2);
	assert_int_equal(result.notes.cnt, 1); /* a note counts what is not in any row */
	assert_non_null(strstr(result.notes.data[0], "68928 samples"));
}

/* A thread id that is used again: another process's thread, with its own name and time. */
static void thread_ids_used_again_are_threads_of_their_own(void **state)
{
	struct tapir_rec_thread thread = {.tgid = 100, .tid = 7, .comm = "first"};

	(void)state;
	ask("cpu", 0);
	tapir_rec__init(&thread.h, TAPIR_REC_THREAD, sizeof(thread), 1 * MS);
	feeder_add(&f, &thread.h);
	feeder_sample(&f, 100, 7, 2 * MS, 0);
	feeder_sample(&f, 100, 7, 3 * MS, 0);
	feeder_exit(&f, 100, 4 * MS);
	thread = (struct tapir_rec_thread){.tgid = 200, .tid = 7, .comm = "second"};
	tapir_rec__init(&thread.h, TAPIR_REC_THREAD, sizeof(thread), 5 * MS);
	feeder_add(&f, &thread.h);
	feeder_sample(&f, 200, 7, 6 * MS, 0);
	assert_int_equal(answer(), 0);
	assert_int_equal(tapir_view_result_table__rows(table("threads", 0)), 2);
	assert_string_equal(cell(table("threads", 0), 0, "thread")->text, "first");
	assert_int_equal(cell(table("threads", 0), 0, "samples")->u64, 2);
	assert_string_equal(cell(table("threads", 0), 1, "thread")->text, "second");
	assert_int_equal(cell(table("threads", 0), 1, "pid")->u64, 200);
}

static void name_code(uint64_t start_va, const char *name)
{
	const struct tapir_rec_jit jit = {
		.h.time_ns = 1, .tgid = 100, .start_va = start_va, .size = 0x100, .from_ns = 1};

	feeder_add(&f, tapir_recbuf__jit(&f.buf, &jit, feeder_sv(name)));
}

/* Samples of a stack of two functions below whatever the innermost one is. */
static void sample_below(uint64_t id, uint64_t inner_va, unsigned cnt)
{
	const uint64_t frames_va[] = {inner_va, 0x110, 0x110, 0x210};

	feeder_stack(&f, id, frames_va, 4);
	for (unsigned i = 0; i < cnt; i++)
		feeder_sample(&f, 100, 100, 10 * id + i, id);
}

static void functions_of_the_program_have_the_time_of_what_they_call(void **state)
{
	const uint64_t runtime_va[] = {0x400010};
	const struct tapir_view_result_table *own;

	(void)state;
	name_code(0x100, "Shop.Draw(int)");
	name_code(0x200, "Shop.Main()");
	name_code(0x300, "System.String.Concat(string, string)");
	feeder_mapping(&f, 0x400000, "/x/libcoreclr.so");
	ask("cpu", 0);
	sample_below(1, 0x310, 3);
	sample_below(2, 0x400010, 2);
	sample_below(3, 0x210, 1); /* Main calls itself: it counts once in its total */
	feeder_stack(&f, 4, runtime_va, 1);
	feeder_sample(&f, 100, 101, 50, 4);
	assert_int_equal(answer(), 0);
	own = table("own_functions", 0);
	assert_int_equal(tapir_view_result_table__rows(own), 2);
	assert_string_equal(cell(own, 0, "function")->text, "Shop.Draw(int)");
	assert_int_equal(cell(own, 0, "samples")->u64, 5);
	assert_int_equal(cell(own, 0, "total")->u64, 6);
	assert_string_equal(cell(own, 1, "function")->text, "Shop.Main()");
	assert_int_equal(cell(own, 1, "samples")->u64, 1);
	assert_int_equal(cell(own, 1, "total")->u64, 6);
	assert_true(cell(own, 0, "own_percent")->f64 == 100.0 * 5 / 7);
	assert_non_null(strstr(result.headline.data, "; most for Shop.Draw(int) (71.4%)"));
}

/* ---- offcpu ----------------------------------------------------------------------------------- */

static void frames_of_the_runtime_do_not_hide_who_called(void **state)
{
	static const struct tapir_palette plain = {"", "", "", "", "", ""};
	const uint64_t frames_va[] = {0x400010, 0x110, 0x400010, 0x400010, 0x210};
	struct tapir_str text = {};

	(void)state;
	name_code(0x100, "Shop.Draw(int)");
	name_code(0x200, "Shop.Main()");
	feeder_mapping(&f, 0x400000, "/x/libcoreclr.so");
	feeder_stack(&f, 7, frames_va, 5);
	ask("offcpu", 0);
	feeder_switch(&f, 1 * MS,
		      (struct tapir_rec_switch){.out_tgid = 100,
						.out_tid = 1,
						.out_state = TAPIR_STATE_SLEEPING,
						.out_stack_id = 7});
	feeder_come(&f, 1, 2 * MS, 2 * MS, 9);
	assert_int_equal(answer(), 0);
	result.folds = true;
	tapir_view_result__write_text(&result, &plain, &text);
	assert_non_null(strstr(text.data, "Shop.Draw(int) < Shop.Main()\n"));
	tapir_str__clear(&text);
	result.unfold = true;
	tapir_view_result__write_text(&result, &plain, &text);
	assert_null(strstr(text.data, "Shop.Draw(int) < Shop.Main()"));
	tapir_str__fini(&text);
}

/* ---- slow ------------------------------------------------------------------------------------- */

static void slowest_come_first_and_their_parts_add_up(void **state)
{
	const struct tapir_view_result_table *slowest, *parts;
	uint64_t sum = 0;

	(void)state;
	feeder_probe(&f, 1, "shop", "order__start", NULL, NULL);
	feeder_probe(&f, 2, "shop", "order__done", NULL, NULL);
	ask("slow=order", 2);
	for (unsigned i = 0; i < 5; i++) {
		uint64_t at_ns = i * 100 * MS;

		fire(1, 1, at_ns);
		feeder_sample(&f, 100, 1, at_ns + MS / 2, 0);
		feeder_leave(&f, 1, at_ns + MS, TAPIR_STATE_SLEEPING);
		feeder_come(&f, 1, at_ns + (2 + 7 * i % 5) * MS, at_ns + 2 * MS, 9);
		fire(2, 1, at_ns + 10 * MS + i % 3 * MS);
	}
	assert_int_equal(answer(), 0);
	slowest = table("slowest", 0);
	assert_int_equal(tapir_view_result_table__rows(slowest), 2);
	assert_int_equal(cell(slowest, 0, "ns")->u64, 12 * MS);
	assert_int_equal(cell(slowest, 1, "ns")->u64, 11 * MS);
	parts = table("parts", 0);
	for (size_t row = 0; row < tapir_view_result_table__rows(parts); row++)
		sum += cell(parts, row, "ns")->u64;
	assert_int_equal(sum, 12 * MS);
	assert_string_equal(cell(parts, 0, "ended_by")->text, "? (9)");
	assert_int_equal(fact("count"), 5);
	assert_int_equal(fact("sum_ns"), 54 * MS);
}

static void flow(uint32_t probe, uint32_t tid, uint64_t time_ns, uint8_t id, uint8_t parent)
{
	const uint8_t activity[16] = {id}, related[16] = {parent};

	feeder_event(&f, (struct feeder_event){.probe_id = probe,
					       .tgid = 100,
					       .tid = tid,
					       .time_ns = time_ns,
					       .text = id == 2 ? "/inventory/410" : "/price",
					       .activity = activity,
					       .related = parent ? related : NULL});
}

/* Where the time of an order went that calls others one after the other. */
static void slow_one_is_followed_into_what_it_waited_for(void **state)
{
	const struct tapir_view_result_table *parts;
	uint64_t sum = 0;

	(void)state;
	feeder_probe(&f, 1, "Shop", "OrderStart", NULL, NULL);
	feeder_probe(&f, 2, "Shop", "OrderStop", NULL, NULL);
	feeder_probe(&f, 3, "System.Net.Http", "RequestStart", NULL, "pathAndQuery");
	feeder_probe(&f, 4, "System.Net.Http", "RequestStop", NULL, NULL);
	ask("slow=Order", 1);
	feeder_come(&f, 1, 5 * MS, 0, 0);
	flow(1, 1, 10 * MS, 1, 0);
	flow(3, 1, 20 * MS, 2, 1);
	flow(4, 2, 420 * MS, 2, 1);
	flow(3, 2, 421 * MS, 3, 1);
	flow(4, 2, 425 * MS, 3, 1);
	flow(2, 2, 430 * MS, 1, 0);
	assert_int_equal(answer(), 0);
	parts = table("parts", 0);
	for (size_t row = 0; row < tapir_view_result_table__rows(parts); row++)
		sum += cell(parts, row, "ns")->u64;
	assert_int_equal(sum, 420 * MS);
	assert_string_equal(cell(parts, 0, "part")->text, "in http_request /inventory/410");
	assert_string_equal(cell(parts, 0, "state")->text, "inside");
	assert_int_equal(cell(parts, 0, "ns")->u64, 400 * MS);
	assert_int_equal(cell(parts, 1, "ns")->u64, 4 * MS);
	assert_non_null(strstr(result.headline.data,
			       "; of the slowest 95% in http_request /inventory/410"));
}

static void event_that_is_not_there_is_an_error_that_says_what_is(void **state)
{
	(void)state;
	feeder_probe(&f, 1, "shop", "order__start", NULL, NULL);
	ask("slow=query", 0);
	fire(1, 1, MS);
	assert_int_equal(answer(), -ENOENT);
	assert_non_null(strstr(tapir_diag__line(0), "shop:order"));
}

static void details_are_bounded_when_all_waits_differ(void **state)
{
	const struct tapir_view_result_table *parts;
	uint64_t sum = 0;

	(void)state;
	feeder_probe(&f, 1, "shop", "order__start", NULL, NULL);
	feeder_probe(&f, 2, "shop", "order__done", NULL, NULL);
	ask("slow=order", 1);
	fire(1, 1, 1);
	for (uint32_t i = 1; i <= 5000; i++) {
		feeder_leave(&f, 1, i * 1000, TAPIR_STATE_SLEEPING);
		feeder_come(&f, 1, i * 1000 + 500, i * 1000 + 500, i);
	}
	fire(2, 1, 6000000);
	assert_int_equal(answer(), 0);
	parts = table("parts", 0);
	assert_true(tapir_view_result_table__rows(parts) < 20);
	for (size_t row = 0; row < tapir_view_result_table__rows(parts); row++)
		sum += cell(parts, row, "ns")->u64;
	assert_int_equal(sum, 6000000 - 1);
}

/* ---- the others ------------------------------------------------------------------------------- */

static void pauses_have_their_reason_and_heap(void **state)
{
	const struct tapir_view_result_table *pauses;

	(void)state;
	feeder_probe(&f, 1, "hotspot", "gc__begin", "is_full", NULL);
	feeder_probe(&f, 2, "hotspot", "gc__end", NULL, NULL);
	feeder_probe(&f, 3, "hotspot", "vmops__begin", NULL, "operation");
	feeder_probe(&f, 4, "hotspot", "vmops__end", NULL, "operation");
	feeder_probe(&f, 5, "hotspot", "mem__pool__gc__begin", "used_bytes", "pool");
	feeder_probe(&f, 6, "hotspot", "mem__pool__gc__end", "used_bytes", "pool");
	ask("gc", 0);
	feeder_event(&f, (struct feeder_event){.probe_id = 3,
					       .tgid = 100,
					       .tid = 9,
					       .time_ns = 9 * MS,
					       .text = "G1Collect"});
	fire(1, 9, 10 * MS);
	fire_with(5, 9, 10 * MS + 1, 3000, "eden");
	fire_with(5, 9, 10 * MS + 2, 1000, "old");
	feeder_sample(&f, 100, 9, 11 * MS, 0);
	fire_with(6, 9, 12 * MS, 500, "eden");
	fire_with(6, 9, 12 * MS + 1, 1100, "old");
	fire(2, 9, 13 * MS);
	fire(4, 9, 14 * MS);
	feeder_sample(&f, 100, 8, 15 * MS, 0);
	assert_int_equal(answer(), 0);
	pauses = table("pauses", 0);
	assert_int_equal(cell(pauses, 0, "ns")->u64, 3 * MS);
	assert_string_equal(cell(pauses, 0, "reason")->text, "G1Collect");
	assert_int_equal(cell(pauses, 0, "before_bytes")->u64, 4000);
	assert_int_equal(cell(pauses, 0, "after_bytes")->u64, 1600);
	assert_int_equal(cell(pauses, 0, "samples")->u64, 1);
	assert_int_equal(fact("gc_samples"), 1);
	assert_int_equal(fact("samples"), 2);
}

static void exceptions_and_allocations_are_counted_by_type(void **state)
{
	const struct tapir_view_result_table *rows;

	(void)state;
	feeder_probe(&f, 1, RUNTIME, "GCAllocationTick", "AllocationAmount64", "TypeName");
	feeder_probe(&f, 2, RUNTIME, "ExceptionThrown", NULL, "ExceptionType");
	ask("allocations", 0);
	fire_with(1, 1, 1 * MS, 100, "String");
	fire_with(1, 1, 2 * MS, 300, "Byte[]");
	fire_with(1, 2, 3 * MS, 150, "String");
	fire(2, 1, 4 * MS);
	assert_int_equal(answer(), 0);
	rows = table("allocations", 0);
	assert_int_equal(tapir_view_result_table__rows(rows), 2);
	assert_string_equal(cell(rows, 0, "type")->text, "Byte[]");
	assert_int_equal(cell(rows, 1, "bytes")->u64, 250);
	assert_int_equal(cell(rows, 1, "count")->u64, 2);
	assert_int_equal(fact("bytes"), 550);
}

static void types_are_bounded_when_all_differ(void **state)
{
	char type[32];

	(void)state;
	feeder_probe(&f, 1, RUNTIME, "ExceptionThrown", NULL, "ExceptionType");
	ask("exceptions", 0);
	for (unsigned i = 0; i < (TAPIR_EVENT_COUNTS_MAX_ROWS + 5); i++) {
		snprintf(type, sizeof(type), "E%u", i);
		feeder_event(
			&f,
			(struct feeder_event){
				.probe_id = 1, .tgid = 100, .tid = 1, .time_ns = i, .text = type});
	}
	assert_int_equal(answer(), 0);
	assert_int_equal(fact("count"), (TAPIR_EVENT_COUNTS_MAX_ROWS + 5));
	assert_int_equal(result.notes.cnt, 1);
}

static void interval_that_the_end_cuts_does_not_lead(void **state)
{
	(void)state;
	feeder_probe(&f, 1, "shop", "order__start", "id", NULL);
	feeder_probe(&f, 2, "shop", "order__done", "id", NULL);
	ask("slow=order", 1);
	fire_with(1, 2, 1 * MS, 1, NULL);
	fire_with(1, 1, 10 * MS, 2, NULL);
	fire_with(2, 1, 14 * MS, 2, NULL);
	fire_with(1, 1, 90 * MS, 3, NULL);
	assert_int_equal(answer(), 0);
	assert_int_equal(fact("count"), 1);
	assert_int_equal(fact("half"), 2);
	assert_int_equal(cell(table("slowest", 0), 0, "ns")->u64, 4 * MS);
}

static void pause_that_the_end_cuts_is_not_the_longest(void **state)
{
	(void)state;
	feeder_probe(&f, 1, RUNTIME, "GCSuspendEEBegin", "Count", NULL);
	feeder_probe(&f, 2, RUNTIME, "GCRestartEEBegin", NULL, NULL);
	feeder_probe(&f, 3, RUNTIME, "GCRestartEEEnd", NULL, NULL);
	ask("gc", 0);
	fire_with(1, 1, 10 * MS, 1, NULL);
	fire_with(2, 1, 14 * MS, 1, NULL);
	fire_with(3, 1, 17 * MS, 1, NULL); /* the others run since they were released */
	fire_with(1, 1, 20 * MS, 2, NULL);
	feeder_come(&f, 2, 90 * MS, 0, 0);
	assert_int_equal(answer(), 0);
	assert_int_equal(cell(table("pauses", 0), 0, "ns")->u64, 4 * MS);
	assert_string_equal(result.headline.data,
			    "1 pause for GC: 4.00 ms, 5.0% of the time, the longest 4.00 ms; 1 "
			    "more began before the recording or did not end in it");
}

static void pause_of(uint32_t tgid, uint64_t from_ns, uint64_t until_ns)
{
	for (uint32_t probe = 1; probe <= 2; probe++)
		feeder_event(&f, (struct feeder_event){.probe_id = probe,
						       .tgid = tgid,
						       .tid = tgid,
						       .time_ns = probe == 1 ? from_ns : until_ns});
}

/* Two processes at once: times that overlap are not added. */
static void pauses_of_processes_are_not_added(void **state)
{
	const struct tapir_view_result_table *t;
	const struct tapir_fact *one;

	(void)state;
	feeder_probe(&f, 1, "hotspot", "gc__begin", NULL, NULL);
	feeder_probe(&f, 2, "hotspot", "gc__end", NULL, NULL);
	ask("gc", 0);
	pause_of(100, 10 * MS, 50 * MS);
	pause_of(200, 20 * MS, 80 * MS);
	pause_of(100, 60 * MS, 61 * MS);
	assert_int_equal(answer(), 0);
	tapir_vec_for_each (one, &result.facts)
		assert_true(strcmp(one->column.key, "sum_ns") && strcmp(one->column.key, "p50_ns"));
	t = table("processes", 0);
	assert_int_equal(tapir_view_result_table__rows(t), 2);
	assert_int_equal(cell(t, 0, "pid")->u64, 200);
	assert_int_equal(cell(t, 0, "sum_ns")->u64, 60 * MS);
	assert_int_equal(cell(t, 1, "sum_ns")->u64, 41 * MS);
	assert_int_equal(cell(t, 1, "count")->u64, 2);
	assert_true(
		!strncmp(result.headline.data, "2 processes paused for GC, most of the time ", 43));
	assert_non_null(strstr(result.headline.data, " (200): 1 pause: 60.00 ms, "));
}

/* No interval was complete: durations are not known, which is not 0. */
static void halves_have_no_percentiles(void **state)
{
	const struct tapir_fact *one;

	(void)state;
	feeder_probe(&f, 1, "shop", "order__start", "id", NULL);
	feeder_probe(&f, 2, "shop", "order__done", "id", NULL);
	ask("slow=order", 1);
	fire_with(1, 2, 1 * MS, 1, NULL);
	feeder_come(&f, 2, 90 * MS, 0, 0);
	assert_int_equal(answer(), 0);
	assert_int_equal(fact("count"), 0);
	tapir_vec_for_each (one, &result.facts)
		if (one->column.key[0] == 'p')
			assert_false(one->cell.is_there);
	assert_null(strstr(result.headline.data, "median"));
	assert_non_null(strstr(result.headline.data, "1 of order, which began before the recording "
						     "or did not end in it: the longest took at "
						     "least 89.00 ms"));
}

static void pool_has_its_workers_and_queue(void **state)
{
	(void)state;
	feeder_probe(&f, 1, RUNTIME, "ThreadPoolWorkerThreadAdjustmentAdjustment",
		     "NewWorkerThreadCount", "Reason");
	feeder_probe(&f, 2, RUNTIME, "ThreadPoolEnqueue", "WorkID", NULL);
	feeder_probe(&f, 3, RUNTIME, "ThreadPoolDequeue", "WorkID", NULL);
	ask("threadpool", 0);
	fire_with(1, 1, 1 * MS, 4, "ClimbingMove");
	fire_with(1, 1, 2 * MS, 6, "Starvation");
	fire_with(1, 1, 2 * MS, 6, "CooperativeBlocking");
	fire_with(2, 1, 3 * MS, 77, NULL);
	fire_with(3, 2, 8 * MS, 77, NULL);
	assert_int_equal(answer(), 0);
	assert_int_equal(fact("most_workers"), 6);
	assert_int_equal(fact("starved"), 2);
	assert_int_equal(fact("queued"), 1);
	assert_int_equal(fact("queued_worst_ns"), 5 * MS);
	assert_string_equal(cell(table("adjustments", 0), 1, "reason")->text, "Starvation");
}

static void task_event(uint32_t probe, uint32_t tid, uint64_t time_ns, uint64_t task,
		       uint64_t behavior)
{
	struct tapir_rec_event fixed = {
		.h = {.time_ns = time_ns}, .probe_id = probe, .tgid = 100, .tid = tid};
	uint64_t payload[] = {task, behavior};
	struct tapir_event_view event = {.rec = &fixed,
					 .payload = (const uint8_t *)payload,
					 .payload_bytes = sizeof(payload)};

	feeder_add(&f, tapir_recbuf__event(&f.buf, &event));
}

static void a_wait_for_a_task_has_its_end_on_its_thread(void **state)
{
	static const char *const events[] = {"TaskWaitBegin", "TaskWaitEnd"};
	const struct tapir_field fields[] = {{.type = TAPIR_FIELD_UINT, .size = 8},
					     {.type = TAPIR_FIELD_UINT, .size = 8}};
	const struct tapir_sv names[] = {feeder_sv("TaskID"), feeder_sv("Behavior")};
	const struct tapir_view_result_table *rows;

	(void)state;
	for (uint32_t id = 1; id <= 2; id++) {
		struct tapir_rec_probe probe = {.probe_id = id};

		feeder_add(&f,
			   tapir_recbuf__probe(&f.buf, &probe,
					       feeder_sv("System.Threading.Tasks.TplEventSource"),
					       feeder_sv(events[id - 1]), feeder_sv("/bin/x"),
					       feeder_sv(""), fields, names, 2));
	}
	ask("threadpool", 0);
	task_event(1, 1, 1 * MS, 77, 1); /* two threads wait for one task */
	task_event(1, 2, 2 * MS, 77, 1);
	task_event(1, 3, 2 * MS, 77, 2); /* an await */
	task_event(2, 3, 3 * MS, 77, 0); /* it goes on elsewhere */
	task_event(2, 1, 4 * MS, 77, 0);
	task_event(2, 2, 9 * MS, 78, 0); /* of another task */
	task_event(2, 2, 10 * MS, 77, 0);
	task_event(2, 2, 11 * MS, 77, 0); /* a second end */
	task_event(1, 4, 11 * MS, 5, 1);
	task_event(1, 4, 12 * MS, 6, 1); /* it waits again: the end was not seen */
	assert_int_equal(answer(), 0);
	assert_int_equal(fact("task_waits"), 2);
	assert_int_equal(fact("task_waits_ns"), 11 * MS);
	assert_int_equal(fact("task_waits_open"), 1);
	assert_int_equal(fact("task_waits_half"), 1);
	rows = table("task_waits_by_place", 0);
	assert_int_equal(tapir_view_result_table__rows(rows), 1);
	assert_int_equal(cell(rows, 0, "worst_ns")->u64, 8 * MS);
}

static void counters_keep_their_course_when_values_are_many(void **state)
{
	struct tapir_rec_counter counter = {.tgid = 100};
	const struct tapir_view_result_table *rows;

	(void)state;
	ask("counters", 0);
	for (unsigned i = 0; i < 70000; i++) {
		counter.h.time_ns = i * MS;
		counter.value = i;
		feeder_add(&f, tapir_recbuf__counter(&f.buf, &counter, feeder_sv("p"),
						     feeder_sv("heap"), feeder_sv("MB"),
						     feeder_sv("")));
	}
	assert_int_equal(answer(), 0);
	rows = table("counters", 0);
	assert_int_equal(tapir_view_result_table__rows(rows), 1);
	assert_int_equal(cell(rows, 0, "count")->u64, 70000);
	assert_true(cell(rows, 0, "mean")->f64 == 34999.5);
	assert_true(cell(rows, 0, "most")->f64 == 69999);
	assert_true(tapir_view_result_table__rows(table("points", 0)) <= 32768);
	assert_true(cell(table("points", 0), 1, "value")->f64 >
		    cell(table("points", 0), 0, "value")->f64);
}

static void add_counter(uint64_t at_ns, uint32_t kind, double value, uint64_t interval_ns)
{
	struct tapir_rec_counter counter = {.h = {.time_ns = at_ns},
					    .tgid = 100,
					    .kind = kind,
					    .value = value,
					    .interval_ns = interval_ns};

	feeder_add(&f, tapir_recbuf__counter(&f.buf, &counter, feeder_sv("p"), feeder_sv("sold"),
					     feeder_sv("item"), feeder_sv("colour=red")));
}

static void what_was_added_is_shown_a_second_and_summed(void **state)
{
	const struct tapir_view_result_table *rows, *points;

	(void)state;
	ask("counters", 0);
	add_counter(2000 * MS, TAPIR_COUNTER_RATE, 40, 2000 * MS);
	add_counter(2000 * MS, TAPIR_COUNTER_SUM, 40, 2000 * MS);
	add_counter(4000 * MS, TAPIR_COUNTER_RATE, 8, 2000 * MS);
	add_counter(4000 * MS, TAPIR_COUNTER_SUM, 48, 2000 * MS);
	add_counter(5000 * MS, TAPIR_COUNTER_SUM, NAN, 2000 * MS);
	assert_int_equal(answer(), 0);
	rows = table("counters", 0);
	assert_int_equal(tapir_view_result_table__rows(rows), 2);
	assert_string_equal(cell(rows, 0, "unit")->text, "item/s");
	assert_true(cell(rows, 0, "first")->f64 == 20 && cell(rows, 0, "last")->f64 == 4);
	assert_true(cell(rows, 0, "mean")->f64 == 12 && cell(rows, 0, "total")->f64 == 48);
	assert_string_equal(cell(rows, 0, "over_time")->text, "\u2588\u2581");
	assert_string_equal(cell(rows, 1, "kind")->text, "sum");
	assert_int_equal(cell(rows, 1, "count")->u64, 2);
	assert_true(cell(rows, 1, "last")->f64 == 48);
	points = table("points", 1);
	assert_int_equal(tapir_view_result_table__rows(points), 2);
	assert_true(cell(points, 1, "value")->f64 == 48);
}

static void percentiles_are_within_a_step(void **state)
{
	static struct tapir_histogram h;

	(void)state;
	for (uint64_t i = 1; i <= 100000; i++)
		tapir_histogram__add(&h, i * 1000);
	for (unsigned percent = 10; percent < 100; percent += 10) {
		double is = (double)tapir_histogram__percentile(&h, percent);
		double should = percent * 1e6;

		assert_true(is > 0.97 * should && is < 1.03 * should);
	}
	h = (struct tapir_histogram){};
	assert_int_equal(tapir_histogram__percentile(&h, 50), 0);
	tapir_histogram__add(&h, UINT64_MAX);
	assert_true(tapir_histogram__percentile(&h, 99) > UINT64_MAX / 2);
}

static void every_view_says_so_when_the_file_is_empty(void **state)
{
	(void)state;
	for (unsigned i = 0; tapir_views[i]; i++) {
		ask(tapir_views[i]->arg ? "slow=x" : tapir_views[i]->name, 0);
		assert_int_equal(answer(), view->arg ? -ENOENT : 0);
		assert_true(view->arg || result.headline.len > 0);
		teardown(NULL);
		assert_int_equal(setup(NULL), 0);
	}
}

/* What a view that found nothing prints; specs: the recorder's, NULL: an old one stored none.
 */
static const char *found_nothing(const char *asked, const char *specs, const char *provider,
				 bool has_switches)
{
	static const struct tapir_rec_probe probe = {.probe_id = 1};
	struct tapir_capture_check recorded = {};

	(void)teardown(NULL);
	assert_int_equal(setup(NULL), 0);
	if (specs)
		feeder_add(&f, tapir_recbuf__meta(&f.buf, 1, feeder_sv("specs"), feeder_sv(specs)));
	feeder_add(&f, tapir_recbuf__meta(&f.buf, 1, feeder_sv("lane"), feeder_sv("probe")));
	if (has_switches)
		feeder_add(&f,
			   tapir_recbuf__meta(&f.buf, 1, feeder_sv("switches"), feeder_sv("on")));
	if (provider)
		tapir_capture_check__add(&recorded,
					 tapir_recbuf__probe(&f.buf, &probe, feeder_sv(provider),
							     feeder_sv("x"), feeder_sv(""),
							     feeder_sv(""), NULL, NULL, 0));
	ask(asked, 0);
	assert_int_equal(answer(), 0);
	tapir_capture_check__explain(&recorded, f.catalog, view, &result);
	return result.headline.data;
}

#define DEFAULTS                                                                                   \
	RUNTIME ":GC,Jit,Threading:Informational\n" RUNTIME ":Exception:Error\n"                   \
		"hotspot:gc__*,mem__pool__gc__*\nhotspot:method__compile__*"

static void probe_that_needs_an_option_is_named_where_it_did_not_fire(void **state)
{
	(void)state;
	(void)found_nothing("allocations", "hotspot:object__alloc", NULL, false);
	assert_int_equal(result.notes.cnt, 1);
	assert_non_null(strstr(result.notes.data[0], "-XX:+DTraceAllocProbes"));
	(void)found_nothing("allocations", DEFAULTS, "hotspot", false);
	assert_int_equal(result.notes.cnt, 0);
}

static void nothing_is_not_recorded_where_nobody_asked_for_it(void **state)
{
	static const struct {
		const char *view, *specs, *provider;
		bool is_recorded;
	} cases[] = {
		{"gc", NULL, NULL, true},
		{"gc", "", NULL, false},
		{"gc", "My-Source", NULL, false},
		{"gc", "My-Source\n*", NULL, true},
		{"gc", "not a [SPEC::::\n" RUNTIME ":GC:Informational", NULL, true},
		{"gc", RUNTIME, NULL, true},
		{"gc", RUNTIME ":GC:Error", NULL, false},
		{"gc", RUNTIME ":-GC", NULL, false},
		{"gc", RUNTIME ":0x1:4", NULL, true},
		{"gc", RUNTIME ":GCSuspendEEBegin", NULL, true},
		{"gc", RUNTIME ":ExceptionThrown", NULL, false},
		{"gc", "hotspot:gc__*", "hotspot", true},
		{"gc", "hotspot:gc__*", RUNTIME, false},
		{"gc", DEFAULTS, "hotspot", true},
		{"jit", DEFAULTS, "hotspot", true},
		{"jit", DEFAULTS, RUNTIME, false}, /* .NET has it at level Verbose */
		{"exceptions", DEFAULTS, RUNTIME, true},
		{"exceptions", DEFAULTS, "hotspot", false}, /* a JVM has no such event */
		{"allocations", DEFAULTS, NULL, false},
		{"allocations", RUNTIME ":GCAllocationTick", NULL, true},
		{"threadpool", DEFAULTS, NULL, true},
		{"threadpool", "hotspot:*", NULL, false},
		{"contention", DEFAULTS, NULL, false},
		{"contention", "hotspot:monitor__*", NULL, true},
		{"offcpu", DEFAULTS, NULL, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const char *said =
			found_nothing(cases[i].view, cases[i].specs, cases[i].provider, false);

		if (!strstr(said, "not recorded") != cases[i].is_recorded)
			fail_msg("%s of %s: %s", cases[i].view, cases[i].specs, said);
		assert_int_equal(result.is_unrecorded, !cases[i].is_recorded);
	}
	assert_string_equal(found_nothing("gc", "My-Source", NULL, true),
			    "collections were not recorded: `tapir record --profile gc` records "
			    "them");
	/* No profile helps where the runtime has no such event. */
	assert_string_equal(found_nothing("exceptions", DEFAULTS, "hotspot", false),
			    "exceptions were not recorded: OpenJDK has no events for them that "
			    "tapir can record");
	assert_string_equal(found_nothing("gc", "php:*", "php", false),
			    "collections were not recorded: PHP has no events for them that tapir "
			    "can record");
	assert_string_equal(found_nothing("offcpu", "My-Source", NULL, true),
			    "no thread was seen to wait");
	assert_string_equal(found_nothing("contention", "My-Source", NULL, true),
			    "no thread was seen to wait for a lock");
	assert_int_equal(result.notes.cnt, 1);
}

/* A thread that sleeps when the recording ends, and wakers of one name. */
static void waits_that_did_not_end_are_distinguished(void **state)
{
	(void)state;
	feeder_thread(&f, 5, "worker");
	feeder_thread(&f, 6, "worker");
	ask("offcpu", 0);
	feeder_leave(&f, 1, 2 * MS, TAPIR_STATE_SLEEPING);
	feeder_come(&f, 1, 4 * MS, 4 * MS, 5);
	feeder_leave(&f, 1, 5 * MS, TAPIR_STATE_SLEEPING);
	feeder_come(&f, 1, 8 * MS, 8 * MS, 6);
	feeder_leave(&f, 1, 10 * MS, TAPIR_STATE_SLEEPING);
	feeder_come(&f, 99, 30 * MS, 30 * MS, 0);
	assert_int_equal(answer(), 0);
	assert_int_equal(fact("waited_ns"), 5 * MS);
	assert_int_equal(fact("open_ns"), 20 * MS);
	assert_int_equal(tapir_view_result_table__rows(table("waits", 0)), 1);
	assert_string_equal(cell(table("waits", 0), 0, "ended_by")->text, "worker");
	assert_int_equal(cell(table("cut_waits", 0), 0, "ns")->u64, 20 * MS);
	assert_non_null(strstr(result.headline.data, "; and 20.00 ms in 1 wait that began before"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(samples_of_a_hundred_thousand_threads_are_all_counted),
		TEST(thread_ids_used_again_are_threads_of_their_own),
		TEST(functions_of_the_program_have_the_time_of_what_they_call),
		TEST(frames_of_the_runtime_do_not_hide_who_called),
		TEST(slowest_come_first_and_their_parts_add_up),
		TEST(halves_have_no_percentiles),
		TEST(pauses_of_processes_are_not_added),
		TEST(slow_one_is_followed_into_what_it_waited_for),
		TEST(event_that_is_not_there_is_an_error_that_says_what_is),
		TEST(details_are_bounded_when_all_waits_differ),
		TEST(pauses_have_their_reason_and_heap),
		TEST(exceptions_and_allocations_are_counted_by_type),
		TEST(types_are_bounded_when_all_differ),
		TEST(interval_that_the_end_cuts_does_not_lead),
		TEST(pause_that_the_end_cuts_is_not_the_longest),
		TEST(pool_has_its_workers_and_queue),
		TEST(a_wait_for_a_task_has_its_end_on_its_thread),
		TEST(counters_keep_their_course_when_values_are_many),
		TEST(what_was_added_is_shown_a_second_and_summed),
		TEST(percentiles_are_within_a_step),
		TEST(probe_that_needs_an_option_is_named_where_it_did_not_fire),
		TEST(nothing_is_not_recorded_where_nobody_asked_for_it),
		TEST(every_view_says_so_when_the_file_is_empty),
		TEST(waits_that_did_not_end_are_distinguished),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
