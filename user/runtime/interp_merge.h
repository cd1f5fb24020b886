/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * interp_merge.h - a stack of native frames and the functions that an interpreter runs: which of
 * these belong to which call of the interpreter's loop. Pure.
 */
#ifndef TAPIR_USER_INTERP_MERGE_H
#define TAPIR_USER_INTERP_MERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The function that runs instructions. */
struct tapir_interp_loop {
	uint64_t va, end_va;
	uint64_t cold_va, cold_end_va; /* its part that is elsewhere; 0: none (split_code.h) */
};

/* A function that runs. The loop was called for one, and runs those it calls itself. */
struct tapir_interp_function {
	uint64_t code_va; /* 0: there is none, it ends those of one call of the loop */
	bool is_last;	  /* of one call of the loop */
};

/*
 * Says which functions of a process have names (NULL: all that have code), and if a native frame
 * has the function's name itself: with -X perf CPython has code for each.
 */
struct tapir_interp_namer {
	bool (*is_named)(void *ctx, uint64_t code_va);
	bool (*is_generated)(void *ctx, uint64_t native_va);
	void *ctx;
};

/*
 * A stack of native frames, innermost first, with the functions that each call of the loop runs
 * behind it: as addresses of the second byte of their code (return addresses of the first). Those
 * without names are left out. is_complete: both begin where the thread does, so the outermost call
 * is the one of the outermost functions, and a call that has just begun or is about to end has
 * none. Else the innermost ones belong together, and functions whose calls are beyond the end of
 * the native frames follow these. Returns how many there are; of them out has max.
 */
size_t tapir_interp__merge(const struct tapir_interp_loop *loop,
			   const struct tapir_interp_function *functions, size_t cnt,
			   const struct tapir_interp_namer *namer, const uint64_t *native,
			   size_t native_cnt, bool is_complete, uint64_t *out, size_t max);

#endif
