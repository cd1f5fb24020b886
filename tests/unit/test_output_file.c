// SPDX-License-Identifier: GPL-2.0-or-later
/* How a command that wrote a file says how that ended. */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/diag.h"
#include "cli/output_file.h"

static void an_interruption_names_what_was_not_written(void **state)
{
	const struct tapir_output_file file = {.path = "out.html", .bytes = 100};
	int mark;

	(void)state;
	tapir_diag__clear();
	tapir_diag__add("before");
	mark = tapir_diag__cnt();
	tapir_diag__add("interrupted");
	tapir_output_file__report_end(&file, "", mark, -EINTR);
	assert_int_equal(tapir_diag__cnt(), 2);
	assert_string_equal(tapir_diag__line(0), "before");
	assert_string_equal(tapir_diag__line(1), "interrupted: out.html was not written");
}

static void other_failures_keep_their_line(void **state)
{
	const struct tapir_output_file file = {.path = "out.html"};

	(void)state;
	tapir_diag__clear();
	tapir_diag__add("cannot write out.html: ENOSPC");
	tapir_output_file__report_end(&file, "", 0, -ENOSPC);
	assert_int_equal(tapir_diag__cnt(), 1);
	assert_string_equal(tapir_diag__line(0), "cannot write out.html: ENOSPC");
}

static void standard_output_is_said_to_be_incomplete_once(void **state)
{
	struct tapir_output_file file = {};

	(void)state;
	tapir_diag__clear();
	tapir_output_file__report_end(&file, "", 0, -EIO); /* nothing was written */
	assert_int_equal(tapir_diag__cnt(), 0);
	file.bytes = 1;
	tapir_output_file__report_end(&file, "", 0, -EIO);
	assert_string_equal(tapir_diag__line(0), "the data on standard output is incomplete");
	file.is_unwritable = true; /* which a line says */
	tapir_output_file__report_end(&file, "", 1, -EIO);
	assert_int_equal(tapir_diag__cnt(), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_interruption_names_what_was_not_written),
		cmocka_unit_test(other_failures_keep_their_line),
		cmocka_unit_test(standard_output_is_said_to_be_incomplete_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
