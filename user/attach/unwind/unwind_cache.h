/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * unwind_cache.h - unwind tables on disk, one file each: below /var/cache/tapir for root, else
 * below XDG_CACHE_HOME or ~/.cache. At most 64 MB; the files that were not used for longest are
 * removed.
 *
 * A table is found again by what the kernel says of its file: device, inode, size, times of change
 * and modification. A build ID would not do: any file can claim any, and its table would then be
 * that of every process. The directory is used only where no other user can put a file
 * (base/trusted_dir.h); what is read is checked all the same.
 *
 * Every failure means only that a table is built again. One thread. No lines.
 */
#ifndef TAPIR_USER_UNWIND_CACHE_H
#define TAPIR_USER_UNWIND_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tapir/abi.h"

struct tapir_unwind_cache;
struct tapir_unwind_table;

struct tapir_unwind_key {
	uint64_t dev, inode, size;
	uint64_t mtime_ns, ctime_ns;
};
TAPIR_STATIC_ASSERT(sizeof(struct tapir_unwind_key) == 40, "tapir_unwind_key");

/*
 * Writes the key of a handle's file (base/foreign/foreign_file.h). -ENODATA: the file has no
 * lasting name (a memory file).
 */
int tapir_unwind_key__of(int fd, struct tapir_unwind_key *out);

/* The same for a file that may no longer have a name. */
int tapir_unwind_key__seen(int fd, struct tapir_unwind_key *out);

/* Returns a cache; NULL: there is no directory to use, or no memory. The others take NULL. */
struct tapir_unwind_cache *tapir_unwind_cache__new(void);
/* The same in a directory (borrowed until __free) that the caller trusts; for tests. */
struct tapir_unwind_cache *tapir_unwind_cache__in(int dir_fd, size_t max_bytes);
void tapir_unwind_cache__free(struct tapir_unwind_cache *c);

/*
 * Reads a table; *out is the caller's. -ENOENT: not there; -EBADMSG: there, but damaged or of
 * another version. __store writes one, if there is room.
 */
int tapir_unwind_cache__load(struct tapir_unwind_cache *c, const struct tapir_unwind_key *key,
			     struct tapir_unwind_table **out);
void tapir_unwind_cache__store(struct tapir_unwind_cache *c, const struct tapir_unwind_key *key,
			       const struct tapir_unwind_table *table);

/*
 * Returns the table of a file: from the cache, else from the file, and then into the cache. fd: a
 * handle, or -1: only what the cache has. key: NULL: the file has none. -ENOENT: it has no unwind
 * data; -ENOEXEC: it is neither an ELF file nor an assembly with code; else as unwind_table.h. Tens
 * of milliseconds for a large file that is not in the cache.
 */
int tapir_unwind_cache__make(struct tapir_unwind_cache *c, const struct tapir_unwind_key *key,
			     int fd, struct tapir_unwind_table **out, bool *is_cached);

/* Reads the content of a cache file, which may be anything. -EBADMSG, -ENOMEM. */
int tapir_unwind_cache__read(int fd, const struct tapir_unwind_key *key,
			     struct tapir_unwind_table **out);

#endif
