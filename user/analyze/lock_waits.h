/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lock_waits.h - the threads that wait for locks which other threads hold, at one moment; cycles
 * among them are deadlocks. From a snapshot, or from events that name the owner.
 *
 * A thread waits for one lock at a time. The caller that adds waits ensures that they were at the
 * same time.
 */
#ifndef TAPIR_USER_LOCK_WAITS_H
#define TAPIR_USER_LOCK_WAITS_H

#include <stddef.h>
#include <stdint.h>

#include "base/keyed.h"

struct tapir_lock_wait {
	uint32_t tid, owner_tid;
	uint32_t round; /* of the search that came here first; 0: none */
};

struct tapir_lock_waits { /* zeroed at first */
	struct tapir_keyed(struct tapir_lock_wait) by_tid;
};

/* Replaces what the thread waited for before. 0 or -ENOMEM. */
int tapir_lock_waits__add(struct tapir_lock_waits *w, uint32_t tid, uint32_t owner_tid);

/* Returns the thread for which it waits; 0: it does not wait, or for no known thread. */
uint32_t tapir_lock_waits__owner(const struct tapir_lock_waits *w, uint32_t tid);

/*
 * Calls fn for each cycle with a thread of it; __owner leads from each to the next, cnt threads
 * until it is the first again. 1: a thread waits for itself. Returns the number of cycles.
 */
typedef void (*tapir_deadlock_fn)(void *ctx, uint32_t tid, size_t cnt);
size_t tapir_lock_waits__each_deadlock(struct tapir_lock_waits *w, tapir_deadlock_fn fn, void *ctx);

/* Returns the thread for which most others wait, directly; *cnt: how many. 0: no thread waits. */
uint32_t tapir_lock_waits__most_contended(const struct tapir_lock_waits *w, size_t *cnt);

/* Frees the edges. */
void tapir_lock_waits__fini(struct tapir_lock_waits *w);

#endif
