// SPDX-License-Identifier: GPL-2.0-or-later
/* Kernel names: found by address, refused where the kernel hides them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbol/kallsyms.h"

static int load(const char *text, struct tapir_kallsyms **out)
{
	int fd = memfd_create("kallsyms", MFD_CLOEXEC), err;
	char path[64];

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	err = tapir_kallsyms__load(path, out);
	close(fd);
	return err;
}

static void function_is_found_by_any_address_in_it(void **state)
{
	struct tapir_kallsyms *k;
	const char *name;
	uint64_t start_va, size;

	(void)state;
	/* unsorted; data; a module's; one without an end */
	assert_int_equal(load("ffffffff81000200 T second\n"
			      "ffffffff81000100 t first\n"
			      "ffffffff81000180 D data\n"
			      "ffffffffc0000000 t in_module\t[mod]\n",
			      &k),
			 0);
	assert_true(tapir_kallsyms__find(k, 0xffffffff810001ff, &name, &start_va, &size));
	assert_string_equal(name, "first");
	assert_int_equal(start_va, 0xffffffff81000100);
	assert_int_equal(size, 0x100);
	assert_true(tapir_kallsyms__find(k, 0xffffffff81000200, &name, &start_va, &size));
	assert_string_equal(name, "second");
	assert_true(tapir_kallsyms__find(k, 0xffffffffc0000010, &name, &start_va, &size));
	assert_string_equal(name, "in_module");
	assert_false(tapir_kallsyms__find(k, 0xffffffffc0100000, &name, &start_va, &size));
	assert_false(tapir_kallsyms__find(k, 0xffffffff810000ff, &name, &start_va, &size));
	tapir_kallsyms__free(k);
}

/* As the kernel prints it (%pS): the same function has one name, whoever was asked. */
static void first_of_several_names_is_taken(void **state)
{
	struct tapir_kallsyms *k;
	const char *name;
	uint64_t start_va, size;

	(void)state;
	assert_int_equal(load("ffffffff81000200 T last\n"
			      "ffffffff81000100 T one\n"
			      "ffffffff81000100 t two\n"
			      "ffffffff81000100 W three\n",
			      &k),
			 0);
	assert_true(tapir_kallsyms__find(k, 0xffffffff81000110, &name, &start_va, &size));
	assert_string_equal(name, "one");
	assert_int_equal(start_va, 0xffffffff81000100);
	assert_int_equal(size, 0x100);
	tapir_kallsyms__free(k);
}

static void refusal_is_distinguished_from_nothing(void **state)
{
	struct tapir_kallsyms *k;

	(void)state;
	assert_int_equal(load("0000000000000000 T hidden\n0000000000000000 t too\n", &k), -EACCES);
	assert_int_equal(load("", &k), -ENOENT);
	assert_int_equal(tapir_kallsyms__load("/no/such/file", &k), -ENOENT);
}

static void bad_lines_are_passed_over(void **state)
{
	struct tapir_kallsyms *k;
	const char *name;
	uint64_t start_va, size;

	(void)state;
	assert_int_equal(load("what\n\nzzzz T x\nffffffff81000000\nffffffff81000000 T good\n", &k),
			 0);
	assert_true(tapir_kallsyms__find(k, 0xffffffff81000001, &name, &start_va, &size));
	assert_string_equal(name, "good");
	tapir_kallsyms__free(k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(function_is_found_by_any_address_in_it),
		cmocka_unit_test(first_of_several_names_is_taken),
		cmocka_unit_test(refusal_is_distinguished_from_nothing),
		cmocka_unit_test(bad_lines_are_passed_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
