/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * finding_futexes.h - waits that are for a lock or for work (lore's is_lock_or_queue): a queue,
 * too, is made of such locks. The address decides: threads that wait for one at the same time wait
 * for a lock, while each that waits for work has an address of its own. Bounded. One thread.
 */
#ifndef TAPIR_USER_FINDING_FUTEXES_H
#define TAPIR_USER_FINDING_FUTEXES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/keyed.h"
#include "base/vec.h"
#include "diagnose/function_sums.h"

struct tapir_diagnosis;
struct tapir_findings;
struct tapir_lore_wait;
struct tapir_rec_switch;
struct tapir_str;
struct tapir_wait;

/* An address that threads of a process wait for. */
struct tapir_futex {
	const struct tapir_lore_wait *wait; /* NULL: no stack has shown it */
	uint32_t tgid;
	uint64_t ns, cnt, got_cnt;
	uint64_t attributed_ns; /* of ns, of waits whose stacks show the reason */
	bool is_shared;		/* two waited at the same time */
	bool is_named; /* a stack with names of functions shows that it is not part of another
			  object */
	/* The wait that ended last, and the last one of another thread. */
	struct {
		uint32_t tid;
		uint64_t wake_ns;
	} last[2];
	uint64_t given_ns; /* when it last changed hands */
	/* While others waited: who had it, by thread id, and what those mostly waited for. */
	struct tapir_function_sums holders;
	struct tapir_label_sums held_for;
	struct tapir_function_sums callers;
};

/* A thread's waits for one of them. */
struct tapir_futex_share {
	uint32_t tid, lock; /* idx */
	uint64_t ns, got_cnt;
};

/* The reason for which a thread waited in the snapshots, by stacks with names of functions. */
struct tapir_futex_seen {
	const struct tapir_lore_wait *wait;
	uint32_t name; /* of its own function */
	bool differs;  /* not the same each time */
};

struct tapir_futexes {
	struct tapir_keyed(struct tapir_futex) locks;
	struct tapir_keyed(struct tapir_futex_share) shares;
	struct tapir_keyed(struct tapir_futex_seen) seen;
	uint64_t seen_ns; /* of waits whose stacks do not show the reason, but those of snapshots
			     did */
	struct tapir_label_sums by_reason; /* waits that their stacks attribute */
};

/* Takes a wait. True: it was one of those, by its stack. */
bool tapir_finding_futexes__wait(struct tapir_diagnosis *f, const struct tapir_wait *wait,
				 bool is_open);
void tapir_finding_futexes__snapshot(struct tapir_diagnosis *f, const struct tapir_rec_switch *rec,
				     uint32_t node);
/*
 * Appends "; 4.8 threads waited for a Python lock or for work": of waits that cannot be
 * distinguished.
 */
void tapir_finding_futexes__append_unclassified(const struct tapir_diagnosis *f,
						struct tapir_str *out);

#endif
