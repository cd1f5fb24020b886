/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lock_names.h - what the locks of a recorded PostgreSQL server are of: names of relations and
 * databases, as the recorder found them in the server (META, decode/postgresql_text.h). One thread.
 */
#ifndef TAPIR_USER_LOCK_NAMES_H
#define TAPIR_USER_LOCK_NAMES_H

#include "base/map.h"
#include "base/keyed.h"
#include "decode/event_fields.h"
#include "decode/postgresql_text.h"
#include "trace/catalog.h"

struct tapir_lock_names {		  /* zeroed at first */
	struct tapir_keyed(char *) names; /* by server, database and relation */
	uint64_t hash;			  /* of the text that they are of */
};

/* Reads the lock of an event. false: it has no numbers of one. */
bool tapir_lock_names__lock(const struct tapir_event_fields *fields,
			    struct tapir_postgresql_lock *out);
/* Returns the server (its postmaster) of a process, which is its parent; 0: not known. */
uint32_t tapir_lock_names__server(const struct tapir_catalog *catalog, uint32_t tgid,
				  uint64_t now_ns);
/*
 * Adds the lock of an event that a process fires. false: it has no numbers of one, and nothing is
 * added.
 */
bool tapir_lock_names__add_lock(struct tapir_lock_names *names, const struct tapir_catalog *catalog,
				uint32_t tgid, uint64_t now_ns,
				const struct tapir_event_fields *fields, struct tapir_str *out);
/* Frees the names. */
void tapir_lock_names__fini(struct tapir_lock_names *names);

#endif
