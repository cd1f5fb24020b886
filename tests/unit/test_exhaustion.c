// SPDX-License-Identifier: GPL-2.0-or-later
/* What could not be allocated or opened is counted where it happens, by the functions that
 * everybody uses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <stdint.h>
#include <sys/resource.h>
#include <cmocka.h>

#include "base/file.h"
#include "base/exhaustion.h"
#include "base/str.h"
#include "cli/recorder.h"

static void failed_allocation_is_counted(void **state)
{
	struct tapir_exhaustions before = tapir_exhaustion__all();
	struct tapir_str text = {};

	(void)state;
	assert_false(tapir_str__reserve(&text, PTRDIFF_MAX / 4));
	assert_int_equal(tapir_exhaustion__all().memory_cnt, before.memory_cnt + 1);
	assert_int_equal(tapir_exhaustion__err(), -ENOMEM);
	tapir_str__fini(&text);
}

static void recording_is_no_success_when_an_allocation_failed(void **state)
{
	struct tapir_recorder recorder = {.plan.opts.program = (char *[]){"true", NULL}};
	struct tapir_recording_result result = {.program_ended = true};
	struct tapir_str text = {};

	(void)state;
	assert_int_equal(tapir_recorder__exit_status(&recorder, &result), 0);
	assert_false(tapir_str__reserve(&text, PTRDIFF_MAX / 4));
	assert_int_equal(tapir_recorder__exit_status(&recorder, &result), 1);
	result.program_status = 7 << 8; /* the program's own says more */
	assert_int_equal(tapir_recorder__exit_status(&recorder, &result), 7);
	tapir_str__fini(&text);
}

static void missing_descriptor_is_counted_and_errno_is_kept(void **state)
{
	struct tapir_exhaustions before = tapir_exhaustion__all();
	struct rlimit was, none = {};
	char *text = NULL;
	int err;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
	none.rlim_max = was.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	err = tapir_file__read("/proc/self/stat", 4096, &text, NULL);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
	assert_int_equal(err, -EMFILE);
	assert_int_equal(tapir_exhaustion__all().fd_cnt, before.fd_cnt + 1);
}

static void other_errors_are_not_counted(void **state)
{
	struct tapir_exhaustions before = tapir_exhaustion__all(), after;
	char *text = NULL;

	(void)state;
	assert_int_equal(tapir_file__read("/no/such/file", 4096, &text, NULL), -ENOENT);
	tapir_exhaustion__note(EIO);
	after = tapir_exhaustion__all();
	assert_memory_equal(&before, &after, sizeof(before));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(recording_is_no_success_when_an_allocation_failed),
		cmocka_unit_test(failed_allocation_is_counted),
		cmocka_unit_test(missing_descriptor_is_counted_and_errno_is_kept),
		cmocka_unit_test(other_errors_are_not_counted),
	};

	return cmocka_run_group_tests_name("shortage", tests, NULL, NULL);
}
