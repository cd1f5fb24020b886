/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * eh_source.h - where a file has its unwind data: the section .eh_frame, else what PT_GNU_EH_FRAME
 * leads to (files without section headers), else .debug_frame. One image, one thread.
 */
#ifndef TAPIR_USER_EH_SOURCE_H
#define TAPIR_USER_EH_SOURCE_H

#include "tapir/eh_frame.h"

struct tapir_elf;

/*
 * Finds the bytes, which are borrowed from elf. -ENOENT: it has none, or is not for x86-64; -EFBIG:
 * over 64 MB of it. No line.
 */
int tapir_eh_source__find(struct tapir_elf *elf, struct tapir_eh_section *out);

#endif
