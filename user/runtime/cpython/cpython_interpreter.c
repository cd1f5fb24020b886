// SPDX-License-Identifier: GPL-2.0-or-later
/* CPython among the interpreters (interpreters.h). */
#include "runtime/interpreters.h"
#include "runtime/cpython/cpython_coroutines.h"
#include "runtime/cpython/cpython_process.h"

static bool find_cpython_interp(void *state, uint32_t tgid, struct tapir_interp *how,
				struct tapir_interp_loop *loop)
{
	if (!tapir_cpython__in(state, tgid) || (how && !tapir_cpython__interp(state, how)))
		return false;
	*loop = ((const struct tapir_cpython *)state)->loop;
	return true;
}

static bool add_cpython_name(const void *state, const struct tapir_process_memory *memory,
			     const struct tapir_interp_frame *frame, struct tapir_str *out,
			     bool *is_internal)
{
	(void)is_internal;
	return tapir_cpython__add_name(state, memory, frame->va, out);
}

static void threads(const void *state, const struct tapir_process_memory *memory,
		    struct tapir_map *state_by_tid)
{
	tapir_cpython__threads(state, memory, state_by_tid);
}

static size_t functions(const void *state, const struct tapir_process_memory *memory,
			uint64_t state_va, struct tapir_interp_function *out, size_t max)
{
	return tapir_cpython__frames(state, memory, state_va, out, max);
}

static int list_coroutines(const void *state, const struct tapir_process_memory *memory,
			   bool is_last, struct tapir_suspended_sink *sink)
{
	return tapir_cpython_coroutines__list(state, memory, is_last, sink);
}

const struct tapir_interpreter_ops tapir_interpreter_cpython = {
	.language = TAPIR_INTERP_CPYTHON,
	.state_bytes = sizeof(struct tapir_cpython),
	.is_path = tapir_cpython__is_path,
	.find = find_cpython_interp,
	.add_name = add_cpython_name,
	.threads = threads,
	.functions = functions,
	.suspended = list_coroutines,
};
