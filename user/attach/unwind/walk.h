/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * walk.h - a stack from a copy of its memory and a thread's registers, by the unwind tables of the
 * files that the process maps: the walk of bpf/user_stack.bpf.h for threads that do not run.
 *
 * Registers and memory belong to another process and may hold anything: each step moves up, reads
 * only the copy, and takes only a return address in executable code. x86-64. Any thread.
 */
#ifndef TAPIR_USER_WALK_H
#define TAPIR_USER_WALK_H

#include <stdbool.h>
#include <stddef.h>

#include "bpf/unwind.h"

struct tapir_unwind_table;

/* Executable memory of a process. */
struct tapir_walk_code {
	uint64_t start_va, end_va;
	uint64_t bias;				/* a table's pc is va - bias */
	const struct tapir_unwind_table *table; /* borrowed; NULL: it has none */
	uint8_t kind;				/* enum tapir_unwind_kind */
};

/* A heap of compiled code that says how large its frames are: TAPIR_UNWIND_KIND_CODE_HEAP. */
struct tapir_walk_heap {
	uint64_t start_va, end_va;
	uint64_t segment_map_va; /* the byte of the first segment */
	uint8_t segment_shift, frame_size_at;
};

struct tapir_walk {
	/* Set these. */
	const struct tapir_walk_code *codes; /* sorted by start_va, without overlap; borrowed */
	size_t code_cnt;
	uint64_t ip, sp, fp;
	const uint8_t *stack; /* a copy of what is at stack_va; borrowed */
	uint64_t stack_va, stack_bytes;
	/* Reads the process's instructions, as many of them as there are; NULL: generated code is
	 * walked by its frame pointers alone. */
	size_t (*read_code)(const void *ctx, uint64_t va, uint8_t *out, size_t bytes);
	const void *code_ctx;
	/*
	 * The code of an interpreter, which is the same for all that it runs: what it runs is in
	 * the word method_below bytes below the frame pointer. If that is_method, the address of
	 * its second byte is the frame: the return address of a call that is the first. 0: there is
	 * none.
	 */
	uint64_t interpreter_va, interpreter_end_va;
	uint32_t method_below;
	const struct tapir_walk_heap *heaps; /* borrowed; read by read_code */
	size_t heap_cnt;
	bool (*is_method)(const void *ctx, uint64_t va); /* ctx: code_ctx */

	/*
	 * And read these, innermost first. Callers are return addresses; that of a function which
	 * a signal interrupted is a byte behind, as if it were one.
	 */
	uint64_t frames[TAPIR_MAX_FRAMES];
	uint16_t frame_cnt;
	uint8_t end; /* enum tapir_stack_end */
	bool used_table;
};

/* Never fails: the end says how far the walk came. An ip in no known code is its only frame. */
void tapir_walk__run(struct tapir_walk *walk);

#endif
