/* SPDX-License-Identifier: MIT */
/*
 * stack_walk.h - the decisions of a frame-pointer walk and the id of a stack, without any way to
 * read memory: the BPF programs and the ring lane's writer, which runs inside the traced process,
 * walk by the same rules, so that one stack has one id under any of them.
 *
 * The System V x86-64 and AAPCS64 frame record are the same pair at the frame pointer: [fp] =
 * caller's frame pointer, [fp + 8] = return address. The pair of a caller is at a higher address. A
 * walk that accepts only rising, aligned pairs within a bounded distance ends at the first word
 * that is not one and never reads outside the stack.
 *
 * Pure functions: any thread, signal handlers and BPF programs. C11 and C++11.
 */
#ifndef TAPIR_STACK_WALK_H
#define TAPIR_STACK_WALK_H

#if !defined(__bpf__) /* vmlinux.h, included before this header, has the fixed-width types */
#include <stdint.h>
#endif

/* No frame is larger: a greater distance is not a frame pointer's. */
#define TAPIR_WALK_MAX_FRAME_BYTES (1u << 20)

/* Can a frame record be at fp when the last known one ended at or below `above`? */
static inline __attribute__((always_inline)) int tapir_walk__fp_ok(uint64_t fp, uint64_t above)
{
	return fp >= above && fp - above <= TAPIR_WALK_MAX_FRAME_BYTES && !(fp & 7);
}

/*
 * Can code return to this address? The lowest page is never mapped; user space ends at 2^56 (x86-64
 * with five-level page tables: Documentation/arch/x86/x86_64/5level-paging.rst).
 */
static inline __attribute__((always_inline)) int tapir_walk__ip_ok(uint64_t ip)
{
	return ip >= 4096 && !(ip >> 56);
}

/* The id of a stack is this chain over its addresses, innermost first; 0 is replaced by 1. */
static inline __attribute__((always_inline)) uint64_t tapir_walk__hash(uint64_t hash, uint64_t ip)
{
	hash = (hash ^ ip) * 0x9e3779b97f4a7c15ull;
	return hash ^ (hash >> 32);
}

#endif
