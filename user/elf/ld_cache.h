/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ld_cache.h - /etc/ld.so.cache: where ldconfig(8) found the libraries of a machine. Both layouts
 * that glibc reads: "glibc-ld.so.cache1.1", alone or after an "ld.so-1.7.0". It may hold any bytes:
 * malformed entries are skipped. Pure; any thread.
 */
#ifndef TAPIR_USER_LD_CACHE_H
#define TAPIR_USER_LD_CACHE_H

#include <stddef.h>

/* Anything but 0 ends the walk and is returned. path is borrowed for the call. */
typedef int (*tapir_ld_cache_fn)(void *ctx, const char *path);

/*
 * Calls fn for every path that the cache, len bytes, has for a library's name: one for each of its
 * variants. Returns 0, or what fn returned.
 */
int tapir_ld_cache__each(const char *data, size_t len, const char *name, tapir_ld_cache_fn fn,
			 void *ctx);

#endif
