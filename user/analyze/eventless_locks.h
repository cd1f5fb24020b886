/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * eventless_locks.h - waits for locks whose events are missing: they began before the events were
 * enabled, and where the runtime has no names (NativeAOT) their stacks do not name the lock.
 * But a wait with the very stack that other threads had inside the events of a lock is one for a
 * lock. That is decided after the last record. Bounded. One thread.
 */
#ifndef TAPIR_USER_EVENTLESS_LOCKS_H
#define TAPIR_USER_EVENTLESS_LOCKS_H

#include "base/keyed.h"
#include "analyze/timeline.h"

/* Waits of one thread with one stack. */
struct tapir_eventless_lock {
	uint32_t tgid, tid, node;
	uint64_t cnt, ns, worst_ns, open_cnt;
};

struct tapir_eventless_locks {
	struct tapir_keyed(struct tapir_eventless_lock) rows;
	struct tapir_map lock_stacks; /* stacks of waits inside a lock's events */
};

/* Adds a wait inside a lock's events, or one whose reason is not known. */
void tapir_eventless_locks__add_wait(struct tapir_eventless_locks *u, struct tapir_timeline *tl,
				     const struct tapir_wait *w, bool is_open);
/* Returns true, after the last record, if that row is the stack of a lock. */
bool tapir_eventless_locks__is_lock(const struct tapir_eventless_locks *u,
				    struct tapir_timeline *tl,
				    const struct tapir_eventless_lock *row);
void tapir_eventless_locks__fini(struct tapir_eventless_locks *u);

#endif
