// SPDX-License-Identifier: GPL-2.0-or-later
/* What the report says of waits for another end of a connection, of a made-up JVM whose methods
 * are interpreted: they have no names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "finding_state.h"

enum { SOCKET = 1, UNNAMED, OWN, LIBRARY, DISK, POLL, RESOLVES };

static int setup(void **state)
{
	const uint64_t unnamed[] = {0x1008}, own[] = {0x2008}, library[] = {0x3008};
	const uint64_t resolves[] = {0x4008, 0x2008};
	struct tapir_rec_symbol symbol = {.file_id = 0x4000, .size = 0x1000};

	(void)state;
	if (finding_begin())
		return -1;
	name_method(1, "Interpreter");
	name_method(2, "void Shop.ask()");
	name_method(3, "int java.net.SocketInputStream.read()");
	feeder_mapping(&f, 0x4000, "/x/libc.so.6");
	feeder_add(&f, tapir_recbuf__symbol(&f.buf, &symbol, feeder_sv("getaddrinfo")));
	feeder_kernel_function(&f, SOCKET, "sk_wait_data");
	feeder_kernel_function(&f, DISK, "io_schedule");
	feeder_kernel_function(&f, POLL, "do_sys_poll");
	feeder_stack(&f, RESOLVES, resolves, 2);
	feeder_stack(&f, UNNAMED, unnamed, 1);
	feeder_stack(&f, OWN, own, 1);
	feeder_stack(&f, LIBRARY, library, 1);
	return finding_listen();
}

static void leave_for(uint64_t kstack, uint32_t tid, uint64_t ms, uint64_t stack, uint16_t flags)
{
	feeder_switch(&f, ms * MS,
		      (struct tapir_rec_switch){.out_tgid = TGID,
						.out_tid = tid,
						.out_state = TAPIR_STATE_SLEEPING,
						.out_stack_id = stack,
						.out_kstack_id = kstack,
						.flags = flags});
}

static void leave(uint32_t tid, uint64_t ms, uint64_t stack, uint16_t flags)
{
	leave_for(SOCKET, tid, ms, stack, flags);
}

/* It waits all the time, 100 ms each, from before the recording until after it. */
static void ask_again_and_again(uint32_t tid, uint64_t stack)
{
	feeder_come(&f, 99, 0, 0, 0);
	leave(tid, 0, stack, TAPIR_SWITCH_SNAPSHOT);
	for (uint64_t ms = 60; ms < 960; ms += 100) {
		feeder_come(&f, tid, ms * MS, ms * MS, 99);
		leave(tid, ms, stack, 0);
	}
}

/* The finding of that kind; NULL: there is none. */
static const struct tapir_finding *one_of(enum tapir_finding_kind kind)
{
	for (size_t i = 0; i < found.rows.cnt; i++)
		if (found.rows.data[i].kind == kind)
			return &found.rows.data[i];
	return NULL;
}

static const struct tapir_finding *waits_at(uint64_t ms)
{
	feeder_come(&f, 99, ms * MS, ms * MS, 0);
	assert_int_equal(tapir_timeline__finish(f.tl), 0);
	tapir_diagnosis__list(&finding, &found);
	assert_false(found.failed);
	return one_of(TAPIR_FINDING_WAITS);
}

/* Of 3 s, 0.15 were not counted at their begin and end: 5 to 8 % too little. */
static void waits_of_unnamed_code_count_from_the_begin_to_the_end(void **state)
{
	const struct tapir_finding *row;

	(void)state;
	ask_again_and_again(2, UNNAMED);
	row = waits_at(1000);
	assert_non_null(row);
	assert_true(row->magnitude > 0.99 && row->magnitude <= 1.0);
}

static void waits_of_own_code_count_from_the_begin_to_the_end(void **state)
{
	const struct tapir_finding *row;

	(void)state;
	ask_again_and_again(2, OWN);
	row = waits_at(1000);
	assert_non_null(row);
	assert_true(row->magnitude > 0.99 && row->magnitude <= 1.0);
}

static void unnamed_thread_that_waits_throughout_is_no_finding(void **state)
{
	(void)state;
	feeder_come(&f, 99, 0, 0, 0);
	leave(2, 0, UNNAMED, TAPIR_SWITCH_SNAPSHOT);
	assert_null(waits_at(1000));
}

/* A server's thread that got one request, and waits for the next. */
static void last_wait_alone_is_no_finding(void **state)
{
	(void)state;
	feeder_come(&f, 99, 0, 0, 0);
	feeder_come(&f, 2, 10 * MS, 10 * MS, 99);
	leave(2, 20, UNNAMED, 0);
	assert_null(waits_at(1000));
}

static void library_that_waits_for_work_is_no_finding(void **state)
{
	(void)state;
	ask_again_and_again(2, LIBRARY);
	assert_null(waits_at(1000));
}

/* Both were "2.500 s for a disk". A disk is not what a thread waits for to have something to do. */
static void waits_for_a_disk_are_told_apart_and_lead(void **state)
{
	const struct tapir_finding *socket, *disk;

	(void)state;
	feeder_come(&f, 99, 0, 0, 0);
	leave_for(SOCKET, 2, 10, OWN, 0);
	leave_for(SOCKET, 3, 10, OWN, 0);
	leave_for(DISK, 4, 10, OWN, 0);
	feeder_come(&f, 4, 600 * MS, 600 * MS, 99);
	feeder_come(&f, 2, 950 * MS, 950 * MS, 99);
	feeder_come(&f, 3, 950 * MS, 950 * MS, 99);
	socket = waits_at(1000);
	disk = one_of(TAPIR_FINDING_DISK);
	assert_non_null(socket);
	assert_non_null(disk);
	assert_string_equal(socket->text, "threads waited 1.880 s for a socket in Shop.ask()");
	assert_string_equal(disk->text, "threads waited 590.00 ms for a disk in Shop.ask()");
	assert_true(disk->severity > socket->severity);
}

/* Nobody resolves names to get work: it counts from beginning to end, too. */
static void wait_for_a_name_server_counts_throughout(void **state)
{
	const struct tapir_finding *row;

	(void)state;
	feeder_come(&f, 99, 0, 0, 0);
	leave_for(POLL, 2, 1, RESOLVES, TAPIR_SWITCH_SNAPSHOT);
	leave_for(POLL, 3, 1, OWN, TAPIR_SWITCH_SNAPSHOT);
	row = waits_at(1000);
	assert_non_null(row);
	assert_string_equal(row->text, "threads waited 999.00 ms for a name server in Shop.ask()");
}

/* Rows of the first screen have the figures of the findings, and none is an idle thread. */
static void places_are_those_where_the_program_waits(void **state)
{
	struct tapir_overview o = {};

	(void)state;
	feeder_come(&f, 99, 0, 0, 0);
	leave_for(POLL, 5, 0, UNNAMED, TAPIR_SWITCH_SNAPSHOT);
	leave_for(SOCKET, 2, 10, OWN, 0);
	leave_for(SOCKET, 3, 10, OWN, 0);
	leave_for(DISK, 4, 10, OWN, 0);
	feeder_come(&f, 4, 600 * MS, 600 * MS, 99);
	feeder_come(&f, 2, 950 * MS, 950 * MS, 99);
	feeder_come(&f, 3, 950 * MS, 950 * MS, 99);
	assert_non_null(waits_at(1000));
	tapir_overview__make(&finding, &o);
	assert_false(o.failed);
	assert_int_equal(o.site_cnt, 2);
	assert_string_equal(o.sites[0].name, "Shop.ask()");
	assert_string_equal(o.sites[0].reason, "socket");
	assert_string_equal(o.sites[0].ended_by, "another process");
	assert_false(o.sites[0].is_open);
	assert_int_equal(o.sites[0].ns, 1880 * MS);
	assert_string_equal(o.sites[1].reason, "disk");
	assert_int_equal(o.sites[1].ns, 590 * MS);
	tapir_overview__fini(&o);
}

static void idle_thread_is_shown_where_there_is_nothing_else(void **state)
{
	struct tapir_overview o = {};

	(void)state;
	feeder_come(&f, 99, 0, 0, 0);
	leave_for(POLL, 2, 0, UNNAMED, TAPIR_SWITCH_SNAPSHOT);
	assert_null(waits_at(1000));
	tapir_overview__make(&finding, &o);
	assert_int_equal(o.site_cnt, 1);
	assert_null(o.sites[0].name);
	assert_true(o.sites[0].is_open);
	assert_int_equal(o.sites[0].ns, 1000 * MS);
	tapir_overview__fini(&o);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, finding_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(waits_of_unnamed_code_count_from_the_begin_to_the_end),
		TEST(waits_of_own_code_count_from_the_begin_to_the_end),
		TEST(unnamed_thread_that_waits_throughout_is_no_finding),
		TEST(last_wait_alone_is_no_finding),
		TEST(library_that_waits_for_work_is_no_finding),
		TEST(waits_for_a_disk_are_told_apart_and_lead),
		TEST(wait_for_a_name_server_counts_throughout),
		TEST(places_are_those_where_the_program_waits),
		TEST(idle_thread_is_shown_where_there_is_nothing_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
