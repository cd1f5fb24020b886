/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * native_logic.bpf.h - which allocations are sampled; for BPF programs and the host, which tests
 * it.
 *
 * The bytes between two samples are exponentially distributed, so that each byte is as likely to
 * be chosen as any other, and a block of n bytes is sampled with probability 1 - exp(-n / mean).
 * BPF has no logarithm: user space makes a table of quantiles, between which is interpolated.
 */
#ifndef TAPIR_BPF_NATIVE_LOGIC_H
#define TAPIR_BPF_NATIVE_LOGIC_H

#define TAPIR_NATIVE_DRAW_BITS 10
#define TAPIR_NATIVE_DRAWS     (1u << TAPIR_NATIVE_DRAW_BITS)
#define TAPIR_NATIVE_AT_RETURN 256ull /* in a cookie, with enum tapir_native_function */

/* draws: TAPIR_NATIVE_DRAWS + 1 quantiles, falling. random: 32 bits. */
static inline __attribute__((always_inline)) unsigned long long
tapir_native__draw(const volatile unsigned long long *draws, unsigned int random)
{
	unsigned int idx = random & (TAPIR_NATIVE_DRAWS - 1), part = random >> 12 & 1023;
	unsigned long long from = draws[idx], to = draws[idx + 1];

	return to + (((from - to) * (1023 - part)) >> 10) + 1;
}

/* 0: it overflows, and the call fails. */
static inline __attribute__((always_inline)) unsigned long long
tapir_native__product(unsigned long long a, unsigned long long b)
{
	unsigned long long product = a * b;

	__asm__ volatile("" : "+r"(product)); /* or LLVM multiplies to 128 bits, which BPF cannot */
	return b && product / b != a ? 0 : product;
}

#endif /* TAPIR_BPF_NATIVE_LOGIC_H */
