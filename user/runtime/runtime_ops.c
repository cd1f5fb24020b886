// SPDX-License-Identifier: GPL-2.0-or-later
/* The runtimes with operations, in the order of the table. */
#include "runtime/runtime_ops.h"

#define TAPIR_X(name) extern const struct tapir_runtime_ops tapir_runtime_##name;
TAPIR_RUNTIMES(TAPIR_NO_COLUMN, TAPIR_X, TAPIR_NO_COLUMN)
#undef TAPIR_X

#define TAPIR_X(name) &tapir_runtime_##name,
const struct tapir_runtime_ops *const tapir_runtimes[] = {
	TAPIR_RUNTIMES(TAPIR_NO_COLUMN, TAPIR_X, TAPIR_NO_COLUMN) NULL};
#undef TAPIR_X

const struct tapir_runtime_ops *tapir_runtimes__of_path(struct tapir_sv path)
{
	for (const struct tapir_runtime_ops *const *r = tapir_runtimes; *r; r++)
		if ((*r)->is_path && (*r)->is_path(path.data, path.len))
			return *r;
	return NULL;
}

bool tapir_runtimes__is_code_memory(struct tapir_sv path)
{
	for (const struct tapir_runtime_ops *const *r = tapir_runtimes; *r; r++)
		if ((*r)->is_code_memory && (*r)->is_code_memory(path.data, path.len))
			return true;
	return false;
}

int tapir_runtimes__inspect(uint32_t tgid, struct tapir_runtime_info *out)
{
	int is_one = 0;

	for (const struct tapir_runtime_ops *const *r = tapir_runtimes; *r && is_one <= 0; r++)
		is_one = (*r)->inspect ? (*r)->inspect(tgid, out) : is_one;
	return is_one;
}
