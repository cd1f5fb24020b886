// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Unwind tables of files built here: what each kind of rule becomes, files without section headers
 * or with .debug_frame only, what is added to gaps. Hostile sections: test_unwind_hostile.c; real
 * files: test_unwind_oracle.c.
 */
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

static void row_changes_where_code_says_so(void **state)
{
	struct tapir_unwind_table *t;
	static struct built b;

	(void)state;
	begin(&b);
	add_fde(&b, TEXT_VA + 0x800, 0x80, framed, sizeof(framed)); /* out of order */
	add_fde(&b, TEXT_VA, 0x100, framed, sizeof(framed));
	assert_int_equal(table_of(&b, &t), 0);
	for (unsigned i = 0; i <= 0x800; i += 0x800) {
		assert_row(t, TEXT_VA + i, TAPIR_UNWIND_SP, 1, 0);
		assert_row(t, TEXT_VA + i + 1, TAPIR_UNWIND_SP, 2, 2);
		assert_row(t, TEXT_VA + i + 3, TAPIR_UNWIND_SP, 2, 2);
		assert_row(t, TEXT_VA + i + 4, TAPIR_UNWIND_FP, 2, 2);
		assert_row(t, TEXT_VA + i + 0x7f, TAPIR_UNWIND_FP, 2, 2);
	}
	assert_row(t, TEXT_VA - 1, TAPIR_UNWIND_GAP, 0, 0);
	assert_row(t, TEXT_VA + 0x100, TAPIR_UNWIND_GAP, 0, 0);
	assert_row(t, TEXT_VA + 0x7ff, TAPIR_UNWIND_GAP, 0, 0);
	assert_row(t, TEXT_VA + 0x880, TAPIR_UNWIND_GAP, 0, 0);
	tapir_unwind_table__free(t);
}

struct rule_case {
	uint8_t code[24];
	uint8_t len, rule;
	int16_t cfa;
	uint8_t fp;
};

static const struct rule_case rule_cases[] = {
	/* the linker's PLT, and its threshold with IBT */
	{{0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22},
	 13,
	 TAPIR_UNWIND_PLT,
	 11,
	 0},
	{{0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x39, 0x2a, 0x33, 0x24, 0x22},
	 13,
	 TAPIR_UNWIND_PLT,
	 9,
	 0},
	/* a realigned stack: CFA = *(rbp - 8), rbp at *rbp */
	{{0x0f, 3, 0x76, 0x78, 0x06, 0x10, 6, 2, 0x76, 0},
	 10,
	 TAPIR_UNWIND_FP_DEREF,
	 -1,
	 TAPIR_UNWIND_FP_AT_FP},
	/* OpenSSL: CFA = *(rsp + 40) + 8 */
	{{0x0f, 5, 0x77, 40, 0x06, 0x23, 8}, 7, TAPIR_UNWIND_SP_DEREF, 5, 0},
	{{0x0f, 5, 0x77, 0x78, 0x06, 0x23, 8}, 7, TAPIR_UNWIND_SP_DEREF, -1, 0},
	/* a signal frame */
	{{0x0f, 4, 0x77, 0xa0, 1, 0x06, 0x10, 16, 3, 0x77, 0xa8, 1}, 12, TAPIR_UNWIND_SIGNAL, 0, 0},
	/* return address undefined */
	{{0x07, 16}, 2, TAPIR_UNWIND_END, 0, 0},
	/* the largest frame, and one more */
	{{0x0e, 0xf8, 0xff, 0x1f}, 4, TAPIR_UNWIND_SP, -1, 0},
	{{0x0e, 0x80, 0x80, 0x20}, 4, TAPIR_UNWIND_UNSUPPORTED, 0, 0},
	/* not a multiple of a word; below the stack pointer; from r10; rbp in another register */
	{{0x0e, 12}, 2, TAPIR_UNWIND_UNSUPPORTED, 0, 0},
	{{0x13, 1}, 2, TAPIR_UNWIND_UNSUPPORTED, 0, 0},
	{{0x0c, 10, 0}, 3, TAPIR_UNWIND_UNSUPPORTED, 0, 0},
	{{0x09, 6, 3}, 3, TAPIR_UNWIND_SP, 1, TAPIR_UNWIND_FP_LOST},
	/* the return address elsewhere */
	{{0x90, 3}, 2, TAPIR_UNWIND_UNSUPPORTED, 0, 0},
};

static void each_rule_has_its_row(void **state)
{
	static struct built b;

	(void)state;
	for (size_t i = 0; i < sizeof(rule_cases) / sizeof(rule_cases[0]); i++) {
		const struct rule_case *rule = &rule_cases[i];
		struct tapir_unwind_table *t;

		begin(&b);
		add_fde(&b, TEXT_VA, 0x100, rule->code, rule->len);
		assert_int_equal(table_of(&b, &t), 0);
		assert_row(t, TEXT_VA + 0x50, rule->rule, rule->cfa, rule->fp);
		assert_int_equal(t->shape.unsupported_cnt, rule->rule == TAPIR_UNWIND_UNSUPPORTED);
		assert_int_equal(t->shape.lost_fp_cnt, rule->fp == TAPIR_UNWIND_FP_LOST);
		tapir_unwind_table__free(t);
	}
}

static void every_row_is_found_when_there_are_many_blocks(void **state)
{
	uint8_t code[1998];
	struct tapir_unwind_table *t;
	static struct built b;

	(void)state;
	for (size_t i = 0; i < sizeof(code); i += 3) { /* a row for each byte of code */
		code[i] = 0x41;
		code[i + 1] = 0x0e;
		code[i + 2] = (uint8_t)(8 + 8 * (i / 3 % 10));
	}
	begin(&b);
	for (unsigned i = 0; i < 8; i++)
		add_fde(&b, TEXT_VA + 700 * i, 700, code, sizeof(code));
	assert_int_equal(table_of(&b, &t), 0);
	assert_true(t->shape.block_cnt > 8);
	for (unsigned i = 0; i < 8; i++)
		for (unsigned j = 1; j < 660; j++)
			assert_row(t, TEXT_VA + 700 * i + j, TAPIR_UNWIND_SP, 1 + (j - 1) % 10, 0);
	tapir_unwind_table__free(t);
}

/* ---- other sources ------------------------------------------------------------------------------ */

static void table_is_the_same_without_section_headers(void **state)
{
	static const uint8_t header[] = {1, 0x04, 0xff, 0xff}; /* eh_frame_ptr: absolute, 8 bytes */
	uint64_t eh_va = DATA_VA + 0x100;
	struct tapir_unwind_table *t;
	struct tapir_elf *elf;
	struct elf_builder eb;
	static struct built b;

	(void)state;
	begin(&b);
	add_fde(&b, TEXT_VA, 0x100, framed, sizeof(framed));
	elf_builder__init(&eb, ET_DYN);
	memcpy(eb.bytes + DATA_OFF, header, sizeof(header));
	memcpy(eb.bytes + DATA_OFF + 4, &eh_va, sizeof(eh_va));
	memcpy(eb.bytes + DATA_OFF + 0x100, b.bytes, b.len);
	elf_builder__add_phdr(&eb, PT_GNU_EH_FRAME, PF_R, DATA_OFF, 12);
	elf_builder__finish(&eb);
	((Elf64_Ehdr *)eb.bytes)->e_shoff = 0;
	((Elf64_Ehdr *)eb.bytes)->e_shnum = 0;
	((Elf64_Ehdr *)eb.bytes)->e_shstrndx = 0;
	elf = elf_builder__open(&eb);
	assert_non_null(elf);
	assert_int_equal(tapir_unwind_table__build(elf, &t), 0);
	assert_row(t, TEXT_VA + 4, TAPIR_UNWIND_FP, 2, 2);
	tapir_unwind_table__free(t);
	tapir_elf__free(elf);
	elf_builder__fini(&eb);
}

static void debug_frame_is_read_when_it_is_all(void **state)
{
	/* version 4: size of an address 8, of a segment selector 0 */
	static const uint8_t debug_cie[] = {20, 0,    0,  0,	0xff, 0xff, 0xff, 0xff, 4, 0, 8, 0,
					    1,	0x78, 16, 0x0c, 7,    8,    0x90, 1,	0, 0, 0, 0};
	uint32_t len = 4 + 16 + sizeof(framed), id = 0;
	uint64_t start = TEXT_VA, range = 0x100;
	struct tapir_unwind_table *t;
	uint8_t section[128];
	size_t at = sizeof(debug_cie);

	(void)state;
	memcpy(section, debug_cie, at);
	memcpy(section + at, &len, 4);
	memcpy(section + at + 4, &id, 4);
	memcpy(section + at + 8, &start, 8);
	memcpy(section + at + 16, &range, 8);
	memcpy(section + at + 24, framed, sizeof(framed));
	assert_int_equal(table_in(".debug_frame", section, at + 24 + sizeof(framed), &t), 0);
	assert_row(t, TEXT_VA + 4, TAPIR_UNWIND_FP, 2, 2);
	tapir_unwind_table__free(t);
}

static void gaps_have_stubs_and_trampolines_and_an_entry_point(void **state)
{
	static const uint8_t sigreturn[] = {0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05};
	/* xor rbp, rbp; mov rdi, rsp; lea rsi, [rip]; and rsp, -16; call */
	static const uint8_t entry[] = {0x48, 0x31, 0xed, 0x48, 0x89, 0xe7, 0x48, 0x8d, 0x35, 0, 0,
					0,    0,    0x48, 0x83, 0xe4, 0xf0, 0xe8, 0,	0,    0, 0};
	struct tapir_unwind_table *t;
	struct tapir_elf *elf;
	struct elf_builder b;

	(void)state;
	elf_builder__init(&b, ET_DYN);
	memcpy(b.bytes + TEXT_OFF + 0x100, sigreturn, sizeof(sigreturn));
	memcpy(b.bytes + TEXT_OFF + 0x200, entry, sizeof(entry));
	elf_builder__add_header(&b, ".plt", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR,
				TEXT_OFF + 0x400, 0x40);
	elf_builder__finish(&b);
	((Elf64_Ehdr *)b.bytes)->e_entry = TEXT_VA + 0x200;
	elf = elf_builder__open(&b);
	assert_non_null(elf);
	assert_int_equal(tapir_unwind_table__build(elf, &t), 0);
	assert_row(t, TEXT_VA + 0xff, TAPIR_UNWIND_SIGNAL, 0, 0); /* returned to - 1 */
	assert_row(t, TEXT_VA + 0x100, TAPIR_UNWIND_SIGNAL, 0, 0);
	assert_row(t, TEXT_VA + 0x109, TAPIR_UNWIND_SIGNAL, 0, 0); /* in the system call */
	assert_row(t, TEXT_VA + 0x10a, TAPIR_UNWIND_GAP, 0, 0);
	assert_row(t, TEXT_VA + 0x200, TAPIR_UNWIND_END, 0, 0);
	assert_row(t, TEXT_VA + 0x200 + sizeof(entry) - 1, TAPIR_UNWIND_END, 0, 0);
	assert_row(t, TEXT_VA + 0x200 + sizeof(entry), TAPIR_UNWIND_GAP, 0, 0);
	assert_row(t, TEXT_VA + 0x43f, TAPIR_UNWIND_PLT, 11, 0);
	assert_row(t, TEXT_VA + 0x440, TAPIR_UNWIND_GAP, 0, 0);
	tapir_unwind_table__free(t);
	tapir_elf__free(elf);
	elf_builder__fini(&b);
}

/* glibc's __start_context: .eh_frame describes it as a function that was called. */
static void coroutine_ends_in_all_of_its_first_code(void **state)
{
	static const uint8_t code[] = {0x48, 0x89, 0xdc, 0x48, 0x8b, 0x3c, 0x24, 0x48, 0x85,
				       0xff, 0x74, 0x08, 0xe8, 1,    2,	   3,	 4,    0x48,
				       0x89, 0xc7, 0xe8, 5,    6,    7,	   8,	 0xf4};

	(void)state;
	for (int is_other = 0; is_other < 2; is_other++) {
		unsigned rule = is_other ? TAPIR_UNWIND_SP : TAPIR_UNWIND_END;
		struct tapir_unwind_table *t;
		struct tapir_elf *elf;
		struct elf_builder eb;
		static struct built b;

		begin(&b);
		add_fde(&b, TEXT_VA + 0x10, sizeof(code), NULL, 0);
		elf_builder__init(&eb, ET_DYN);
		elf_builder__add_section(&eb, ".eh_frame", SHT_PROGBITS, b.bytes, b.len);
		memcpy(eb.bytes + TEXT_OFF + 0x10, code, sizeof(code));
		eb.bytes[TEXT_OFF + 0x10 + sizeof(code) - 1] ^= (uint8_t)is_other;
		elf_builder__finish(&eb);
		elf = elf_builder__open(&eb);
		assert_non_null(elf);
		assert_int_equal(tapir_unwind_table__build(elf, &t), 0);
		assert_row(t, TEXT_VA + 0x0f, TAPIR_UNWIND_END, 0, 0); /* returned to - 1 */
		assert_row(t, TEXT_VA + 0x10, rule, is_other, 0);
		assert_row(t, TEXT_VA + 0x20, rule, is_other, 0); /* its calls' return addresses */
		assert_row(t, TEXT_VA + 0x29, rule, is_other, 0);
		assert_row(t, TEXT_VA + 0x2a, TAPIR_UNWIND_GAP, 0, 0);
		tapir_unwind_table__free(t);
		tapir_elf__free(elf);
		elf_builder__fini(&eb);
	}
}

/* Two functions, 11 bytes apart, between which the code is. */
static struct tapir_unwind_table *table_around(const uint8_t *code, size_t len)
{
	struct tapir_unwind_table *t;
	struct tapir_elf *elf;
	struct elf_builder eb;
	static struct built b;

	begin(&b);
	add_fde(&b, TEXT_VA, 0x15, framed, sizeof(framed));
	add_fde(&b, TEXT_VA + 0x20, 0x20, framed, sizeof(framed));
	elf_builder__init(&eb, ET_DYN);
	elf_builder__add_section(&eb, ".eh_frame", SHT_PROGBITS, b.bytes, b.len);
	memcpy(eb.bytes + TEXT_OFF + 0x15, code, len);
	elf_builder__finish(&eb);
	elf = elf_builder__open(&eb);
	assert_non_null(elf);
	assert_int_equal(tapir_unwind_table__build(elf, &t), 0);
	tapir_elf__free(elf);
	elf_builder__fini(&eb);
	return t;
}

/* Such a function has no caller that the rows around it lead to. */
static void function_between_others_is_no_padding(void **state)
{
	static const struct {
		uint8_t code[11];
		bool is_padding;
	} cases[] = {
		{{0}, true},
		{{0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc}, true},
		/* data16 cs nopw 0x0(%rax,%rax,1) */
		{{0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0}, true},
		/* nopl 0x0(%rax,%rax,1); nopw 0x0(%rax,%rax,1) */
		{{0x0f, 0x1f, 0x44, 0, 0, 0x66, 0x0f, 0x1f, 0x44, 0, 0}, true},
		/* xchg %ax,%ax; nopl (%rax); nopl 0x0(%rax); nop; int3 */
		{{0x66, 0x90, 0x0f, 0x1f, 0, 0x0f, 0x1f, 0x40, 0, 0x90, 0xcc}, true},
		/* nopl 0x0(%rax) goes beyond */
		{{0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x0f, 0x1f, 0x80}, false},
		/* ret; xor %eax,%eax, ret; nop, pause, jmp: functions in assembly */
		{{0xc3}, false},
		{{0x31, 0xc0, 0xc3}, false},
		{{0x90, 0xf3, 0x90, 0xeb, 0xfb}, false},
		{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xc3}, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct tapir_unwind_table *t = table_around(cases[i].code, sizeof(cases[i].code));

		assert_row(t, TEXT_VA + 0x14, TAPIR_UNWIND_FP, 2, 2);
		for (unsigned at = 0x15; at < 0x20; at++)
			if (cases[i].is_padding)
				assert_row(t, TEXT_VA + at, TAPIR_UNWIND_FP, 2, 2);
			else
				assert_row(t, TEXT_VA + at, TAPIR_UNWIND_GAP, 0, 0);
		assert_row(t, TEXT_VA + 0x20, TAPIR_UNWIND_SP, 1, 0);
		tapir_unwind_table__free(t);
	}
}

/* In assembly: it pops what it pushes, and ends in padding. */
static const uint8_t frameless[16] = {0x53, 0x5b, 0xc3, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc,
				      0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc};
/* push %rbp; mov %rsp, %rbp; call ...; pop %rbp; ret; the second one is for CET. */
static const uint8_t keeps_frame[16] = {0x55, 0x48, 0x89, 0xe5, 0xe8, 0x10, 0, 0, 0, 0x5d, 0xc3};
static const uint8_t with_endbr[16] = {0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x48, 0x89, 0xe5,
				       0xe8, 0x10, 0,	 0,    0,    0x5d, 0xc3};

/* Gaps between described functions of 0x40 bytes, at 0x40, 0x100 and 0x1c0. */
static void undescribed_functions_that_keep_frame_pointers_have_callers(void **state)
{
	static const struct {
		unsigned at;
		const uint8_t *code;
	} functions[] = {{0x40, frameless},   {0x50, keeps_frame}, {0x60, with_endbr},
			 {0x100, with_endbr}, {0x1c0, frameless},  {0x1d0, keeps_frame},
			 {0x1e0, frameless},  {0x1f0, frameless},  {0x200, frameless},
			 {0x210, frameless},  {0x220, frameless},  {0x230, frameless}};
	struct tapir_unwind_table *t;
	struct tapir_elf *elf;
	struct elf_builder eb;
	static struct built b;

	(void)state;
	begin(&b);
	for (unsigned at = 0; at <= 0x240; at += 0xc0)
		add_fde(&b, TEXT_VA + at, 0x40, framed, sizeof(framed));
	elf_builder__init(&eb, ET_DYN);
	elf_builder__add_section(&eb, ".eh_frame", SHT_PROGBITS, b.bytes, b.len);
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		memcpy(eb.bytes + TEXT_OFF + functions[i].at, functions[i].code, 16);
	elf_builder__finish(&eb);
	elf = elf_builder__open(&eb);
	assert_non_null(elf);
	assert_int_equal(tapir_unwind_table__build(elf, &t), 0);
	assert_row(t, TEXT_VA + 0x4f, TAPIR_UNWIND_GAP, 0, 0);
	assert_row(t, TEXT_VA + 0x50, TAPIR_UNWIND_FRAME, 0, 0);
	assert_row(t, TEXT_VA + 0x6f, TAPIR_UNWIND_FRAME, 0, 0);
	assert_row(t, TEXT_VA + 0xc0, TAPIR_UNWIND_SP, 1, 0);
	assert_row(t, TEXT_VA + 0x100, TAPIR_UNWIND_FRAME, 0, 0);
	/* Most of them keep none: not known of any. */
	for (unsigned at = 0x1c0; at < 0x240; at += 16)
		assert_row(t, TEXT_VA + at, TAPIR_UNWIND_GAP, 0, 0);
	tapir_unwind_table__free(t);
	tapir_elf__free(elf);
	elf_builder__fini(&eb);
}

/* Directly behind a function of 0x43 bytes; push %rbp alone begins no frame. */
static void undescribed_function_need_not_be_aligned(void **state)
{
	static const uint8_t pushes[16] = {0x55, 0x53, 0x5b, 0x5d, 0xc3};

	(void)state;
	for (int keeps = 0; keeps < 2; keeps++) {
		struct tapir_unwind_table *t;
		struct tapir_elf *elf;
		struct elf_builder eb;
		static struct built b;

		begin(&b);
		add_fde(&b, TEXT_VA, 0x43, framed, sizeof(framed));
		add_fde(&b, TEXT_VA + 0x60, 0x20, framed, sizeof(framed));
		elf_builder__init(&eb, ET_DYN);
		elf_builder__add_section(&eb, ".eh_frame", SHT_PROGBITS, b.bytes, b.len);
		memcpy(eb.bytes + TEXT_OFF + 0x43, keeps ? keeps_frame : pushes, 16);
		elf_builder__finish(&eb);
		elf = elf_builder__open(&eb);
		assert_non_null(elf);
		assert_int_equal(tapir_unwind_table__build(elf, &t), 0);
		assert_row(t, TEXT_VA + 0x43, keeps ? TAPIR_UNWIND_FRAME : TAPIR_UNWIND_GAP, 0, 0);
		assert_row(t, TEXT_VA + 0x4d, keeps ? TAPIR_UNWIND_FRAME : TAPIR_UNWIND_GAP, 0, 0);
		assert_row(t, TEXT_VA + 0x60, TAPIR_UNWIND_SP, 1, 0);
		tapir_unwind_table__free(t);
		tapir_elf__free(elf);
		elf_builder__fini(&eb);
	}
}

static void gaps_are_filled_up_to_what_is_described(void **state)
{
	const struct tapir_unwind_row end = {.rule = TAPIR_UNWIND_END};
	struct tapir_unwind_row want[] = {
		{.pc = 0},   {.pc = 100, .rule = TAPIR_UNWIND_SP, .cfa = 1},
		{.pc = 200}, {.pc = 300, .rule = TAPIR_UNWIND_SP, .cfa = 1},
		{.pc = 400},
	};
	static const struct {
		uint32_t from, until;
		size_t cnt; /* of rows after it */
	} cases[] = {{250, 350, 6}, {200, 300, 5}, {200, 250, 6}, {150, 180, 5},
		     {50, 60, 7},   {400, 500, 6}, {90, 100, 6},  {300, 300, 5}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct tapir_unwind_rows rows = {};

		for (size_t j = 0; j < 5; j++)
			assert_true(tapir_vec__push(&rows.vec, want[j]));
		assert_int_equal(tapir_unwind_rows__fill(&rows, cases[i].from, cases[i].until, end),
				 0);
		assert_int_equal(rows.vec.cnt, cases[i].cnt);
		for (size_t j = 1; j < rows.vec.cnt; j++)
			assert_true(rows.vec.data[j].pc > rows.vec.data[j - 1].pc);
		assert_int_equal(rows.vec.data[rows.vec.cnt - 1].rule, TAPIR_UNWIND_GAP);
		tapir_unwind_rows__fini(&rows);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(row_changes_where_code_says_so),
		cmocka_unit_test(each_rule_has_its_row),
		cmocka_unit_test(every_row_is_found_when_there_are_many_blocks),
		cmocka_unit_test(table_is_the_same_without_section_headers),
		cmocka_unit_test(debug_frame_is_read_when_it_is_all),
		cmocka_unit_test(gaps_have_stubs_and_trampolines_and_an_entry_point),
		cmocka_unit_test(coroutine_ends_in_all_of_its_first_code),
		cmocka_unit_test(function_between_others_is_no_padding),
		cmocka_unit_test(undescribed_functions_that_keep_frame_pointers_have_callers),
		cmocka_unit_test(undescribed_function_need_not_be_aligned),
		cmocka_unit_test(gaps_are_filled_up_to_what_is_described),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
