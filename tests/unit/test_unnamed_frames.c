// SPDX-License-Identifier: GPL-2.0-or-later
/* Which names are none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "symbol/unnamed_frames.h"

static void frames_without_a_name_are_distinguished_from_others_by_their_form(void **state)
{
	static const char *const named[] = {
		"main",	  "operator+", "a+0x",	   "a+0xg", "+0x12", "std::plus+0x1(int)",
		"!fn_12", "a!fn_",     "a!fn_xyz", "0x",    "0xyz",  "",
		"a+12"};

	(void)state;
	for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++)
		assert_int_equal(tapir_unnamed_frame__module(named[i]).len, 0);
	assert_true(tapir_unnamed_frames__are_alike("libfoo.so+0x1", "libfoo.so+0xff"));
	assert_true(tapir_unnamed_frames__are_alike("0x7f0000001020", "0x1"));
	assert_true(tapir_unnamed_frames__are_alike("[jit]+0x1", "[jit]+0x2"));
	assert_false(tapir_unnamed_frames__are_alike("libfoo.so+0x1", "libbar.so+0x1"));
	assert_true(tapir_unnamed_frames__are_alike("libfoo.so!fn_5cd7f0", "libfoo.so!fn_10"));
	assert_true(tapir_unnamed_frames__are_alike("libfoo.so!fn_5cd7f0", "libfoo.so+0x10"));
	assert_false(tapir_unnamed_frames__are_alike("libfoo.so!fn_10", "libbar.so!fn_10"));
	assert_false(tapir_unnamed_frames__are_alike("main", "main"));
	assert_false(tapir_unnamed_frames__are_alike("libfoo.so+0x1", "main"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_without_a_name_are_distinguished_from_others_by_their_form),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
