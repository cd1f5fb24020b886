// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The searches of a table walk against linear ones, and what is made of the instructions at which
 * generated code was interrupted: each instruction of real prologues and epilogues, where the
 * frame's end is known by counting pushes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/unwind_logic.bpf.h"

static struct tapir_unwind_block block;
static struct tapir_unwind_space space;

static void row_is_the_last_one_that_is_not_beyond(void **state)
{
	(void)state;
	srand(1);
	for (unsigned cnt = 1; cnt <= TAPIR_UNWIND_BLOCK_ROWS; cnt += 1 + cnt / 3) {
		memset(&block, 0xff, sizeof(block));
		for (unsigned i = 0; i < cnt; i++)
			block.rows[i].pc = 10 * i + 10;
		for (unsigned pc = 0; pc < 10 * cnt + 30; pc++) {
			unsigned expected = pc / 10 > cnt ? cnt - 1 : pc / 10 ? pc / 10 - 1 : 0;

			assert_int_equal(tapir_unwind__row_idx(&block, pc), expected);
		}
		assert_int_equal(tapir_unwind__row_idx(&block, UINT32_MAX - 1), cnt - 1);
	}
}

static void mapping_is_the_last_one_that_begins_before(void **state)
{
	(void)state;
	for (unsigned cnt = 0; cnt <= TAPIR_UNWIND_SPACE_MAPPINGS; cnt++) {
		memset(&space, 0, sizeof(space));
		space.cnt = cnt;
		for (unsigned i = 0; i < cnt; i++)
			space.mappings[i].start_va = 0x7f0000000000ull + 0x1000 * i;
		for (unsigned i = 0; i < cnt; i++) {
			uint64_t va = space.mappings[i].start_va;

			assert_int_equal(tapir_unwind__mapping_idx(&space, va), i);
			assert_int_equal(tapir_unwind__mapping_idx(&space, va + 0xfff), i);
		}
		assert_int_equal(tapir_unwind__mapping_idx(&space, 0x1000), 0);
		assert_int_equal(tapir_unwind__mapping_idx(&space, 0xffffffffff600000ull >> 1),
				 cnt ? cnt - 1 : 0);
	}
}

static void block_is_the_one_the_address_would_be_in(void **state)
{
	(void)state;
	for (unsigned cnt = 1; cnt <= TAPIR_UNWIND_SPACE_BLOCKS; cnt++) {
		for (unsigned i = 0; i < TAPIR_UNWIND_SPACE_BLOCKS; i++)
			space.first_va[i] = i < cnt ? 0x400000 * (i + 1ull) : UINT64_MAX;
		for (unsigned i = 0; i < cnt; i++) {
			assert_int_equal(tapir_unwind__space_block(&space, space.first_va[i] + 5),
					 i);
			assert_int_equal(tapir_unwind__space_block(&space, space.first_va[i]), i);
		}
		assert_int_equal(tapir_unwind__space_block(&space, 5), 0);
		assert_int_equal(tapir_unwind__space_block(&space, ~0ull >> 2), cnt - 1);
	}
}

/* ---- interrupted code ----------------------------------------------------------------------- */

static struct tapir_unwind_code decode(const uint8_t *bytes, size_t len)
{
	struct tapir_unwind_code c = {};

	memcpy(c.bytes, bytes, len < TAPIR_UNWIND_CODE_BYTES ? len : TAPIR_UNWIND_CODE_BYTES);
	for (unsigned i = 0; i < TAPIR_UNWIND_CODE_STEPS && !c.result; i++)
		tapir_unwind_code__step(&c);
	return c;
}

/* An instruction, and where the frame ends when it is the next one: 0, by the frame pointer. */
struct insn {
	const char *bytes;
	unsigned len;
	int cfa_off, fp_off; /* fp_off -1: the caller's is in rbp */
};

static void check(const struct insn *insns, unsigned cnt)
{
	uint8_t code[256];
	size_t at = 0, total = 0;

	for (unsigned i = 0; i < cnt; i++) {
		memcpy(code + total, insns[i].bytes, insns[i].len);
		total += insns[i].len;
	}
	for (unsigned i = 0; i < cnt; at += insns[i++].len) {
		struct tapir_unwind_code c = decode(code + at, total - at);

		assert_int_equal(tapir_unwind_code__ok(&c) ? c.cfa_off : 0, insns[i].cfa_off);
		if (insns[i].cfa_off)
			assert_int_equal(c.has_fp_off ? c.fp_off : -1, insns[i].fp_off);
	}
}

#define CHECK(insns) check(insns, sizeof(insns) / sizeof((insns)[0]))

static void hotspot_method_is_followed_when_it_has_frame_pointers(void **state)
{
	static const struct insn insns[] = {
		{"\x89\x84\x24\x00\xc0\xfe\xff", 7, 8, -1}, /* mov [rsp - 0x14000], eax */
		{"\x55", 1, 8, -1},			    /* push rbp */
		{"\x48\x8b\xec", 3, 16, 0},		    /* mov rbp, rsp */
		{"\x48\x83\xec\x20", 4, 0, 0},		    /* sub rsp, 32 */
		{"\x8b\xc6", 2, 0, 0},			    /* mov eax, esi */
		{"\x48\x83\xc4\x20", 4, 48, 32},	    /* add rsp, 32 */
		{"\x5d", 1, 16, 0},			    /* pop rbp */
		{"\x49\x3b\xa7\x38\x03\x00\x00", 7, 8, -1}, /* cmp rsp, [r15 + 0x338] */
		{"\x0f\x87\x01\x00\x00\x00", 6, 8, -1},	    /* ja */
		{"\xc3", 1, 8, -1}};			    /* ret */

	(void)state;
	CHECK(insns);
}

static void coreclr_method_is_followed(void **state)
{
	static const struct insn insns[] = {
		{"\x55", 1, 8, -1},		     /* push rbp */
		{"\x41\x57", 2, 16, 0},		     /* push r15 */
		{"\x41\x55", 2, 24, 8},		     /* push r13 */
		{"\x53", 1, 32, 16},		     /* push rbx */
		{"\x48\x83\xec\x18", 4, 40, 24},     /* sub rsp, 24 */
		{"\xc5\xf8\x77", 3, 64, 48},	     /* vzeroupper */
		{"\x48\x8d\x6c\x24\x30", 5, 64, 48}, /* lea rbp, [rsp + 48] */
		{"\x33\xc0", 2, 0, 0},		     /* xor eax, eax */
		{"\x48\x83\xc4\x18", 4, 64, 48},     /* add rsp, 24 */
		{"\x5b", 1, 40, 24},		     /* pop rbx */
		{"\x41\x5d", 2, 32, 16},	     /* pop r13 */
		{"\x41\x5f", 2, 24, 8},		     /* pop r15 */
		{"\x5d", 1, 16, 0},		     /* pop rbp */
		{"\xc3", 1, 8, -1}};		     /* ret */

	(void)state;
	CHECK(insns);
}

static void large_frame_is_followed(void **state)
{
	static const struct insn insns[] = {
		{"\x55", 1, 8, -1},
		{"\x48\x81\xec\x00\x02\x00\x00", 7, 16, 0}, /* sub rsp, 512 */
		{"\x48\x8d\xac\x24\x00\x02\x00\x00", 8, 16 + 512, 512},
		{"\x90\xcc", 2, 0, 0}};

	(void)state;
	CHECK(insns);
}

static void body_is_left_to_the_frame_pointer(void **state)
{
	static const char *const bodies[] = {
		"\xe8\x00\x01\x00\x00\x5d\xc3",	    /* call; pop rbp; ret */
		"\xc9\xc3",			    /* leave; ret */
		"\x48\x8b\xe5\x5d\xc3",		    /* mov rsp, rbp; pop rbp; ret */
		"\x50\x50\x50\xe8\x11\x22\x33\x44", /* push rax, three times; call */
		"\x48\x83\xc4\x08\x48\x8b\x07",	    /* add rsp, 8; mov rax, [rdi] */
		"\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90",
		"\x48\x83\xec\x01\xc3",		   /* sub rsp, 1; ret: of no function */
		"\x48\x81\xec\x00\x00\x00\x80\xc3" /* sub rsp, INT32_MIN; ret */
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
		struct tapir_unwind_code c =
			decode((const uint8_t *)bodies[i], strlen(bodies[i]) + 1);

		assert_false(tapir_unwind_code__ok(&c));
	}
}

/* CoreCLR's frames without a record: Middle(n) => Leaf(n) + 1, and a property. */
static void method_without_a_record_is_followed(void **state)
{
	static const struct insn wrapper[] = {
		{"\x48\x8b\x05\x11\x22\x33\x44", 7, 32, -1}, /* mov rax, [rip + n] */
		{"\x48\xff\xc0", 3, 32, -1},		     /* inc rax */
		{"\x74\x03", 2, 32, -1},		     /* je */
		{"\x48\x03\xc3", 3, 32, -1},		     /* add rax, rbx */
		{"\x48\x83\xc4\x10", 4, 32, -1},	     /* add rsp, 16 */
		{"\x5b", 1, 16, -1},			     /* pop rbx */
		{"\xc3", 1, 8, -1}};
	static const struct insn property[] = {{"\x8b\x47\x08", 3, 8, -1}, {"\xc3", 1, 8, -1}};

	(void)state;
	CHECK(wrapper);
	CHECK(property);
}

/* The same instructions in a body that has a record, or that continues elsewhere. */
static void body_with_a_record_is_left_to_the_frame_pointer(void **state)
{
	static const char *const bodies[] = {
		"\x48\xff\xc0\x48\x83\xc4\x10\x5b\x5d\xc3", /* ...; pop rbx; pop rbp; ret */
		"\x48\xff\xc0\xc9\xc3",			    /* ...; leave; ret */
		"\x48\xff\xc0\x48\x8d\x65\xf8\x5b\xc3",	    /* lea rsp, [rbp - 8]; ... */
		"\x48\xff\xc0\xeb\x10\xc3",		    /* jmp */
		"\x48\xff\xc0\xe8\x11\x22\x33\x44\xcc\xc3", /* call; int3: it does not return */
		"\x48\xff\xc0\x55\x48\x8b\xec\xc3",	    /* the next function */
		"\x50\xe8\x11\x22\x33\x44\xc3",		    /* push rax; call, which may pop it */
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
		struct tapir_unwind_code c =
			decode((const uint8_t *)bodies[i], strlen(bodies[i]) + 1);

		assert_false(tapir_unwind_code__ok(&c));
	}
}

/* Any bytes: what is decoded is a frame above the stack pointer, or left to the frame pointer. */
/* As those who walk do it: bytes at c.va are read anew after a jump. */
static struct tapir_unwind_code decode_at(const uint8_t *code, size_t len, size_t at)
{
	struct tapir_unwind_code c = {.va = at};

	memcpy(c.bytes, code + at, len - at);
	for (unsigned i = 0; i < TAPIR_UNWIND_CODE_STEPS && !c.result; i++) {
		tapir_unwind_code__step(&c);
		if (c.result != TAPIR_UNWIND_CODE_JUMPED)
			continue;
		assert_true(c.va < len);
		memset(c.bytes, 0, sizeof(c.bytes));
		memcpy(c.bytes, code + c.va, len - c.va);
		tapir_unwind_code__land(&c);
	}
	return c;
}

/* TaskAwaiter<bool>.GetResult() as .NET 10 compiles it anew: what is seldom executed jumps back. */
static void jump_out_of_a_path_that_is_seldom_taken_is_followed(void **state)
{
	static const uint8_t near[] = {0x53, 0x48, 0x8b, 0xdf, 0x48, 0x8b, 0x03, 0x0f,
				       0xb6, 0x40, 0x38, 0x5b, 0xc3, 0x33, 0xf6, 0xff,
				       0x15, 1,	   2,	 3,    4,    0xeb, 0xed};
	static const uint8_t far[] = {0xe9, 1, 0, 0, 0, 0xcc, 0x41, 0x5e, 0x5b, 0xc3};
	static const uint8_t record[] = {0xeb, 1, 0xcc, 0x48, 0x83, 0xc4, 8, 0x5b, 0x5d, 0xc3};
	static const uint8_t endless[] = {0x33, 0xf6, 0xeb, 0xfc};
	struct tapir_unwind_code c = decode_at(near, sizeof(near), 21);

	(void)state;
	assert_true(tapir_unwind_code__ok(&c));
	assert_int_equal(c.cfa_off, 16);
	assert_false(c.has_fp_off);
	c = decode_at(far, sizeof(far), 0);
	assert_true(tapir_unwind_code__ok(&c));
	assert_int_equal(c.cfa_off, 24);
	c = decode_at(record, sizeof(record), 0); /* rbp leads to its caller */
	assert_false(tapir_unwind_code__ok(&c));
	c = decode_at(endless, sizeof(endless), 0);
	assert_false(tapir_unwind_code__ok(&c));
}

static void any_bytes_give_a_frame_that_a_row_holds(void **state)
{
	static const uint8_t common[] = {0x55, 0x48, 0x83, 0xec, 0xc4, 0x41, 0x5d,
					 0xc3, 0x81, 0x8d, 0x6c, 0x24, 0xac, 0x89,
					 0xe5, 0x90, 0xff, 0x80, 0x00, 0x5b};
	uint8_t bytes[TAPIR_UNWIND_CODE_BYTES];
	unsigned ok_cnt = 0;

	(void)state;
	srand(2);
	for (unsigned n = 0; n < 200000; n++) {
		struct tapir_unwind_code c;

		for (unsigned i = 0; i < sizeof(bytes); i++)
			bytes[i] = rand() % 4 ? common[(unsigned)rand() % sizeof(common)]
					      : (uint8_t)rand();
		c = decode(bytes, sizeof(bytes));
		if (!tapir_unwind_code__ok(&c))
			continue;
		ok_cnt++;
		assert_in_range(c.cfa_off, 8, 2000);
		assert_true(!c.has_fp_off || (c.fp_off >= 0 && c.fp_off <= c.cfa_off - 8));
	}
	assert_true(ok_cnt > 1000);
}

static void signal_return_is_known_by_its_instructions(void **state)
{
	uint8_t restorer[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};

	(void)state;
	assert_true(tapir_unwind__is_sigreturn(restorer));
	for (unsigned i = 0; i < sizeof(restorer); i++) {
		restorer[i] ^= 1;
		assert_false(tapir_unwind__is_sigreturn(restorer));
		restorer[i] ^= 1;
	}
}

static void patchpoint_is_known_by_the_instructions_before(void **state)
{
	/* As the JITs of .NET 8, 9 and 10 list them; the nop stands for what comes before. */
	uint8_t near[] = {0x90, 0x90, 0x90, 0x48, 0x8d, 0x7d, 0xb0, 0xbe, 0x2d,
			  0,	0,    0,    0xe8, 0xff, 0x98, 0x55, 0x7e};
	uint8_t far[] = {0x48, 0x8d, 0xbd, 0x78, 0xff, 0xff, 0xff, 0xbe, 0x7c,
			 0,    0,    0,	   0xe8, 0xf2, 0xab, 0x55, 0x7e};
	static const unsigned fixed[] = {7, 12};

	(void)state;
	assert_true(tapir_unwind__is_patchpoint(near));
	assert_true(tapir_unwind__is_patchpoint(far));
	for (unsigned i = 0; i < 2; i++) {
		near[fixed[i]] ^= 1;
		assert_false(tapir_unwind__is_patchpoint(near));
		near[fixed[i]] ^= 1;
	}
	near[5] = 0x45; /* lea rax */
	far[2] = 0x85;
	assert_false(tapir_unwind__is_patchpoint(near));
	assert_false(tapir_unwind__is_patchpoint(far));
}

/* As JDK 25 made it. */
static void code_that_fetches_callers_is_known_by_its_instructions(void **state)
{
	static const struct {
		const char *bytes;
		unsigned len, fixed[7];
	} codes[] = {
		{"\x49\x8b\xa7\x18\x06\x00\x00", 7, {0, 1, 2}},
		{"\x48\x8b\xd8\x48\x85\xdb\x75\x05", 8, {0, 1, 2, 4, 5}},
		{"\x48\x8b\xd8\x48\x33\xc0\x48\x8b\xe3", 9, {0, 1, 2, 4, 6, 7, 8}},
		{"\x48\x8b\xd8\xc5\xfb\x10\x04\x24\x48\x83\xc4\x10\x58\x48\x8b\xe3",
		 16,
		 {0, 1, 2, 13, 14, 15}},
		{"\x48\x83\xc4\x08\xe9\x05\x00\x00\x00\xe8\x89\x88\xc3\x15"
		 "\x48\x8b\xd8\x48\x33\xc0\x48\x8b\xe3",
		 23,
		 {0, 1, 2, 14, 18, 20, 22}},
	};

	(void)state;
	for (size_t n = 0; n < sizeof(codes) / sizeof(*codes); n++) {
		uint8_t bytes[TAPIR_UNWIND_THAW_BYTES] = {};

		memcpy(bytes, codes[n].bytes, codes[n].len);
		assert_true(tapir_unwind__is_thaw(bytes));
		for (size_t i = 0; i < sizeof(codes[n].fixed) / sizeof(*codes[n].fixed); i++) {
			unsigned at = codes[n].fixed[i];

			bytes[at] ^= 0x20;
			assert_false(tapir_unwind__is_thaw(bytes));
			bytes[at] ^= 0x20;
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(row_is_the_last_one_that_is_not_beyond),
		cmocka_unit_test(mapping_is_the_last_one_that_begins_before),
		cmocka_unit_test(block_is_the_one_the_address_would_be_in),
		cmocka_unit_test(hotspot_method_is_followed_when_it_has_frame_pointers),
		cmocka_unit_test(coreclr_method_is_followed),
		cmocka_unit_test(large_frame_is_followed),
		cmocka_unit_test(body_is_left_to_the_frame_pointer),
		cmocka_unit_test(method_without_a_record_is_followed),
		cmocka_unit_test(jump_out_of_a_path_that_is_seldom_taken_is_followed),
		cmocka_unit_test(body_with_a_record_is_left_to_the_frame_pointer),
		cmocka_unit_test(any_bytes_give_a_frame_that_a_row_holds),
		cmocka_unit_test(signal_return_is_known_by_its_instructions),
		cmocka_unit_test(patchpoint_is_known_by_the_instructions_before),
		cmocka_unit_test(code_that_fetches_callers_is_known_by_its_instructions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
