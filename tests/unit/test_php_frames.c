// SPDX-License-Identifier: GPL-2.0-or-later
/* The functions of a made-up PHP 8.2: what is right, and what is not. */
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
	FUNCTION = MEMORY_VA + 0x1000,
	CLASS = MEMORY_VA + 0x2000,
	TEXT = MEMORY_VA + 0x3000, /* 0x800 each */
	FILE_OFF = 152,
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

static int setup(void **state)
{
	(void)state;
	memory = (struct fake_memory){.size = MEMORY_BYTES};
	assert_true(tapir_php__read(&php, GLOBALS, GLOBALS_BYTES,
				    (struct tapir_interp_loop){0x1000, 0x2000}));
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

	found = tapir_php__add_name(&source, FUNCTION, &name, &internal);
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
	const struct tapir_interp_loop loop = {0x1000, 0x2000};
	struct tapir_interp interp;

	(void)state;
	assert_false(tapir_php__read(&php, GLOBALS, GLOBALS_BYTES + 8, loop));
	assert_false(tapir_php__read(&php, 0, GLOBALS_BYTES, loop));
	assert_false(tapir_php__read(&php, GLOBALS, GLOBALS_BYTES, (struct tapir_interp_loop){}));
	tapir_php__interp(&php, &interp);
	assert_int_equal(interp.root, TAPIR_INTERP_VA);
	assert_int_equal(interp.root_va, GLOBALS + 0x1e8);
	assert_in_range(interp.previous, 0, TAPIR_INTERP_FRAME_BYTES - 8);
	assert_in_range(interp.code, 0, TAPIR_INTERP_FRAME_BYTES - 8);
	assert_in_range(interp.last, 0, TAPIR_INTERP_FRAME_BYTES - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(names_have_class_and_file, setup),
		cmocka_unit_test_setup(what_is_no_function_has_no_name, setup),
		cmocka_unit_test_setup(only_known_versions_are_walked, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
