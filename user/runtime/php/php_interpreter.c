// SPDX-License-Identifier: GPL-2.0-or-later
/* PHP among the interpreters (interpreters.h). */
#include "runtime/interpreters.h"
#include "runtime/php/php_process.h"

static bool find_php_interp(void *state, uint32_t tgid, struct tapir_interp *how,
			    struct tapir_interp_loop *loop)
{
	if (!tapir_php__in(state, tgid))
		return false;
	tapir_php__interp(state, how);
	*loop = ((const struct tapir_php *)state)->loop;
	return true;
}

static bool add_php_name(const void *state, const struct tapir_process_memory *memory,
			 const struct tapir_interp_frame *frame, struct tapir_str *out,
			 bool *is_internal)
{
	return tapir_php__add_name(state, memory, frame->va, out, is_internal);
}

const struct tapir_interpreter_ops tapir_interpreter_php = {
	.language = TAPIR_INTERP_PHP,
	.state_bytes = sizeof(struct tapir_php),
	.is_path = tapir_php__is_path,
	.find = find_php_interp,
	.add_name = add_php_name,
};
