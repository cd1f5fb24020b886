/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * walk_code.h - generated code in a walk of copied memory: what its instructions say of a frame
 * that its frame pointer does not lead out of. The rules are those of bpf/stack_rows.bpf.h.
 *
 * Any thread.
 */
#ifndef TAPIR_USER_WALK_CODE_H
#define TAPIR_USER_WALK_CODE_H

#include <stdbool.h>
#include <stdint.h>

#include "attach/unwind/walk.h"

/* The end of the frame of a function that continues at ip; offsets from its stack pointer. */
struct tapir_walk_code_frame {
	int32_t cfa_off;
	int32_t fp_off;	 /* of the caller's frame pointer; has_fp_off */
	bool has_fp_off; /* else it is in the register */
};

/* False: the frame pointer leads to its frame record, as far as can be seen. */
bool tapir_walk_code__frame_at(const struct tapir_walk *walk, uint64_t ip,
			       struct tapir_walk_code_frame *out);

/*
 * The same of code in a heap that knows its frames' sizes (walk.h). False: it does not know that
 * one; ask tapir_walk_code__frame_at.
 */
bool tapir_walk_code__heap_frame_at(const struct tapir_walk *walk,
				    const struct tapir_walk_heap *heap, uint64_t ip,
				    bool is_interrupted, struct tapir_walk_code_frame *out);

/* May the return address stand for code that CoreCLR replaced while it ran? */
bool tapir_walk_code__is_patchpoint(const struct tapir_walk *walk, uint64_t return_va);

/* Does code that is returned to there fetch a virtual thread's caller from the JVM's heap? */
bool tapir_walk_code__is_thaw(const struct tapir_walk *walk, uint64_t return_va);

#endif
