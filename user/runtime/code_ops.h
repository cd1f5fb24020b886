/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * code_ops.h - the generated code of a runtime, as its memory describes it: where its interpreter
 * and its compiled code are, which method a frame of either runs, which were inlined. Nothing is
 * asked of the process. Each runtime whose code can be read so fills a table of these
 * (runtime/runtime_ops.h).
 */
#ifndef TAPIR_USER_CODE_OPS_H
#define TAPIR_USER_CODE_OPS_H

#include "attach/maps.h"
#include "attach/unwind/walk.h"
#include "base/str.h"
#include "runtime/process_memory.h"
#include "trace/record.h"

#define TAPIR_CODE_HEAPS 4u

struct tapir_code_place {
	uint64_t interpreter_va, interpreter_end_va;
	struct tapir_walk_heap heaps[TAPIR_CODE_HEAPS]; /* to the end of what is reserved */
	unsigned heap_cnt;				/* 0: not known */
	bool has_inlined;				/* what was inlined is described */
};

struct tapir_code_ops {
	/*
	 * file: the runtime's, as the process maps its code; NULL: it is searched. Returns what the
	 * names take, for free(3), and fills out; NULL: the process does not describe its code, or
	 * has not made its interpreter yet.
	 */
	void *(*find)(uint32_t tgid, const struct tapir_mapping_line *file,
		      struct tapir_code_place *out);
	/* Adds the name of the method at method_va, as compiled ones are called. False: it is none.
	 */
	bool (*add_name)(const void *state, const struct tapir_process_memory *memory,
			 uint64_t method_va, struct tapir_str *out);
	/*
	 * Adds the names of what was inlined at an address of compiled code, innermost first, a
	 * line each; false: nothing was, or the code is no longer of the method outermost.
	 */
	bool (*add_inlined)(const void *state, const struct tapir_process_memory *memory,
			    uint64_t va, bool is_return, struct tapir_sv outermost,
			    struct tapir_str *out);
};

#endif
