/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * finding_locks_by_stack.h - threads that wait for locks, by the stacks with which they left their
 * CPUs: for runtimes that have no events of their locks. One thread.
 */
#ifndef TAPIR_USER_FINDING_LOCKS_BY_STACK_H
#define TAPIR_USER_FINDING_LOCKS_BY_STACK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/keyed.h"
#include "base/vec.h"
#include "diagnose/finding.h"
#include "diagnose/function_sums.h"

struct tapir_diagnosis;
struct tapir_interval;
struct tapir_lore_wait;
struct tapir_rec;
struct tapir_wait;

/* A thread that waited for a kind of lock. */
struct tapir_lock_waiter {
	uint32_t tid;
	/* got: the wait ended in the recording, and not by a timer, after which it looks for a
	 * deadlock, say, and sleeps again */
	uint64_t ns, cnt, got_cnt;
	uint64_t other_ns;		      /* it waited for anything else */
	uint64_t truncated_ns, truncated_cnt; /* of ns and cnt: their stacks do not show the lock */
	uint32_t function;	    /* function of the program in which it waited last, or none */
	bool is_blocked_throughout; /* decided after the last record */
};

/* All who wait for a kind of lock: "monitor", "mutex". */
struct tapir_lock_kind {
	const struct tapir_lore_wait *wait;
	struct tapir_function_sums callers;
	struct tapir_keyed(struct tapir_lock_waiter) threads;
};

/* The lock that a thread waited for when snapshots saw it. */
struct tapir_seen_wait {
	char *object;			    /* the last one; NULL: not known */
	char *statement, *holder_statement; /* its own and its holder's; NULL: none, or unknown */
	uint32_t owner_tid, cnt;
	bool has_changed; /* they saw different things, or owners */
};

struct tapir_locks_by_stack {
	struct tapir_keyed(struct tapir_lock_kind) kinds; /* by reason */
	uint64_t event_ns;				  /* of waits for locks that have events */
	struct tapir_keyed(struct tapir_seen_wait) seen;
};

/*
 * Takes a wait. is_cut: it began before the recording or has not ended in it. True: it was a wait
 * for a lock that is counted here.
 */
bool tapir_finding_locks_by_stack__wait(struct tapir_diagnosis *f, const struct tapir_wait *wait,
					bool is_truncated);
/* Takes a WAIT record: which lock a snapshot saw a thread wait for. */
void tapir_finding_locks_by_stack__call(struct tapir_diagnosis *f, const struct tapir_rec *rec);
/* Takes an interval that has ended: the times of waits for locks that have events are added up. */
void tapir_finding_locks_by_stack__close(struct tapir_diagnosis *f, const struct tapir_interval *i);

#endif
