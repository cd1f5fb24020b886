// SPDX-License-Identifier: GPL-2.0-or-later
/* What is inlined at an address of a made-up compiled method, as JDK 17 and 25 describe it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fake_memory.h"
#include "runtime/jvm/jvm_scopes.h"

enum {
	SEGMENTS = MEMORY_VA, /* a byte for each 128 of the heap */
	HEAP = MEMORY_VA + 0x1000,
	HEAP_BYTES = 0x4000,
	BLOCK = HEAP + 0x80, /* the second segment */
	BLOB = BLOCK + 16,
	CODE = BLOB + 0x200,
	METADATA = MEMORY_VA + 0x6000, /* JDK 25; in the block before */
	APART = MEMORY_VA + 0x7000,
	NAME = MEMORY_VA + 0x8000,
	MAJOR = MEMORY_VA + 0x8100,
	HEADER_BYTES = 0x100,
};

enum { ROUND = 0x555500, MID = 0x555600, LEAF = 0x555700, OTHER = 0x555800 };

static struct fake_memory memory;
static struct tapir_jvm_struct found[TAPIR_JVM_SCOPE_STRUCT_CNT];
static struct tapir_jvm_code code;
static struct tapir_jvm_scopes scopes;
static struct tapir_jvm_scope at[TAPIR_JVM_SCOPES_MAX];
static uint64_t data_va, data_end, pcs_end;
static uint8_t excluded;

static void put32(uint64_t va, uint32_t value)
{
	fake_memory__put32(&memory, va, value);
}

static void put(uint64_t va, uint64_t value)
{
	fake_memory__put(&memory, va, value);
}

static void find_field(const char *type, const char *field, uint64_t value)
{
	for (unsigned i = 0; i < TAPIR_JVM_SCOPE_STRUCT_CNT; i++)
		if (!strcmp(found[i].type, type) && !field == !found[i].field &&
		    (!field || !strcmp(found[i].field, field))) {
			found[i].is_found = true;
			found[i].value = value;
		}
}

static void add_number(uint32_t value)
{
	uint8_t *to = memory.bytes + (data_end - MEMORY_VA);
	uint32_t low = 192u - excluded;

	while (value >= low) {
		value -= low;
		*to++ = (uint8_t)(192 + (value & 63));
		value >>= 6;
		data_end++;
	}
	*to = (uint8_t)(value + excluded);
	data_end++;
}

/* Its offset. method: an index, from 1. */
static uint32_t add_scope(uint32_t caller, uint32_t method, uint32_t bci)
{
	uint32_t off = (uint32_t)(data_end - data_va);

	add_number(caller);
	add_number(method);
	add_number(bci + 1);
	return off;
}

static void add_place(uint32_t pc, uint32_t scope)
{
	put32(pcs_end, pc);
	put32(pcs_end + 4, scope);
	pcs_end += 16;
}

/* round calls mid at 7, which calls leaf at 300; and round calls mid again at 20. */
static void add_places(void)
{
	uint32_t round, mid, leaf, again;

	add_number(0); /* offset 0 is none */
	round = add_scope(0, 1, 7);
	mid = add_scope(round, 2, 300);
	leaf = add_scope(mid, 3, 70000);
	again = add_scope(add_scope(0, 1, 20), 2, 300);
	add_place(0xffffffff, 0);
	add_place(0x10, leaf);
	add_place(0x20, mid);
	add_place(0x30, add_scope(mid, 4, 1));
	add_place(0x40, again);
	add_place(0x7fffffff, 0);
}

static void describe_common(unsigned major)
{
	memcpy(found, tapir_jvm_scope_structs, sizeof(found));
	memset(&memory, 0, sizeof(memory));
	memory.size = MEMORY_BYTES;
	excluded = major >= 20;
	find_field("HeapBlock", NULL, 16);
	find_field("nmethod", NULL, HEADER_BYTES);
	find_field("PcDesc", NULL, 16);
	find_field("PcDesc", "_pc_offset", 0);
	find_field("PcDesc", "_scope_decode_offset", 4);
	find_field("CodeBlob", "_name", 0x08);
	find_field("nmethod", "_scopes_pcs_offset", 0x10);
	find_field("Abstract_VM_Version", "_vm_major_version", MAJOR);
	put32(MAJOR, major);
	memcpy(memory.bytes + (NAME - MEMORY_VA), "nmethod", 8);
	put(BLOB + 0x08, NAME);
	code = (struct tapir_jvm_code){.heap_cnt = 1,
				       .heaps = {{HEAP, HEAP + HEAP_BYTES, SEGMENTS, 7, 0}}};
	memory.bytes[0] = TAPIR_UNWIND_SEGMENT_FREE;
	for (unsigned i = 1; i < HEAP_BYTES / 128; i++)
		memory.bytes[i] = (uint8_t)(i - 1);
}

static void put_methods(uint64_t va)
{
	put(va, ROUND);
	put(va + 8, MID);
	put(va + 16, LEAF);
	put(va + 24, OTHER);
}

static void open_scopes(void)
{
	struct tapir_process_memory source = fake_memory__of(&memory);

	tapir_jvm_scopes__read(&scopes, &source, found);
}

/* Code, metadata, scopes and places are in one block. */
static void describe_17(void)
{
	describe_common(17);
	find_field("CompiledMethod", "_method", 0x18);
	find_field("CodeBlob", "_code_begin", 0x20);
	find_field("CompiledMethod", "_scopes_data_begin", 0x28);
	find_field("nmethod", "_metadata_offset", 0x30);
	find_field("nmethod", "_dependencies_offset", 0x34);
	put(BLOB + 0x18, ROUND);
	put(BLOB + 0x20, CODE);
	put32(BLOB + 0x30, 0x400);
	put_methods(BLOB + 0x400);
	data_va = data_end = BLOB + 0x420;
	pcs_end = BLOB + 0x500;
	add_places();
	put(BLOB + 0x28, data_va);
	put32(BLOB + 0x10, 0x500);
	put32(BLOB + 0x34, (uint32_t)(pcs_end - BLOB));
	open_scopes();
}

static void describe_25(void)
{
	describe_common(25);
	find_field("nmethod", "_method", 0x18);
	find_field("CodeBlob", "_code_offset", 0x20);
	find_field("nmethod", "_scopes_data_offset", 0x24);
	find_field("nmethod", "_immutable_data", 0x28);
	find_field("nmethod", "_immutable_data_size", 0x30);
	find_field("CodeBlob", "_mutable_data", 0x38);
	find_field("CodeBlob", "_mutable_data_size", 0x40);
	find_field("CodeBlob", "_relocation_size", 0x44);
	put(BLOB + 0x18, ROUND);
	put32(BLOB + 0x20, 0x200);
	put(BLOB + 0x28, APART);
	put(BLOB + 0x38, METADATA);
	put32(BLOB + 0x44, 0x40);
	put32(BLOB + 0x40, 0x40 + 32);
	put_methods(METADATA + 0x40);
	pcs_end = APART + 0x100;
	data_va = data_end = APART + 0x200;
	add_places();
	put32(BLOB + 0x10, 0x100);
	put32(BLOB + 0x24, (uint32_t)(pcs_end - APART));
	/* Behind the places, without a gap. */
	memmove(memory.bytes + (pcs_end - MEMORY_VA), memory.bytes + (data_va - MEMORY_VA),
		data_end - data_va);
	put32(BLOB + 0x30, (uint32_t)(pcs_end - APART + data_end - data_va));
	data_va = pcs_end;
	open_scopes();
}

static unsigned look(uint64_t va, bool is_return)
{
	struct tapir_process_memory source = fake_memory__of(&memory);

	return tapir_jvm_scopes__at(&scopes, &code, &source, va, is_return, at);
}

static void assert_places(void)
{
	assert_true(scopes.is_known);
	assert_int_equal(look(CODE + 0x10, true), 3);
	assert_int_equal(at[0].method_va, LEAF);
	assert_int_equal(at[0].bci, 70000);
	assert_int_equal(at[1].method_va, MID);
	assert_int_equal(at[1].bci, 300);
	assert_int_equal(at[2].method_va, ROUND);
	assert_int_equal(at[2].bci, 7);
	assert_int_equal(look(CODE + 0x20, true), 2);
	assert_int_equal(look(CODE + 0x21, true), 0); /* no call returns there */
	assert_int_equal(look(CODE, true), 0);
}

static void methods_at_a_return_address_are_all_known_17(void **state)
{
	(void)state;
	describe_17();
	assert_places();
}

static void methods_at_a_return_address_are_all_known_25(void **state)
{
	(void)state;
	describe_25();
	assert_places();
}

/* Between leaf and mid: mid in round. Between two calls of mid by round: round alone. */
static void between_two_places_only_what_both_have_is_told(void **state)
{
	(void)state;
	describe_25();
	assert_int_equal(look(CODE + 0x18, false), 2);
	assert_int_equal(at[0].method_va, MID);
	assert_int_equal(at[1].method_va, ROUND);
	assert_int_equal(look(CODE + 0x28, false), 2);
	assert_int_equal(look(CODE + 0x38, false), 1);
	assert_int_equal(at[0].method_va, ROUND);
	assert_int_equal(look(CODE + 0x08, false), 0); /* before the first */
	assert_int_equal(look(CODE + 0x48, false), 0); /* behind the last */
}

static void list_for_another_method_is_none(void **state)
{
	(void)state;
	describe_17();
	put(BLOB + 0x18, OTHER);
	assert_int_equal(look(CODE + 0x10, true), 0);
}

static void what_is_no_compiled_method_has_no_scopes(void **state)
{
	(void)state;
	describe_17();
	memcpy(memory.bytes + (NAME - MEMORY_VA), "nmethods", 9);
	assert_int_equal(look(CODE + 0x10, true), 0);
	describe_17();
	assert_int_equal(look(HEAP + 8, true), 0);		/* a free segment */
	assert_int_equal(look(HEAP + HEAP_BYTES + 8, true), 0); /* no heap */
	memory.bytes[5] = 0xf0;					/* before the heap */
	assert_int_equal(look(CODE + 0x10, true), 0);
}

static void scopes_that_call_themselves_end(void **state)
{
	uint32_t off;

	(void)state;
	describe_17();
	off = (uint32_t)(data_end - data_va);
	(void)add_scope(off, 1, 1);
	put32(BLOB + 0x500 + 16 + 4, off); /* of the place at 0x10 */
	assert_int_equal(look(CODE + 0x10, true), 0);
}

/* Each word of the header in turn has a value that nobody would write there. */
static void headers_with_nonsense_are_no_matter(void **state)
{
	static const uint64_t values[] = {0,	      1,	 0x7fffffff,	    0xffffffff,
					  UINT64_MAX, MEMORY_VA, 0x8000000080000000};

	(void)state;
	for (unsigned is_25 = 0; is_25 < 2; is_25++)
		for (unsigned off = 0; off < 0x48; off += 4)
			for (unsigned i = 0; i < sizeof(values) / sizeof(*values); i++) {
				if (is_25)
					describe_25();
				else
					describe_17();
				put(BLOB + off, values[i]);
				assert_true(look(CODE + 0x10, true) <= 3);
				assert_true(look(CODE + 0x18, false) <= 3);
			}
}

static void memory_that_ends_anywhere_is_no_matter(void **state)
{
	(void)state;
	describe_17();
	for (memory.size = 0; memory.size < MEMORY_BYTES; memory.size += 7)
		(void)look(CODE + 0x10, true);
	assert_int_equal(look(CODE + 0x10, true), 3);
}

static void layouts_that_are_not_described_are_not_known(void **state)
{
	(void)state;
	for (unsigned i = 0; i < TAPIR_JVM_SCOPE_STRUCT_CNT; i++) {
		describe_17();
		if (!found[i].is_found)
			continue;
		found[i].is_found = false;
		open_scopes();
		assert_false(scopes.is_known);
		assert_int_equal(look(CODE + 0x10, true), 0);
		describe_17();
		found[i].value = 60000; /* behind the header, or no memory */
		open_scopes();
		assert_false(scopes.is_known);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(methods_at_a_return_address_are_all_known_17),
		cmocka_unit_test(methods_at_a_return_address_are_all_known_25),
		cmocka_unit_test(between_two_places_only_what_both_have_is_told),
		cmocka_unit_test(list_for_another_method_is_none),
		cmocka_unit_test(what_is_no_compiled_method_has_no_scopes),
		cmocka_unit_test(scopes_that_call_themselves_end),
		cmocka_unit_test(headers_with_nonsense_are_no_matter),
		cmocka_unit_test(memory_that_ends_anywhere_is_no_matter),
		cmocka_unit_test(layouts_that_are_not_described_are_not_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
