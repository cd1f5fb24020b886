// SPDX-License-Identifier: GPL-2.0-or-later
/* Kernel names one by one: those of /proc/kallsyms, and texts that are none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "attach/kernel_names.h"
#include "may_trace.h"
#include "symbol/kallsyms.h"

#define WANTED 300

static bool is_stable(const char *name)
{
	return !strncmp(name, "do_", 3) || !strncmp(name, "vfs_", 4) || !strncmp(name, "ksys_", 5);
}

static void functions_are_those_of_kallsyms(void **state)
{
	uint64_t start_va, size, seen_va, seen_size, last_va = 0;
	struct tapir_kernel_names *names = NULL;
	struct tapir_kallsyms *all = NULL;
	const char *name, *seen;
	int cnt = 0, same = 0;

	(void)state;
	if (!may_trace() || tapir_kallsyms__load("/proc/kallsyms", &all))
		skip();
	assert_int_equal(tapir_kernel_names__new(&names), 0);
	for (uint64_t va = 0xffffffff80000000; va < 0xffffffffc0000000 && cnt < WANTED; va += 64) {
		if (!tapir_kallsyms__find(all, va, &name, &start_va, &size) ||
		    start_va == last_va || !is_stable(name))
			continue;
		last_va = start_va;
		cnt++;
		assert_true(tapir_kernel_names__find(names, va, &seen, &seen_va, &seen_size));
		assert_int_equal(seen_va, start_va);
		assert_true(va < seen_va + seen_size);
		same += !strcmp(seen, name);
	}
	assert_true(cnt > 50);
	assert_int_equal(same, cnt);
	assert_false(tapir_kernel_names__find(names, 0, &seen, &seen_va, &seen_size));
	assert_false(tapir_kernel_names__find(names, UINT64_MAX, &seen, &seen_va, &seen_size));
	tapir_kernel_names__free(names);
	tapir_kernel_names__free(NULL);
	tapir_kallsyms__free(all);
}

static void text_is_cut_to_its_name(void **state)
{
	static const char *const texts[] = {"f.isra.0+0x10/0x30", "f.isra.0+0x10/0x30 [module]"};
	uint64_t start_va, size;
	char text[64];

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		strcpy(text, texts[i]);
		assert_true(tapir_kernel_names__parse(text, 0x1010, &start_va, &size));
		assert_string_equal(text, "f.isra.0");
		assert_int_equal(start_va, 0x1000);
		assert_int_equal(size, 0x30);
	}
}

static void other_texts_are_no_names(void **state)
{
	static const char *const texts[] = {
		"",	     "f",	    "0xffffffff81000000",
		"+0x1/0x2",  "f+0x",	    "f+0x1",
		"f+0x1/",    "f+0x1/0x2x",  "f+1/2",
		"f+0x1-0x2", "f+0x3/0x2",   "f+0x2000/0x3000",
		"f+0x1/2",   "f+0xzz/0xzz",
	};
	uint64_t start_va = 1, size = 2;
	char text[64];

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		strcpy(text, texts[i]);
		assert_false(tapir_kernel_names__parse(text, 0x1010, &start_va, &size));
		assert_string_equal(text, texts[i]);
	}
	assert_int_equal(start_va, 1);
	assert_int_equal(size, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_are_those_of_kallsyms),
		cmocka_unit_test(text_is_cut_to_its_name),
		cmocka_unit_test(other_texts_are_no_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
