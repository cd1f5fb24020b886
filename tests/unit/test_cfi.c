// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows of .eh_frame: equal to libdw's at addresses all over real libraries; bounded when hostile.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>
#include <unistd.h>

#include "eh_frame_builder.h"
#include "elf_builder.h"
#include "attach/unwind/cfi.h"

#define STEP_BYTES 61 /* between the addresses compared: hits prologues, bodies, epilogues */

/* ---- against libdw ------------------------------------------------------------------------- */

/* A rule "saved at cfa + off", "unchanged" or something else, as libdw says it. */
static int rule_of(Dwarf_Frame *frame, int reg, int64_t *off)
{
	Dwarf_Op memory[3], *ops = memory;
	size_t cnt = 0;

	if (dwarf_frame_register(frame, reg, memory, &ops, &cnt))
		return 'e';
	if (!cnt)
		return ops ? 's' : 'u';
	if (ops[0].atom != DW_OP_call_frame_cfa)
		return 'e';
	*off = cnt > 1 ? (int64_t)ops[1].number : 0;
	return cnt == 1 || (cnt == 2 && ops[1].atom == DW_OP_plus_uconst) ? 'o' : 'e';
}

static bool row_by_libdw(Dwarf_CFI *cfi, uint64_t va, struct tapir_cfi_row *row)
{
	Dwarf_Frame *frame = NULL;
	Dwarf_Op *ops;
	size_t cnt = 0;
	int64_t fp_off = 0, ra_off = 0;
	int fp;
	bool ok = false;

	if (dwarf_cfi_addrframe(cfi, va, &frame))
		return false;
	if (!dwarf_frame_cfa(frame, &ops, &cnt) && cnt == 1 && ops[0].atom == DW_OP_bregx &&
	    (ops[0].number == 6 || ops[0].number == 7)) {
		fp = rule_of(frame, 6, &fp_off);
		ok = rule_of(frame, 16, &ra_off) == 'o' && ra_off == -8 &&
		     (fp == 's' || fp == 'u' || fp == 'o'); /* u: no rule, it is as it was */
		*row = (struct tapir_cfi_row){.cfa_is_from_fp = ops[0].number == 6,
					      .fp_is_saved = fp == 'o',
					      .cfa_off = (int32_t)ops[0].number2,
					      .fp_off = (int32_t)fp_off};
	}
	free(frame);
	return ok;
}

static unsigned compare_section(struct tapir_cfi *ours, Dwarf_CFI *theirs, const Elf64_Shdr *text)
{
	unsigned cnt = 0;

	for (uint64_t va = text->sh_addr; va < text->sh_addr + text->sh_size; va += STEP_BYTES) {
		struct tapir_cfi_row got = {}, want = {};
		bool found = tapir_cfi__row_at(ours, va, &got);

		if (found != row_by_libdw(theirs, va, &want))
			fail_msg("%#lx: found is %d", (unsigned long)va, found);
		if (!found)
			continue;
		cnt++;
		if (got.cfa_is_from_fp != want.cfa_is_from_fp || got.cfa_off != want.cfa_off ||
		    got.fp_is_saved != want.fp_is_saved || got.fp_off != want.fp_off)
			fail_msg("%#lx: cfa %s%+d fp %d%+d, libdw has cfa %s%+d fp %d%+d",
				 (unsigned long)va, got.cfa_is_from_fp ? "fp" : "sp", got.cfa_off,
				 got.fp_is_saved, got.fp_off, want.cfa_is_from_fp ? "fp" : "sp",
				 want.cfa_off, want.fp_is_saved, want.fp_off);
	}
	return cnt;
}

static void compare_file(const char *path)
{
	struct tapir_elf *elf;
	struct tapir_cfi *ours;
	Dwarf_CFI *theirs;
	Elf *other;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(tapir_elf__open_fd(fd, &elf), 0);
	assert_int_equal(tapir_cfi__load(elf, &ours), 0);
	elf_version(EV_CURRENT);
	other = elf_begin(fd, ELF_C_READ, NULL);
	theirs = dwarf_getcfi_elf(other);
	assert_non_null(theirs);
	print_message("%s: %u rows are equal\n", path,
		      compare_section(ours, theirs, tapir_elf__section(elf, ".text")));
	dwarf_cfi_end(theirs);
	elf_end(other);
	tapir_cfi__free(ours);
	tapir_elf__free(elf);
	close(fd);
}

static void rows_are_libdws_when_file_is_a_real_one(void **state)
{
	static const char *const paths[] = {
		"/proc/self/exe",
		"/lib/x86_64-linux-gnu/libc.so.6",
		"/lib/x86_64-linux-gnu/libstdc++.so.6",
		"/usr/lib/postgresql/15/bin/postgres",
		"/usr/lib/jvm/java-17-openjdk-amd64/lib/server/libjvm.so",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		if (!access(paths[i], R_OK))
			compare_file(paths[i]);
}

/* ---- built sections ---------------------------------------------------------------------- */

static bool row_of(const void *section, size_t len, uint64_t va, struct tapir_cfi_row *row)
{
	struct elf_builder b;
	struct tapir_elf *elf;
	struct tapir_cfi *cfi = NULL;
	bool found = false;

	elf_builder__init(&b, ET_DYN);
	elf_builder__add_section(&b, ".eh_frame", SHT_PROGBITS, section, len);
	elf_builder__finish(&b);
	elf = elf_builder__open(&b);
	assert_non_null(elf);
	if (!tapir_cfi__load(elf, &cfi))
		found = tapir_cfi__row_at(cfi, va, row);
	tapir_cfi__free(cfi);
	tapir_elf__free(elf);
	elf_builder__fini(&b);
	return found;
}

static void row_changes_where_code_says_so(void **state)
{
	/* push rbp; mov rsp, rbp: after byte 1 cfa is rsp + 16 and rbp saved, after 4 rbp + 16 */
	static const uint8_t code[] = {0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6};
	struct built b;
	struct tapir_cfi_row row = {};

	(void)state;
	begin(&b);
	add_fde(&b, 0x1000, 0x100, code, sizeof(code));
	assert_true(row_of(b.bytes, b.len, 0x1000, &row));
	assert_int_equal(row.cfa_off, 8);
	assert_false(row.cfa_is_from_fp || row.fp_is_saved);
	assert_true(row_of(b.bytes, b.len, 0x1001, &row));
	assert_int_equal(row.cfa_off, 16);
	assert_true(row.fp_is_saved && !row.cfa_is_from_fp);
	assert_int_equal(row.fp_off, -16);
	assert_true(row_of(b.bytes, b.len, 0x10ff, &row));
	assert_true(row.cfa_is_from_fp);
	assert_false(row_of(b.bytes, b.len, 0x1100, &row));
	assert_false(row_of(b.bytes, b.len, 0xfff, &row));
}

static void no_row_when_rule_is_an_expression(void **state)
{
	static const uint8_t code[] = {0x0f, 2, 0x77, 8};
	struct built b;
	struct tapir_cfi_row row;

	(void)state;
	begin(&b);
	add_fde(&b, 0x1000, 0x100, code, sizeof(code));
	assert_false(row_of(b.bytes, b.len, 0x1000, &row));
}

static void no_row_when_code_is_broken(void **state)
{
	static const uint8_t codes[][6] = {
		{0x0b},				      /* restores what was never remembered */
		{0x3f},				      /* no such instruction */
		{0x0e, 0xff, 0xff, 0xff, 0xff, 0xff}, /* a number that does not end */
		{0x0f, 0x7f},			      /* a block longer than the entry */
		{0x0c, 7},			      /* ends within an operand */
	};
	struct tapir_cfi_row row;

	(void)state;
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		struct built b;

		begin(&b);
		add_fde(&b, 0x1000, 0x100, codes[i], i == 4 ? 2 : sizeof(codes[i]));
		assert_false(row_of(b.bytes, b.len, 0x1050, &row));
	}
}

static void nothing_is_read_outside_when_section_is_cut(void **state)
{
	static const uint8_t code[] = {0x41, 0x0e, 16};
	struct built b;
	struct tapir_cfi_row row;

	(void)state;
	begin(&b);
	add_fde(&b, 0x1000, 0x100, code, sizeof(code));
	for (size_t len = 0; len < b.len; len++)
		assert_false(row_of(b.bytes, len, 0x1000, &row));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_libdws_when_file_is_a_real_one),
		cmocka_unit_test(row_changes_where_code_says_so),
		cmocka_unit_test(no_row_when_rule_is_an_expression),
		cmocka_unit_test(no_row_when_code_is_broken),
		cmocka_unit_test(nothing_is_read_outside_when_section_is_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
