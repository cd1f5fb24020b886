// SPDX-License-Identifier: GPL-2.0-or-later
/* See page_cache.h. An address has one page of the cache, by its low bits. */
#include "runtime/page_cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PAGE_BYTES 4096u
#define PAGE_CNT   4096u

struct tapir_cached_page {
	uint64_t tag;	/* address + 1; 0: none */
	uint32_t bytes; /* of it that can be read, from its beginning */
};

/* Returns the copy of the page that has the address, and how many bytes of it can be read. */
static const uint8_t *page_of(struct tapir_page_cache *cache, uint64_t va, size_t *bytes)
{
	uint64_t page_va = va & ~(uint64_t)(PAGE_BYTES - 1);
	size_t idx = page_va / PAGE_BYTES % PAGE_CNT;
	struct tapir_cached_page *page = &cache->pages[idx];
	uint8_t *copy = cache->copies + idx * PAGE_BYTES;

	if (page->tag != page_va + 1) {
		page->tag = page_va + 1;
		page->bytes = (uint32_t)cache->source->read(cache->source->ctx, page_va, copy,
							    PAGE_BYTES);
	}
	*bytes = page->bytes;
	return copy;
}

static size_t read_cached(void *ctx, uint64_t va, void *out, size_t bytes)
{
	size_t done = 0;

	while (done < bytes) {
		size_t off = (va + done) % PAGE_BYTES, left = bytes - done, there, cnt;
		const uint8_t *copy = page_of(ctx, va + done, &there);

		if (off >= there)
			break;
		cnt = there - off < left ? there - off : left;
		memcpy((uint8_t *)out + done, copy + off, cnt);
		done += cnt;
	}
	return done;
}

int tapir_page_cache__init(struct tapir_page_cache *cache,
			   const struct tapir_process_memory *source)
{
	*cache = (struct tapir_page_cache){.memory = {read_cached, cache}, .source = source};
	cache->pages = calloc(PAGE_CNT, sizeof(*cache->pages));
	cache->copies = malloc((size_t)PAGE_CNT * PAGE_BYTES);
	if (cache->pages && cache->copies)
		return 0;
	tapir_page_cache__fini(cache);
	return -ENOMEM;
}

void tapir_page_cache__fini(struct tapir_page_cache *cache)
{
	free(cache->pages);
	free(cache->copies);
	cache->pages = NULL;
	cache->copies = NULL;
}

void tapir_page_cache__clear(struct tapir_page_cache *cache)
{
	memset(cache->pages, 0, PAGE_CNT * sizeof(*cache->pages));
}
