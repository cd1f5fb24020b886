// SPDX-License-Identifier: GPL-2.0-or-later
/* The table of interpreters. */
#include "runtime/interpreters.h"

#include <stdlib.h>

#define TAPIR_X(name) &tapir_interpreter_##name,
static const struct tapir_interpreter_ops *const all[] = {TAPIR_INTERPRETERS(TAPIR_X) NULL};
#undef TAPIR_X

bool tapir_interpreters__is_path(struct tapir_sv path)
{
	for (size_t i = 0; all[i]; i++)
		if (all[i]->is_path(path))
			return true;
	return false;
}

const struct tapir_interpreter_ops *tapir_interpreters__find(uint32_t tgid,
							     struct tapir_interp *how,
							     struct tapir_interp_loop *loop,
							     void **state)
{
	for (size_t i = 0; all[i]; i++) {
		void *found = calloc(1, all[i]->state_bytes);

		if (found && all[i]->find(found, tgid, how, loop)) {
			*state = found;
			return all[i];
		}
		free(found);
	}
	return NULL;
}
