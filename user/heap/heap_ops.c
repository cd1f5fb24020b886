// SPDX-License-Identifier: GPL-2.0-or-later
/* The first runtime with operations of heaps that recognizes a process is the one that is asked. */
#include "heap/heap_ops.h"

#include "runtime/runtime_ops.h"

int tapir_heap_ops__find(uint32_t tgid, const struct tapir_heap_ops **out)
{
	int is_one = 0;

	for (size_t i = 0; tapir_runtimes[i] && !is_one; i++) {
		struct tapir_runtime_info info;

		*out = tapir_runtimes[i]->heap;
		is_one = *out ? tapir_runtimes[i]->inspect(tgid, &info) : 0;
	}
	return is_one;
}
