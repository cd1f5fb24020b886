// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * HotSpot among the interpreters (interpreters.h). What it compiles has names of its own: only
 * frames of its interpreter have functions.
 */
#include "runtime/interpreters.h"
#include "runtime/jvm/jvm.h"
#include "runtime/jvm/jvm_interpreter.h"

static bool is_jvm_path(struct tapir_sv path)
{
	return tapir_jvm__is_libjvm_path(path.data, path.len);
}

static bool find_jvm_interp(void *state, uint32_t tgid, struct tapir_interp *how,
			    struct tapir_interp_loop *loop)
{
	(void)loop;
	return tapir_jvm_interpreter__of(state, tgid) && tapir_jvm_interpreter__interp(state, how);
}

/* Checks after the name that the method is still the same. */
static bool add_jvm_name(const void *state, const struct tapir_process_memory *memory,
			 const struct tapir_interp_frame *frame, struct tapir_str *out,
			 bool *is_internal)
{
	(void)is_internal;
	return tapir_jvm_interpreter__add_name(state, memory, frame->va, out) &&
	       tapir_jvm_interpreter__is_method(state, memory, frame->va, frame->cookie);
}

const struct tapir_interpreter_ops tapir_interpreter_jvm = {
	.language = TAPIR_INTERP_HOTSPOT,
	.state_bytes = sizeof(struct tapir_jvm_interpreter),
	.is_path = is_jvm_path,
	.find = find_jvm_interp,
	.add_name = add_jvm_name,
	.has_frames_of_its_own = true,
};
