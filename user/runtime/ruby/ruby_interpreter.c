// SPDX-License-Identifier: GPL-2.0-or-later
/* Ruby among the interpreters (interpreters.h). */
#include "runtime/interpreters.h"
#include "runtime/ruby/ruby_process.h"

static bool find_ruby_interp(void *state, uint32_t tgid, struct tapir_interp *how,
			     struct tapir_interp_loop *loop)
{
	if (!tapir_ruby__in(state, tgid))
		return false;
	tapir_ruby__interp(state, how);
	*loop = ((const struct tapir_ruby *)state)->loop;
	return true;
}

static bool add_ruby_name(const void *state, const struct tapir_process_memory *memory,
			  const struct tapir_interp_frame *frame, struct tapir_str *out,
			  bool *is_internal)
{
	return tapir_ruby__add_name(state, memory, frame, out, is_internal);
}

const struct tapir_interpreter_ops tapir_interpreter_ruby = {
	.language = TAPIR_INTERP_RUBY,
	.state_bytes = sizeof(struct tapir_ruby),
	.is_path = tapir_ruby__is_path,
	.find = find_ruby_interp,
	.add_name = add_ruby_name,
	/* A thread or a fiber may begin with functions of C. */
	.may_begin_outside = true,
};
