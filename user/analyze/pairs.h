/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pairs.h - which events begin and end which kind of interval: known ones from a table
 * (pairs_table.c), those a user names, and any others whose names say so (x__start, x__done).
 *
 * A probe has its roles for as long as the file is read. Bounded. One thread.
 */
#ifndef TAPIR_USER_PAIRS_H
#define TAPIR_USER_PAIRS_H

#include <stdbool.h>

#include "base/map.h"
#include "base/vec.h"
#include "trace/record.h"

/* Where the end of an interval is looked for. */
enum tapir_pair_scope {
	TAPIR_PAIR_THREAD,   /* on the thread that began it; key: and with the same value */
	TAPIR_PAIR_KEY,	     /* in the process, by the key's value */
	TAPIR_PAIR_ACTIVITY, /* in the process, by the activity id */
	TAPIR_PAIR_PROCESS   /* in the process: it is of all threads */
};

/* What a thread's time in an interval is called, if not its own. */
enum tapir_cause {
	TAPIR_CAUSE_NONE,
	TAPIR_CAUSE_GC,	  /* process: all threads stand still for the collector */
	TAPIR_CAUSE_STOP, /* process: they do for something else */
	TAPIR_CAUSE_JIT,
	TAPIR_CAUSE_LOCK,
	TAPIR_CAUSE_IO,
	TAPIR_CAUSE_CNT
};
const char *tapir_cause__name(unsigned cause); /* "gc"; NONE: "" */

struct tapir_pair {
	const char *provider, *begin;
	const char *end; /* any of these, separated by '|' */
	const char *kind;
	uint8_t scope, cause;
	const char *key;   /* a field; NULL: none */
	const char *label; /* fields of the begin event, separated by ' '; NULL: none */
};

struct tapir_pair_table {
	const struct tapir_pair *pairs;
	size_t cnt;
};
extern const struct tapir_pair_table tapir_pairs_known;

#define TAPIR_PAIRS_MAX_KINDS 1024
#define TAPIR_PAIR_MAX_ROLES  4
#define TAPIR_NO_KIND	      UINT32_MAX

struct tapir_kind {
	char *provider, *name;
	uint8_t scope, cause;
	char *key, *label; /* NULL: none */
	bool is_guessed;   /* by the names of its events */
	/* of its intervals; a half one is in neither sum nor worst */
	uint64_t cnt, sum_ns, worst_ns;
	uint64_t unbegun, unended; /* their other end is not in the file */
};

struct tapir_role {
	uint32_t kind;
	bool is_begin;
};

struct tapir_roles {
	uint32_t cnt;
	struct tapir_role roles[TAPIR_PAIR_MAX_ROLES];
};

struct tapir_pairs {
	struct tapir_vec(struct tapir_kind) kinds;
	struct tapir_vec(struct tapir_roles) roles;
	/* for the pairs alone */
	struct tapir_map roles_by_probe, kind_by_name;
	struct tapir_vec(struct tapir_user_pair) user;
	bool failed; /* out of memory: intervals are missing */
};

/* "A,B" or "A,B,key=FIELD"; A and B: "PROVIDER:EVENT" or "EVENT", shell globs in both. */
struct tapir_user_pair {
	char *provider[2], *event[2]; /* begin, end; provider NULL: any */
	char *key;		      /* NULL: none */
	char *kind;		      /* what the begin event is called */
};

/* What a number in an interval's label means: "transaction"; NULL: it is a number. Static. */
const char *tapir_kind__value_name(const struct tapir_kind *kind, const char *field, size_t len,
				   uint64_t value);

/* Before the first probe. -EINVAL: text is no pair, -ENOMEM. */
int tapir_pairs__name(struct tapir_pairs *pairs, const char *text);
/* What this probe begins and ends; borrowed until the next call; none: cnt is 0. */
const struct tapir_roles *tapir_pairs__roles(struct tapir_pairs *pairs,
					     const struct tapir_probe_view *probe);
void tapir_pairs__fini(struct tapir_pairs *pairs);

/* Is the kind what a user calls text: "query", "postgresql:query", or one of its events? */
bool tapir_kind__is_called(const struct tapir_kind *kind, const char *text);

#endif
