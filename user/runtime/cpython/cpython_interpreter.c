// SPDX-License-Identifier: GPL-2.0-or-later
/* CPython among the interpreters (interpreters.h). */
#include "runtime/interpreters.h"
#include "runtime/cpython/cpython_process.h"

static bool find_cpython_interp(void *state, uint32_t tgid, struct tapir_interp *how,
				struct tapir_interp_loop *loop)
{
	if (!tapir_cpython__in(state, tgid) || !tapir_cpython__interp(state, how))
		return false;
	*loop = ((const struct tapir_cpython *)state)->loop;
	return true;
}

static bool add_name(const void *state, const struct tapir_process_memory *memory,
		     const struct tapir_interp_frame *frame, struct tapir_str *out,
		     bool *is_internal)
{
	(void)is_internal;
	return tapir_cpython__add_name(state, memory, frame->va, out);
}

const struct tapir_interpreter_ops tapir_interpreter_cpython = {
	.language = TAPIR_INTERP_CPYTHON,
	.state_bytes = sizeof(struct tapir_cpython),
	.is_path = tapir_cpython__is_path,
	.find = find_cpython_interp,
	.add_name = add_name,
};
