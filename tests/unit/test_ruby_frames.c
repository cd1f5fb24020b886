// SPDX-License-Identifier: GPL-2.0-or-later
/* The methods of a made-up Ruby 3.1 or 3.3: what is right, and what is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bpf/interp.h"
#include "fake_memory.h"
#include "runtime/ruby/ruby_frames.h"

enum {
	VERSION = MEMORY_VA,
	THREAD = MEMORY_VA + 0x40,
	SYMBOL = MEMORY_VA + 0x80,
	LOOKUP = MEMORY_VA + 0xc0,
	SYMBOLS =
		MEMORY_VA + 0x200, /* the table of symbols; its texts, of which there is a piece */
	TEXTS = MEMORY_VA + 0x240,
	PIECE = MEMORY_VA + 0x280,
	PIECE_TEXTS = MEMORY_VA + 0x1000,
	CODE = MEMORY_VA + 0x4000,
	BODY = MEMORY_VA + 0x4100,
	ENTRY = MEMORY_VA + 0x4300,
	DEFINITION = MEMORY_VA + 0x4400,
	CLASS = MEMORY_VA + 0x4500,
	CLASS_TABLE = MEMORY_VA + 0x4600,
	OF_CLASS = MEMORY_VA + 0x4700, /* its singleton class */
	OF_CLASS_TABLE = MEMORY_VA + 0x4800,
	PATHS = MEMORY_VA + 0x4900,
	SVAR = MEMORY_VA + 0x4a00,
	EVAL = MEMORY_VA + 0x4b00,
	TEXT = MEMORY_VA + 0x5000,

	INTERNAL = 0x1a,
	KIND_CODE = 7,
	KIND_METHOD = 6,
	KIND_SVAR = 2,
	SINGLETON = 0x1000,
	ON_HEAP = 1 << 13,
	CLASSPATH = 200, /* numbers of symbols */
	ATTACHED = 201,
	DRAW = 202
};

static struct fake_memory memory;
static struct tapir_ruby ruby;
static uint64_t next_text_va;

static void put(uint64_t va, uint64_t value)
{
	fake_memory__put(&memory, va, value);
}

/* A String that has its text elsewhere, or, as short ones do, in itself. */
static uint64_t add_text(const char *text)
{
	uint64_t va = next_text_va, len = strlen(text);
	bool is_short = len < 24;

	next_text_va += 0x80;
	put(va, 5 | (is_short ? len << 14 : ON_HEAP));
	put(va + 16, len);
	put(va + 24, va + 40);
	memcpy(memory.bytes + (va + (is_short ? 16 : 40) - MEMORY_VA), text, len);
	return va;
}

static void add_symbol(unsigned number, const char *text)
{
	put(PIECE_TEXTS + 16ull * number, add_text(text));
}

static void add_symbols(void)
{
	fake_memory__put32(&memory, SYMBOLS, 300);
	put(SYMBOLS + 16, TEXTS);
	put(TEXTS, 7 | ON_HEAP | 1 << 15); /* an Array with its one element in itself */
	put(TEXTS + 16, PIECE);
	put(PIECE, 7);
	put(PIECE + 16, 512);
	put(PIECE + 32, PIECE_TEXTS);
	add_symbol('+', "+");
	add_symbol(CLASSPATH, "__classpath__");
	add_symbol(ATTACHED, "__attached__");
	add_symbol(DRAW, "draw");
}

/* What belongs to a class: one value. */
static void add_class(uint64_t va, uint64_t flags, uint64_t table, unsigned name, uint64_t value)
{
	put(va, flags);
	put(va + 24, table); /* its more, in which the table is */
	put(table + 8, table + 16);
	put(table + 16 + 32, 1);
	put(table + 16 + 40, 2);
	put(table + 16 + 48, table + 0x60 - 24);
	put(table + 0x60 + 8, (uint64_t)name << 4);
	put(table + 0x60 + 16, value);
}

static void add_code(void)
{
	static const uint8_t thread[] = {0x48, 0x83, 0xec, 8, 0x66, 0x48, 0x8d, 0x3d,
					 0,    2,    0,	   0, 0x66, 0x66, 0x48, 0xe8},
			     symbol[] = {0x48, 0x89, 0xf8, 0xe9, 0x38, 0, 0, 0},
			     lookup[] = {0x55, 0x53, 0x39, 0x3d, 0x38, 1, 0, 0};

	memcpy(memory.bytes, "3.1.2", 6);
	memcpy(memory.bytes + (THREAD - MEMORY_VA), thread, sizeof(thread));
	memcpy(memory.bytes + (SYMBOL - MEMORY_VA), symbol, sizeof(symbol));
	memcpy(memory.bytes + (LOOKUP - MEMORY_VA), lookup, sizeof(lookup));
}

static bool read_ruby(void)
{
	static const uint64_t vas[TAPIR_RUBY_EXPORT_CNT] = {VERSION, 0x1000, THREAD, SYMBOL};
	const struct tapir_process_memory source = fake_memory__of(&memory);

	return tapir_ruby__read(&ruby, &source, vas);
}

/* Shop#draw, whose String of a label is its name. */
static int setup(void **state)
{
	(void)state;
	memory = (struct fake_memory){.size = MEMORY_BYTES};
	next_text_va = TEXT;
	add_code();
	assert_true(read_ruby());
	add_symbols();
	put(CODE, INTERNAL | KIND_CODE << 12);
	put(CODE + 16, BODY);
	put(BODY + 64, add_text("/srv/shop.rb"));
	put(BODY + 72, add_text("draw"));
	put(BODY + 80, add_text("draw"));
	put(BODY + 88, 12 << 1 | 1);
	put(BODY + 176, CODE);
	put(ENTRY, INTERNAL | KIND_METHOD << 12);
	put(ENTRY + 16, DEFINITION);
	put(ENTRY + 32, CLASS);
	put(DEFINITION, 0);
	put(DEFINITION + 8, CODE);
	put(DEFINITION + 32, (uint64_t)DRAW << 4);
	add_class(CLASS, 2, CLASS_TABLE, CLASSPATH, add_text("Shop"));
	add_class(OF_CLASS, 2 | SINGLETON, OF_CLASS_TABLE, ATTACHED, CLASS);
	return 0;
}

static void is_named(const char *expected, uint64_t va, uint64_t owner, bool is_internal)
{
	const struct tapir_process_memory source = fake_memory__of(&memory);
	const struct tapir_interp_frame frame = {
		.va = va, .owner = owner, .cookie = (va == CODE ? BODY : CODE) | 1};
	struct tapir_str name = {};
	bool internal = !is_internal, found;

	found = tapir_ruby__add_name(&ruby, &source, &frame, &name, &internal);
	fake_memory__is_named(found, &name, internal, expected, is_internal);
}

static void names_have_class_file_and_line(void **state)
{
	(void)state;
	is_named("rb::Shop#draw:/srv/shop.rb:12", CODE, ENTRY, false);
	put(BODY + 80, add_text("block (2 levels) in draw"));
	is_named("rb::block (2 levels) in Shop#draw:/srv/shop.rb:12", CODE, ENTRY, false);
	put(ENTRY + 32, OF_CLASS);
	is_named("rb::block (2 levels) in Shop.draw:/srv/shop.rb:12", CODE, ENTRY, false);
	put(SVAR, INTERNAL | KIND_SVAR << 12);
	put(SVAR + 8, ENTRY);
	is_named("rb::block (2 levels) in Shop.draw:/srv/shop.rb:12", CODE, SVAR, false);
	is_named("rb::block (2 levels) in draw:/srv/shop.rb:12", CODE, 0, false);
	put(PATHS,
	    7 | ON_HEAP | 2 << 15); /* a path as it was given, and as the file system has it */
	put(PATHS + 16, add_text("shop.rb"));
	put(PATHS + 24, add_text("/a/longer/path/srv/shop.rb"));
	put(BODY + 64, PATHS);
	put(BODY + 88, 1);
	is_named("rb::block (2 levels) in draw:/a/longer/path/srv/shop.rb", CODE, 0, false);
	put(PATHS + 24, 8); /* nil: eval has none */
	is_named("rb::block (2 levels) in draw:shop.rb", CODE, 0, false);
}

static void functions_of_c_have_the_names_of_their_definitions(void **state)
{
	(void)state;
	put(DEFINITION, 1);
	is_named("rb::Shop#draw:[internal]", DEFINITION, ENTRY, true);
	is_named(NULL, DEFINITION, SVAR, true);
	is_named(NULL, DEFINITION + 8, ENTRY, true);
	put(DEFINITION, 0); /* not C */
	is_named(NULL, DEFINITION, ENTRY, true);
	put(DEFINITION, 1);
	put(DEFINITION + 32, 301ull << 4); /* no symbol */
	is_named(NULL, DEFINITION, ENTRY, true);
}

static void class_of_other_code_is_not_named(void **state)
{
	(void)state;
	put(DEFINITION + 8, CODE + 8);
	is_named("rb::draw:/srv/shop.rb:12", CODE, ENTRY, false);
	put(DEFINITION + 8, CODE);
	put(ENTRY, INTERNAL | KIND_CODE << 12);
	is_named("rb::draw:/srv/shop.rb:12", CODE, ENTRY, false);
	put(ENTRY, INTERNAL | KIND_METHOD << 12);
	put(CLASS, 8); /* no class */
	is_named("rb::draw:/srv/shop.rb:12", CODE, ENTRY, false);
	put(CLASS, 2);
	put(CLASS_TABLE + 16 + 40, UINT64_MAX); /* ends nowhere */
	put(CLASS_TABLE + 0x60 + 8, (uint64_t)DRAW << 4);
	is_named("rb::draw:/srv/shop.rb:12", CODE, ENTRY, false);
}

/* Where a table of symbols is expected is something else: nothing is named by it. */
static void symbols_are_used_only_if_the_table_is_theirs(void **state)
{
	(void)state;
	add_symbol('+', "-");
	is_named("rb::draw:/srv/shop.rb:12", CODE, ENTRY, false);
	put(DEFINITION, 1);
	is_named(NULL, DEFINITION, ENTRY, true);
	add_symbol('+', "+");
	put(TEXTS, 7 | ON_HEAP); /* empty */
	is_named(NULL, DEFINITION, ENTRY, true);
}

static void what_is_no_method_has_no_name(void **state)
{
	uint64_t label;

	(void)state;
	put(BODY + 64, 0);
	is_named(NULL, CODE, ENTRY, false);
	put(BODY + 64, add_text("/srv/sh\nop.rb"));
	is_named(NULL, CODE, ENTRY, false);
	put(BODY + 64, add_text("/srv/shop.rb"));
	label = add_text("a label that is not in the String");
	put(BODY + 80, label);
	is_named("rb::a label that is not in the String:/srv/shop.rb:12", CODE, ENTRY, false);
	put(label + 16, UINT64_MAX);
	is_named(NULL, CODE, ENTRY, false);
	put(label + 16, 4);
	put(label + 24, 1); /* no address */
	is_named(NULL, CODE, ENTRY, false);
	put(BODY + 80, label + 1);
	is_named(NULL, CODE, ENTRY, false);
	put(BODY + 80, add_text("draw"));
	is_named("rb::draw:/srv/shop.rb:12", CODE, 0, false);
	put(CODE + 16, BODY + 0x80); /* not the one that was seen */
	is_named(NULL, CODE, ENTRY, false);
	put(CODE + 16, 0);
	is_named(NULL, CODE, ENTRY, false);
	memory.size = 0;
	is_named(NULL, CODE, ENTRY, true);
}

static void only_known_versions_are_walked(void **state)
{
	static const uint64_t no_loop[TAPIR_RUBY_EXPORT_CNT] = {VERSION, 0, THREAD, SYMBOL};
	const struct tapir_process_memory source = fake_memory__of(&memory);
	struct tapir_interp interp;

	(void)state;
	tapir_ruby__interp(&ruby, &interp);
	assert_int_equal(interp.root, TAPIR_INTERP_INDEX);
	assert_int_equal(interp.root_va, THREAD + 12 + 0x200);
	assert_int_equal(interp.previous, 64);
	assert_in_range(interp.code, 0, 32);
	assert_in_range(interp.last, 0, 32);
	assert_int_equal(ruby.symbols_va, SYMBOLS);
	assert_false(tapir_ruby__read(&ruby, &source, no_loop));
	memory.bytes[2] = '2';
	assert_false(read_ruby());
	memory.bytes[2] = '1';
	memory.bytes[3] = '1'; /* 3.11.2 */
	assert_false(read_ruby());
	memory.bytes[3] = '.';
	assert_true(read_ruby());
	memory.bytes[SYMBOL - MEMORY_VA + 3] = 0x90; /* other instructions */
	assert_true(read_ruby());
	assert_int_equal(ruby.symbols_va, 0);
	memory.bytes[THREAD - MEMORY_VA + 7] = 0x35;
	assert_false(read_ruby());
}

/* A String of 3.3 has its length in a word, also if it is in itself. */
static uint64_t add_wide_text(const char *text)
{
	uint64_t va = next_text_va, len = strlen(text);

	next_text_va += 0x80;
	put(va, 5);
	put(va + 16, len);
	memcpy(memory.bytes + (va + 24 - MEMORY_VA), text, len);
	return va;
}

/* Shop#draw of 3.3, whose loop is not exported: rb_iseq_eval ends with a jump to it. */
static void set_up_3_3(void)
{
	static const uint8_t eval[] = {0xe8, 0, 0, 0, 0, 0x41, 0x5f, 0xe9, 0xf4, 0x0f, 0, 0};
	static const uint64_t vas[TAPIR_RUBY_EXPORT_CNT] = {VERSION, 0, THREAD, SYMBOL, EVAL};
	const struct tapir_process_memory source = fake_memory__of(&memory);

	memcpy(memory.bytes, "3.3.8", 6);
	memcpy(memory.bytes + (EVAL - MEMORY_VA), eval, sizeof(eval));
	assert_true(tapir_ruby__read(&ruby, &source, vas));
	put(BODY + 64, add_wide_text("/srv/shop.rb"));
	put(BODY + 72, add_wide_text("draw"));
	put(BODY + 80, add_wide_text("block in draw"));
	put(BODY + 88, 77ull << 32 | 12); /* the number of a node, the line */
	put(BODY + 168, CODE);
	put(CLASS + 152, add_wide_text("Shop"));
	put(OF_CLASS + 128, CLASS);
}

static void names_of_3_3_have_class_file_and_line(void **state)
{
	struct tapir_interp interp;
	uint64_t name = add_wide_text("draw");

	(void)state;
	set_up_3_3();
	assert_int_equal(ruby.loop.va, EVAL + 0x1000);
	tapir_ruby__interp(&ruby, &interp);
	assert_int_equal(interp.previous, 56);
	is_named("rb::block in Shop#draw:/srv/shop.rb:12", CODE, ENTRY, false);
	put(ENTRY + 32, OF_CLASS);
	is_named("rb::block in Shop.draw:/srv/shop.rb:12", CODE, ENTRY, false);
	put(OF_CLASS + 128, 0);
	is_named("rb::block in draw:/srv/shop.rb:12", CODE, ENTRY, false);
	put(BODY + 88, 77ull << 32);
	put(BODY + 80, name);
	is_named("rb::draw:/srv/shop.rb", CODE, 0, false);
	put(PATHS, 7 | ON_HEAP | 2 << 15);
	put(PATHS + 16, add_wide_text("<internal:kernel>"));
	put(PATHS + 24, 4); /* nil */
	put(BODY + 64, PATHS);
	is_named("rb::draw:<internal:kernel>", CODE, 0, false);
	put(name + 16, 1ull << 40);
	is_named(NULL, CODE, 0, false);
}

static void version_without_a_loop_is_not_walked(void **state)
{
	static const uint64_t vas[TAPIR_RUBY_EXPORT_CNT] = {VERSION, 0, THREAD, SYMBOL, EVAL};
	const struct tapir_process_memory source = fake_memory__of(&memory);

	(void)state;
	set_up_3_3();
	memory.bytes[EVAL + 7 - MEMORY_VA] = 0xe8; /* a call */
	assert_false(tapir_ruby__read(&ruby, &source, vas));
	memory.bytes[EVAL + 7 - MEMORY_VA] = 0xe9;
	memory.size = EVAL + 16 - MEMORY_VA; /* its instructions cannot be read */
	assert_false(tapir_ruby__read(&ruby, &source, vas));
}

/* A Ruby that is a program, not a library. */
static void state_of_a_program_is_at_a_distance(void **state)
{
	static const uint8_t thread[] = {0x64, 0x48, 0x8b, 4, 0x25, 0x28, 0,	0,    0,
					 0x64, 0x48, 0x8b, 4, 0x25, 0xf8, 0xff, 0xff, 0xff};
	struct tapir_interp interp;

	(void)state;
	memcpy(memory.bytes + (THREAD - MEMORY_VA), thread, sizeof(thread));
	assert_true(read_ruby());
	tapir_ruby__interp(&ruby, &interp);
	assert_int_equal(interp.root, TAPIR_INTERP_TLS);
	assert_int_equal(interp.root_va, (uint64_t)-8);
	memory.bytes[THREAD - MEMORY_VA + 17] = 0; /* both are canaries */
	assert_false(read_ruby());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(names_have_class_file_and_line, setup),
		cmocka_unit_test_setup(functions_of_c_have_the_names_of_their_definitions, setup),
		cmocka_unit_test_setup(class_of_other_code_is_not_named, setup),
		cmocka_unit_test_setup(symbols_are_used_only_if_the_table_is_theirs, setup),
		cmocka_unit_test_setup(what_is_no_method_has_no_name, setup),
		cmocka_unit_test_setup(only_known_versions_are_walked, setup),
		cmocka_unit_test_setup(names_of_3_3_have_class_file_and_line, setup),
		cmocka_unit_test_setup(version_without_a_loop_is_not_walked, setup),
		cmocka_unit_test_setup(state_of_a_program_is_at_a_distance, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
