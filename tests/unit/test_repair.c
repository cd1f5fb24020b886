// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tables of functions that hide their caller: equal to what .eh_frame says of real files by the
 * other reader of it (unwind/cfi.h, which libdw checks); bounded when hostile.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <unistd.h>

#include "bpf/repair_logic.bpf.h"
#include "eh_frame_builder.h"
#include "elf_builder.h"
#include "unwind/cfi.h"
#include "unwind/repair.h"

static int table_of(const void *section, size_t len, struct tapir_repair_table **out)
{
	struct elf_builder b;
	struct tapir_elf *elf;
	int err;

	elf_builder__init(&b, ET_DYN);
	elf_builder__add_section(&b, ".eh_frame", SHT_PROGBITS, section, len);
	elf_builder__finish(&b);
	elf = elf_builder__open(&b);
	assert_non_null(elf);
	err = tapir_repair_table__make(elf, NULL, out);
	tapir_elf__free(elf);
	elf_builder__fini(&b);
	return err;
}

static uint32_t at(const struct tapir_repair_table *t, uint64_t va)
{
	return tapir_repair__cfa_off(&t->file, (uint32_t)(va - t->start_va));
}

/* push rbp; push rbx: no frame, 24 bytes deep from byte 2 on. */
static const uint8_t helper[] = {0x41, 0x0e, 16, 0x86, 2, 0x41, 0x0e, 24};
/* push rbp; mov rsp, rbp */
static const uint8_t framed[] = {0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6};
/* push rbx; push rbp; mov rsp, rbp: for three bytes as deep as a helper */
static const uint8_t late[] = {0x41, 0x0e, 16, 0x41, 0x0e, 24, 0x43, 0x0c, 6, 24};

static void only_functions_without_a_frame_are_in_it(void **state)
{
	struct tapir_repair_table *t;
	static struct built b;

	(void)state;
	begin(&b);
	add_fde(&b, 0x9000, 0x80, framed, sizeof(framed)); /* out of order, as linkers may */
	add_fde(&b, 0x1000, 0x100, helper, sizeof(helper));
	add_fde(&b, 0x5000, 0x40, late, sizeof(late));
	assert_int_equal(table_of(b.bytes, b.len, &t), 0);
	assert_int_equal(t->start_va, 0x1000);
	assert_int_equal(at(t, 0x1000), 8);
	assert_int_equal(at(t, 0x1001), 16);
	assert_int_equal(at(t, 0x1002), 24);
	assert_int_equal(at(t, 0x10ff), 24);
	assert_int_equal(at(t, 0x1100), 0);
	assert_int_equal(at(t, 0x5000), 0);
	assert_int_equal(at(t, 0x5001), 0);
	assert_int_equal(at(t, 0x5002), 24);
	assert_int_equal(at(t, 0x5004), 24);
	assert_int_equal(at(t, 0x5005), 0);
	for (uint64_t va = 0x9000; va < 0x9080; va++)
		assert_int_equal(at(t, va), 0);
	free(t);
}

static void there_is_no_table_when_every_function_has_a_frame(void **state)
{
	struct tapir_repair_table *t;
	static struct built b;

	(void)state;
	begin(&b);
	add_fde(&b, 0x1000, 0x100, framed, sizeof(framed));
	assert_int_equal(table_of(b.bytes, b.len, &t), -ENOENT);
}

static void broken_functions_are_left_out(void **state)
{
	static const uint8_t codes[][6] = {
		{0x0b},				      /* restores what was never remembered */
		{0x3f},				      /* no such instruction */
		{0x0e, 0xff, 0xff, 0xff, 0xff, 0xff}, /* a number that does not end */
		{0x0f, 0x7f},			      /* a block longer than the entry */
		{0x0c, 7},			      /* ends within an operand */
	};
	struct tapir_repair_table *t;
	static struct built b;

	(void)state;
	begin(&b);
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		add_fde(&b, 0x1000 + 0x100 * i, 0x100, codes[i], i == 4 ? 2 : sizeof(codes[i]));
	add_fde(&b, 0x8000, 0x100, helper, sizeof(helper));
	add_fde(&b, UINT64_MAX - 8, 64, helper, sizeof(helper)); /* wraps */
	assert_int_equal(table_of(b.bytes, b.len, &t), 0);
	assert_int_equal(t->start_va, 0x8000);
	free(t);
}

static void no_table_when_code_is_too_far_apart(void **state)
{
	struct tapir_repair_table *t;
	static struct built b;

	(void)state;
	begin(&b);
	add_fde(&b, 0x1000, 0x100, helper, sizeof(helper));
	add_fde(&b, 0x1000 + (1ull << 32), 0x100, helper, sizeof(helper));
	assert_int_equal(table_of(b.bytes, b.len, &t), -EFBIG);
}

static void functions_that_overlap_stay_apart(void **state)
{
	struct tapir_repair_table *t;
	static struct built b;

	(void)state;
	begin(&b);
	for (unsigned i = 0; i < 100; i++)
		add_fde(&b, 0x1000 + i, 0x1000, helper, sizeof(helper));
	assert_int_equal(table_of(b.bytes, b.len, &t), 0);
	for (uint32_t i = 1; i < t->row_cnt; i++)
		assert_true(t->file.rows[i].off > t->file.rows[i - 1].off);
	free(t);
}

static void table_is_cut_when_there_are_too_many(void **state)
{
	struct tapir_repair_table *t;
	static struct built b;

	(void)state;
	begin(&b);
	for (unsigned i = 0; i < 1900; i++)
		add_fde(&b, 0x1000 + 0x100 * i, 0x80, helper, sizeof(helper));
	assert_int_equal(table_of(b.bytes, b.len, &t), 0);
	assert_in_range(t->row_cnt, 1000, TAPIR_REPAIR_ROWS);
	assert_int_equal(at(t, 0x1002), 24);
	assert_int_equal(at(t, 0x1002 + 0x100 * 300), 24);
	assert_int_equal(at(t, 0x1002 + 0x100 * 1800), 0);
	free(t);
}

static void pages_grow_when_code_is_large(void **state)
{
	struct tapir_repair_table *t;
	static struct built b;

	(void)state;
	begin(&b);
	add_fde(&b, 0x1000, 0x100, helper, sizeof(helper));
	add_fde(&b, 0xf0000000, 0x100, helper, sizeof(helper));
	assert_int_equal(table_of(b.bytes, b.len, &t), 0);
	assert_true(t->file.page_shift > 10);
	assert_int_equal(at(t, 0x10ff), 24);
	assert_int_equal(at(t, 0x1100), 0);
	assert_int_equal(at(t, 0xf00000ff), 24);
	assert_int_equal(at(t, 0xf0000100), 0);
	free(t);
}

static void nothing_is_read_outside_when_section_is_cut(void **state)
{
	struct tapir_repair_table *t;
	static struct built b;

	(void)state;
	begin(&b);
	add_fde(&b, 0x1000, 0x100, helper, sizeof(helper));
	for (size_t len = 0; len < b.len; len++)
		assert_int_not_equal(table_of(b.bytes, len, &t), 0);
}

static void all_is_leaves_when_told_so(void **state)
{
	static struct tapir_repair_file file;
	static const uint32_t offs[] = {0, 1, 4095, 1u << 20, UINT32_MAX - 1};

	(void)state;
	tapir_repair_file__set_leaves(&file);
	for (size_t i = 0; i < sizeof(offs) / sizeof(offs[0]); i++)
		assert_int_equal(tapir_repair__cfa_off(&file, offs[i]), 8);
}

/* ---- real files --------------------------------------------------------------------------- */

/* Each byte that has a row: as the other reader has it. Returns how many have. */
static unsigned compare(const struct tapir_repair_table *t, const struct tapir_cfi *cfi,
			const Elf64_Shdr *plt)
{
	unsigned cnt = 0;

	for (uint64_t va = t->start_va; va < t->start_va + t->size; va++) {
		uint32_t cfa_off = at(t, va);
		struct tapir_cfi_row row = {};

		if (!cfa_off || (plt && va - plt->sh_addr < plt->sh_size))
			continue;
		cnt++;
		if (!tapir_cfi__row_at(cfi, va, &row) || row.cfa_is_from_fp ||
		    (uint32_t)row.cfa_off != cfa_off)
			fail_msg("%#lx: %u, cfi has %s%+d", (unsigned long)va, cfa_off,
				 row.cfa_is_from_fp ? "fp" : "sp", row.cfa_off);
	}
	return cnt;
}

/* Nothing deep is missing: what cfi says is deep has a row. */
static void find_all_deep(const struct tapir_repair_table *t, const struct tapir_cfi *cfi,
			  const Elf64_Shdr *text)
{
	for (uint64_t va = text->sh_addr; va < text->sh_addr + text->sh_size; va += 3) {
		struct tapir_cfi_row row;

		if (tapir_cfi__row_at(cfi, va, &row) && !row.cfa_is_from_fp && row.cfa_off > 16 &&
		    (va < t->start_va || at(t, va) != (uint32_t)row.cfa_off))
			fail_msg("%#lx is missing", (unsigned long)va);
	}
}

static void compare_file(const char *path)
{
	struct tapir_repair_table *t;
	struct tapir_elf *elf;
	struct tapir_cfi *cfi;

	assert_int_equal(tapir_elf__open(path, &elf), 0);
	assert_int_equal(tapir_repair_table__make(elf, NULL, &t), 0);
	assert_int_equal(tapir_cfi__load(elf, &cfi), 0);
	print_message("%s: %u rows, %u bytes of code are equal\n", path, t->row_cnt,
		      compare(t, cfi, tapir_elf__section(elf, ".plt")));
	find_all_deep(t, cfi, tapir_elf__section(elf, ".text"));
	tapir_cfi__free(cfi);
	free(t);
	tapir_elf__free(elf);
}

static void rows_are_cfis_when_file_is_a_real_one(void **state)
{
	glob_t found = {};

	(void)state;
	(void)glob("/usr/share/dotnet/shared/Microsoft.NETCore.App/*/libcoreclr.so", 0, NULL,
		   &found);
	(void)glob("/usr/share/dotnet/shared/Microsoft.NETCore.App/*/libclrjit.so", GLOB_APPEND,
		   NULL, &found);
	for (size_t i = 0; i < found.gl_pathc; i++)
		compare_file(found.gl_pathv[i]);
	if (!found.gl_pathc) {
		print_message("skipped: no .NET here\n");
		globfree(&found);
		skip();
	}
	globfree(&found);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_functions_without_a_frame_are_in_it),
		cmocka_unit_test(there_is_no_table_when_every_function_has_a_frame),
		cmocka_unit_test(broken_functions_are_left_out),
		cmocka_unit_test(no_table_when_code_is_too_far_apart),
		cmocka_unit_test(functions_that_overlap_stay_apart),
		cmocka_unit_test(table_is_cut_when_there_are_too_many),
		cmocka_unit_test(pages_grow_when_code_is_large),
		cmocka_unit_test(nothing_is_read_outside_when_section_is_cut),
		cmocka_unit_test(all_is_leaves_when_told_so),
		cmocka_unit_test(rows_are_cfis_when_file_is_a_real_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
