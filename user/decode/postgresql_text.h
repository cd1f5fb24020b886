/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * postgresql_text.h - locks of PostgreSQL as people read them, and the names of the relations and
 * databases that they are of, as the text of a META entry: one place writes and reads both.
 *
 * A lock is one for all that wait for it: in which mode they want it is no part of what it is.
 *
 *	postgresql.names   a line each: "SERVER DATABASE RELATION NAME"; RELATION 0: the database's
 */
#ifndef TAPIR_USER_POSTGRESQL_TEXT_H
#define TAPIR_USER_POSTGRESQL_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "trace/record.h"

/* LOCKTAG, as its events and the server's memory have it. */
struct tapir_postgresql_lock {
	uint32_t fields[3];
	uint16_t field4;
	uint8_t type;
};

/* Returns true if the lock is of a database and one of its relations, which are [0] and [1]. */
bool tapir_postgresql_lock__is_of_relation(const struct tapir_postgresql_lock *lock);
/* Returns true if the lock is of a database, which is [0]. */
bool tapir_postgresql_lock__is_of_database(const struct tapir_postgresql_lock *lock);

/*
 * "relation orders (OID 16412 of database shop)", "transaction 771"; names are NULL where they are
 * not known: "relation OID 16412 of database 5".
 */
void tapir_postgresql_lock__add_text(const struct tapir_postgresql_lock *lock, const char *relation,
				     const char *database, struct tapir_str *out);

#define TAPIR_META_POSTGRESQL_NAMES "postgresql.names"

struct tapir_postgresql_name {
	uint32_t server; /* the parent of its processes; 0: not known */
	uint32_t database, relation;
	struct tapir_sv name; /* printable; of the text */
};

/* The key of a relation or, with relation 0, of a database, for a map. */
uint64_t tapir_postgresql_name__key(uint32_t server, uint32_t database, uint32_t relation);
/* Appends the line of one name. */
void tapir_postgresql_name__add(const struct tapir_postgresql_name *name, struct tapir_str *out);
/* The next one of the text, which is moved on; false: there is none. */
bool tapir_postgresql_name__next(struct tapir_sv *text, struct tapir_postgresql_name *out);

/* ---- sessions ------------------------------------------------------------------------------- */

/* A session that is in a transaction and executes nothing. */
struct tapir_postgresql_session {
	uint64_t transaction_ns, idle_ns; /* since when */
	uint32_t transaction;		  /* whose locks it holds; 0: none, or not known */
	struct tapir_sv statement;	  /* the last one; empty: not known */
};

/* Adds the session as the text of a WAIT record. */
void tapir_postgresql_session__add(const struct tapir_postgresql_session *session,
				   struct tapir_str *out);
/* Parses such a text; borrows from it. false: it is not one. */
bool tapir_postgresql_session__parse(struct tapir_sv text, struct tapir_postgresql_session *out);

/* ---- titles --------------------------------------------------------------------------------- */

/*
 * A server's processes have a title where others have a command line. Returns the pid of the
 * process for which a parallel worker works, as the server numbers it: of "postgres: parallel
 * worker for PID 4711"; 0: it is none.
 */
uint32_t tapir_postgresql_title__leader(struct tapir_sv title);
/* "autovacuum worker shop" of "postgres: autovacuum worker shop "; empty: it is none. */
struct tapir_sv tapir_postgresql_title__autovacuum(struct tapir_sv title);

#endif
