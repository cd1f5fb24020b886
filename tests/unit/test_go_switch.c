// SPDX-License-Identifier: GPL-2.0-or-later
/* The way back from systemstack, as Go 1.19 has it and as others may, cut and changed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "attach/unwind/go_switch.h"

#define PC    0x1000u

/* clang-format off */
static const uint8_t systemstack[] = {
	0x64, 0x48, 0x8b, 0x04, 0x25, 0xf8, 0xff, 0xff, 0xff, /*  0: mov %fs:-8, %rax: the first one */
	0x48, 0x8b, 0x58, 0x30,				      /*  9: mov 48(%rax), %rbx */
	0x48, 0x3b, 0x83, 0xc0, 0, 0, 0,		      /* 13: cmp 192(%rbx), %rax */
	0xe8, 0, 0, 0, 0,				      /* 20: call */
	0x64, 0x48, 0x89, 0x14, 0x25, 0xf8, 0xff, 0xff, 0xff, /* 25: mov %rdx, %fs:-8 */
	0x48, 0x8b, 0x5a, 0x38, 0x48, 0x89, 0xdc,	      /* 34: mov 56(%rdx), %rbx; mov %rbx, %rsp */
	0xff, 0xd7,					      /* 41: call *%rdi */
	0x64, 0x48, 0x8b, 0x04, 0x25, 0xf8, 0xff, 0xff, 0xff, /* 43: mov %fs:-8, %rax */
	0x48, 0x8b, 0x58, 0x30,				      /* 52: mov 48(%rax), %rbx */
	0x48, 0x8b, 0x83, 0xc0, 0, 0, 0,		      /* 56: mov 192(%rbx), %rax */
	0x64, 0x48, 0x89, 0x04, 0x25, 0xf8, 0xff, 0xff, 0xff, /* 63: mov %rax, %fs:-8 */
	0x48, 0x8b, 0x60, 0x38,				      /* 72: mov 56(%rax), %rsp */
	0xc3,						      /* 76 */
};
/* clang-format on */
#define FROM  25u
#define UNTIL 76u

static bool find(const uint8_t *code, size_t len, uint16_t words, struct tapir_go_switch *out)
{
	const struct tapir_unwind_row rows[] = {
		{.pc = PC, .rule = TAPIR_UNWIND_SP, .cfa = 1},
		{.pc = PC + 1, .rule = TAPIR_UNWIND_SP, .cfa = words},
	};

	return tapir_go_switch__find(code, len, PC, rows, 2, out);
}

static void offsets_are_those_of_the_instructions(void **state)
{
	struct tapir_go_switch found;

	(void)state;
	for (uint16_t words = 1; words <= 7; words++) {
		assert_true(find(systemstack, sizeof(systemstack), words, &found));
		assert_int_equal(found.from, PC + FROM);
		assert_int_equal(found.until, PC + UNTIL);
		assert_int_equal(found.row.rule, TAPIR_UNWIND_GO_STACK);
		assert_int_equal(TAPIR_UNWIND_GO_M(&found.row), 48 / 8);
		assert_int_equal(TAPIR_UNWIND_GO_CURG(&found.row), 192 / 8);
		assert_int_equal(TAPIR_UNWIND_GO_SP(&found.row), 56 / 8);
		assert_int_equal(TAPIR_UNWIND_GO_WORDS(&found.row), words);
	}
	assert_false(find(systemstack, sizeof(systemstack), 8, &found));
}

static void nothing_is_found_when_code_is_cut(void **state)
{
	struct tapir_go_switch found;

	(void)state;
	for (size_t len = 0; len < UNTIL; len++)
		assert_false(find(systemstack, len, 1, &found));
	assert_true(find(systemstack, UNTIL, 1, &found));
}

/* Each other byte of the sequence is another program; offsets may be others, in whole words. */
static void nothing_is_found_when_code_is_another(void **state)
{
	struct tapir_go_switch found;
	uint8_t code[sizeof(systemstack)];

	(void)state;
	for (size_t i = FROM; i < UNTIL; i++) {
		bool is_callee = i >= 34 && i < 43, is_offset = i == 55 || i == 59 || i == 75;

		memcpy(code, systemstack, sizeof(code));
		code[i] ^= 1;
		assert_int_equal(find(code, sizeof(code), 1, &found), is_callee || i == 60);
		code[i] = systemstack[i] ^ 8;
		assert_int_equal(find(code, sizeof(code), 1, &found), is_callee || is_offset);
	}
	memcpy(code, systemstack, sizeof(code));
	code[60] = 8; /* 2,240 of m: more than a row holds */
	assert_false(find(code, sizeof(code), 1, &found));
	code[60] = 0;
	code[55] = 0x80; /* -128 of g */
	assert_false(find(code, sizeof(code), 1, &found));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(offsets_are_those_of_the_instructions),
		cmocka_unit_test(nothing_is_found_when_code_is_cut),
		cmocka_unit_test(nothing_is_found_when_code_is_another),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
