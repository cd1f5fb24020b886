/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pool_waits.h - waits of a pool's threads: without work, or blocked although they have it. A
 * worker without work reports that before it waits (ThreadPoolWorkerThreadWait), or its stack shows
 * it; any other wait of it is work that is blocked, if it is long or its stack shows its reason.
 * One that waited before the recording began is blocked if a function of the program is on its
 * stack; without a stack it is not known. Bounded. One thread.
 */
#ifndef TAPIR_USER_POOL_WAITS_H
#define TAPIR_USER_POOL_WAITS_H

#include "analyze/timeline.h"
#include "analyze/wait_reason.h"

enum tapir_pool_wait {
	TAPIR_POOL_SHORT, /* or preempted: no matter */
	TAPIR_POOL_IDLE,
	TAPIR_POOL_UNBEGUN,
	TAPIR_POOL_BLOCKED,
};

struct tapir_pool_waits {
	uint64_t blocked_ns, idle_ns, unbegun_ns;
	uint64_t alive_ns; /* of the pool's threads that waited, each from its first wait on */
	/* for this module alone */
	struct tapir_wait_reasons reasons;
	struct tapir_map alive_until; /* tid -> end of its last wait */
	struct tapir_map idle_since;  /* tid -> when it said that it has nothing to do */
};

/* Notes that a worker reported at now_ns that it has no work. */
void tapir_pool_waits__says_idle(struct tapir_pool_waits *p, uint32_t tid, uint64_t now_ns);
/*
 * Adds a wait of a thread of the pool, and returns what it was. has_own: a function of the program
 * is on its stack (app_code.h).
 */
enum tapir_pool_wait tapir_pool_waits__add(struct tapir_pool_waits *p, struct tapir_timeline *tl,
					   const struct tapir_wait *wait, bool has_app_code);
void tapir_pool_waits__fini(struct tapir_pool_waits *p);

/* Returns true if ThreadPoolWorkerThreadAdjustment's reason is that threads are blocked. */
bool tapir_pool__is_for_blocked(const char *reason);
/* Returns true if the thread's name is that of a runtime's pool. */
bool tapir_pool__has(const struct tapir_timeline *tl, uint32_t tid, uint64_t now_ns);

#endif
