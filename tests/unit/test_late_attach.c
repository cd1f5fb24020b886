// SPDX-License-Identifier: GPL-2.0-or-later
/* Which late files are gaps, whatever the order in which mappings and holds are reported. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "record/late_attach.h"

#define S TAPIR_LATE_ATTACH_COMMIT_NS

static struct tapir_late_attach late;
static char gaps[256];

static int setup(void **state)
{
	(void)state;
	late = (struct tapir_late_attach){};
	gaps[0] = '\0';
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	tapir_late_attach__fini(&late);
	return 0;
}

static void add(const char *path, uint32_t tid, uint64_t va, uint64_t mapped_ns,
		uint64_t attached_ns)
{
	struct tapir_late_mapping l = {tid, tid, va, mapped_ns, attached_ns, (char *)path};

	assert_int_equal(tapir_late_attach__add(&late, &l), 0);
}

static void hold(enum tapir_hold_kind kind, uint32_t tid, uint64_t va, uint64_t time_ns)
{
	struct tapir_rec_held rec = {
		.h.time_ns = time_ns, .tgid = tid, .tid = tid, .kind = kind, .arg = va};

	tapir_late_attach__mark_held(&late, &rec);
}

static void note(void *ctx, const struct tapir_late_mapping *l)
{
	(void)ctx;
	snprintf(gaps + strlen(gaps), sizeof(gaps) - strlen(gaps), "%s ", l->path);
}

static const char *settle(uint64_t now_ns)
{
	gaps[0] = '\0';
	tapir_late_attach__commit(&late, now_ns, note, NULL);
	return gaps;
}

static void late_file_is_a_gap_when_a_moment_has_passed(void **state)
{
	(void)state;
	add("a", 7, 0x1000, 100, 200);
	assert_string_equal(settle(200 + S - 1), "");
	assert_string_equal(settle(200 + S), "a ");
	assert_string_equal(settle(UINT64_MAX), "");
}

static void mapping_is_not_late_when_its_thread_was_held(void **state)
{
	(void)state;
	add("before", 7, 0x1000, 100, 200);
	hold(TAPIR_HOLD_MMAP, 7, 0x1000, 110);
	hold(TAPIR_HOLD_MMAP, 8, 0x2000, 120);
	add("behind", 8, 0x2000, 115, 200);
	add("thread", 9, 0x1000, 100, 200);
	add("place", 7, 0x3000, 100, 200);
	add("later", 7, 0x1000, 130, 200);
	assert_string_equal(settle(UINT64_MAX), "thread place later ");
}

static void old_mapping_at_the_same_place_is_late(void **state)
{
	(void)state;
	add("old", 7, 0x1000, 100, 200);
	hold(TAPIR_HOLD_MMAP, 7, 0x1000, 100 + 2 * S + 1);
	assert_string_equal(settle(UINT64_MAX), "old ");
	add("old", 7, 0x1000, 100, 200);
	add("new", 7, 0x1000, 150, 200);
	hold(TAPIR_HOLD_MMAP, 7, 0x1000, 160);
	assert_string_equal(settle(UINT64_MAX), "old ");
}

/* An emulated one took 275 ms between the record of a mapping and the end of the call. */
static void mapping_is_not_late_when_its_call_took_long(void **state)
{
	(void)state;
	add("slow", 7, 0x1000, 100, 400000000);
	hold(TAPIR_HOLD_MMAP, 7, 0x1000, 100 + 275000000);
	assert_string_equal(settle(UINT64_MAX), "");
}

static void mappings_of_an_exec_are_not_late_but_others_are(void **state)
{
	(void)state;
	add("by the old program", 7, 0x1000, 100, 400);
	tapir_late_attach__on_exec(&late, 7, 200);
	add("program", 7, 0x2000, 210, 400);
	add("loader", 7, 0x3000, 220, 400);
	hold(TAPIR_HOLD_EXEC, 7, 0, 230);
	add("library", 7, 0x4000, 300, 400);
	assert_string_equal(settle(UINT64_MAX), "by the old program library ");
}

static void held_thread_is_forgotten_when_it_was_long_ago(void **state)
{
	(void)state;
	hold(TAPIR_HOLD_MMAP, 7, 0x1000, 110);
	assert_string_equal(settle(110 + 7 * S), "");
	assert_int_equal(late.held_threads.cnt, 0);
	tapir_late_attach__on_exec(&late, 7, 200);
	tapir_late_attach__on_exit(&late, 7);
	assert_int_equal(late.exec_ns.cnt, 0);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(late_file_is_a_gap_when_a_moment_has_passed),
		CASE(mapping_is_not_late_when_its_thread_was_held),
		CASE(old_mapping_at_the_same_place_is_late),
		CASE(mapping_is_not_late_when_its_call_took_long),
		CASE(mappings_of_an_exec_are_not_late_but_others_are),
		CASE(held_thread_is_forgotten_when_it_was_long_ago),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
