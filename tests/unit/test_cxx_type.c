// SPDX-License-Identifier: GPL-2.0-or-later
/* Names of C++ types, as std::type_info has them and as people write them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "decode/cxx_type.h"

static void assert_shown(struct tapir_sv mangled, const char *shown)
{
	struct tapir_sv name = tapir_cxx_type__name(mangled);

	assert_int_equal(name.len, strlen(shown));
	assert_memory_equal(name.data, shown, name.len);
}

static void types_are_shown_as_people_write_them(void **state)
{
	static const char *const types[][2] = {
		{"St13runtime_error", "std::runtime_error"},
		{"N4shop8sold_outE", "shop::sold_out"},
		{"*N12_GLOBAL__N_16hiddenE", "(anonymous namespace)::hidden"},
		{"i", "int"},
		{"PKc", "char const*"},
	};

	(void)state;
	for (unsigned round = 0; round < 2; round++)
		for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
			assert_shown(tapir_sv__of(types[i][0]), types[i][1]);
}

static void what_is_no_type_is_left_as_it_is(void **state)
{
	static const char *const others[] = {"", "\x1b[31m", "N4shop", "7short", "_Z1fv"};
	static char endless[5000];

	(void)state;
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		assert_shown(tapir_sv__of(others[i]), others[i]);
	memset(endless, 'P', sizeof(endless) - 1);
	assert_shown(tapir_sv__of(endless), endless);
}

static void text_does_not_end_with_a_nul(void **state)
{
	(void)state;
	assert_shown((struct tapir_sv){"9exceptionGARBAGE", 10}, "exception");
}

/* Beyond the limit, names are shown as they are, and are not kept. */
static void endless_new_names_take_only_so_much_memory(void **state)
{
	char name[32], shown[32];

	(void)state;
	for (unsigned i = 0; i < 70000; i++) {
		snprintf(name, sizeof(name), "7t%06u", i);
		assert_true(tapir_cxx_type__name(tapir_sv__of(name)).len >= 7);
	}
	snprintf(shown, sizeof(shown), "t%06u", 5u);
	assert_shown(tapir_sv__of("7t000005"), shown);
	assert_shown(tapir_sv__of("7t069999"), "7t069999");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(types_are_shown_as_people_write_them),
		cmocka_unit_test(what_is_no_type_is_left_as_it_is),
		cmocka_unit_test(text_does_not_end_with_a_nul),
		cmocka_unit_test(endless_new_names_take_only_so_much_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
