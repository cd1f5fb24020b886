/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * repair_logic.bpf.h - which word of the stack holds the caller that a function hides from a
 * frame-pointer walk. Decisions only, as in walk_logic.bpf.h: BPF and host tests run them.
 *
 * Such a function pushes the frame pointer and does not set it (CoreCLR's assembly helpers, from
 * .NET 10 on also those that allocate): the frame record of a function it calls has the frame
 * pointer of its caller. So that caller's own return address is found next, and the one into that
 * caller, which is between the two, is not.
 */
#ifndef TAPIR_BPF_REPAIR_LOGIC_H
#define TAPIR_BPF_REPAIR_LOGIC_H

#include "bpf/control.h"

/* What an innermost function has at least, and one that called another: see tapir/eh_rows.h. */
#define TAPIR_REPAIR_LEAF      8u
#define TAPIR_REPAIR_CALLER    24u

/* Keeps the compiler from making a branch of arithmetic: each would double the verifier's paths. */
#define TAPIR_REPAIR_OPAQUE(x) __asm__ volatile("" : "+r"(x))

/* The row at off: the distance from the stack pointer to the end of the frame. 0: there is none. */
static inline __attribute__((always_inline)) uint32_t
tapir_repair__cfa_off(const struct tapir_repair_file *file, uint32_t off)
{
	uint64_t page = (uint64_t)off >> (file->page_shift & 31), at = 0;

	if (page >= TAPIR_REPAIR_PAGES ||
	    !(file->pages[(page >> 6) & (TAPIR_REPAIR_PAGES / 64 - 1)] >> (page & 63) & 1) ||
	    off < file->rows[0].off)
		return 0;
	for (uint32_t half = TAPIR_REPAIR_ROWS / 2; half; half /= 2) {
		int64_t diff = (int64_t)off - file->rows[(at + half) & (TAPIR_REPAIR_ROWS - 1)].off;

		uint64_t is_behind;

		/* Both, or the compiler turns the shift back into a comparison. */
		TAPIR_REPAIR_OPAQUE(diff);
		is_behind = (uint64_t)(diff >> 63);
		TAPIR_REPAIR_OPAQUE(is_behind);
		at += half & ~is_behind;
	}
	return file->rows[at & (TAPIR_REPAIR_ROWS - 1)].cfa_off;
}

/*
 * Whether that word may hold the caller that is hidden by the function whose frame is after
 * `above`. Not if the next frame record is the function's own: it has set its frame pointer after
 * all.
 */
static inline __attribute__((always_inline)) int tapir_repair__slot_ok(uint64_t slot,
								       uint64_t above, uint64_t fp)
{
	return slot >= above && !(slot & 7) && slot != fp + 8;
}

#endif
