/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * walk_logic.bpf.h - the decisions of a frame-pointer walk, without any way to read memory, so
 * that they run in BPF and in host tests alike.
 *
 * The System V x86-64 and AAPCS64 frame record are the same pair at the frame pointer:
 * [fp] = caller's frame pointer, [fp + 8] = return address. The pair of a caller lies at a
 * higher address. A walk that accepts only rising, aligned pairs within a bounded distance
 * ends at the first thing that is none and never reads outside the stack.
 */
#ifndef TAPIR_BPF_WALK_LOGIC_H
#define TAPIR_BPF_WALK_LOGIC_H

#include "tapir/abi.h"

/* No frame is larger than this: what claims to be is not a frame pointer. */
#define TAPIR_WALK_MAX_FRAME_BYTES (1u << 20)

/* May a frame record stand at fp when the last one known stood at or below `above`? */
static inline __attribute__((always_inline)) int tapir_walk__fp_ok(uint64_t fp, uint64_t above)
{
	return fp >= above && fp - above <= TAPIR_WALK_MAX_FRAME_BYTES && !(fp & 7);
}

/* Is that a place code can return to? The lowest page is never mapped, user space ends at 2^56. */
static inline __attribute__((always_inline)) int tapir_walk__ip_ok(uint64_t ip)
{
	return ip >= 4096 && !(ip >> 56);
}

static inline __attribute__((always_inline)) uint64_t tapir_walk__hash(uint64_t hash, uint64_t ip)
{
	hash = (hash ^ ip) * 0x9e3779b97f4a7c15ull;
	return hash ^ (hash >> 32);
}

#endif
