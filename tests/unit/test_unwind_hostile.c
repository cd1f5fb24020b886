// SPDX-License-Identifier: GPL-2.0-or-later
/* Unwind tables of hostile sections: bounded work and memory, and no row that misleads a walk. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>

#include "base/clock.h"
#include "eh_frame_builder.h"
#include "elf_builder.h"
#include "attach/unwind/eh_source.h"
#include "attach/unwind/rows.h"
#include "attach/unwind/unwind_table.h"
#include "unwind_table_case.h"

/* ---- hostile files ------------------------------------------------------------------------------ */

static void broken_functions_are_left_out_and_counted(void **state)
{
	static const uint8_t codes[][6] = {
		{0x0b},				      /* restores what was never remembered */
		{0x3f},				      /* no such instruction */
		{0x0e, 0xff, 0xff, 0xff, 0xff, 0xff}, /* a number that does not end */
		{0x0f, 0x7f},			      /* a block longer than the entry */
		{0x0c, 7},			      /* ends within an operand */
	};
	struct tapir_unwind_table *t;
	static struct built b;

	(void)state;
	begin(&b);
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		add_fde(&b, TEXT_VA + 0x100 * i, 0x100, codes[i], i == 4 ? 2 : sizeof(codes[i]));
	add_fde(&b, TEXT_VA + 0x800, 0x100, framed, sizeof(framed));
	add_fde(&b, UINT64_MAX - 8, 64, framed, sizeof(framed)); /* wraps */
	add_fde(&b, DATA_VA, 64, framed, sizeof(framed));	 /* not executable */
	add_fde(&b, TEXT_VA + 0x900, 0, framed, sizeof(framed)); /* empty */
	assert_int_equal(table_of(&b, &t), 0);
	assert_int_equal(t->shape.broken_cnt, 8);
	assert_row(t, TEXT_VA + 0x50, TAPIR_UNWIND_GAP, 0, 0);
	assert_row(t, TEXT_VA + 0x804, TAPIR_UNWIND_FP, 2, 2);
	tapir_unwind_table__free(t);
}

static void negative_offsets_make_no_row_that_leads_downwards(void **state)
{
	static const uint8_t below[] = {0x12, 7, 1};			/* CFA = rsp - 8 */
	static const uint8_t far[] = {0x12, 6, 0x80, 0x80, 0x80, 0x10}; /* far below rbp */
	static const uint8_t fp_above[] = {0x11, 6, 0x7f};		/* rbp above the CFA */
	struct tapir_unwind_table *t;
	static struct built b;

	(void)state;
	begin(&b);
	add_fde(&b, TEXT_VA, 0x100, below, sizeof(below));
	add_fde(&b, TEXT_VA + 0x100, 0x100, far, sizeof(far));
	add_fde(&b, TEXT_VA + 0x200, 0x100, fp_above, sizeof(fp_above));
	assert_int_equal(table_of(&b, &t), 0);
	assert_row(t, TEXT_VA + 8, TAPIR_UNWIND_UNSUPPORTED, 0, 0);
	assert_row(t, TEXT_VA + 0x108, TAPIR_UNWIND_UNSUPPORTED, 0, 0);
	assert_row(t, TEXT_VA + 0x208, TAPIR_UNWIND_SP, 1, TAPIR_UNWIND_FP_LOST);
	tapir_unwind_table__free(t);
}

/* An FDE that names itself or another FDE as its CIE; entries that overlap; a CIE of 60 kB. */
static void cycles_and_huge_cies_are_left_out(void **state)
{
	struct tapir_unwind_table *t;
	static struct built b;
	uint32_t id = 4, len = 60000;
	size_t at;

	(void)state;
	begin(&b);
	at = b.len;
	add_fde(&b, TEXT_VA, 0x100, framed, sizeof(framed));
	id = 4;
	memcpy(b.bytes + at + 4, &id, 4); /* its own start */
	add_fde(&b, TEXT_VA + 0x100, 0x100, framed, sizeof(framed));
	id = (uint32_t)(b.len - at) - 25; /* the FDE before it */
	memcpy(b.bytes + b.len - 25 - sizeof(framed) + 4, &id, 4);
	add_fde(&b, TEXT_VA + 0x200, 0x100, framed, sizeof(framed));
	assert_int_equal(table_of(&b, &t), 0);
	assert_int_equal(t->shape.broken_cnt, 2);
	assert_row(t, TEXT_VA + 0x50, TAPIR_UNWIND_GAP, 0, 0);
	assert_row(t, TEXT_VA + 0x204, TAPIR_UNWIND_FP, 2, 2);
	tapir_unwind_table__free(t);

	begin(&b);
	memcpy(b.bytes, &len, 4); /* the CIE swallows all that follows */
	memset(b.bytes + b.len, 0, 60000);
	b.len += 60000;
	assert_int_equal(table_of(&b, &t), -ENOENT);
}

static void functions_that_overlap_stay_in_order(void **state)
{
	struct tapir_unwind_table *t;
	static struct built b;

	(void)state;
	begin(&b);
	for (unsigned i = 0; i < 100; i++)
		add_fde(&b, TEXT_VA + i, 0x1000, framed, sizeof(framed));
	assert_int_equal(table_of(&b, &t), 0);
	assert_row(t, TEXT_VA + 99, TAPIR_UNWIND_SP, 1, 0);
	assert_row(t, TEXT_VA + 103, TAPIR_UNWIND_FP, 2, 2);
	tapir_unwind_table__free(t);
}

static void nothing_is_read_outside_when_section_is_cut(void **state)
{
	struct tapir_unwind_table *t;
	static struct built b;

	(void)state;
	begin(&b);
	add_fde(&b, TEXT_VA, 0x100, framed, sizeof(framed));
	for (size_t len = 0; len < b.len; len++)
		assert_int_equal(table_in(".eh_frame", b.bytes, len, &t), -ENOENT);
}

/* A file of 10 million functions: as far as they fit the limit of 64 MB, and beyond it. */
static struct tapir_elf *crowd(size_t fde_cnt, int fd)
{
	static const uint8_t code[] = {0x0e, 16};
	const size_t fde_bytes = 25 + sizeof(code);
	size_t bytes = sizeof(cie) + fde_cnt * fde_bytes;
	uint8_t *section = malloc(bytes);
	struct tapir_elf *elf = NULL;
	static struct built one;
	struct elf_builder b;
	Elf64_Shdr *header;

	assert_non_null(section);
	memcpy(section, cie, sizeof(cie));
	for (size_t i = 0; i < fde_cnt; i++) {
		uint8_t *fde = section + sizeof(cie) + i * fde_bytes;
		uint32_t id = (uint32_t)(fde + 4 - section);

		begin(&one);
		add_fde(&one, TEXT_VA + i % 0x2000, 1, code, sizeof(code));
		memcpy(fde, one.bytes + sizeof(cie), fde_bytes);
		memcpy(fde + 4, &id, 4);
	}
	elf_builder__init(&b, ET_DYN);
	elf_builder__add_section(&b, ".eh_frame", SHT_PROGBITS, "", 1);
	elf_builder__finish(&b);
	/* The section is put after the file that the builder made. */
	header = (Elf64_Shdr *)(void *)(b.bytes + ((Elf64_Ehdr *)b.bytes)->e_shoff) +
		 b.section_cnt - 2;
	header->sh_offset = b.len;
	header->sh_size = bytes;
	assert_int_equal(pwrite(fd, b.bytes, b.len, 0), b.len);
	for (size_t done = 0; done < bytes;) {
		ssize_t n = pwrite(fd, section + done, bytes - done, (off_t)(b.len + done));

		assert_true(n > 0);
		done += (size_t)n;
	}
	assert_int_equal(tapir_elf__open_fd(fd, &elf), 0);
	elf_builder__fini(&b);
	free(section);
	return elf;
}

static void work_is_bounded_when_there_are_10_million_functions(void **state)
{
	static const struct {
		size_t cnt;
		int err;
	} cases[] = {{2000000, 0}, {10000000, -EFBIG}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int fd = memfd_create("crowd", MFD_CLOEXEC);
		struct tapir_elf *elf = crowd(cases[i].cnt, fd);
		struct tapir_unwind_table *t = NULL;
		uint64_t began_ns = tapir_clock__cpu_ns();

		assert_int_equal(tapir_unwind_table__build(elf, &t), cases[i].err);
		assert_true(tapir_clock__cpu_ns() - began_ns < 10ull * 1000000000);
		if (t)
			assert_true(t->shape.block_cnt < 100); /* they are all in 8 kB of code */
		tapir_unwind_table__free(t);
		tapir_elf__free(elf);
		close(fd);
	}
}

static void table_is_refused_when_code_is_too_far_apart(void **state)
{
	const struct tapir_unwind_row far[] = {
		{.pc = 0},
		{.pc = 256, .rule = TAPIR_UNWIND_SP, .cfa = 1},
		{.pc = UINT32_MAX - 256},
	};
	struct tapir_unwind_rows rows = {};
	struct tapir_unwind_table *t;

	(void)state;
	for (size_t i = 0; i < 3; i++)
		assert_true(tapir_vec__push(&rows.vec, far[i]));
	assert_int_equal(tapir_unwind_table__pack(&rows, &t), -EFBIG);
	tapir_unwind_rows__fini(&rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(broken_functions_are_left_out_and_counted),
		cmocka_unit_test(negative_offsets_make_no_row_that_leads_downwards),
		cmocka_unit_test(cycles_and_huge_cies_are_left_out),
		cmocka_unit_test(functions_that_overlap_stay_in_order),
		cmocka_unit_test(nothing_is_read_outside_when_section_is_cut),
		cmocka_unit_test(work_is_bounded_when_there_are_10_million_functions),
		cmocka_unit_test(table_is_refused_when_code_is_too_far_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
