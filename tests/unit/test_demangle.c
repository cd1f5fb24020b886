// SPDX-License-Identifier: GPL-2.0-or-later
/* Demangling: the names people wrote, and names that were made to hurt. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "elf/demangle.h"

static void check(const char *mangled, const char *want)
{
	char *got = tapir_demangle(mangled);

	if (!got != !want || (got && strcmp(got, want) != 0))
		fail_msg("%s: %s instead of %s", mangled, got ? got : "nothing",
			 want ? want : "nothing");
	free(got);
}

static void name_is_plain_when_it_was_mangled(void **state)
{
	(void)state;
	check("_Z3foov", "foo");
	check("_ZN10JavaThread3runEv", "JavaThread::run");
	check("_ZNSt6vectorIiSaIiEE9push_backERKi",
	      "std::vector<int, std::allocator<int> >::push_back");
	check("_ZN3foo3bar17h05af221e174051e9E", "foo::bar");
	check("_RNvC6_123foo3bar", "123foo::bar");
	check("_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar");
}

static void nothing_is_returned_when_it_was_not_mangled(void **state)
{
	(void)state;
	check("", NULL);
	check("_", NULL);
	check("_Z", NULL);
	check("_R", NULL);
	check("_ZN", NULL);
	check("main", NULL);
	check("_start", NULL);
	check("Z3foov", NULL);
	check("_Z99foov", NULL);
	/* libiberty hands out an empty piece at NULL here (found by libFuzzer). */
	check("_RYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYOC0", NULL);
}

/* Binders in a part that is not printed (the first found by libFuzzer). */
static void nothing_is_returned_when_there_are_too_many_lifetimes(void **state)
{
	(void)state;
	check("_RXYFGYFGFs_Fcs_B", NULL);
	check("_RXYFGYFGFs_Fcs_A", NULL);
	check("_RMFGzzzzzzz_EuC1aC1b", NULL);
	check("_RMC1aFGzzzzzzz_Eu", NULL);
	check("_RNvMC1aFG_Eu3foo", "<for<'a> fn()>::foo");
	check("_RNvMINtC1a1bFGz_EuEC1c3foo", "<c>::foo"); /* 37 of them */
	check("_RNvC1a3foo_RNvMC1aFGzzzzzzz_Eu3foo", NULL);
}

/* f<A<X,X>> with X = A<Y,Y> and so on: each level doubles the text. */
static void nothing_is_returned_when_the_plain_name_would_be_endless(void **state)
{
	struct tapir_str name = {};

	(void)state;
	tapir_str__adds(&name, "_Z1fI1AIiiE");
	for (int i = 0; i < 36; i++)
		tapir_str__addf(&name, "S0_IS%c_S%c_E", "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i],
				"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i]);
	tapir_str__adds(&name, "Evv");
	assert_false(name.failed);
	check(name.data, NULL);
	tapir_str__fini(&name);
}

static void nothing_is_returned_when_the_name_is_long_or_deep(void **state)
{
	static const char *const pieces[] = {"P", "N1a", "1aI", "F", "M", "_Z"};
	char *name = malloc(20000);

	(void)state;
	assert_non_null(name);
	for (size_t i = 0; i < sizeof(pieces) / sizeof(*pieces); i++)
		for (size_t len = 500; len < 20000; len += 900) {
			strcpy(name, "_Z1f");
			for (size_t at = 4; at + 4 < len; at += strlen(pieces[i]))
				strcpy(name + at, pieces[i]);
			free(tapir_demangle(name));
		}
	free(name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(name_is_plain_when_it_was_mangled),
		cmocka_unit_test(nothing_is_returned_when_it_was_not_mangled),
		cmocka_unit_test(nothing_is_returned_when_there_are_too_many_lifetimes),
		cmocka_unit_test(nothing_is_returned_when_the_plain_name_would_be_endless),
		cmocka_unit_test(nothing_is_returned_when_the_name_is_long_or_deep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
