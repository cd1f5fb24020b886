// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The view of lock waits: locks by waited time, who held them and others up.
 *
 * runtimes: dotnet
 */
#include "view_fixture.h"

static void locks_come_by_waited_time_with_who_held_them(void **state)
{
	const struct tapir_view_result_table *locks;

	(void)state;
	feeder_probe(&f, 1, "hotspot", "monitor__contended__enter", "monitor", "class");
	feeder_probe(&f, 2, "hotspot", "monitor__contended__entered", "monitor", "class");
	ask("contention", 0);
	fire_with(1, 1, 1 * MS, 7, "A");
	feeder_leave(&f, 1, 2 * MS, TAPIR_STATE_SLEEPING);
	feeder_come(&f, 1, 9 * MS, 8 * MS, 5);
	fire_with(2, 1, 10 * MS, 7, "A");
	fire_with(1, 2, 20 * MS, 8, "B");
	fire_with(2, 2, 22 * MS, 8, "B");
	fire_with(1, 2, 30 * MS, 8, "B");
	assert_int_equal(answer(), 0);
	locks = table("locks", 0);
	assert_int_equal(cell(locks, 0, "ns")->u64, 9 * MS);
	assert_string_equal(cell(locks, 0, "label")->text, "A 7");
	assert_int_equal(cell(table("waiters", 0), 0, "held_by_tid")->u64, 5);
	assert_int_equal(cell(table("waiters", 0), 0, "ns")->u64, 6 * MS);
	assert_int_equal(cell(locks, 1, "ns")->u64, 2 * MS);
	assert_int_equal(fact("half"), 1);
}

/* A runtime that suspends its threads wakes them: that is no release. */
static void owner_of_the_event_holds_it_when_a_stranger_ends_the_wait(void **state)
{
	const struct tapir_view_result_table *waiters;

	(void)state;
	feeder_probe(&f, 1, "Microsoft-Windows-DotNETRuntime", "ContentionStart",
		     "LockOwnerThreadID", "LockID");
	feeder_probe(&f, 2, "Microsoft-Windows-DotNETRuntime", "ContentionStop", "DurationNs",
		     NULL);
	ask("contention", 0);
	feeder_leave(&f, 7, 1 * MS, TAPIR_STATE_SLEEPING);
	feeder_come(&f, 7, 2 * MS, 2 * MS, 0); /* the owner: a thread that was seen */
	fire_with(1, 1, 3 * MS, 7, "16");
	feeder_leave(&f, 1, 4 * MS, TAPIR_STATE_SLEEPING);
	feeder_come(&f, 1, 14 * MS, 14 * MS, 9); /* by who never wanted the lock */
	fire_with(2, 1, 15 * MS, 0, NULL);
	fire_with(1, 2, 20 * MS, 7, "16");
	feeder_leave(&f, 2, 21 * MS, TAPIR_STATE_SLEEPING);
	feeder_come(&f, 2, 22 * MS, 22 * MS, 1); /* it took the lock meanwhile */
	fire_with(2, 2, 23 * MS, 0, NULL);
	assert_int_equal(answer(), 0);
	waiters = table("waiters", 0);
	assert_int_equal(cell(waiters, 0, "held_by_tid")->u64, 7);
	assert_int_equal(cell(waiters, 0, "ns")->u64, 10 * MS);
	assert_int_equal(cell(waiters, 1, "held_by_tid")->u64, 1);
}

static void want(uint32_t tgid, uint64_t from_ns, uint64_t until_ns, const char *lock)
{
	feeder_event(&f, (struct feeder_event){.probe_id = 1,
					       .tgid = tgid,
					       .tid = tgid,
					       .time_ns = from_ns,
					       .number = 1,
					       .has_number = true,
					       .text = lock});
	feeder_event(&f, (struct feeder_event){.probe_id = 2,
					       .tgid = tgid,
					       .tid = tgid,
					       .time_ns = until_ns,
					       .number = 1,
					       .has_number = true,
					       .text = lock});
}

static void lock_of_a_server_is_one_for_its_processes(void **state)
{
	const struct tapir_view_result_table *locks;

	(void)state;
	feeder_probe(&f, 1, "postgresql", "lwlock__wait__start", "mode", "tranche");
	feeder_probe(&f, 2, "postgresql", "lwlock__wait__done", "mode", "tranche");
	ask("contention", 0);
	want(100, 1 * MS, 11 * MS, "WALWrite");
	want(101, 2 * MS, 22 * MS, "WALWrite");
	assert_int_equal(answer(), 0);
	locks = table("locks", 0);
	assert_int_equal(cell(locks, 0, "ns")->u64, 30 * MS);
	assert_int_equal(cell(locks, 0, "count")->u64, 2);
	assert_string_equal(cell(locks, 0, "label")->text, "WALWrite");
}

/* A process that waits for a table waits for locks of the server's own memory meanwhile. */
static void waits_within_a_wait_do_not_count_twice(void **state)
{
	const struct tapir_view_result_table *locks;

	(void)state;
	feeder_probe(&f, 1, "postgresql", "lock__wait__start", "tag_field1", "tag_type");
	feeder_probe(&f, 2, "postgresql", "lock__wait__done", "tag_field1", "tag_type");
	feeder_probe(&f, 3, "postgresql", "lwlock__wait__start", "mode", "tranche");
	feeder_probe(&f, 4, "postgresql", "lwlock__wait__done", "mode", "tranche");
	ask("contention", 0);
	fire_with(1, 1, 1 * MS, 42, "relation");
	fire_with(3, 1, 3 * MS, 1, "LockManager");
	fire_with(4, 1, 6 * MS, 1, "LockManager");
	fire_with(3, 1, 7 * MS, 1, "LockManager");
	fire_with(4, 1, 8 * MS, 1, "LockManager");
	fire_with(2, 1, 11 * MS, 42, "relation");
	assert_int_equal(answer(), 0);
	assert_int_equal(fact("waited_ns"), 10 * MS);
	locks = table("locks", 0);
	assert_int_equal(cell(locks, 0, "ns")->u64, 6 * MS);
	assert_int_equal(cell(locks, 1, "ns")->u64, 4 * MS);
	assert_string_equal(cell(locks, 1, "label")->text, "LockManager");
}

static void name_code(uint64_t start_va, const char *name)
{
	struct tapir_rec_jit jit = {
		.h.time_ns = 1, .tgid = 100, .start_va = start_va, .size = 0x1000, .from_ns = 1};

	feeder_add(&f, tapir_recbuf__jit(&f.buf, &jit, feeder_sv(name)));
}

static void add_stack(uint64_t id, uint64_t va, uint8_t end)
{
	struct tapir_rec_stack stack = {.stack_id = id, .end = end};

	feeder_add(&f, tapir_recbuf__stack(&f.buf, &stack, &va, 1));
}

/* Of events, and of a thread that sleeps with stack 1 from 1 ms on. */
static void ask_beside_a_sleeper(void)
{
	feeder_probe(&f, 1, "postgresql", "lwlock__wait__start", "mode", "tranche");
	feeder_probe(&f, 2, "postgresql", "lwlock__wait__done", "mode", "tranche");
	ask("contention", 0);
	feeder_switch(&f, 1 * MS,
		      (struct tapir_rec_switch){.out_tgid = 100,
						.out_tid = 100,
						.out_state = TAPIR_STATE_SLEEPING,
						.out_stack_id = 1});
}

/* One waits by its event, the other since before the recording: a snapshot saw what for. */
static void lock_that_a_snapshot_knows_is_the_one_of_the_events(void **state)
{
	static const char orders[] = "relation orders (OID 16385 of database shop)";
	struct tapir_rec_wait wait = {.h.time_ns = 5 * MS, .tgid = 100, .tid = 100};
	const struct tapir_view_result_table *locks;

	(void)state;
	name_code(0x1000, "ProcSleep");
	add_stack(1, 0x1010, TAPIR_STACK_END_WHOLE);
	ask_beside_a_sleeper();
	feeder_add(&f, tapir_recbuf__wait(&f.buf,
					  &(struct tapir_wait_view){.rec = &wait,
								    .text = feeder_sv("semaphore"),
								    .object = feeder_sv(orders)}));
	feeder_come(&f, 100, 11 * MS, 11 * MS, 101);
	want(101, 12 * MS, 32 * MS, orders);
	assert_int_equal(answer(), 0);
	locks = table("locks", 0);
	assert_int_equal(tapir_view_result_table__rows(locks), 1);
	assert_int_equal(cell(locks, 0, "ns")->u64, 30 * MS);
	assert_int_equal(cell(locks, 0, "count")->u64, 2);
	assert_string_equal(cell(locks, 0, "label")->text, orders);
	assert_false(cell(locks, 0, "type")->is_there);
}

/* The first finding leaves such waits out; the view says how much they are. */
static void waits_of_a_runtime_alone_are_told_apart(void **state)
{
	struct tapir_rec_symbol symbol = {.file_id = 0x5000, .size = 0x1000};

	(void)state;
	feeder_mapping(&f, 0x5000, "/x/libjvm.so");
	feeder_add(&f, tapir_recbuf__symbol(&f.buf, &symbol, feeder_sv("ObjectMonitor::enter")));
	add_stack(1, 0x5010, TAPIR_STACK_END_WHOLE);
	ask_beside_a_sleeper();
	feeder_come(&f, 100, 3 * MS, 3 * MS, 101);
	want(101, 12 * MS, 32 * MS, "A");
	assert_int_equal(answer(), 0);
	assert_string_equal(
		result.headline.data,
		"threads waited 22.00 ms for locks, 2 times; 91% for lwlock A, 2.00 ms in "
		"a runtime or a library alone");
}

/* Another tracer came to the tracepoint in between, whose function is on the kernel's stack then.
 */
static void waits_for_one_lock_differ_in_the_kernel_alone(void **state)
{
	static const uint64_t kernel_va[] = {0xffffffff81001008, 0xffffffff81000008};
	const struct tapir_view_result_table *locks;

	(void)state;
	for (uint64_t i = 0; i < 2; i++) {
		struct tapir_rec_mapping mapping = {.flags = TAPIR_MAPPING_EXEC,
						    .start_va = kernel_va[1 - i] & ~0xfffull,
						    .end_va =
							    (kernel_va[1 - i] & ~0xfffull) + 0x1000,
						    .file_id = 98 + i};
		struct tapir_rec_symbol symbol = {.file_id = 98 + i, .size = 0x1000};
		struct tapir_rec_stack stack = {.stack_id = 8 + i, .flags = TAPIR_STACK_KERNEL};

		feeder_add(&f,
			   tapir_recbuf__mapping(&f.buf, &mapping, feeder_sv("[kernel.kallsyms]")));
		feeder_add(&f, tapir_recbuf__symbol(
				       &f.buf, &symbol,
				       feeder_sv(i ? "__traceiter_sched_switch" : "futex_wait")));
		feeder_add(&f, tapir_recbuf__stack(&f.buf, &stack, kernel_va + i, 2 - (uint16_t)i));
	}
	name_code(0x1000, "pthread_mutex_lock");
	add_stack(1, 0x1010, TAPIR_STACK_END_WHOLE);
	ask("contention", 0);
	for (uint64_t i = 0; i < 2; i++) {
		feeder_switch(&f, (1 + 20 * i) * MS,
			      (struct tapir_rec_switch){.out_tgid = 100,
							.out_tid = 1,
							.out_state = TAPIR_STATE_SLEEPING,
							.out_stack_id = 1,
							.out_kstack_id = 8 + i});
		feeder_come(&f, 1, (11 + 20 * i) * MS, (11 + 20 * i) * MS, 5);
	}
	assert_int_equal(answer(), 0);
	locks = table("locks", 0);
	assert_int_equal(tapir_view_result_table__rows(locks), 1);
	assert_int_equal(cell(locks, 0, "ns")->u64, 20 * MS);
}

/* Nothing but the events of the third wait tells what such a stack is. */
static void wait_from_before_the_events_has_the_stack_of_one_with_events(void **state)
{
	const struct tapir_view_result_table *locks;

	(void)state;
	feeder_probe(&f, 1, "Microsoft-Windows-DotNETRuntime", "ContentionStart",
		     "LockOwnerThreadID", "LockID");
	feeder_probe(&f, 2, "Microsoft-Windows-DotNETRuntime", "ContentionStop", "DurationNs",
		     NULL);
	name_code(0x1000, "Enter");
	name_code(0x3000, "Rest");
	add_stack(1, 0x1010, TAPIR_STACK_END_WHOLE);
	add_stack(2, 0x3010, TAPIR_STACK_END_WHOLE);
	ask("contention", 0);
	for (uint32_t tid = 1; tid <= 3; tid++) {
		if (tid == 3)
			fire_with(1, tid, 20 * MS, 7, "16");
		feeder_switch(&f, (20 + tid) * MS,
			      (struct tapir_rec_switch){.out_tgid = 100,
							.out_tid = tid,
							.out_state = TAPIR_STATE_SLEEPING,
							.out_stack_id = tid == 2 ? 2 : 1});
	}
	for (uint32_t tid = 1; tid <= 3; tid++)
		feeder_come(&f, tid, (30 + tid) * MS, (30 + tid) * MS, 5);
	fire_with(2, 3, 34 * MS, 0, NULL);
	assert_int_equal(answer(), 0);
	assert_int_equal(fact("waited_ns"), 24 * MS);
	assert_int_equal(fact("count"), 2);
	locks = table("locks", 0);
	assert_int_equal(cell(locks, 0, "ns")->u64, 14 * MS);
	assert_int_equal(cell(locks, 1, "ns")->u64, 10 * MS);
	assert_string_equal(cell(locks, 1, "kind")->text, "monitor");
	assert_false(cell(locks, 1, "label")->is_there);
}

/* Thread 2 waits, thread 1 has got the lock and is away from its CPU. */
static void hold_up(uint64_t at_ns, uint64_t took_ns, uint64_t stack)
{
	feeder_event(&f, (struct feeder_event){.probe_id = 1,
					       .tgid = 100,
					       .tid = 2,
					       .time_ns = at_ns,
					       .number = 7,
					       .has_number = true,
					       .text = "A"});
	feeder_leave(&f, 2, at_ns + 1, TAPIR_STATE_SLEEPING);
	feeder_event(&f, (struct feeder_event){.probe_id = 3,
					       .tgid = 100,
					       .tid = 1,
					       .time_ns = at_ns + 1000,
					       .stack_id = 3});
	if (stack == 1) /* and went on from there */
		feeder_event(&f, (struct feeder_event){.probe_id = 4,
						       .tgid = 100,
						       .tid = 1,
						       .time_ns = at_ns + 2000,
						       .stack_id = 1});
	feeder_switch(&f, at_ns + 3000,
		      (struct tapir_rec_switch){.out_tgid = 100,
						.out_tid = 1,
						.out_state = TAPIR_STATE_SLEEPING,
						.out_stack_id = stack});
	feeder_come(&f, 1, at_ns + took_ns - 2000, at_ns + took_ns - 2000, 0);
	feeder_come(&f, 2, at_ns + took_ns, at_ns + took_ns, 1);
	fire_with(2, 2, at_ns + took_ns + 10, 7, "A");
}

/* Once it was preempted elsewhere for longer than ever, and the stack of its sleep is cut: the
 * whole one of an event before it says less. */
static void holder_is_shown_where_it_mostly_held_up_others(void **state)
{
	const struct tapir_view_result_table *waiters;
	const struct tapir_cell *holder;

	(void)state;
	feeder_probe(&f, 1, "hotspot", "monitor__contended__enter", "monitor", "class");
	feeder_probe(&f, 2, "hotspot", "monitor__contended__entered", "monitor", "class");
	feeder_probe(&f, 3, "shop", "got_it", NULL, NULL);
	feeder_probe(&f, 4, "shop", "sleeps", NULL, NULL);
	name_code(0x1000, "void Audit.append(int)");
	name_code(0x2000, "void Convoy.price(int)");
	name_code(0x3000, "void Inventory.book(int)");
	add_stack(1, 0x1010, TAPIR_STACK_END_JIT_NO_FP);
	add_stack(2, 0x2010, TAPIR_STACK_END_WHOLE);
	add_stack(3, 0x3010, TAPIR_STACK_END_WHOLE);
	ask("contention", 0);
	for (unsigned i = 0; i < 9; i++)
		hold_up((100 + 100 * i) * MS, i == 4 ? 30 * MS : 5 * MS, i == 4 ? 2 : 1);
	assert_int_equal(answer(), 0);
	waiters = table("waiters", 0);
	holder = cell(waiters, 0, "holder_stack");
	assert_true(holder->is_there);
	assert_string_equal(result.tree->names.data[result.tree->nodes.data[holder->u64].name],
			    "void Audit.append(int)");
}

/* In two functions of the library, of which one waits for locks. */
static void preemptions_within_one_function_are_one_row(void **state)
{
	static const uint64_t within[2][2] = {{0x2010, 0x1010}, {0x3010, 0x1010}};

	(void)state;
	name_code(0x1000, "Shop.Draw(int)");
	name_code(0x2000, "System.Threading.Monitor.Exit_Slowpath(object)");
	name_code(0x3000, "System.Threading.Monitor.Enter_Slowpath(object)");
	for (uint64_t id = 1; id <= 2; id++) {
		struct tapir_rec_stack stack = {.stack_id = id, .end = TAPIR_STACK_END_WHOLE};

		feeder_add(&f, tapir_recbuf__stack(&f.buf, &stack, within[id - 1], 2));
	}
	ask("offcpu", 0);
	for (uint64_t id = 1; id <= 2; id++) {
		feeder_switch(&f, id * 10 * MS,
			      (struct tapir_rec_switch){
				      .out_tgid = 100, .out_tid = 1, .out_stack_id = id});
		feeder_come(&f, 1, (id * 10 + 1) * MS, 0, 0);
	}
	feeder_leave(&f, 1, 40 * MS, TAPIR_STATE_SLEEPING);
	assert_int_equal(answer(), 0);
	assert_int_equal(tapir_view_result_table__rows(table("waits", 0)), 1);
	assert_int_equal(cell(table("waits", 0), 0, "ns")->u64, 2 * MS);
}

static void headline_of_a_lock_without_a_name_has_no_gap(void **state)
{
	(void)state;
	feeder_probe(&f, 1, "hotspot", "monitor__contended__enter", NULL, NULL);
	feeder_probe(&f, 2, "hotspot", "monitor__contended__entered", NULL, NULL);
	ask("contention", 0);
	fire(1, 1, 1 * MS);
	feeder_leave(&f, 1, 2 * MS, TAPIR_STATE_SLEEPING);
	feeder_come(&f, 1, 9 * MS, 8 * MS, 5);
	fire(2, 1, 10 * MS);
	assert_int_equal(answer(), 0);
	assert_string_equal(result.headline.data,
			    "threads waited 9.00 ms for locks, once; 100% for monitor, most often "
			    "held by ? (5)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(locks_come_by_waited_time_with_who_held_them),
		TEST(lock_of_a_server_is_one_for_its_processes),
		TEST(waits_within_a_wait_do_not_count_twice),
		TEST(waits_of_a_runtime_alone_are_told_apart),
		TEST(lock_that_a_snapshot_knows_is_the_one_of_the_events),
		TEST(waits_for_one_lock_differ_in_the_kernel_alone),
		TEST(wait_from_before_the_events_has_the_stack_of_one_with_events),
		TEST(owner_of_the_event_holds_it_when_a_stranger_ends_the_wait),
		TEST(holder_is_shown_where_it_mostly_held_up_others),
		TEST(preemptions_within_one_function_are_one_row),
		TEST(headline_of_a_lock_without_a_name_has_no_gap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
