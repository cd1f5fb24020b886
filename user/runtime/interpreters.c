// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The interpreters of the table, from its end on: CPython, which stands first, is what other
 * programs load into their processes.
 */
#include "runtime/interpreters.h"

#include <stdlib.h>

#include "attach/proc.h"
#include "base/file.h"
#include "spec/runtime_db/runtimes.h"

#define TAPIR_X(name) extern const struct tapir_interpreter_ops tapir_interpreter_##name;
TAPIR_RUNTIMES(TAPIR_NO_COLUMN, TAPIR_NO_COLUMN, TAPIR_X)
#undef TAPIR_X

#define TAPIR_X(name) &tapir_interpreter_##name,
static const struct tapir_interpreter_ops *const all[] = {
	TAPIR_RUNTIMES(TAPIR_NO_COLUMN, TAPIR_NO_COLUMN, TAPIR_X)};
#undef TAPIR_X

#define CNT (sizeof(all) / sizeof(*all))

bool tapir_interpreters__is_path(struct tapir_sv path)
{
	for (size_t i = CNT; i--;)
		if (all[i]->is_path(path))
			return true;
	return false;
}

static bool finds(const struct tapir_interpreter_ops *ops, uint32_t tgid, struct tapir_interp *how,
		  struct tapir_interp_loop *loop, void **state)
{
	void *found = calloc(1, ops->state_bytes);
	bool is_found = found && ops->find(found, tgid, how, loop);

	if (is_found)
		*state = found;
	else
		free(found);
	return is_found;
}

const struct tapir_interpreter_ops *tapir_interpreters__find(uint32_t tgid,
							     struct tapir_interp *how,
							     struct tapir_interp_loop *loop,
							     void **state)
{
	for (size_t i = CNT; i--;)
		if (finds(all[i], tgid, how, loop, state))
			return all[i];
	return NULL;
}

const struct tapir_interpreter_ops *
tapir_interpreters__of_program(uint32_t tgid, struct tapir_interp_loop *loop, void **state)
{
	tapir_autofree char *path = tapir_proc__read_exe(tgid);

	for (size_t i = CNT; path && i--;)
		if (all[i]->functions && all[i]->is_path(tapir_sv__of(path)) &&
		    finds(all[i], tgid, NULL, loop, state))
			return all[i];
	return NULL;
}
