/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * unwind_tables.h - unwind tables of the files that traced processes execute: built in the
 * background, or read from the cache on disk (attach/unwind/unwind_cache.h), given to the BPF
 * walker, and removed when they take more memory than is allowed.
 *
 * Nothing keeps a mapped file from being rewritten in place: then its table is another program's.
 * Once per second the files of tables in use are checked; one whose unwind data changed loses its
 * table permanently, since pages that the process wrote itself keep their old content.
 *
 * A recording does not wait for them: until a file has its table, walks continue by frame pointers
 * and mark it (NOT_YET). A separate thread reads files and builds; the session thread calls the
 * rest.
 */
#ifndef TAPIR_USER_UNWIND_TABLES_H
#define TAPIR_USER_UNWIND_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tapir/abi.h"

struct tapir_unwind_maps;
struct tapir_unwind_tables;

#define TAPIR_UNWIND_TABLE_BYTES (100u << 20) /* the ceiling when none is given */

/* maps is borrowed. max_bytes: of all tables together; 0: TAPIR_UNWIND_TABLE_BYTES. */
int tapir_unwind_tables__new(struct tapir_unwind_maps *maps, size_t max_bytes,
			     struct tapir_unwind_tables **out);
void tapir_unwind_tables__free(struct tapir_unwind_tables *t); /* ends the thread */

/*
 * Returns the index of a mapped file in the map unwind_files; its table is built unless that was
 * requested before. file_id: the mapping's, or another number that is only this file's. fd: a
 * handle of it (base/foreign/foreign_file.h), borrowed; -1: none. TAPIR_UNWIND_NO_FILE: there are
 * too many files.
 */
uint32_t tapir_unwind_tables__see(struct tapir_unwind_tables *t,
				  const struct tapir_rec_mapping *mapping, uint64_t file_id,
				  int fd);

/* Returns true if no file that was seen waits for its table. Any thread. */
bool tapir_unwind_tables__are_complete(struct tapir_unwind_tables *t);

/* Once per second: notes which tables are in use, and which of those removed are needed again. */
void tapir_unwind_tables__poll(struct tapir_unwind_tables *t);

/*
 * Programs that are built and run all day would take all places. When most are taken, __keep is
 * called once per second with a bit for each file_idx, set if a process maps the file; one that
 * none mapped or used in ten calls in a row is forgotten, and its index is another file's.
 */
bool tapir_unwind_tables__are_crowded(struct tapir_unwind_tables *t);
void tapir_unwind_tables__keep(struct tapir_unwind_tables *t,
			       const uint64_t mapped[/* TAPIR_UNWIND_FILES / 64 */]);

/*
 * Returns a file that was rewritten since; call it until it is false after each __poll. What the
 * walker kept of it is void.
 */
bool tapir_unwind_tables__take_changed(struct tapir_unwind_tables *t, uint32_t *file_idx);

struct tapir_unwind_stats {
	uint32_t table_cnt;	  /* ready now */
	uint32_t cached_cnt;	  /* of all there were: read from the cache */
	uint32_t evicted_cnt;	  /* removed to make room */
	uint32_t refused_cnt;	  /* no room though none was left to remove, or too many files */
	uint32_t changed_cnt;	  /* files that were rewritten while they were mapped */
	uint32_t without_cnt;	  /* files that have no unwind data, or could not be read */
	uint32_t unsupported_cnt; /* rows of all tables that no row can hold */
	size_t bytes;
	uint64_t build_ns; /* all work of the thread */
};
/* Writes the numbers of this moment. Any thread. */
void tapir_unwind_tables__stats(struct tapir_unwind_tables *t, struct tapir_unwind_stats *out);

#endif
