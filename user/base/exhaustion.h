/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * exhaustion.h - memory and file descriptors that could not be had, counted for the last line.
 *
 * Many callers continue without something they cannot allocate (a name, a memo, a row), and a
 * result that is incomplete for that reason must be reported. So each failed allocation, and each
 * open that failed for lack of a descriptor, is counted where it happens, and the CLI prints the
 * sums. Callers need nothing for it: the linker leads their calls to exhaustion_wrap.c, which calls
 * libc and counts. Calls from inside of shared libraries do not come there. Thread-safe; errno is
 * kept.
 */
#ifndef TAPIR_USER_EXHAUSTION_H
#define TAPIR_USER_EXHAUSTION_H

#include <stdint.h>

struct tapir_exhaustions {
	uint64_t memory_cnt, fd_cnt;
};

/* Counts ENOMEM, EMFILE and ENFILE, of either sign, and nothing else. */
void tapir_exhaustion__note(int err);
/* Returns the counts since the program started; each is exact, the pair is not one instant. */
struct tapir_exhaustions tapir_exhaustion__all(void);
/* -ENOMEM or -EMFILE when something was counted, else 0. */
int tapir_exhaustion__err(void);

#endif
