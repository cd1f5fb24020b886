// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The decisions of the frame-pointer walk over stacks that are built here, honest and hostile.
 * The walker below reads as bpf/usdt.bpf.c does; what is under test is where it stops.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "tapir/abi.h"
#include "tapir/stack_walk.h"

#define STACK_WORDS 4096u
#define STACK_VA    0x7ffc00000000ull
#define CODE_VA	    0x555555554000ull

static uint64_t stack[STACK_WORDS];

static int setup(void **state)
{
	(void)state;
	memset(stack, 0, sizeof(stack));
	return 0;
}

static uint64_t va_of(unsigned word)
{
	return STACK_VA + 8 * word;
}

static void put_frame(unsigned word, uint64_t caller_fp, uint64_t return_ip)
{
	stack[word] = caller_fp;
	stack[word + 1] = return_ip;
}

/* False: not within the stack; the kernel's reader says -EFAULT there. */
static int read_pair(uint64_t fp, uint64_t pair[2])
{
	if (fp < STACK_VA || fp - STACK_VA > sizeof(stack) - 16)
		return 0;
	memcpy(pair, (const char *)stack + (fp - STACK_VA), 16);
	return 1;
}

/* Callers found from fp on, when the stack pointer is at its lowest word. */
static unsigned walk(uint64_t fp, uint64_t *ips)
{
	uint64_t above = STACK_VA, pair[2];
	unsigned cnt = 0;

	while (cnt < TAPIR_FRAMES && tapir_walk__fp_ok(fp, above) && read_pair(fp, pair) &&
	       tapir_walk__ip_ok(pair[1])) {
		ips[cnt++] = pair[1];
		above = fp + 16;
		fp = pair[0];
	}
	return cnt;
}

static void callers_are_found_when_frames_rise(void **state)
{
	uint64_t ips[TAPIR_FRAMES];

	(void)state;
	put_frame(4, va_of(6), CODE_VA + 1); /* the next pair directly above: an empty frame */
	put_frame(6, va_of(1000), CODE_VA + 2);
	put_frame(1000, 0, CODE_VA + 3); /* _start's caller has fp 0 */
	assert_int_equal(walk(va_of(4), ips), 3);
	assert_true(ips[0] == CODE_VA + 1 && ips[1] == CODE_VA + 2 && ips[2] == CODE_VA + 3);
}

static void walk_ends_when_the_frame_pointer_is_none(void **state)
{
	static const uint64_t bad[] = {
		0, 1, 8, STACK_VA - 8, STACK_VA + 4, STACK_VA + 1, CODE_VA, UINT64_MAX, ~7ull,
	};
	uint64_t ips[TAPIR_FRAMES];

	(void)state;
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(walk(bad[i], ips), 0);
		put_frame(4, bad[i], CODE_VA);
		assert_int_equal(walk(va_of(4), ips), 1); /* it is its caller's that is none */
	}
}

static void walk_ends_when_frames_loop(void **state)
{
	uint64_t ips[TAPIR_FRAMES];

	(void)state;
	put_frame(4, va_of(4), CODE_VA); /* its own caller */
	assert_int_equal(walk(va_of(4), ips), 1);
	put_frame(4, va_of(8), CODE_VA); /* two that call each other */
	put_frame(8, va_of(4), CODE_VA);
	assert_int_equal(walk(va_of(4), ips), 2);
	put_frame(4, va_of(5), CODE_VA); /* the pairs overlap */
	assert_int_equal(walk(va_of(4), ips), 1);
}

static void walk_ends_when_frames_fall(void **state)
{
	uint64_t ips[TAPIR_FRAMES];

	(void)state;
	put_frame(100, va_of(50), CODE_VA);
	put_frame(50, va_of(200), CODE_VA);
	assert_int_equal(walk(va_of(100), ips), 1);
}

static void walk_ends_when_a_return_address_is_no_code(void **state)
{
	static const uint64_t bad[] = {0, 1, 4095, 1ull << 56, UINT64_MAX, 0xffffffff81000000ull};
	uint64_t ips[TAPIR_FRAMES];

	(void)state;
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		put_frame(4, va_of(8), CODE_VA);
		put_frame(8, va_of(12), bad[i]);
		assert_int_equal(walk(va_of(4), ips), 1);
	}
	put_frame(8, 0, 4096); /* the lowest and the highest that may be */
	assert_int_equal(walk(va_of(4), ips), 2);
	put_frame(8, 0, (1ull << 56) - 1);
	assert_int_equal(walk(va_of(4), ips), 2);
}

static void frame_is_refused_when_larger_than_any(void **state)
{
	const uint64_t sp = 0x7ff000000000ull;

	(void)state;
	assert_true(tapir_walk__fp_ok(sp + TAPIR_WALK_MAX_FRAME_BYTES, sp));
	assert_false(tapir_walk__fp_ok(sp + TAPIR_WALK_MAX_FRAME_BYTES + 8, sp));
	assert_true(tapir_walk__fp_ok(sp, sp));
	assert_false(tapir_walk__fp_ok(sp - 8, sp));
	/* Near the ends of the address space nothing wraps. */
	assert_false(tapir_walk__fp_ok(0, UINT64_MAX));
	assert_false(tapir_walk__fp_ok(8, UINT64_MAX - 7));
	assert_true(tapir_walk__fp_ok(UINT64_MAX - 7, UINT64_MAX - 7));
}

static void depth_is_bounded_when_the_stack_is_deep(void **state)
{
	uint64_t ips[TAPIR_FRAMES];

	(void)state;
	for (unsigned i = 0; i < 500; i++)
		put_frame(4 + 2 * i, va_of(6 + 2 * i), CODE_VA + i);
	assert_int_equal(walk(va_of(4), ips), TAPIR_FRAMES);
	assert_true(ips[TAPIR_FRAMES - 1] == CODE_VA + TAPIR_FRAMES - 1);
}

static uint64_t hash_of(const uint64_t *ips, unsigned cnt)
{
	uint64_t hash = 0;

	for (unsigned i = 0; i < cnt; i++)
		hash = tapir_walk__hash(hash, ips[i]);
	return hash;
}

/* A stack id stands for its frames: order, depth and each single bit count. */
static void ids_differ_when_stacks_differ(void **state)
{
	const uint64_t ips[] = {CODE_VA, CODE_VA + 8, CODE_VA + 16, CODE_VA + 24};
	const uint64_t turned[] = {CODE_VA + 8, CODE_VA, CODE_VA + 16, CODE_VA + 24};
	uint64_t id = hash_of(ips, 4);

	(void)state;
	assert_true(id == hash_of(ips, 4));
	assert_true(id != hash_of(turned, 4));
	assert_true(id != hash_of(ips, 3));
	for (unsigned i = 0; i < 4; i++) {
		for (unsigned bit = 0; bit < 56; bit++) {
			uint64_t other[4];

			memcpy(other, ips, sizeof(other));
			other[i] ^= 1ull << bit;
			assert_true(id != hash_of(other, 4));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup(name, setup)
		CASE(callers_are_found_when_frames_rise),
		CASE(walk_ends_when_the_frame_pointer_is_none),
		CASE(walk_ends_when_frames_loop),
		CASE(walk_ends_when_frames_fall),
		CASE(walk_ends_when_a_return_address_is_no_code),
		CASE(frame_is_refused_when_larger_than_any),
		CASE(depth_is_bounded_when_the_stack_is_deep),
		CASE(ids_differ_when_stacks_differ),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
