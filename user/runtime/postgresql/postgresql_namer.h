/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * postgresql_namer.h - names of the relations and databases that locks of PostgreSQL servers are
 * of: what is wanted is collected, then found at once (postgresql_names.h), and kept. What was not
 * found is looked for again twice: a server may be about to write it.
 *
 * A server is known by the parent of its processes. Bounded. One thread.
 */
#ifndef TAPIR_USER_POSTGRESQL_NAMER_H
#define TAPIR_USER_POSTGRESQL_NAMER_H

#include "decode/postgresql_text.h"

struct tapir_postgresql_namer;

/* Returns NULL: out of memory. __free drops all names. */
struct tapir_postgresql_namer *tapir_postgresql_namer__new(void);
void tapir_postgresql_namer__free(struct tapir_postgresql_namer *n);

/*
 * Adds a relation or database to what is wanted. tgid: a process of the server, 0 or one with the
 * lock's database.
 */
void tapir_postgresql_namer__want(struct tapir_postgresql_namer *n, uint32_t server, uint32_t tgid,
				  const struct tapir_postgresql_lock *lock);
/* Finds what is wanted. Returns true if there are names that were not there before. */
bool tapir_postgresql_namer__find(struct tapir_postgresql_namer *n);
/* Adds a lock as tapir_postgresql_lock__add_text does, with the names that are known. */
void tapir_postgresql_namer__add_lock(const struct tapir_postgresql_namer *n, uint32_t server,
				      const struct tapir_postgresql_lock *lock,
				      struct tapir_str *out);
/* Appends all names, as TAPIR_META_POSTGRESQL_NAMES has them; at most max_bytes. */
void tapir_postgresql_namer__add_names(const struct tapir_postgresql_namer *n, size_t max_bytes,
				       struct tapir_str *out);

#endif
