/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * page_cache.h - the memory of a process, read page by page: many small reads of one structure cost
 * as much as few, and see it as it was at one moment. One thread.
 */
#ifndef TAPIR_USER_PAGE_CACHE_H
#define TAPIR_USER_PAGE_CACHE_H

#include "runtime/process_memory.h"

#define TAPIR_PAGE_CACHE_PAGES 64u /* a power of two */
#define TAPIR_PAGE_CACHE_BYTES 4096u

struct tapir_cached_page {
	uint64_t va; /* 0: none */
	uint32_t age;
	bool is_there;
	uint8_t bytes[TAPIR_PAGE_CACHE_BYTES];
};

struct tapir_page_cache {
	const struct tapir_process_memory *memory; /* borrowed */
	uint32_t age;
	struct tapir_cached_page pages[TAPIR_PAGE_CACHE_PAGES];
};

/* Forgets all that was read, of that memory or another. */
static inline void tapir_page_cache__begin(struct tapir_page_cache *cache,
					   const struct tapir_process_memory *memory)
{
	cache->memory = memory;
	cache->age++;
}

/* A tapir_process_memory's .read; ctx: the cache. All or nothing. */
size_t tapir_page_cache__read(void *ctx, uint64_t va, void *out, size_t bytes);

#endif
