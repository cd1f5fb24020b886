/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * interpreters.h - the interpreters whose functions stacks have (bpf/interp.h): how each is found
 * in a process and names what it runs, in runtime/NAME/NAME_interpreter.c. What asks them knows
 * none of them by name. Any thread; it reads the process's mappings and memory.
 */
#ifndef TAPIR_USER_INTERPRETERS_H
#define TAPIR_USER_INTERPRETERS_H

#include "base/map.h"
#include "base/str.h"
#include "bpf/interp.h"
#include "runtime/interp_merge.h"
#include "runtime/process_memory.h"
#include "trace/suspended_stack.h"
#include "trace/record.h"

/* A name has the first bytes of a function's description; a frame has the second one's address. */
#define TAPIR_INTERP_NAME_BYTES 2u

struct tapir_interpreter_ops {
	enum tapir_interp_language language;
	size_t state_bytes;

	/* Returns true for a file that is the interpreter, by its path alone. */
	bool (*is_path)(struct tapir_sv path);
	/*
	 * Fills state, zeroed, and how the kernel finds the functions of a process, and the loop
	 * that runs them. False: it has none, or not one that can be read. No line. how: NULL if
	 * the functions are read from outside.
	 */
	bool (*find)(void *state, uint32_t tgid, struct tapir_interp *how,
		     struct tapir_interp_loop *loop);
	/* Adds the function's name. False: it has none. Sets *is_internal where C runs it. */
	bool (*add_name)(const void *state, const struct tapir_process_memory *memory,
			 const struct tapir_interp_frame *frame, struct tapir_str *out,
			 bool *is_internal);

	/*
	 * NULL, or what reads functions from outside, of threads that sleep: the states of threads,
	 * by the numbers that their namespace has for them, and the functions of one, innermost
	 * first.
	 */
	void (*threads)(const void *state, const struct tapir_process_memory *memory,
			struct tapir_map *state_by_tid);
	size_t (*functions)(const void *state, const struct tapir_process_memory *memory,
			    uint64_t state_va, struct tapir_interp_function *out, size_t max);

	/*
	 * NULL, or what lists functions that no thread runs: coroutines. Returns what
	 * tapir_cpython_coroutines__list does.
	 */
	int (*suspended)(const void *state, const struct tapir_process_memory *memory, bool is_last,
			 struct tapir_suspended_sink *sink);

	bool has_frames_of_its_own; /* each function has a native frame; there is no loop */
	/* Before names of frames of its own; NULL: all are interpreted, and names need no prefix.
	 */
	const char *compiled_prefix, *interpreted_prefix;
	bool may_begin_outside; /* threads may begin with functions outside of any loop */
};

/* Returns true for a file that is an interpreter, by its path alone. */
bool tapir_interpreters__is_path(struct tapir_sv path);

/*
 * Returns the interpreter of a process, and in *state, which the caller frees, what its functions
 * take. NULL: it has none that can be read, or there is no memory; outputs are as they were then.
 */
const struct tapir_interpreter_ops *tapir_interpreters__find(uint32_t tgid,
							     struct tapir_interp *how,
							     struct tapir_interp_loop *loop,
							     void **state);

/*
 * The same for a process whose program is an interpreter that can be read from outside: the
 * mappings of others are not read.
 */
const struct tapir_interpreter_ops *
tapir_interpreters__of_program(uint32_t tgid, struct tapir_interp_loop *loop, void **state);

#endif
