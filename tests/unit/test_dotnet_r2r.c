// SPDX-License-Identifier: GPL-2.0-or-later
/* Methods that were compiled into an assembly: of a small one (fake_r2r.h), and of broken ones.
 * Real ones: tests/e2e/case_dotnet.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>

#include "fake_r2r.h"
#include "symbol/dotnet_r2r.h"

static struct fake_r2r file;

static int load(size_t len, struct tapir_r2r **out)
{
	int fd = fake_r2r__file(&file, len), err;

	assert_true(fd >= 0);
	*out = NULL;
	err = tapir_r2r__load(fd, out);
	close(fd);
	return err;
}

static void assert_named(const struct tapir_r2r *r, uint64_t off, uint64_t start_off, uint32_t size,
			 const char *name)
{
	struct tapir_r2r_method method;
	struct tapir_str raw = {};

	assert_true(tapir_r2r__find(r, off, &method));
	assert_int_equal(method.start_off, start_off);
	assert_int_equal(method.size, size);
	tapir_r2r__put_name(r, method.row, &raw);
	tapir_str__addc(&raw, '\0');
	assert_string_equal(raw.data, name);
	tapir_str__fini(&raw);
}

static void code_has_the_name_of_its_method(void **state)
{
	struct tapir_r2r_method method;
	struct tapir_r2r *r;

	(void)state;
	fake_r2r__init(&file);
	assert_int_equal(load(sizeof(file.data), &r), 0);
	assert_named(r, 0x600, 0x600, 16, "[App] My.Space.Outer::Go(...)[PreJIT]");
	assert_named(r, 0x60f, 0x600, 16, "[App] My.Space.Outer::Go(...)[PreJIT]");
	assert_named(r, 0x64f, 0x620, 48, "[App] My.Space.Outer+Inner::Loop(...)[PreJIT]");
	assert_false(tapir_r2r__find(r, 0x5ff, &method));
	assert_false(tapir_r2r__find(r, 0x610, &method)); /* of nobody that we know */
	assert_false(tapir_r2r__find(r, 0x650, &method));
	tapir_r2r__free(r);
}

/* A block with one element is a leaf that says which. */
static void methods_without_code_are_left_out(void **state)
{
	static const uint8_t second_only[] = {0x10, 0x01, 0x08, 0x0a};
	struct tapir_r2r_method method;
	struct tapir_r2r *r;

	(void)state;
	fake_r2r__init(&file);
	memcpy(file.data + FAKE_R2R_METHODS, second_only, sizeof(second_only));
	assert_int_equal(load(sizeof(file.data), &r), 0);
	assert_false(tapir_r2r__find(r, 0x600, &method));
	assert_named(r, 0x620, 0x620, 48, "[App] My.Space.Outer+Inner::Loop(...)[PreJIT]");
	tapir_r2r__free(r);
}

static void what_is_no_such_assembly_is_refused(void **state)
{
	struct tapir_r2r *r;

	(void)state;
	fake_r2r__init(&file);
	memset(file.data + 0x280, 0, 4); /* without compiled code */
	assert_int_equal(load(sizeof(file.data), &r), -ENOEXEC);
	fake_r2r__init(&file);
	file.data[FAKE_R2R_MACHINE]++;
	assert_int_equal(load(sizeof(file.data), &r), -ENOEXEC);
	fake_r2r__init(&file);
	assert_int_equal(load(0, &r), -ENOEXEC);
	assert_int_equal(load(0x540, &r), -ENOEXEC);
}

static void broken_files_do_no_harm(void **state)
{
	struct tapir_r2r_method method;
	struct tapir_str name = {};
	struct tapir_r2r *r;

	(void)state;
	for (size_t at = 0; at < sizeof(file.data); at++)
		for (unsigned value = 0; value < 3; value++) {
			fake_r2r__init(&file);
			file.data[at] = (uint8_t[]){0xff, 0x7f, 0x01}[value];
			if (load(sizeof(file.data), &r))
				continue;
			if (tapir_r2r__find(r, 0x620, &method))
				tapir_r2r__put_name(r, method.row, &name);
			tapir_r2r__free(r);
		}
	for (size_t len = 0; len < sizeof(file.data); len++) {
		fake_r2r__init(&file);
		if (!load(len, &r))
			tapir_r2r__free(r);
	}
	tapir_str__fini(&name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(code_has_the_name_of_its_method),
		cmocka_unit_test(methods_without_code_are_left_out),
		cmocka_unit_test(what_is_no_such_assembly_is_refused),
		cmocka_unit_test(broken_files_do_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
