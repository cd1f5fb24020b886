/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * finding_postgresql.h - what a PostgreSQL server's events show of its settings: checkpoints that
 * follow each other, since the log reached its limit, and sorts that do not fit their memory. One
 * thread.
 */
#ifndef TAPIR_USER_FINDING_POSTGRESQL_H
#define TAPIR_USER_FINDING_POSTGRESQL_H

#include "diagnose/finding.h"
#include "diagnose/function_sums.h"

struct tapir_diagnosis;
struct tapir_diagnosis_event;

struct tapir_postgresql_finding {
	uint64_t checkpoint_cnt, by_log_cnt; /* that began */
	uint64_t sort_cnt, file_sort_cnt;    /* that ended; file: in temporary files */
	uint64_t max_blocks;		     /* of one sort's files */
	struct tapir_label_sums statements;
};

/* Takes an event of a server's process. */
void tapir_finding_postgresql__event(struct tapir_diagnosis *f,
				     const struct tapir_diagnosis_event *e);

#endif
