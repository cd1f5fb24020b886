/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lock_watch.h - what the locks of PostgreSQL are of for which processes wait by their events:
 * names are found once a second, and become a META record (decode/postgresql_text.h).
 *
 * One thread, the session's. A server with many buffers keeps it busy for a moment, each time that
 * a lock of another relation is seen.
 */
#ifndef TAPIR_USER_LOCK_WATCH_H
#define TAPIR_USER_LOCK_WATCH_H

#include "trace/catalog.h"

struct tapir_lock_watch;

typedef void (*tapir_lock_watch_fn)(void *ctx, const struct tapir_rec *meta);

/* NULL: out of memory. */
struct tapir_lock_watch *tapir_lock_watch__new(tapir_lock_watch_fn fn, void *ctx);
void tapir_lock_watch__free(struct tapir_lock_watch *w);

/* w of the following may be NULL. A PROBE record. */
void tapir_lock_watch__learn(struct tapir_lock_watch *w, const struct tapir_rec *rec);
/* After the catalog has it. */
void tapir_lock_watch__add(struct tapir_lock_watch *w, const struct tapir_catalog *catalog,
			   const struct tapir_rec_event *ev);
void tapir_lock_watch__poll(struct tapir_lock_watch *w, uint64_t now_ns);

#endif
