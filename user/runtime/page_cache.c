// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See page_cache.h. A page is kept in the slot of its number; a new age empties all slots at once.
 */
#include "runtime/page_cache.h"

#include <string.h>

static const struct tapir_cached_page *page_at(struct tapir_page_cache *cache, uint64_t va)
{
	struct tapir_cached_page *page =
		&cache->pages[va / TAPIR_PAGE_CACHE_BYTES % TAPIR_PAGE_CACHE_PAGES];

	if (page->va == va && page->age == cache->age)
		return page;
	page->va = va;
	page->age = cache->age;
	page->is_there =
		tapir_process_memory__get(cache->memory, va, page->bytes, TAPIR_PAGE_CACHE_BYTES);
	return page;
}

size_t tapir_page_cache__read(void *ctx, uint64_t va, void *out, size_t bytes)
{
	size_t done = 0;

	if (va + bytes < va)
		return 0;
	while (done < bytes) {
		uint64_t off = (va + done) % TAPIR_PAGE_CACHE_BYTES;
		size_t left = TAPIR_PAGE_CACHE_BYTES - off;
		const struct tapir_cached_page *page = page_at(ctx, va + done - off);

		if (!page->is_there)
			return 0;
		left = left < bytes - done ? left : bytes - done;
		memcpy((uint8_t *)out + done, page->bytes + off, left);
		done += left;
	}
	return bytes;
}
