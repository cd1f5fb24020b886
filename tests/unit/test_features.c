// SPDX-License-Identifier: GPL-2.0-or-later
/* Feature probes: what may be switched off is off; what root has here is witnessed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "attach/features.h"

static int teardown(void **state)
{
	(void)state;
	return unsetenv("TAPIR_DISABLE");
}

static void names_are_found_when_the_list_has_them(void **state)
{
	static const struct {
		const char *list;
		bool btf;
	} cases[] = {{"", false},     {"btf", true},	 {"a,btf", true},
		     {"btf,a", true}, {"a,btf,b", true}, {"btfs", false},
		     {"bt", false},   {",,btf,", true},	 {"b tf", false}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		setenv("TAPIR_DISABLE", cases[i].list, 1);
		assert_int_equal(tapir_feature__is_disabled("btf"), cases[i].btf);
	}
	unsetenv("TAPIR_DISABLE");
	assert_false(tapir_feature__is_disabled("btf"));
}

static void feature_is_missing_when_disabled(void **state)
{
	struct tapir_features with, without;

	(void)state;
	tapir_features__probe(&with);
	setenv("TAPIR_DISABLE", "btf,uprobe_multi", 1);
	tapir_features__probe(&without);
	for (int i = 0; i < TAPIR_FEATURE_CNT; i++) {
		bool off = i == TAPIR_FEATURE_BTF || i == TAPIR_FEATURE_UPROBE_MULTI;

		assert_int_equal(without.by_id[i].is_disabled, off);
		assert_int_equal(tapir_features__has(&without, i),
				 off ? false : tapir_features__has(&with, i));
	}
}

static void btf_is_there_when_sysfs_has_it(void **state)
{
	struct tapir_features f;

	(void)state;
	tapir_features__probe(&f);
	assert_int_equal(tapir_features__has(&f, TAPIR_FEATURE_BTF),
			 !access("/sys/kernel/btf/vmlinux", R_OK));
}

static void pid_filter_is_off_when_disabled(void **state)
{
	(void)state;
	setenv("TAPIR_DISABLE", "pid_filter", 1);
	assert_int_equal(tapir_features__test_pid_filter(), 0);
}

static void pid_filter_is_answered_when_links_work(void **state)
{
	struct tapir_features f;
	int result;

	(void)state;
	tapir_features__probe(&f);
	if (!tapir_features__has(&f, TAPIR_FEATURE_UPROBE_MULTI))
		skip();
	result = tapir_features__test_pid_filter();
	assert_in_range(result, 0, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(names_are_found_when_the_list_has_them, teardown),
		cmocka_unit_test_teardown(feature_is_missing_when_disabled, teardown),
		cmocka_unit_test_teardown(btf_is_there_when_sysfs_has_it, teardown),
		cmocka_unit_test_teardown(pid_filter_is_off_when_disabled, teardown),
		cmocka_unit_test_teardown(pid_filter_is_answered_when_links_work, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
