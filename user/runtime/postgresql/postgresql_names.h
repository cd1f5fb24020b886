/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * postgresql_names.h - names of the relations and databases of a PostgreSQL server by their OIDs,
 * without asking it: rows of its catalogs as they are in its buffers, which all of its processes
 * map, else in its files. A page in a buffer may be newer than in the file; one that is in no
 * buffer is in the file as it is.
 *
 * Memory and files are checked (postgresql_page.h) and reads are bounded: what cannot be found has
 * no name. Structures: the descriptor of a buffer (of 64 bytes, valid: bit 24), as observed in
 * PostgreSQL 13 to 18. No lines. One thread.
 */
#ifndef TAPIR_USER_POSTGRESQL_NAMES_H
#define TAPIR_USER_POSTGRESQL_NAMES_H

#include "runtime/postgresql/postgresql_page.h"
#include "runtime/process_memory.h"

#define TAPIR_POSTGRESQL_DIR_BYTES 256u /* of a database, with its end */

struct tapir_postgresql_server {
	const struct tapir_process_memory *memory;
	uint64_t blocks_va, descriptors_va; /* of buffers; 0: not known */
	uint32_t buffer_cnt;
	/*
	 * Bytes of a file below its data directory; 0: none. path NULL: the last call, nothing more
	 * is read.
	 */
	size_t (*read_file)(void *ctx, const char *path, uint64_t off, void *out, size_t bytes);
	void *ctx;
};

/* "public" is left out, as psql does: "orders", "audit.log". */
#define TAPIR_POSTGRESQL_RELATION_BYTES (2 * TAPIR_POSTGRESQL_NAME_BYTES)

struct tapir_postgresql_relation {
	uint32_t oid;
	char name[TAPIR_POSTGRESQL_RELATION_BYTES]; /* "": not found */
};

/* Fills in the names of relations of one database; dir: its directory, as "base/5". */
void tapir_postgresql_names__relations(const struct tapir_postgresql_server *server,
				       uint32_t database, const char *dir,
				       struct tapir_postgresql_relation *relations, size_t cnt);
/* Writes the name of a database; "": not found. */
void tapir_postgresql_names__database(const struct tapir_postgresql_server *server,
				      uint32_t database, char name[TAPIR_POSTGRESQL_NAME_BYTES]);

#endif
