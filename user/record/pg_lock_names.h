/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pg_lock_names.h - what the locks of PostgreSQL are of for which processes wait by their events:
 * names are found once a second, and become a META record (decode/postgresql_text.h).
 *
 * One thread, the session's. A server with many buffers keeps it busy for a moment, each time that
 * a lock of another relation is seen.
 */
#ifndef TAPIR_USER_PG_LOCK_NAMES_H
#define TAPIR_USER_PG_LOCK_NAMES_H

#include "trace/catalog.h"

struct tapir_pg_lock_names;

typedef void (*tapir_pg_lock_names_fn)(void *ctx, const struct tapir_rec *meta);

/* NULL: out of memory. */
struct tapir_pg_lock_names *tapir_pg_lock_names__new(tapir_pg_lock_names_fn fn, void *ctx);
void tapir_pg_lock_names__free(struct tapir_pg_lock_names *w);

/* Takes a PROBE record. w may be NULL here and below. */
void tapir_pg_lock_names__learn(struct tapir_pg_lock_names *w, const struct tapir_rec *rec);
/* Takes an event, after the catalog has it. */
void tapir_pg_lock_names__add(struct tapir_pg_lock_names *w, const struct tapir_catalog *catalog,
			      const struct tapir_rec_event *ev);
void tapir_pg_lock_names__poll(struct tapir_pg_lock_names *w, uint64_t now_ns);

#endif
