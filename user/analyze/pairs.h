/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pairs.h - which events begin and end which kind of interval: known ones from lore/, those a user
 * names, and any others whose names show it (x__start, x__done).
 *
 * A probe has its roles for as long as the file is read. Bounded. One thread.
 */
#ifndef TAPIR_USER_PAIRS_H
#define TAPIR_USER_PAIRS_H

#include <stdbool.h>

#include "base/keyed.h"
#include "base/vec.h"
#include "spec/runtime_db/lore.h"
#include "trace/record.h"

const char *tapir_cause__name(unsigned cause); /* "gc"; NONE: "" */

#define TAPIR_PAIRS_MAX_KINDS 1024
#define TAPIR_PAIR_MAX_ROLES  12
#define TAPIR_NO_KIND	      UINT32_MAX

struct tapir_interval_kind {
	char *provider, *name;
	uint8_t scope, cause;
	char *key, *label;		    /* NULL: none */
	bool is_guessed;		    /* by the names of its events */
	bool is_request;		    /* that a server answers */
	bool is_call;			    /* of another server */
	bool is_statement;		    /* a call of a database, whose label is the statement */
	bool is_work;			    /* of a thread on a task of .NET */
	bool is_shared, is_postgresql_lock; /* struct tapir_pair_more */
	enum tapir_pair_nesting nesting;
	/* of its intervals; a half one is in neither sum nor worst, a nested one not in sum */
	uint64_t cnt, sum_ns, worst_ns;
	/*
	 * The kind's scope is the activity id, and events without one do not stay on their threads:
	 * so intervals without an id have no duration that could be determined.
	 */
	bool is_unknown_by_thread;
	bool lacks_key;		   /* events without its key: they belong to no interval */
	uint64_t stray;		   /* ends without an id or a begin on their thread */
	uint64_t unbegun, unended; /* their other end is not in the file */
	uint64_t at_attach;	   /* requests that began before all was attached: in no sum */
};

struct tapir_role {
	uint32_t kind;
	bool is_begin;
	bool is_abort; /* ends it if it is open */
};

struct tapir_roles {
	uint32_t cnt;
	struct tapir_role roles[TAPIR_PAIR_MAX_ROLES];
};

struct tapir_pairs {
	struct tapir_keyed(struct tapir_interval_kind) kinds;
	struct tapir_vec(struct tapir_roles) roles;
	/* for the pairs alone */
	struct tapir_map roles_by_probe;
	struct tapir_vec(struct tapir_user_pair) user;
	bool failed; /* out of memory: intervals are missing */
};

/* "A,B" or "A,B,key=FIELD"; A and B: "PROVIDER:EVENT" or "EVENT", shell globs in both. */
struct tapir_user_pair {
	char *provider[2], *event[2]; /* begin, end; provider NULL: any */
	char *key;		      /* NULL: none */
	char *kind;		      /* what the begin event is called */
	bool is_seen[2];	      /* an event has this name */
};

/*
 * Adds a pair that a user names, before the first probe; the last of pairs->user is then that pair.
 * A ',' in parentheses and a '::' separate nothing. -EINVAL: text is not a pair, -ENOMEM.
 */
int tapir_pairs__name(struct tapir_pairs *pairs, const char *text);
/* The same in parts; key NULL: none. */
int tapir_pairs__name_ends(struct tapir_pairs *pairs, const char *const provider[2],
			   const char *const event[2], const char *key);
/*
 * Returns the intervals that this probe begins and ends; borrowed until the next call; none: cnt is
 * 0.
 */
const struct tapir_roles *tapir_pairs__roles(struct tapir_pairs *pairs,
					     const struct tapir_probe_view *probe);
void tapir_pairs__fini(struct tapir_pairs *pairs);

/* Returns true if text names the kind: "query", "postgresql:query", or one of its events. */
bool tapir_interval_kind__is_called(const struct tapir_interval_kind *kind, const char *text);

#endif
