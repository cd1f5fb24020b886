// SPDX-License-Identifier: GPL-2.0-or-later
/* The functions of a made-up PHP 8.2 or 8.4: what is right, and what is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bpf/interp.h"
#include "fake_memory.h"
#include "runtime/php/php_frames.h"

enum {
	GLOBALS = MEMORY_VA,
	GLOBALS_BYTES = 0x708,
	GLOBALS_BYTES_8_4 = 0x7c0,
	LOOP = 0x1000,
	LOOP_BYTES = 0x1000,
	VERSION = MEMORY_VA + 0x800, /* the function; the text follows */
	VERSION_TEXT = VERSION + 0x80,
	FUNCTION = MEMORY_VA + 0x1000,
	CLASS = MEMORY_VA + 0x2000,
	TEXT = MEMORY_VA + 0x3000, /* 0x800 each */
	FILE_OFF = 152,
	FILE_OFF_8_4 = 168,
};

static struct fake_memory memory;
static struct tapir_php php;

static uint64_t add_text(unsigned idx, const char *text)
{
	uint64_t va = TEXT + 0x800ull * idx;

	fake_memory__put(&memory, va + 16, strlen(text));
	memcpy(memory.bytes + (va + 24 - MEMORY_VA), text, strlen(text));
	return va;
}

static void set_type(uint8_t type)
{
	memory.bytes[FUNCTION - MEMORY_VA] = type;
}

static bool read_as(uint64_t globals_va, uint64_t globals_bytes, uint64_t loop_va,
		    uint64_t version_va)
{
	const struct tapir_process_memory source = fake_memory__of(&memory);
	const uint64_t vas[] = {globals_va, loop_va, version_va},
		       bytes[] = {globals_bytes, LOOP_BYTES, 12};

	return tapir_php__read(&php, &source, vas, bytes);
}

/* endbr64; lea text(%rip),%rax; ret */
static void add_version(const char *text)
{
	static const uint8_t code[] = {0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x8d,
				       0x05, 0x75, 0,	 0,    0,    0xc3};

	memcpy(memory.bytes + (VERSION - MEMORY_VA), code, sizeof(code));
	memcpy(memory.bytes + (VERSION_TEXT - MEMORY_VA), text, strlen(text) + 1);
}

static int setup(void **state)
{
	(void)state;
	memory = (struct fake_memory){.size = MEMORY_BYTES};
	assert_true(read_as(GLOBALS, GLOBALS_BYTES, LOOP, 0));
	set_type(2);
	fake_memory__put(&memory, FUNCTION + 8, add_text(0, "draw"));
	fake_memory__put(&memory, FUNCTION + 16, CLASS);
	fake_memory__put(&memory, CLASS + 8, add_text(1, "Shop"));
	fake_memory__put(&memory, FUNCTION + FILE_OFF, add_text(2, "/srv/shop.php"));
	return 0;
}

static void is_named(const char *expected, bool is_internal)
{
	const struct tapir_process_memory source = fake_memory__of(&memory);
	struct tapir_str name = {};
	bool internal = !is_internal, found;

	found = tapir_php__add_name(&php, &source, FUNCTION, &name, &internal);
	fake_memory__is_named(found, &name, internal, expected, is_internal);
}

static void names_have_class_and_file(void **state)
{
	(void)state;
	is_named("php::Shop::draw:/srv/shop.php", false);
	fake_memory__put(&memory, FUNCTION + 16, 0);
	is_named("php::draw:/srv/shop.php", false);
	fake_memory__put(&memory, FUNCTION + 8, 0);
	is_named("php::{main}:/srv/shop.php", false);
	fake_memory__put(&memory, FUNCTION + 8, add_text(0, "usort"));
	set_type(1);
	is_named("php::usort:[internal]", true);
}

static void what_is_no_function_has_no_name(void **state)
{
	(void)state;
	set_type(3);
	is_named(NULL, false);
	set_type(2);
	fake_memory__put(&memory, TEXT + 16, 0); /* an empty name */
	is_named(NULL, false);
	fake_memory__put(&memory, TEXT + 16, UINT64_MAX);
	is_named(NULL, false);
	add_text(0, "dr\naw");
	is_named(NULL, false);
	add_text(0, "draw");
	fake_memory__put(&memory, CLASS + 8, 1); /* no address */
	is_named(NULL, false);
	fake_memory__put(&memory, FUNCTION + 16, 0);
	fake_memory__put(&memory, FUNCTION + FILE_OFF, 0);
	is_named(NULL, false);
	memory.size = 0;
	is_named(NULL, false);
}

static void only_known_versions_are_walked(void **state)
{
	struct tapir_interp interp;

	(void)state;
	assert_int_equal(php.loop.end_va, LOOP + LOOP_BYTES);
	assert_false(read_as(GLOBALS, GLOBALS_BYTES + 8, LOOP, 0));
	assert_false(read_as(0, GLOBALS_BYTES, LOOP, 0));
	assert_false(read_as(GLOBALS, GLOBALS_BYTES, 0, 0));
	tapir_php__interp(&php, &interp);
	assert_int_equal(interp.root, TAPIR_INTERP_VA);
	assert_int_equal(interp.root_va, GLOBALS + 0x1e8);
	assert_in_range(interp.previous, 0, TAPIR_INTERP_FRAME_BYTES - 8);
	assert_in_range(interp.code, 0, TAPIR_INTERP_FRAME_BYTES - 8);
	assert_in_range(interp.last, 0, TAPIR_INTERP_FRAME_BYTES - 1);
}

/* From 8.3 on a function returns the version. */
static void version_is_what_its_function_returns(void **state)
{
	(void)state;
	assert_false(read_as(GLOBALS, GLOBALS_BYTES_8_4, LOOP, 0));
	assert_false(read_as(GLOBALS, GLOBALS_BYTES_8_4, LOOP, VERSION)); /* no instructions */
	add_version("8.3.9");
	assert_false(read_as(GLOBALS, GLOBALS_BYTES_8_4, LOOP, VERSION));
	assert_false(read_as(GLOBALS, GLOBALS_BYTES, LOOP, VERSION));
	add_version("8.4.27");
	assert_true(read_as(GLOBALS, GLOBALS_BYTES_8_4, LOOP, VERSION));
	is_named(NULL, false);
	fake_memory__put(&memory, FUNCTION + FILE_OFF_8_4, add_text(2, "/srv/shop.php"));
	is_named("php::Shop::draw:/srv/shop.php", false);
	memory.bytes[VERSION + 11 - MEMORY_VA] = 0xe9; /* it continues elsewhere */
	assert_false(read_as(GLOBALS, GLOBALS_BYTES_8_4, LOOP, VERSION));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(names_have_class_and_file, setup),
		cmocka_unit_test_setup(what_is_no_function_has_no_name, setup),
		cmocka_unit_test_setup(only_known_versions_are_walked, setup),
		cmocka_unit_test_setup(version_is_what_its_function_returns, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
