// SPDX-License-Identifier: GPL-2.0-or-later
/* Which mappings of a process are kept when it has more than a walk can search. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "record/unwind_mappings.h"

#define PAGE 4096ull
#define MAX  (TAPIR_UNWIND_SPACE_BLOCKS * TAPIR_UNWIND_SPACE_MAPPINGS)
#define LATE 0x7f0000000000ull /* above all others */

static struct tapir_unwind_mappings mappings;

static bool add(uint64_t start_va, uint64_t pages, uint32_t file_idx)
{
	struct tapir_space_mapping new = {.m = {.start_va = start_va,
						.end_va = start_va + pages * PAGE,
						.file_idx = file_idx,
						.kind = file_idx == TAPIR_UNWIND_NO_FILE
								? TAPIR_UNWIND_KIND_JIT
								: TAPIR_UNWIND_KIND_FILE}};

	(void)tapir_unwind_mappings__make_room(&mappings, &new.m);
	return tapir_unwind_mappings__add(&mappings, &new);
}

static bool has(uint64_t start_va)
{
	for (size_t i = 0; i < mappings.cnt; i++)
		if (mappings.data[i].m.start_va == start_va)
			return true;
	return false;
}

/* Every second one is of no file, the others of one file. */
static void fill(void)
{
	mappings.cnt = 0;
	for (uint64_t i = 0; i < MAX; i++)
		assert_true(add((4 * i + 16) * PAGE, 1 + i % 2, i % 2 ? 7 : TAPIR_UNWIND_NO_FILE));
	assert_int_equal(mappings.cnt, MAX);
}

static void own_code_is_there_however_many_others_are(void **state)
{
	(void)state;
	fill();
	assert_true(add(LATE, 1, 8)); /* the first of its file */
	assert_true(has(LATE));
	assert_int_equal(mappings.cnt, MAX);
	assert_false(has(16 * PAGE));		   /* the smallest, of no file */
	assert_true(has(20 * PAGE));		   /* the first of file 7 */
	assert_false(add(LATE + 16 * PAGE, 1, 8)); /* no larger than any that is there */
	assert_true(add(LATE + 16 * PAGE, 100, 8));
	assert_true(add(LATE + 200 * PAGE, 100, TAPIR_UNWIND_NO_FILE));
	assert_true(has(LATE));
}

static void files_that_are_mapped_once_are_kept(void **state)
{
	(void)state;
	mappings.cnt = 0;
	for (uint32_t i = 0; i < MAX; i++)
		assert_true(add((4 * (uint64_t)i + 16) * PAGE, 1, i));
	assert_false(add(LATE, 1, MAX));
	assert_false(add(LATE, 1000, TAPIR_UNWIND_NO_FILE));
	assert_int_equal(mappings.cnt, MAX);
	tapir_vec__fini(&mappings);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(own_code_is_there_however_many_others_are),
		cmocka_unit_test(files_that_are_mapped_once_are_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
