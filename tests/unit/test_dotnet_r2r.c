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

#define PUT "::Put(class My.Space.Outer/Inner,uint8&)[PreJIT]"

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
	tapir_r2r__put_name(r, &method, &raw);
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
	assert_named(r, 0x600, 0x600, 16, "instance bool [App] My.Space.Outer::Go(int32)[PreJIT]");
	assert_named(r, 0x60f, 0x600, 16, "instance bool [App] My.Space.Outer::Go(int32)[PreJIT]");
	assert_named(r, 0x64f, 0x620, 72, "[App] My.Space.Outer+Inner::Loop(...)[PreJIT]");
	assert_named(r, 0x667, 0x620, 72, "[App] My.Space.Outer+Inner::Loop(...)[PreJIT]");
	assert_named(r, 0x68f, 0x680, 16, "!0 [App] My.Space.Box`1[System.Int32]" PUT);
	assert_false(tapir_r2r__find(r, 0x5ff, &method));
	assert_false(tapir_r2r__find(r, 0x610, &method)); /* of nobody that we know */
	assert_false(tapir_r2r__find(r, 0x668, &method));
	assert_false(tapir_r2r__find(r, 0x690, &method));
	tapir_r2r__free(r);
}

/* NULL: the code at 0x680 has no name, and 0x660 is still the method's before it or of none. */
static void assert_instance_is(const uint8_t *sig, size_t len, const char *name, bool is_read)
{
	struct tapir_r2r_method method;
	struct tapir_r2r *r;

	fake_r2r__init(&file);
	memset(file.data + FAKE_R2R_SIG, 0, 0x18);
	memcpy(file.data + FAKE_R2R_SIG, sig, len);
	file.data[FAKE_R2R_SIG + len] = 0x0c;
	assert_int_equal(load(sizeof(file.data), &r), 0);
	assert_int_equal(tapir_r2r__find(r, 0x680, &method), name != NULL);
	if (name)
		assert_named(r, 0x680, 0x680, 16, name);
	assert_int_equal(tapir_r2r__find(r, 0x660, &method), is_read);
	tapir_r2r__free(r);
}

#define SIG(...) (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})
#define BOX(...) SIG(0x40, 0x15, 0x12, 0x10, __VA_ARGS__, 3)

static void arguments_of_types_are_reported(void **state)
{
	(void)state;
	assert_instance_is(BOX(1, 0x3e), "!0 [App] My.Space.Box`1[System.__Canon]" PUT, true);
	assert_instance_is(BOX(2, 0x1d, 0x0f, 0x05, 0x14, 0x08, 2, 0, 0),
			   "!0 [App] My.Space.Box`1[System.Byte*[],System.Int32[,]]" PUT, true);
	assert_instance_is(BOX(1, 0x15, 0x11, 0x0c, 2, 0x13, 0, 0x1e, 1),
			   "!0 [App] My.Space.Box`1[My.Space.Outer+Inner[!0,!!1]]" PUT, true);
	assert_instance_is(BOX(1, 0x3f, 7, 0x12, 0x21), "!0 [App] My.Space.Box`1[?]" PUT, true);
	assert_instance_is(BOX(1, 0x1b, 0, 1, 0x01, 0x08), "!0 [App] My.Space.Box`1[method]" PUT,
			   true);
	assert_instance_is(SIG(0x04, 1, 1, 0x0e),
			   "instance bool [App] My.Space.Outer::Go(int32)[PreJIT]", true);
	assert_instance_is(SIG(0x20, 1, 0x0e),
			   "instance bool [App] My.Space.Outer::Go(int32)[PreJIT]", true);
}

/* Another file's method, a slot, and what is no signature. */
static void instances_of_others_have_no_name(void **state)
{
	(void)state;
	assert_instance_is(SIG(0x40, 0x15, 0x12, 0x11, 1, 0x08, 3), NULL, true);
	assert_instance_is(SIG(0x80, 0x80, 5, 3), NULL, true); /* flags of two bytes: 0x80 */
	assert_instance_is(SIG(0x08, 3), NULL, true);
	assert_instance_is(SIG(0x40, 0x7f), NULL, false);
	assert_instance_is(SIG(0x04, 0xff), NULL, false);
	assert_instance_is(SIG(0x40, 0x1d, 0x1d, 0x1d, 0x1d, 0x1d, 0x1d, 0x1d, 0x1d, 0x1d, 0x1d,
			       0x1d, 0x1d, 0x1d, 0x1d, 0x1d, 0x1d, 0x1d, 0x08),
			   NULL, false);
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
	assert_named(r, 0x620, 0x620, 72, "[App] My.Space.Outer+Inner::Loop(...)[PreJIT]");
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
			for (uint64_t off = 0x600; off < 0x700; off += 0x20)
				if (tapir_r2r__find(r, off, &method))
					tapir_r2r__put_name(r, &method, &name);
			tapir_str__clear(&name);
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
		cmocka_unit_test(arguments_of_types_are_reported),
		cmocka_unit_test(instances_of_others_have_no_name),
		cmocka_unit_test(methods_without_code_are_left_out),
		cmocka_unit_test(what_is_no_such_assembly_is_refused),
		cmocka_unit_test(broken_files_do_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
