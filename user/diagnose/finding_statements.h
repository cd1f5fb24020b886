/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * finding_statements.h - short statements that clients send one after the other: each costs a
 * journey to the server and back, which takes longer than the statement. Statements that differ in
 * numbers alone are one. Bounded. One thread.
 */
#ifndef TAPIR_USER_FINDING_STATEMENTS_H
#define TAPIR_USER_FINDING_STATEMENTS_H

#include "base/keyed.h"
#include "diagnose/finding.h"
#include "diagnose/function_sums.h"

struct tapir_diagnosis;
struct tapir_interval;
struct tapir_wait;

struct tapir_statement_row {
	char *text;
	uint64_t cnt, ns;
};

/* A thread of a server that executes them. */
struct tapir_statement_session {
	uint32_t tid;
	uint64_t cnt, client_ns; /* client_ns: it waited for the client */
};

struct tapir_statements {
	struct tapir_keyed(struct tapir_statement_row) rows;
	struct tapir_keyed(struct tapir_statement_session) sessions;
	uint64_t cnt; /* short ones */
};

/* Take a closed interval, which may be a statement, and a wait of a session. */
void tapir_finding_statements__close(struct tapir_diagnosis *f, const struct tapir_interval *i);
void tapir_finding_statements__wait(struct tapir_diagnosis *f, const struct tapir_wait *wait);

#endif
