// SPDX-License-Identifier: GPL-2.0-or-later
/* CPU time that .NET uses for what is meant to be done once, and processes that are started. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "finding_state.h"

#define KERNEL_VA 0xffffffff81000000ull

enum { VFORK = 1, CHILD, OWN, CONNECTS, GOES_ON };

static void add_kernel(void)
{
	struct tapir_rec_mapping mapping = {.flags = TAPIR_MAPPING_EXEC,
					    .start_va = KERNEL_VA,
					    .end_va = KERNEL_VA + 0x1000,
					    .file_id = 99};
	struct tapir_rec_symbol symbol = {.file_id = 99, .size = 0x1000};
	struct tapir_rec_stack stack = {.stack_id = VFORK, .flags = TAPIR_STACK_KERNEL};
	uint64_t frame_va = KERNEL_VA + 8;

	feeder_add(&f, tapir_recbuf__mapping(&f.buf, &mapping, feeder_sv("[kernel.kallsyms]")));
	feeder_add(&f, tapir_recbuf__symbol(&f.buf, &symbol, feeder_sv("kernel_clone")));
	feeder_add(&f, tapir_recbuf__stack(&f.buf, &stack, &frame_va, 1));
}

/* Stacks: innermost function first. */
static int setup(void **state)
{
	const uint64_t child[] = {0x1008, 0x2008}, own[] = {0x2008};
	const uint64_t connects[] = {0x3008, 0x2008}, goes_on[] = {0x2008, 0x3008};

	(void)state;
	if (finding_begin())
		return -1;
	name_method(1, "System.Diagnostics.Process.StartCore(System.Diagnostics.ProcessStartInfo)");
	name_method(2, "Shop.Ask()");
	name_method(3, "System.Net.Sockets.Socket.ConnectAsync(SocketAsyncEventArgs)");
	add_kernel();
	feeder_stack(&f, CHILD, child, 2);
	feeder_stack(&f, OWN, own, 1);
	feeder_stack(&f, CONNECTS, connects, 2);
	feeder_stack(&f, GOES_ON, goes_on, 2);
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

static const struct tapir_found *found_at(uint64_t ms, enum tapir_found_kind kind)
{
	feeder_come(&f, 99, ms * MS, ms * MS, 0);
	assert_int_equal(tapir_timeline__finish(f.tl), 0);
	tapir_finding__list(&finding, &found);
	assert_false(found.failed);
	for (size_t i = 0; i < found.rows.cnt; i++)
		if (found.rows.data[i].kind == kind)
			return &found.rows.data[i];
	return NULL;
}

/* Nor is it what the program's own code does that goes on there. */
static void connections_are_what_the_cpu_is_used_for(void **state)
{
	const struct tapir_found *row;

	(void)state;
	feeder_come(&f, 99, 0, 0, 0);
	sample(600, CONNECTS);
	sample(300, GOES_ON);
	sample(100, OWN);
	row = found_at(1001, TAPIR_FOUND_DOING);
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
	const struct tapir_found *row;

	(void)state;
	feeder_come(&f, 99, 0, 0, 0);
	start_children(100, CHILD);
	row = found_at(1001, TAPIR_FOUND_PROCESSES);
	assert_non_null(row);
	assert_string_equal(row->text, "100 processes are started a second, most by Shop.Ask()");
	assert_true(row->magnitude > 99 && row->magnitude < 101);
}

static void few_processes_are_no_finding(void **state)
{
	(void)state;
	feeder_come(&f, 99, 0, 0, 0);
	start_children(20, CHILD);
	assert_null(found_at(1000, TAPIR_FOUND_PROCESSES));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, finding_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(connections_are_what_the_cpu_is_used_for),
		TEST(processes_that_are_started_are_counted),
		TEST(few_processes_are_no_finding),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
