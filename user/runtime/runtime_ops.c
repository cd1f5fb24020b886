// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The runtimes that can be asked, in the order in which they are tried. A runtime is added here and
 * nowhere else.
 */
#include "runtime/runtime_ops.h"

const struct tapir_runtime_ops *const tapir_runtimes[] = {
	&tapir_runtime_dotnet,
	&tapir_runtime_jvm,
	NULL,
};

int tapir_runtimes__inspect(uint32_t tgid, struct tapir_runtime_info *out)
{
	int is_one = 0;

	for (const struct tapir_runtime_ops *const *r = tapir_runtimes; *r && is_one <= 0; r++)
		is_one = (*r)->inspect(tgid, out);
	return is_one;
}
