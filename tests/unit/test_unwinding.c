// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the BPF walker finds in its maps: mappings of processes as they map, fork, execute and end.
 * Needs root.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "unwind_case.h"

static void mappings_are_sorted_and_do_not_overlap(void **state)
{
	(void)state;
	need_root();
	begin_with(0);
	map_at(TGID, 1, 0x9000, 0xa000, 0, "/a.dll", -1);
	map_at(TGID, 1, 0x1000, 0x5000, 0, "/b.dll", -1);
	assert_mappings((uint64_t[][2]){{0x1000, 0x5000}, {0x9000, 0xa000}}, 2);
	map_code(0x2000, 0x3000); /* in the middle of b */
	assert_mappings(
		(uint64_t[][2]){
			{0x1000, 0x2000}, {0x2000, 0x3000}, {0x3000, 0x5000}, {0x9000, 0xa000}},
		4);
	assert_int_equal(fixture->space.mappings[0].kind, TAPIR_UNWIND_KIND_IMAGE);
	assert_int_equal(fixture->space.mappings[1].kind, TAPIR_UNWIND_KIND_JIT);
	map_code(0x4000, 0x9800); /* the end of one, the start of another */
	assert_mappings((uint64_t[][2]){{0x1000, 0x2000},
					{0x2000, 0x3000},
					{0x3000, 0x4000},
					{0x4000, 0x9800},
					{0x9800, 0xa000}},
			5);
	map_code(0x1000, 0x20000); /* all of it */
	assert_mappings((uint64_t[][2]){{0x1000, 0x20000}}, 1);
	end();
}

static void generated_code_that_touches_is_one_mapping(void **state)
{
	(void)state;
	need_root();
	begin_with(0);
	map_code(0x1000, 0x2000);
	map_code(0x3000, 0x4000);
	assert_mappings((uint64_t[][2]){{0x1000, 0x2000}, {0x3000, 0x4000}}, 2);
	map_code(0x2000, 0x3000);
	assert_mappings((uint64_t[][2]){{0x1000, 0x4000}}, 1);
	map_code(0x0800, 0x1000);
	map_code(0x4000, 0x5000);
	map_code(0x2000, 0x3000); /* known */
	assert_mappings((uint64_t[][2]){{0x0800, 0x5000}}, 1);
	end();
}

/* The walker compares with a sign, and a mapping that ends before it begins contains nothing. */
static void mappings_that_no_program_has_are_left_out(void **state)
{
	(void)state;
	need_root();
	begin_with(0);
	map_code(0xffffffffff600000, 0xffffffffff601000); /* vsyscall */
	map_code(0x5000, 0x4000);
	map_code(0x4000, 0x5000);
	assert_mappings((uint64_t[][2]){{0x4000, 0x5000}}, 1);
	end();
}

static void many_mappings_are_in_many_blocks_and_too_many_are_counted(void **state)
{
	uint32_t left = MAX_SPACE;

	(void)state;
	need_root();
	begin_with(0);
	for (uint64_t i = 0; i < MAX_SPACE + 7; i++)
		map_code((2 * i + 1) * PAGE, (2 * i + 2) * PAGE);
	tapir_unwind_spaces__flush(fixture->spaces);
	assert_int_equal(tapir_unwind_spaces__refused(fixture->spaces), 7);
	for (uint32_t block = 0; block < TAPIR_UNWIND_SPACE_BLOCKS; block++) {
		uint64_t first_va;

		assert_true(look(TGID, 0));
		assert_int_equal(fixture->space.block_cnt, TAPIR_UNWIND_SPACE_BLOCKS);
		first_va = fixture->space.first_va[block];
		assert_true(look(TGID, block));
		assert_int_equal(fixture->space.cnt, TAPIR_UNWIND_SPACE_MAPPINGS);
		assert_true(!block || fixture->space.mappings[0].start_va == first_va);
		left -= fixture->space.cnt;
	}
	assert_int_equal(left, 0);
	map_code(0x1000, 1ull << 40); /* one mapping again: the other blocks are freed */
	assert_mappings((uint64_t[][2]){{0x1000, 1ull << 40}}, 1);
	assert_false(look(TGID, 1));
	end();
}

static void a_fork_has_its_parents_an_exec_its_own_and_an_exit_none(void **state)
{
	(void)state;
	need_root();
	begin_with(0);
	map_at(TGID, 5, 0x1000, 0x2000, 0, "", -1);
	process(TAPIR_PROCESS_FORK, TGID + 1, TGID, 6);
	tapir_unwind_spaces__flush(fixture->spaces);
	assert_true(look(TGID + 1, 0));
	assert_int_equal(fixture->space.cnt, 1);
	/* What was mapped while it executed is reported before or after that. */
	map_at(TGID + 1, 10, 0x8000, 0x9000, 0, "", -1);
	process(TAPIR_PROCESS_EXEC, TGID + 1, 0, 9);
	map_at(TGID + 1, 11, 0xa000, 0xb000, 0, "", -1);
	tapir_unwind_spaces__flush(fixture->spaces);
	assert_true(look(TGID + 1, 0));
	assert_int_equal(fixture->space.cnt, 2);
	assert_int_equal(fixture->space.mappings[0].start_va, 0x8000);
	process(TAPIR_PROCESS_EXIT, TGID + 1, 0, 20);
	tapir_unwind_spaces__flush(fixture->spaces);
	assert_false(look(TGID + 1, 0));
	assert_true(look(TGID, 0));
	process(TAPIR_PROCESS_EXIT, TGID, 0, 20);
	assert_false(look(TGID, 0));
	end();
}

static void drop_record(void *ctx, const struct tapir_rec *rec)
{
	(void)ctx;
	(void)rec;
}

/* The child inherits what its parent has mapped, and with it the search that is still to be made.
 */
static void a_fork_is_searched_for_the_interpreter_of_its_parent(void **state)
{
	struct tapir_catalog *catalog;
	struct tapir_interp_stacks *stacks;
	char path[64], exe[4096] = "";
	unsigned pid = 0, child = 0;
	FILE *python;

	(void)state;
	need_root();
	python = popen("exec /usr/bin/python3 -c 'import os, sys, time\n"
		       "child = os.fork()\n"
		       "if child: print(os.getpid(), child, flush=True)\n"
		       "time.sleep(60)'",
		       "r");
	assert_non_null(python);
	if (fscanf(python, "%u %u", &pid, &child) != 2) {
		pclose(python);
		print_message("skipped: there is no python3\n");
		skip();
	}
	snprintf(path, sizeof(path), "/proc/%u/exe", pid);
	assert_true(readlink(path, exe, sizeof(exe) - 1) > 0);
	catalog = tapir_catalog__new(TAPIR_CATALOG_LIVE, NULL);
	stacks = tapir_interp_stacks__new(catalog, drop_record, NULL);
	begin_with_interpreters(0, stacks);
	map_at(pid, 1, 0x1000, 0x2000, 0, exe, -1);
	process(TAPIR_PROCESS_FORK, child, pid, 2);
	tapir_unwind_spaces__flush(fixture->spaces);
	assert_true(look(pid, 0));
	assert_int_not_equal(fixture->space.interp.root, TAPIR_INTERP_NONE);
	assert_true(look(child, 0));
	assert_int_not_equal(fixture->space.interp.root, TAPIR_INTERP_NONE);
	end();
	kill((pid_t)pid, SIGKILL);
	kill((pid_t)child, SIGKILL);
	pclose(python);
	tapir_interp_stacks__free(stacks);
	tapir_catalog__free(catalog);
}

static void two_thousand_processes_have_their_mappings(void **state)
{
	(void)state;
	need_root();
	begin_with(0);
	for (uint32_t i = 0; i < 20; i++)
		map_at(TGID, 1, (2 * i + 1) * PAGE, (2 * i + 2) * PAGE, 0, "", -1);
	for (uint32_t i = 1; i < 2000; i++)
		process(TAPIR_PROCESS_FORK, TGID + i, TGID, 2);
	tapir_unwind_spaces__flush(fixture->spaces);
	assert_int_equal(tapir_unwind_spaces__refused(fixture->spaces), 0);
	for (uint32_t i = 0; i < 2000; i++) {
		assert_true(look(TGID + i, 0));
		assert_int_equal(fixture->space.cnt, 20);
	}
	for (uint32_t i = 0; i < 2000; i++)
		process(TAPIR_PROCESS_EXIT, TGID + i, 0, 3);
	assert_false(look(TGID + 1999, 0));
	end();
}

/* dlopen and dlclose in a loop: a mapping that another one replaced is gone. */
static void a_library_that_comes_and_goes_takes_no_room(void **state)
{
	(void)state;
	need_root();
	begin_with(0);
	for (uint32_t i = 0; i < 20000; i++) {
		map_at(TGID, i, 0x100000 + i % 16 * PAGE, 0x108000 + i % 16 * PAGE, 0, "/p.dll",
		       -1);
		if (i % 10 == 0)
			tapir_unwind_spaces__flush(fixture->spaces);
	}
	tapir_unwind_spaces__flush(fixture->spaces);
	assert_int_equal(tapir_unwind_spaces__refused(fixture->spaces), 0);
	assert_true(look(TGID, 0));
	assert_in_range(fixture->space.cnt, 1, 32);
	end();
}

/* The kernel reports no munmap: /proc/PID/maps is read again, here of the test itself. */
static void what_is_unmapped_goes_with_the_next_look(void **state)
{
	uint64_t own_va = (uint64_t)(uintptr_t)&what_is_unmapped_goes_with_the_next_look & -PAGE;
	uint32_t own = (uint32_t)getpid();

	(void)state;
	need_root();
	begin_with(0);
	map_at(own, 1, own_va, own_va + PAGE, 0, "", -1);
	map_at(own, 1, 0x10000, 0x20000, 0, "", -1); /* not there */
	tapir_unwind_spaces__flush(fixture->spaces);
	assert_true(look(own, 0));
	assert_int_equal(fixture->space.cnt, 2);
	tapir_unwind_spaces__poll(fixture->spaces);
	assert_true(look(own, 0));
	assert_int_equal(fixture->space.cnt, 1);
	assert_int_equal(fixture->space.mappings[0].start_va, own_va);
	process(TAPIR_PROCESS_EXIT, own, 0, 20);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mappings_are_sorted_and_do_not_overlap),
		cmocka_unit_test(generated_code_that_touches_is_one_mapping),
		cmocka_unit_test(mappings_that_no_program_has_are_left_out),
		cmocka_unit_test(many_mappings_are_in_many_blocks_and_too_many_are_counted),
		cmocka_unit_test(a_fork_has_its_parents_an_exec_its_own_and_an_exit_none),
		cmocka_unit_test(a_fork_is_searched_for_the_interpreter_of_its_parent),
		cmocka_unit_test(two_thousand_processes_have_their_mappings),
		cmocka_unit_test(a_library_that_comes_and_goes_takes_no_room),
		cmocka_unit_test(what_is_unmapped_goes_with_the_next_look),
	};

	return cmocka_run_group_tests(tests, load_programs, unload_programs);
}
