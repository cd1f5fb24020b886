/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jvm_code.h - where HotSpot keeps compiled code, and where it says how large the frames of that
 * are: what the walk needs to go through compiled methods, which have no frame pointers
 * (bpf/unwind.h, TAPIR_UNWIND_KIND_CODE_HEAP). Layouts are those that the JVM describes itself
 * (jvm_structs.h). Pure but for reads.
 */
#ifndef TAPIR_USER_JVM_CODE_H
#define TAPIR_USER_JVM_CODE_H

#include "runtime/jvm/jvm_structs.h"
#include "attach/unwind/walk.h"

#define TAPIR_JVM_CODE_HEAPS 4u /* a JVM has three at most, by what the code is for */

struct tapir_jvm_code {
	struct tapir_walk_heap heaps[TAPIR_JVM_CODE_HEAPS]; /* to the end of what is reserved */
	unsigned heap_cnt;				    /* 0: not known */
};

/* The structures of the description that this needs: to be searched together with others'. */
#define TAPIR_JVM_CODE_STRUCT_CNT 10u
extern const struct tapir_jvm_struct tapir_jvm_code_structs[TAPIR_JVM_CODE_STRUCT_CNT];

/*
 * found: the above, with what was found. False: it does not describe what is needed, or has not
 * made its heaps yet; *out is then empty.
 */
bool tapir_jvm_code__read(struct tapir_jvm_code *out, const struct tapir_process_memory *memory,
			  const struct tapir_jvm_struct found[TAPIR_JVM_CODE_STRUCT_CNT]);

#endif
