/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * chain_sums.h - waits that lead through several processes (analyze/wait_chain.h), added up by the
 * names of the processes and what each waited for. Bounded. One thread.
 */
#ifndef TAPIR_USER_CHAIN_SUMS_H
#define TAPIR_USER_CHAIN_SUMS_H

#include "base/keyed.h"

struct tapir_diagnosis;
struct tapir_wait;

struct tapir_chain_row {
	char *text; /* "asker: child > locker: file lock > keeper: sleep" */
	uint64_t ns, cnt;
	unsigned rank; /* 0: its end did something; 1: it slept; 2: it is not known */
};

struct tapir_chain_sums {
	struct tapir_keyed(struct tapir_chain_row) rows;
};

/* Adds a wait that has ended, if it has such a chain and is not short. */
void tapir_chain_sums__add(struct tapir_diagnosis *f, const struct tapir_wait *w);
/* Sorts the rows by rank, most time first: nothing is added afterwards. */
void tapir_chain_sums__sort(struct tapir_chain_sums *sums);
void tapir_chain_sums__fini(struct tapir_chain_sums *sums);

#endif
