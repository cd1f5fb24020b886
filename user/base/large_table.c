// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The table is aligned to large pages and asks for them. Where it is no multiple of their size, the
 * end has small ones.
 */
#include "base/large_table.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define LARGE_PAGE_BYTES (2u << 20)

void *tapir_large_table__alloc(size_t cnt, size_t elem_bytes)
{
	size_t bytes, large;
	void *table = NULL;

	if (__builtin_mul_overflow(cnt, elem_bytes, &bytes))
		return NULL;
	large = bytes / LARGE_PAGE_BYTES * LARGE_PAGE_BYTES;
	if (!large)
		return calloc(cnt, elem_bytes);
	if (posix_memalign(&table, LARGE_PAGE_BYTES, bytes))
		return NULL;
	(void)madvise(table, large, MADV_HUGEPAGE); /* older kernels have none */
	return memset(table, 0, bytes);
}
