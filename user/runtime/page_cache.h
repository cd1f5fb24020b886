/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * page_cache.h - memory of a process, read by whole pages: for readers of millions of small objects
 * that are near each other. What it returns is as old as the page's copy. One thread.
 *
 *	struct tapir_page_cache cache;
 *	if (!tapir_page_cache__init(&cache, &memory))
 *		read_objects(&cache.memory);
 *	tapir_page_cache__fini(&cache);
 */
#ifndef TAPIR_USER_PAGE_CACHE_H
#define TAPIR_USER_PAGE_CACHE_H

#include "runtime/process_memory.h"

struct tapir_page_cache {
	struct tapir_process_memory memory; /* reads through the cache, which must stay in place */
	const struct tapir_process_memory *source;
	struct tapir_cached_page *pages;
	uint8_t *copies;
};

/* 0 or -ENOMEM. The source is borrowed. */
int tapir_page_cache__init(struct tapir_page_cache *cache,
			   const struct tapir_process_memory *source);
void tapir_page_cache__fini(struct tapir_page_cache *cache);
/* Forgets all copies: what is read next is as it is then. */
void tapir_page_cache__clear(struct tapir_page_cache *cache);

#endif
