/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * unwind_source.h - a mapped file whose unwind table is wanted: how to open and read it, and
 * whether it was rewritten since. For unwind_tables.c only. No locks: one thread at a time.
 */
#ifndef TAPIR_USER_UNWIND_SOURCE_H
#define TAPIR_USER_UNWIND_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "tapir/abi.h"
#include "attach/unwind/unwind_cache.h"

struct tapir_unwind_source {
	char *path; /* to be freed by the owner */
	/* A process that maps it, and where: to open it without an fd. */
	uint32_t tgid;
	uint32_t dev;
	uint64_t start_va, end_va, inode;
	struct tapir_unwind_key key;
	bool has_key;
};

/* Another process that maps the file; its path stays. */
void tapir_unwind_source__set_mapping(struct tapir_unwind_source *s,
				      const struct tapir_rec_mapping *mapping);

/* Returns an fd of the file as that process maps it, the caller's; -errno, without a line. */
int tapir_unwind_source__open(const struct tapir_unwind_source *s);

/*
 * Reads the file's table, from the cache or by fd (-1: by the cache alone), which takes
 * milliseconds per megabyte of code. *seen: the file before it was read. *out: the caller's. 0 or
 * -errno, no line.
 */
int tapir_unwind_source__read(struct tapir_unwind_source *s, struct tapir_unwind_cache *cache,
			      int fd, struct tapir_unwind_key *seen,
			      struct tapir_unwind_table **out, bool *is_cached);

/* Returns a hash of the table's blocks: equal tables are stored once. */
uint64_t tapir_unwind_source__hash(const struct tapir_unwind_table *table);

/*
 * Returns true if fd's file has another table than the one of that hash; *seen is how it is now. A
 * file that was only renamed, touched or removed has the same.
 */
bool tapir_unwind_source__is_rewritten(int fd, struct tapir_unwind_key *seen, uint64_t hash);

#endif
