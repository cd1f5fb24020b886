/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * finding_sessions.h - sessions of a server of databases that are in a transaction and execute
 * nothing: what they have locked or changed stays so. By snapshots; of those that sleep until the
 * recording ends. One thread.
 */
#ifndef TAPIR_USER_FINDING_SESSIONS_H
#define TAPIR_USER_FINDING_SESSIONS_H

#include "base/keyed.h"
#include "diagnose/finding.h"
#include "diagnose/function_sums.h"

struct tapir_diagnosis;
struct tapir_rec;

struct tapir_idle_session {
	uint32_t tid, transaction;	  /* transaction: 0, none that is known to hold locks */
	uint64_t seen_ns;		  /* by a snapshot; 0: it was not idle then */
	uint64_t transaction_ns, idle_ns; /* until then */
	char *statement;		  /* the last one; NULL: not known */
	bool is_of_holder;		  /* it was seen by who waits for it alone */
};

struct tapir_idle_sessions {
	struct tapir_keyed(struct tapir_idle_session) rows;
};

/* A WAIT record. */
void tapir_finding_sessions__call(struct tapir_diagnosis *f, const struct tapir_rec *rec);
/*
 * Appends ", idle in transaction for 12.345 s, after update ..."; false: the thread is no such
 * session.
 */
bool tapir_finding_sessions__add(struct tapir_diagnosis *f, uint32_t tid, struct tapir_str *out);

#endif
