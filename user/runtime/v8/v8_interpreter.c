// SPDX-License-Identifier: GPL-2.0-or-later
/* V8 among the interpreters (interpreters.h). */
#include "runtime/interpreters.h"
#include "runtime/v8/v8_process.h"

static bool find_v8_interp(void *state, uint32_t tgid, struct tapir_interp *how,
			   struct tapir_interp_loop *loop)
{
	(void)loop;
	if (!tapir_v8__in(state, tgid))
		return false;
	tapir_v8__interp(state, how);
	return true;
}

static bool add_v8_name(const void *state, const struct tapir_process_memory *memory,
			const struct tapir_interp_frame *frame, struct tapir_str *out,
			bool *is_internal)
{
	(void)is_internal;
	return tapir_v8__add_name(state, memory, frame->va, frame->cookie, out);
}

const struct tapir_interpreter_ops tapir_interpreter_v8 = {
	.language = TAPIR_INTERP_V8,
	.state_bytes = sizeof(struct tapir_v8),
	.is_path = tapir_v8__is_path,
	.find = find_v8_interp,
	.add_name = add_v8_name,
	.has_frames_of_its_own = true,
	.compiled_prefix = "JS:",
	.interpreted_prefix = "JS:~",
};
