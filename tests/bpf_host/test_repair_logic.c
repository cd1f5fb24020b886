// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A walk that puts back the callers which functions hide, over stacks that are built here. The
 * walker below reads as bpf/user_stack.bpf.h does; what is under test is what it takes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "bpf/repair_logic.bpf.h"
#include "bpf/walk_logic.bpf.h"

#define STACK_WORDS 512u
#define STACK_VA    0x7ffc00000000ull
#define HELPERS_VA  0x7f0000000000ull
#define CODE_VA	    0x555555554000ull

static uint64_t stack[STACK_WORDS];
static struct tapir_repair_file file;

/* Rows, each up to the next one. */
static void put_rows(const struct tapir_repair_row *rows, unsigned cnt)
{
	memset(&file, 0, sizeof(file));
	file.page_shift = 10;
	for (unsigned i = 0; i < TAPIR_REPAIR_ROWS; i++)
		file.rows[i].off = UINT32_MAX;
	memcpy(file.rows, rows, cnt * sizeof(*rows));
	for (unsigned i = 0; i + 1 < cnt; i++)
		for (uint32_t off = rows[i].off; rows[i].cfa_off && off < rows[i + 1].off; off++)
			file.pages[off >> 16] |= 1ull << (off >> 10 & 63);
}

static int setup(void **state)
{
	/* [0x100, 0x180) is 40 bytes deep, [0x200, 0x240) a leaf, [0x1000, 0x1100) sets its frame
	 */
	static const struct tapir_repair_row rows[] = {{0x100, 40}, {0x180, 0},	  {0x200, 8},
						       {0x240, 0},  {0x1000, 16}, {0x1100, 0}};

	(void)state;
	memset(stack, 0, sizeof(stack));
	put_rows(rows, sizeof(rows) / sizeof(rows[0]));
	return 0;
}

static uint64_t va_of(unsigned word)
{
	return STACK_VA + 8 * word;
}

static int read_word(uint64_t va, uint64_t *out)
{
	if (va < STACK_VA || va - STACK_VA > sizeof(stack) - 8 || va & 7)
		return 0;
	*out = stack[(va - STACK_VA) / 8];
	return 1;
}

static unsigned take_hidden(uint64_t ip, uint64_t sp_va, uint64_t fp, uint32_t min, uint64_t *ips,
			    unsigned cnt)
{
	for (unsigned i = 0; i < 3; i++) {
		uint64_t slot, hidden;
		uint32_t cfa_off = 0;

		if (ip - HELPERS_VA < 0x2000)
			cfa_off = tapir_repair__cfa_off(&file, (uint32_t)(ip - HELPERS_VA));
		slot = sp_va + cfa_off - 8;
		if (cfa_off < min || !tapir_repair__slot_ok(slot, sp_va, fp) ||
		    !read_word(slot, &hidden) || !tapir_walk__ip_ok(hidden))
			break;
		ips[cnt++] = hidden;
		ip = hidden - 1;
		sp_va = slot + 8;
		min = TAPIR_REPAIR_LEAF;
	}
	return cnt;
}

static unsigned walk(uint64_t ip, uint64_t sp, uint64_t fp, uint64_t *ips)
{
	uint64_t above = sp, pair[2];
	unsigned cnt = take_hidden(ip, sp, fp, TAPIR_REPAIR_LEAF, ips, 0);

	while (cnt < 100 && tapir_walk__fp_ok(fp, above) && read_word(fp, &pair[0]) &&
	       read_word(fp + 8, &pair[1]) && tapir_walk__ip_ok(pair[1])) {
		ips[cnt++] = pair[1];
		above = fp + 16;
		fp = pair[0];
		cnt = take_hidden(pair[1] - 1, above, fp, TAPIR_REPAIR_CALLER, ips, cnt);
	}
	return cnt;
}

static void put_frame(unsigned word, uint64_t caller_fp, uint64_t return_ip)
{
	stack[word] = caller_fp;
	stack[word + 1] = return_ip;
}

static void hidden_caller_is_put_back(void **state)
{
	uint64_t ips[100];

	(void)state;
	/* runtime code (frame at 10) <- helper, 40 bytes <- allocating method (frame at 30) */
	put_frame(10, va_of(30), HELPERS_VA + 0x120);
	stack[12 + 4] = CODE_VA + 1; /* behind the 4 words the helper pushed */
	put_frame(30, 0, CODE_VA + 2);
	assert_int_equal(walk(CODE_VA, va_of(4), va_of(10), ips), 3);
	assert_true(ips[0] == HELPERS_VA + 0x120 && ips[1] == CODE_VA + 1 && ips[2] == CODE_VA + 2);
}

static void return_address_behind_the_last_row_counts_as_before_it(void **state)
{
	uint64_t ips[100];

	(void)state;
	put_frame(10, va_of(30),
		  HELPERS_VA + 0x180); /* the helper's last instruction is the call */
	stack[12 + 4] = CODE_VA + 1;
	put_frame(30, 0, CODE_VA + 2);
	assert_int_equal(walk(CODE_VA, va_of(4), va_of(10), ips), 3);
	stack[11] = HELPERS_VA + 0x100; /* the call lies in what is before the helper */
	assert_int_equal(walk(CODE_VA, va_of(4), va_of(10), ips), 2);
}

static void caller_is_not_taken_twice_when_helper_set_its_frame(void **state)
{
	uint64_t ips[100];

	(void)state;
	put_frame(10, va_of(15), HELPERS_VA + 0x120);
	put_frame(15, va_of(30), CODE_VA + 1); /* word 16: the very slot */
	put_frame(30, 0, CODE_VA + 2);
	assert_int_equal(walk(CODE_VA, va_of(4), va_of(10), ips), 3);
	assert_true(ips[1] == CODE_VA + 1 && ips[2] == CODE_VA + 2);
}

static void shallow_rows_count_for_leaves_only(void **state)
{
	uint64_t ips[100];

	(void)state;
	put_frame(10, va_of(30), HELPERS_VA + 0x1050);
	stack[12 + 1] = CODE_VA + 1;
	put_frame(30, 0, CODE_VA + 2);
	assert_int_equal(walk(CODE_VA, va_of(4), va_of(10), ips), 2);
}

static void leaf_in_helper_gives_both_callers(void **state)
{
	uint64_t ips[100];

	(void)state;
	/* a leaf <- helper <- method whose frame is at 30 */
	stack[4] = HELPERS_VA + 0x110;
	stack[5 + 4] = CODE_VA + 1;
	put_frame(30, 0, CODE_VA + 2);
	assert_int_equal(walk(HELPERS_VA + 0x210, va_of(4), va_of(30), ips), 3);
	assert_true(ips[0] == HELPERS_VA + 0x110 && ips[1] == CODE_VA + 1 && ips[2] == CODE_VA + 2);
}

static void nothing_is_put_back_when_slot_holds_no_code(void **state)
{
	uint64_t ips[100];

	(void)state;
	put_frame(10, va_of(30), HELPERS_VA + 0x120);
	stack[12 + 4] = 17;
	put_frame(30, 0, CODE_VA + 2);
	assert_int_equal(walk(CODE_VA, va_of(4), va_of(10), ips), 2);
}

static void rows_end_where_the_next_begins(void **state)
{
	static const struct {
		uint32_t off, cfa_off;
	} cases[] = {
		{0, 0},	      {0xff, 0},    {0x100, 40}, {0x17f, 40},	{0x180, 0},
		{0x1ff, 0},   {0x200, 8},   {0x23f, 8},	 {0x240, 0},	{0xfff, 0},
		{0x1000, 16}, {0x10ff, 16}, {0x1100, 0}, {0xffffff, 0}, {UINT32_MAX, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (tapir_repair__cfa_off(&file, cases[i].off) != cases[i].cfa_off)
			fail_msg("%#x", cases[i].off);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup(name, setup)
		CASE(hidden_caller_is_put_back),
		CASE(return_address_behind_the_last_row_counts_as_before_it),
		CASE(caller_is_not_taken_twice_when_helper_set_its_frame),
		CASE(shallow_rows_count_for_leaves_only),
		CASE(leaf_in_helper_gives_both_callers),
		CASE(nothing_is_put_back_when_slot_holds_no_code),
		CASE(rows_end_where_the_next_begins),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
