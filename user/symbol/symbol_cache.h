/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * symbol_cache.h - files of symbols that were fetched, by build ID: $XDG_CACHE_HOME/tapir/symbols,
 * else ~/.cache/tapir/symbols.
 *
 * The directory is 0700 and the user's; where another user could replace a part of its path, it is
 * not used. A file appears under its name when it is complete. The file that was used longest ago
 * goes first. Its content is checked by its readers. One thread at a time.
 */
#ifndef TAPIR_USER_SYMBOL_CACHE_H
#define TAPIR_USER_SYMBOL_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

#define TAPIR_SYMBOL_CACHE_MAX_BYTES (4ull << 30)

struct tapir_symbol_cache {
	int dir_fd;	      /* -1: not open */
	struct tapir_str dir; /* for messages */
};

/* 0, or -errno with a line: -EPERM, someone else can replace a part of the path. */
int tapir_symbol_cache__open(struct tapir_symbol_cache *c);
void tapir_symbol_cache__close(struct tapir_symbol_cache *c);

/*
 * Opens a file for reading; it counts as used now. name: hex digits. A descriptor, the caller's, or
 * -ENOENT.
 */
int tapir_symbol_cache__get(struct tapir_symbol_cache *c, const char *name);

/* Returns a file without a name in the cache's file system, for reading and writing; or -errno. */
int tapir_symbol_cache__new_file(struct tapir_symbol_cache *c);

/* Names the file, after older ones were removed so that all take TAPIR_SYMBOL_CACHE_MAX_BYTES at
 * most. 0 or -errno. */
int tapir_symbol_cache__put(struct tapir_symbol_cache *c, int fd, const char *name);

#endif
