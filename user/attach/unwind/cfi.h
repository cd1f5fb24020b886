/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cfi.h - where a function's caller is to be found at one instruction, by the file's .eh_frame.
 *
 * A frame-pointer walk that begins in a function which has not set up its frame (a leaf, or the
 * first instructions of any function) misses that function's caller. The compiler records where it
 * is; for places that are known before anything runs, such as USDT sites, that is looked up once
 * and costs nothing later.
 *
 * x86-64. The section's bytes may be hostile: every length is checked, work is bounded by its
 * size. Sources: DWARF 5, 6.4; LSB 5.0 Core, "Exception Frames"; System V ABI AMD64, figure
 * 3.36 (register numbers). One thread.
 */
#ifndef TAPIR_USER_CFI_H
#define TAPIR_USER_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tapir_elf;
struct tapir_cfi;

/* The return address is at cfa - 8, and cfa is the caller's stack pointer after the return. */
struct tapir_cfi_row {
	bool cfa_is_from_fp; /* cfa = frame pointer + cfa_off; else stack pointer + cfa_off */
	bool fp_is_saved;    /* the caller's frame pointer is at cfa + fp_off; else unchanged */
	int32_t cfa_off;
	int32_t fp_off;
};

/*
 * elf is borrowed until __free. -ENOENT: it has no unwind data (eh_source.h), or is not for
 * x86-64; -EFBIG: over 64 MB of it.
 */
int tapir_cfi__load(struct tapir_elf *elf, struct tapir_cfi **out);
void tapir_cfi__free(struct tapir_cfi *cfi);

/* va: as linked. False: not described, or not by what fits in a row; *out is untouched. */
bool tapir_cfi__row_at(const struct tapir_cfi *cfi, uint64_t va, struct tapir_cfi_row *out);

#endif
