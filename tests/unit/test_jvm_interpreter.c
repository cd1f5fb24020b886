// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The methods and the code heaps of a made-up HotSpot: a description and structures that are right,
 * and what is not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bpf/interp_logic.bpf.h"
#include "fake_memory.h"
#include "runtime/jvm/jvm_interpreter.h"

enum {
	EXPORTS = MEMORY_VA, /* one word each */
	STRUCTS = MEMORY_VA + 0x100,
	TYPES = MEMORY_VA + 0x800,
	TEXTS = MEMORY_VA + 0x1000,
	CODE = MEMORY_VA + 0x3000, /* AbstractInterpreter::_code */
	QUEUE = MEMORY_VA + 0x3100,
	METHOD = MEMORY_VA + 0x4000,
	CONST_METHOD = MEMORY_VA + 0x4100,
	POOL = MEMORY_VA + 0x4200,
	CLASS = MEMORY_VA + 0x4400,
	CLASS_NAME = MEMORY_VA + 0x4500,
	NAME = MEMORY_VA + 0x4600,
	SIGNATURE = MEMORY_VA + 0x4700,
	STRUCT_BYTES = 48,
	TYPE_BYTES = 40,
	HEAPS = MEMORY_VA + 0x4800, /* CodeCache::_heaps, the list, its elements */
	HEAP_LIST = HEAPS + 0x10,
	HEAP_ELEMENTS = HEAPS + 0x40,
	HEAP = HEAPS + 0x80, /* the first; 0x80 each */
	HEAP_VA = 0x7f0000000000,
	HEAP_BYTES = 0x100000,
	SEGMENTS_VA = 0x7f0010000000,
	CODE_VA = 0x7f0000001000,
	CODE_BYTES = 0x2000,
};

static struct fake_memory memory;
static uint64_t texts_end, structs_end, types_end;
static uint64_t vas[TAPIR_JVM_EXPORT_CNT];

static void put(uint64_t va, uint64_t value)
{
	fake_memory__put(&memory, va, value);
}

static uint64_t add_text(const char *text)
{
	uint64_t va = texts_end;

	memcpy(memory.bytes + (va - MEMORY_VA), text, strlen(text) + 1);
	texts_end += strlen(text) + 1;
	return va;
}

static void add_field(const char *type, const char *field, uint64_t off, uint64_t address)
{
	put(structs_end, add_text(type));
	put(structs_end + 8, add_text(field));
	put(structs_end + 32, off);
	put(structs_end + 40, address);
	structs_end += STRUCT_BYTES;
}

static void add_type(const char *type, uint64_t bytes)
{
	put(types_end, add_text(type));
	put(types_end + 32, bytes);
	types_end += TYPE_BYTES;
}

static void add_symbol(uint64_t va, const char *text)
{
	fake_memory__put32(&memory, va, (uint32_t)strlen(text) << 16); /* a u16 at 2 */
	memcpy(memory.bytes + (va + 6 - MEMORY_VA), text, strlen(text));
}

static void describe(void)
{
	add_field("Klass", "_next", 8, 0);
	add_field("Klass", "_name", 24, 0);
	add_field("AbstractInterpreter", "_code", 0, CODE);
	add_field("StubQueue", "_stub_buffer", 8, 0);
	add_field("StubQueue", "_buffer_limit", 20, 0);
	add_field("Method", "_constMethod", 8, 0);
	add_field("ConstMethod", "_constants", 16, 0);
	add_field("ConstMethod", "_name_index", 34, 0);
	add_field("ConstMethod", "_signature_index", 36, 0);
	add_field("ConstantPool", "_pool_holder", 24, 0);
	add_field("Symbol", "_length", 2, 0);
	add_field("Symbol", "_body", 6, 0);
	add_type("Klass", 200);
	add_type("Method", 88);
	add_type("ConstantPool", 72);
	add_field("CodeCache", "_heaps", 0, HEAPS);
	add_field("GrowableArrayBase", "_len", 0, 0);
	add_field("GrowableArray<int>", "_data", 8, 0);
	add_field("CodeHeap", "_memory", 8, 0);
	add_field("CodeHeap", "_segmap", 48, 0);
	add_field("CodeHeap", "_log2_segment_size", 96, 0);
	add_field("VirtualSpace", "_low", 8, 0);
	add_field("VirtualSpace", "_high_boundary", 16, 0);
	add_field("CodeBlob", "_frame_size", 28, 0);
	add_type("HeapBlock", 16);
	add_field("Symbol", "_hash_and_refcount", 0, 0);
}

static uint64_t heap_va(unsigned at)
{
	return HEAP + 0x80ull * at;
}

static void add_heaps(unsigned cnt)
{
	put(HEAPS, HEAP_LIST);
	fake_memory__put32(&memory, HEAP_LIST, cnt);
	put(HEAP_LIST + 8, HEAP_ELEMENTS);
	for (unsigned i = 0; i < cnt && i < 5; i++) {
		put(HEAP_ELEMENTS + 8 * i, heap_va(i));
		put(heap_va(i) + 8 + 8, HEAP_VA + HEAP_BYTES * i);
		put(heap_va(i) + 8 + 16, HEAP_VA + HEAP_BYTES * (i + 1ull));
		put(heap_va(i) + 48 + 8, SEGMENTS_VA + 0x10000ull * i);
		fake_memory__put32(&memory, heap_va(i) + 96, 7);
	}
}

static void export(enum tapir_jvm_export which, uint64_t value)
{
	vas[which] = EXPORTS + 8ull * which;
	put(vas[which], value);
}

static int set_up(void **state)
{
	memset(&memory, 0, sizeof(memory));
	memory.size = MEMORY_BYTES;
	texts_end = TEXTS;
	structs_end = STRUCTS;
	types_end = TYPES;
	describe();
	export(TAPIR_JVM_EXPORT_STRUCTS, STRUCTS);
	export(TAPIR_JVM_EXPORT_STRUCT_TYPE_NAME, 0);
	export(TAPIR_JVM_EXPORT_STRUCT_FIELD_NAME, 8);
	export(TAPIR_JVM_EXPORT_STRUCT_OFFSET, 32);
	export(TAPIR_JVM_EXPORT_STRUCT_ADDRESS, 40);
	export(TAPIR_JVM_EXPORT_STRUCT_STRIDE, STRUCT_BYTES);
	export(TAPIR_JVM_EXPORT_TYPES, TYPES);
	export(TAPIR_JVM_EXPORT_TYPE_NAME, 0);
	export(TAPIR_JVM_EXPORT_TYPE_SIZE, 32);
	export(TAPIR_JVM_EXPORT_TYPE_STRIDE, TYPE_BYTES);
	put(CODE, QUEUE);
	put(QUEUE + 8, CODE_VA);
	fake_memory__put32(&memory, QUEUE + 20, CODE_BYTES);
	put(METHOD + 8, CONST_METHOD);
	put(CONST_METHOD + 16, POOL);
	fake_memory__put32(&memory, CONST_METHOD + 32, 3u << 16); /* the name: 3 */
	fake_memory__put32(&memory, CONST_METHOD + 36, 5);
	put(POOL + 24, CLASS);
	put(POOL + 72 + 3 * 8, NAME);
	put(POOL + 72 + 5 * 8, SIGNATURE);
	put(CLASS + 24, CLASS_NAME);
	add_symbol(CLASS_NAME, "shop/Till");
	add_symbol(NAME, "pay");
	add_symbol(SIGNATURE, "(ILjava/lang/String;)V");
	(void)state;
	return 0;
}

static bool reads(struct tapir_jvm_interpreter *i)
{
	struct tapir_process_memory source = fake_memory__of(&memory);

	return tapir_jvm_interpreter__read(i, &source, vas);
}

/* "": it has none, although the layout is known. */
static void assert_name(uint64_t method_va, const char *expected)
{
	struct tapir_process_memory source = fake_memory__of(&memory);
	struct tapir_jvm_interpreter i;
	struct tapir_str name = {};

	assert_true(reads(&i));
	assert_int_equal(tapir_jvm_interpreter__add_name(&i, &source, method_va, &name),
			 *expected != 0);
	assert_string_equal(name.data ? name.data : "", expected);
	tapir_str__fini(&name);
}

static void method_has_the_name_of_compiled_ones(void **state)
{
	(void)state;
	assert_name(METHOD, "void shop.Till.pay(int, java.lang.String)");
}

static void code_is_where_the_stub_queue_has_it(void **state)
{
	struct tapir_jvm_interpreter i;

	(void)state;
	assert_true(reads(&i));
	assert_true(i.code_va == CODE_VA && i.code_end_va == CODE_VA + CODE_BYTES);
}

static void other_layouts_are_followed(void **state)
{
	(void)state;
	put(STRUCTS + 5 * STRUCT_BYTES + 32, 48); /* Method::_constMethod */
	put(METHOD + 8, 0);
	put(METHOD + 48, CONST_METHOD);
	assert_name(METHOD, "void shop.Till.pay(int, java.lang.String)");
}

static void jvm_that_has_no_interpreter_yet_is_not_read(void **state)
{
	struct tapir_jvm_interpreter i;

	(void)state;
	put(CODE, 0);
	assert_false(reads(&i));
	put(CODE, QUEUE);
	fake_memory__put32(&memory, QUEUE + 20, 0xffffffff);
	assert_false(reads(&i));
	fake_memory__put32(&memory, QUEUE + 20, 64u << 20);
	assert_false(reads(&i));
}

static void description_that_lacks_something_is_refused(void **state)
{
	struct tapir_jvm_interpreter i;

	(void)state;
	for (unsigned at = 1; at < 12; at++) { /* the first is not needed */
		uint64_t va = STRUCTS + at * STRUCT_BYTES + 8, kept;

		memcpy(&kept, memory.bytes + (va - MEMORY_VA), 8);
		put(va, TEXTS);
		assert_false(reads(&i));
		put(va, kept);
		assert_true(reads(&i));
	}
}

static void numbers_of_no_description_are_refused(void **state)
{
	static const struct {
		enum tapir_jvm_export which;
		uint64_t value;
	} wrong[] = {
		{TAPIR_JVM_EXPORT_STRUCTS, 0},
		{TAPIR_JVM_EXPORT_STRUCTS, 0xdead0000},
		{TAPIR_JVM_EXPORT_STRUCT_STRIDE, 0},
		{TAPIR_JVM_EXPORT_STRUCT_STRIDE, 1},
		{TAPIR_JVM_EXPORT_STRUCT_STRIDE, UINT64_MAX},
		{TAPIR_JVM_EXPORT_STRUCT_TYPE_NAME, UINT64_MAX},
		{TAPIR_JVM_EXPORT_STRUCT_FIELD_NAME, STRUCT_BYTES - 4},
		{TAPIR_JVM_EXPORT_STRUCT_FIELD_NAME, UINT64_MAX},
		{TAPIR_JVM_EXPORT_STRUCT_OFFSET, UINT64_MAX - 3},
		{TAPIR_JVM_EXPORT_STRUCT_ADDRESS, 1 << 20},
		{TAPIR_JVM_EXPORT_TYPES, UINT64_MAX},
		{TAPIR_JVM_EXPORT_TYPE_SIZE, TYPE_BYTES},
		{TAPIR_JVM_EXPORT_TYPE_STRIDE, 7},
	};
	struct tapir_jvm_interpreter i;

	for (size_t at = 0; at < sizeof(wrong) / sizeof(*wrong); at++) {
		set_up(state);
		export(wrong[at].which, wrong[at].value);
		assert_false(reads(&i));
	}
	set_up(state);
	vas[TAPIR_JVM_EXPORT_STRUCTS] = 0; /* not exported */
	assert_false(reads(&i));
	set_up(state);
	put(TYPES + TYPE_BYTES + 32, 1 << 20); /* the size of a Method */
	assert_false(reads(&i));
}

/* 100,000 entries, of which none is wanted: the reads are bounded. */
static void table_without_an_end_is_read_up_to_a_bound(void **state)
{
	struct tapir_jvm_interpreter i;

	(void)state;
	for (uint64_t va = STRUCTS; va < MEMORY_VA + MEMORY_BYTES; va += 8)
		put(va, TEXTS);
	export(TAPIR_JVM_EXPORT_STRUCT_STRIDE, 8);
	export(TAPIR_JVM_EXPORT_STRUCT_FIELD_NAME, 0);
	export(TAPIR_JVM_EXPORT_STRUCT_OFFSET, 0);
	export(TAPIR_JVM_EXPORT_STRUCT_ADDRESS, 0);
	memory.read_cnt = 0;
	assert_false(reads(&i));
	assert_true(memory.read_cnt < 200);
}

static void what_is_no_method_has_no_name(void **state)
{
	static const uint64_t wrong[] = {0, 8, METHOD + 4, CLASS, 1ull << 63, UINT64_MAX - 7};

	for (size_t at = 0; at < sizeof(wrong) / sizeof(*wrong); at++)
		assert_name(wrong[at], "");
	put(METHOD + 8, CONST_METHOD + 1);
	assert_name(METHOD, "");
	set_up(state);
	put(POOL + 24, 0);
	assert_name(METHOD, "");
	set_up(state);
	fake_memory__put32(&memory, CONST_METHOD + 36, 4); /* an entry that is empty */
	assert_name(METHOD, "");
	set_up(state);
	add_symbol(NAME, "p y");
	assert_name(METHOD, "");
	set_up(state);
	add_symbol(SIGNATURE, "pay");
	assert_name(METHOD, "");
	set_up(state);
	put(POOL + 72 + 3 * 8, MEMORY_VA + MEMORY_BYTES - 8); /* a name that ends outside */
	put(MEMORY_VA + MEMORY_BYTES - 8, 0xffff0000);
	assert_name(METHOD, "");
}

/* ---- methods of stacks ----------------------------------------------------------------------- */

enum { HASH = 0x4d2 };

#define INDEXES (5ull << 32 | 3u << 16) /* from 32 on */

/* The cookie that a program sends of METHOD as it is at first. */
static uint64_t cookie(uint64_t name_id)
{
	return tapir_interp__indexed(
		tapir_interp__method_hash(CONST_METHOD, INDEXES, CLASS_NAME, name_id), 12);
}

static bool is_method(uint64_t sent)
{
	struct tapir_process_memory source = fake_memory__of(&memory);
	struct tapir_jvm_interpreter i;

	assert_true(reads(&i));
	return tapir_jvm_interpreter__is_method(&i, &source, METHOD, sent);
}

static void programs_know_where_to_read(void **state)
{
	struct tapir_jvm_interpreter i;
	struct tapir_interp how;

	(void)state;
	assert_true(reads(&i));
	assert_true(tapir_jvm_interpreter__interp(&i, &how));
	assert_int_equal(how.root, TAPIR_INTERP_SLOTS);
	assert_int_equal(how.language, TAPIR_INTERP_HOTSPOT);
	assert_int_equal(how.code, 8);
	assert_int_equal(how.cookie, 34);
	assert_int_equal(how.previous, 16);
	assert_int_equal(how.steps[0], 24);
	assert_int_equal(how.steps[1], 24);
	assert_int_equal(how.last, 2); /* the hash is the upper half */
}

static void jvm_whose_names_do_not_differ_has_no_methods_in_stacks(void **state)
{
	struct tapir_jvm_interpreter i;
	struct tapir_interp how;

	(void)state;
	put(structs_end - STRUCT_BYTES + 8, TEXTS); /* Symbol::_hash_and_refcount */
	assert_true(reads(&i));			    /* snapshots name them */
	assert_false(tapir_jvm_interpreter__interp(&i, &how));
	add_field("Symbol", "_identity_hash", 4, 0);
	assert_true(reads(&i));
	assert_true(tapir_jvm_interpreter__interp(&i, &how));
	assert_int_equal(how.last, 4);
	put(structs_end - STRUCT_BYTES + 32, 1ull << 20);
	assert_true(reads(&i));
	assert_false(tapir_jvm_interpreter__interp(&i, &how));
}

static void offsets_that_no_program_reads_are_refused(void **state)
{
	static const unsigned used[] = {1, 5, 6, 7, 9};

	for (size_t at = 0; at < sizeof(used) / sizeof(*used); at++) {
		struct tapir_jvm_interpreter i;
		struct tapir_interp how;

		(void)set_up(state);
		put(STRUCTS + used[at] * STRUCT_BYTES + 32, 1032); /* a multiple of 8 */
		assert_true(reads(&i));
		assert_false(tapir_jvm_interpreter__interp(&i, &how));
	}
}

static void method_is_the_one_of_the_stack_until_another_takes_its_place(void **state)
{
	(void)state;
	fake_memory__put32(&memory, CLASS_NAME, HASH << 16 | 7);
	assert_true(is_method(cookie(HASH)));
	assert_true(is_method(cookie(0))); /* its page was not there */
	assert_false(is_method(cookie(HASH + 1)));
	fake_memory__put32(&memory, CLASS_NAME, HASH << 16 | 8); /* it is used once more */
	assert_true(is_method(cookie(HASH)));
	put(CLASS + 24, NAME); /* another class */
	assert_false(is_method(cookie(HASH)) || is_method(cookie(0)));
	put(CLASS + 24, CLASS_NAME);
	fake_memory__put32(&memory, CONST_METHOD + 34, 5u << 16 | 5); /* another name */
	assert_false(is_method(cookie(HASH)) || is_method(cookie(0)));
	fake_memory__put32(&memory, CONST_METHOD + 34, 5u << 16 | 3);
	assert_true(is_method(cookie(HASH)));
	put(METHOD + 8, CONST_METHOD + 8);
	assert_false(is_method(cookie(HASH)) || is_method(cookie(0)));
}

static void structures_that_cannot_be_read_are_no_method(void **state)
{
	static const uint64_t places[] = {METHOD + 8, CONST_METHOD + 16, POOL + 24, CLASS + 24};
	static const uint64_t wrong[] = {0, 1, 1ull << 63, UINT64_MAX - 7,
					 MEMORY_VA + MEMORY_BYTES - 1};

	for (size_t at = 0; at < sizeof(places) / sizeof(*places); at++)
		for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
			(void)set_up(state);
			put(places[at], wrong[i]);
			assert_false(is_method(cookie(HASH)) || is_method(cookie(0)));
		}
}

static void name_that_is_longer_than_any_is_cut(void **state)
{
	static char text[9000];

	memset(text, 'x', sizeof(text) - 1);
	memmove(text, "(", 1);
	put(POOL + 72 + 3 * 8, MEMORY_VA + 0x8000);
	add_symbol(MEMORY_VA + 0x8000, text + 1);
	(void)state;
	{
		struct tapir_process_memory source = fake_memory__of(&memory);
		struct tapir_jvm_interpreter i;
		struct tapir_str name = {};

		assert_true(reads(&i));
		assert_true(tapir_jvm_interpreter__add_name(&i, &source, METHOD, &name));
		assert_true(name.len > 1000 && name.len < 1200);
		tapir_str__fini(&name);
	}
}

/* ---- code heaps ------------------------------------------------------------------------------ */

static unsigned heap_cnt(void)
{
	struct tapir_jvm_interpreter i;

	assert_true(reads(&i)); /* names do not depend on them */
	return i.code.heap_cnt;
}

static void heaps_are_where_the_code_cache_has_them(void **state)
{
	struct tapir_jvm_interpreter i;

	(void)state;
	add_heaps(3);
	assert_true(reads(&i));
	assert_int_equal(i.code.heap_cnt, 3);
	assert_int_equal(i.code.heaps[2].segment_shift, 7);
	assert_int_equal(i.code.heaps[2].frame_size_at, (16 + 28) / 4);
	assert_true(i.code.heaps[2].start_va == HEAP_VA + 2 * HEAP_BYTES);
	assert_true(i.code.heaps[2].end_va == HEAP_VA + 3 * HEAP_BYTES);
	assert_true(i.code.heaps[2].segment_map_va == SEGMENTS_VA + 0x20000);
}

static void heaps_that_cannot_be_are_refused(void **state)
{
	static const struct {
		uint64_t va, value;
	} wrong[] = {
		{HEAPS, 0},
		{HEAPS, 0xdead0000},
		{HEAP_LIST + 8, 0},
		{HEAP_ELEMENTS, 0},
		{HEAP_ELEMENTS + 8, UINT64_MAX - 64},
		{HEAP + 16, 0},			     /* begins nowhere */
		{HEAP + 16, HEAP_VA + 64},	     /* within a segment */
		{HEAP + 24, HEAP_VA},		     /* has no bytes */
		{HEAP + 24, HEAP_VA + (1ull << 40)}, /* more than HotSpot allows */
		{HEAP + 24, UINT64_MAX},
		{HEAP + 56, 0}, /* no segment map */
		{HEAP + 56, UINT64_MAX},
		{HEAP + 96, 0}, /* segments of a byte */
		{HEAP + 96, 64},
		{HEAP + 96, 0xffffffff},
		{HEAP + 96, 8}, /* the other heap has 7 */
	};

	for (size_t at = 0; at < sizeof(wrong) / sizeof(*wrong); at++) {
		set_up(state);
		add_heaps(2);
		put(wrong[at].va, wrong[at].value);
		assert_int_equal(heap_cnt(), 0);
	}
	for (unsigned cnt = 5; cnt < 8; cnt++) {
		set_up(state);
		add_heaps(cnt == 7 ? UINT32_MAX : cnt);
		assert_int_equal(heap_cnt(), 0);
	}
	set_up(state);
	add_heaps(2);
	put(STRUCTS + 20 * STRUCT_BYTES + 32, 4000); /* CodeBlob::_frame_size */
	assert_int_equal(heap_cnt(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(method_has_the_name_of_compiled_ones, set_up),
		cmocka_unit_test_setup(code_is_where_the_stub_queue_has_it, set_up),
		cmocka_unit_test_setup(other_layouts_are_followed, set_up),
		cmocka_unit_test_setup(jvm_that_has_no_interpreter_yet_is_not_read, set_up),
		cmocka_unit_test_setup(description_that_lacks_something_is_refused, set_up),
		cmocka_unit_test_setup(numbers_of_no_description_are_refused, set_up),
		cmocka_unit_test_setup(table_without_an_end_is_read_up_to_a_bound, set_up),
		cmocka_unit_test_setup(what_is_no_method_has_no_name, set_up),
		cmocka_unit_test_setup(programs_know_where_to_read, set_up),
		cmocka_unit_test_setup(jvm_whose_names_do_not_differ_has_no_methods_in_stacks,
				       set_up),
		cmocka_unit_test_setup(offsets_that_no_program_reads_are_refused, set_up),
		cmocka_unit_test_setup(method_is_the_one_of_the_stack_until_another_takes_its_place,
				       set_up),
		cmocka_unit_test_setup(structures_that_cannot_be_read_are_no_method, set_up),
		cmocka_unit_test_setup(name_that_is_longer_than_any_is_cut, set_up),
		cmocka_unit_test_setup(heaps_are_where_the_code_cache_has_them, set_up),
		cmocka_unit_test_setup(heaps_that_cannot_be_are_refused, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
