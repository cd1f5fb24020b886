/* SPDX-License-Identifier: MIT */
/*
 * provider_impl.h - what the files of usdt/provider share.
 *
 *	provider_registry	providers and the table of all events; the lock; fork
 *	provider_metadata	an event's fields as METADATA of format 2
 *	provider_fire		an event on its way to the sessions that want it: the hot path
 *	provider_sessions	sessions inside the process: which events they want, who is inside
 *	provider_poller		the thread; words of events follow the lane's; callbacks
 *
 * LOCKING. One mutex (provider_lock) for everything that is no firing. Firing takes no lock: it
 * reads an event's words and, for sessions inside the process, counts itself into the session
 * (provider_sessions.c), which whoever closes that waits for. No callback of the user's runs under
 * the lock.
 */
#ifndef TAPIR_PROVIDER_IMPL_H
#define TAPIR_PROVIDER_IMPL_H

#include <errno.h>

#include "../ring/ring_control.h"
#include "../ring/ring_writer.h"
#include "tapir/provider.h"

#define prov_load(p)		 __atomic_load_n(p, __ATOMIC_RELAXED)
#define prov_load_acquire(p)	 __atomic_load_n(p, __ATOMIC_ACQUIRE)
#define prov_store(p, v)	 __atomic_store_n(p, v, __ATOMIC_RELAXED)
#define prov_store_release(p, v) __atomic_store_n(p, v, __ATOMIC_RELEASE)

#define PROVIDER_IN_PROCESS	 (TAPIR_SESSION_MAX - TAPIR_RING_SESSIONS)

/* The private words of an event. */
struct event_state {
	struct tapir_ring_event ring; /* its word is NULL before it was ever registered */
	uint64_t wants;		      /* sessions inside the process, a bit each */
	struct tapir_provider *provider;
	uint32_t table_idx;
	uint32_t is_unlisted; /* it found no entry in the lane: the errno */
};
_Static_assert(sizeof(struct event_state) <= sizeof(((struct tapir_event *)0)->private_words),
	       "event_state");

static inline struct event_state *event_state__of(struct tapir_event *event)
{
	return (struct event_state *)(void *)event->private_words;
}

/* What the lane needs of an event for as long as it is registered. */
struct provider_event {
	struct tapir_event *event;
	struct tapir_ring_about about;
	void *metadata;
};

/* One session's enablement as the callback was told last. */
struct provider_told {
	uint64_t session_id, keywords;
	uint32_t filter_hash;
	uint8_t is_on, level;
	uint8_t pad0[2];
};

enum { PROVIDER_TOLD_USDT = TAPIR_RING_SESSIONS, PROVIDER_TOLD_PROCESS };
#define PROVIDER_TOLD_CNT (PROVIDER_TOLD_PROCESS + PROVIDER_IN_PROCESS)

struct tapir_provider {
	struct tapir_provider *next;
	char *name;
	uint8_t guid[16];
	uint8_t has_guid;
	uint8_t is_leaving;
	int ring_error;
	tapir_enablement_fn changed;
	void *ctx;
	uint32_t flags;
	uint32_t event_cnt;
	struct provider_told told[PROVIDER_TOLD_CNT];
	struct provider_event events[];
};

#pragma GCC visibility push(hidden)

/* ---- provider_registry.c ------------------------------------------------------------------ */

extern struct tapir_provider *provider_list; /* under the lock */
extern struct tapir_event *provider_table[TAPIR_MAX_EVENTS];
extern uint32_t provider_table_cnt; /* the table is used below it */

void provider_lock(void);
void provider_unlock(void);
void provider_wait(void);      /* under the lock: until provider_broadcast */
void provider_broadcast(void); /* under the lock */

static inline void event__set_sessions(struct tapir_event *event, uint16_t bits, int on)
{
	if (on)
		__atomic_fetch_or(&event->word.half.sessions, bits, __ATOMIC_SEQ_CST);
	else
		__atomic_fetch_and(&event->word.half.sessions, (uint16_t)~bits, __ATOMIC_SEQ_CST);
}

/* ---- provider_metadata.c ------------------------------------------------------------------ */

/* METADATA of format 2, from malloc. 0, -EINVAL, -ENOMEM. */
int provider_metadata__make(const struct tapir_event_about *about, void **out, uint32_t *bytes);

/* ---- provider_poller.c -------------------------------------------------------------------- */

/* Starts the thread unless it runs or nobody wants it. Under the lock. 0 or -errno. */
int provider_poller__start(void);
/* Ends it and waits for it. Under the lock, which is released meanwhile. */
void provider_poller__stop(void);
/* In a forked child. */
void provider_poller__forked(void);
/* Words of all events anew, from the lane's and the sessions'. Under the lock. */
void provider_poller__refresh(void);
/* Calls back where something has changed. Under the lock, which is released meanwhile. */
void provider_poller__call_back(void);
/* Until its callback is not running, unless it is the caller who runs it. Under the lock. */
void provider_poller__leave(struct tapir_provider *provider);

#pragma GCC visibility pop

#endif
