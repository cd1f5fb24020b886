/* SPDX-License-Identifier: MIT */
/*
 * provider_impl.h - what the files of usdt/provider share.
 *
 *	provider_registry	providers and the table of all events; the lock; fork
 *	provider_mistakes	mistakes in one provider
 *	provider_warnings	mistakes in all providers, as sentences
 *	provider_metadata	an event's fields as METADATA of format 2
 *	provider_fire		an event on its way to the sessions that want it: the hot path
 *	provider_sessions	sessions inside the process: which events they want
 *	provider_dispatch	an event on its way into these sessions: the hot path
 *	provider_poller		the thread; words of events follow the lane's; callbacks
 *	provider_thread		starts this and other threads of the library
 *	provider_room		arrays that grow
 *
 * LOCKING. One mutex (provider_lock) for everything that is no firing. Firing takes no lock: it
 * reads an event's words and, for sessions inside the process, counts itself into the session
 * (provider_session.h); closing a session waits for these. No callback of the user's runs under the
 * lock.
 */
#ifndef TAPIR_PROVIDER_IMPL_H
#define TAPIR_PROVIDER_IMPL_H

#include <errno.h>
#include <pthread.h>
#include <signal.h>

#include "../ring/ring_control.h"
#include "../ring/ring_order.h"
#include "../ring/ring_writer.h"
#include "tapir/provider.h"

#define prov_load(p)		 __atomic_load_n(p, __ATOMIC_RELAXED)
#define prov_load_acquire(p)	 __atomic_load_n(p, __ATOMIC_ACQUIRE)
#define prov_store(p, v)	 __atomic_store_n(p, v, __ATOMIC_RELAXED)
#define prov_store_release(p, v) __atomic_store_n(p, v, __ATOMIC_RELEASE)

/* flags of an event: it is no probe, and in plain memory. Its semaphore is the library's: the one
   of the JSON probe of its level (json_probe.c), as the poller finds it. */
#define EVENT_AS_JSON		 (1u << 0)
/* The event was defined: its description is the first member of dynamic_events.c's definition. */
#define EVENT_IS_DEFINED	 (1u << 1)

#define PROVIDER_IN_PROCESS	 (TAPIR_SESSION_MAX - TAPIR_RING_SESSIONS)

/* The private words of an event. */
struct event_state {
	struct tapir_ring_event ring; /* its word is NULL before it was ever registered */
	uint64_t wants;		      /* sessions inside the process, a bit each */
	struct tapir_provider *provider;
	uint32_t table_idx;
	uint16_t provider_idx; /* in its provider's events */
	uint16_t is_unlisted;  /* it found no entry in the lane: the errno */
};
_Static_assert(sizeof(struct event_state) <= sizeof(((struct tapir_event *)0)->private_words),
	       "event_state");

static inline struct event_state *event_state__of(struct tapir_event *event)
{
	return (struct event_state *)(void *)event->private_words;
}

/* The lane's part of an event, for as long as it is registered. */
struct provider_event {
	struct tapir_event *event;
	struct tapir_ring_about about;
	void *metadata;
};

/* One session's enablement as the callback was last notified of it. */
struct last_notified {
	uint64_t session_id, keywords;
	uint32_t filter_hash;
	uint8_t is_on, level;
	uint8_t kind; /* enum tapir_session_kind, of a session inside the process */
	uint8_t pad0;
};

enum { PROVIDER_NOTIFIED_USDT = TAPIR_RING_SESSIONS, PROVIDER_NOTIFIED_PROCESS };
#define PROVIDER_NOTIFIED_CNT (PROVIDER_NOTIFIED_PROCESS + PROVIDER_IN_PROCESS)

struct tapir_provider {
	struct tapir_provider *next; /* of provider_list */
	/* The events whose semaphores count as the provider's own, of dynamic_events.c. */
	struct tapir_provider *members, *next_member;
	char *name;
	uint8_t guid[16];
	uint8_t has_guid;
	uint8_t is_leaving; /* it is being freed: changed is not called from here on */
	int ring_error;	    /* the first -errno of an event that the lane did not take; 0: none */
	tapir_enablement_fn changed;	/* called without the lock; NULL: none */
	void *ctx;			/* changed's */
	uint32_t flags;			/* as the program passed them to __new */
	uint32_t event_cnt;		/* members of events */
	struct tapir_program_part part; /* size 0: not given, mistakes are accepted */
	struct last_notified last_notified[PROVIDER_NOTIFIED_CNT];
	struct provider_event events[];
};

#pragma GCC visibility push(hidden)

/* ---- provider_registry.c ------------------------------------------------------------------ */

extern struct tapir_provider *provider_list; /* under the lock */
extern struct tapir_event *provider_table[TAPIR_MAX_EVENTS];
extern const struct tapir_event_kind *provider_kinds[TAPIR_MAX_EVENTS]; /* of the same events */
extern uint32_t provider_table_cnt; /* the table is used below it */
extern uint32_t provider_json_cnt;  /* events that are EVENT_AS_JSON; under the lock */
/* Set with the first of them: a program without any does not link the JSON probes. */
extern int (*provider_json_is_on)(uint8_t level);

/*
 * The lock of everything here that is not stated to be free of it. It is the outermost: the ring's
 * locks are taken inside.
 */
void provider_lock(void);
int provider_trylock(void); /* 1: locked */
void provider_unlock(void);
void provider_wait(void);      /* under the lock: until provider_broadcast */
void provider_broadcast(void); /* under the lock */

/*
 * tapir_provider__create, and without `part` what it was before there was one: for the library's
 * own providers, and for programs compiled with an earlier header.
 */
int provider__make(const char *name, const uint8_t *guid, struct tapir_event *const *events,
		   uint32_t event_cnt, const struct tapir_provider_opts *opts,
		   const struct tapir_program_part *part, struct tapir_provider **out);

static inline void event__set_sessions(struct tapir_event *event, uint16_t bits, int on)
{
	if (on)
		__atomic_fetch_or(&event->word.half.sessions, bits, __ATOMIC_SEQ_CST);
	else
		__atomic_fetch_and(&event->word.half.sessions, (uint16_t)~bits, __ATOMIC_SEQ_CST);
}

/* FNV-1a of 32 bits: begins with PROVIDER_HASH. */
#define PROVIDER_HASH	    2166136261u
#define PROVIDER_HASH_PRIME 16777619u

static inline uint32_t provider_hash(uint32_t hash, const char *text)
{
	for (; *text; text++)
		hash = (hash ^ (uint8_t)*text) * PROVIDER_HASH_PRIME;
	return hash;
}

/* Called once, with the first provider that is made from now on, without the lock; NULL: nothing.
 */
extern void (*provider_on_first)(void);

/* ---- provider_mistakes.c ------------------------------------------------------------------ */

/* b: the event that a is in conflict with; NULL: a is of another provider's name. */
typedef void (*provider_mistake_fn)(void *ctx, const struct tapir_provider *p,
				    const struct provider_event *a, const struct provider_event *b);
/* Returns the number of mistakes among the provider's own events; calls fn for each, unless it is
   NULL. Under the lock. */
uint32_t provider_mistakes__find(const struct tapir_provider *p, provider_mistake_fn fn, void *ctx);

/* ---- provider_metadata.c ------------------------------------------------------------------ */

/* METADATA of format 2, from malloc. 0, -EINVAL, -ENOMEM. */
int provider_metadata__make(const struct tapir_event_about *about, void **out, uint32_t *bytes);

/* ---- provider_sessions.c ------------------------------------------------------------------ */

/* An event that one session gets; on the firing thread's stack. */
struct session_write {
	const struct tapir_event_kind *kind;
	const uint8_t *activity, *related; /* NULL: none */
	uint8_t *payload;		   /* reserve() sets it */
	void *token;			   /* the session's */
	uint64_t time_ns;		   /* for commit: later than reserve */
	uint32_t bytes;
	uint32_t pad0;
};

/*
 * The functions by which a kind of session takes events. Both are called on the firing thread, as
 * strict as a signal handler: no lock, no allocation. reserve: 1 with room for `bytes`, or 0: lost,
 * and counted by the session. commit: the payload is written. A session that only has a buffer of
 * its own for a payload calls its user in commit.
 */
struct provider_session_ops {
	int (*reserve)(void *ctx, struct session_write *write);
	void (*commit)(void *ctx, struct session_write *write);
	/* Under the lock; NULL: none. Of an event that is selected: is it wanted? An event that
	   goes is left: no thread is firing it. */
	int (*wants)(void *ctx, struct tapir_event *event);
	void (*leave)(void *ctx, struct tapir_event *event);
};

/*
 * Opens one: its selections are copied, events that it wants are on when this returns. *idx: its
 * number. 0, -EINVAL, -ENOMEM, -EBUSY (all 56 are open). Takes the lock.
 */
int provider_session__open(const struct provider_session_ops *ops, void *ctx, uint32_t kind,
			   const struct tapir_selection *selections, uint32_t cnt, uint32_t *idx);
/*
 * When this returns 1, no further event arrives and no thread is inside ops. 0: a thread has been
 * inside for 2 s (stopped by a debugger, say): what it may touch must not be freed. Takes the lock.
 */
int provider_session__close(uint32_t idx);

/* Decides for the event, or for each event, which sessions want it; under the lock. */
void provider_sessions__match(struct tapir_event *event);
/* Judges all events anew by what sessions request. Under the lock. */
void provider_sessions__match_all(void);
/* The event goes: no thread is sending it to a session when this returns. */
void provider_sessions__leave_event(struct tapir_event *event);
/* Sums up what sessions request of a provider, for its callback. Under the lock. */
void provider_sessions__requested(uint32_t idx, const char *provider, struct last_notified *now,
				  const char **filter);
/*
 * The number of times that the slot was taken, which distinguishes a session from the one before.
 */
uint32_t provider_sessions__opened_cnt(uint32_t idx);
/* Called in a forked child: the parent's sessions are not its. */
void provider_sessions__forked(void);
/*
 * After __close, when nothing of the session's is queued: its slot is free, kinds may be freed.
 * Takes the lock.
 */
void provider_session__closed(uint32_t idx);

/* The hot path: the first session that has room gets a payload to fill; the others copy it. */
struct process_write {
	uint64_t others; /* sessions that have not been asked */
	uint64_t loggers;
	struct session_write first;
	uint32_t first_idx;   /* PROVIDER_IN_PROCESS: none */
	uint32_t logger_slot; /* with loggers: the payload's */
};
/*
 * Reserves room for an event in the sessions that want it; __commit fills it. As strict as a signal
 * handler.
 */
int provider_sessions__begin(struct process_write *w, struct tapir_event *event, uint64_t wants,
			     uint32_t bytes);
void provider_sessions__commit(struct process_write *w, struct tapir_event *event,
			       const uint8_t *payload);
/* Returns the thread's id, without a system call after the first. */
uint32_t provider_tid(void);
uint32_t provider_shard(void); /* 0 to 15, for the thread's life */

/* dynamic_events.c, once an event was defined: a program that defines none does not link it. */
extern void (*provider_fire_probe)(struct tapir_event *event, const void *payload, size_t bytes);

/* provider_fire.c: as tapir_event__write, for these sessions alone: a bit each, those of the ring
   lane first. */
void provider_event__write_to(struct tapir_event *event, const void *payload, size_t bytes,
			      uint64_t sessions);

/* ---- usdt/logger -------------------------------------------------------------------------- */

/* Sessions that are loggers, a bit each. */
extern uint64_t provider_logger_mask;

/*
 * Room for a payload that is handed to loggers when all other sessions have it; NULL: they lose the
 * event, counted. As strict as a signal handler, but for what a logger's function does.
 */
uint8_t *provider_loggers__begin(struct process_write *w, const struct tapir_event *event,
				 uint64_t loggers, uint32_t bytes);
/* frame: as of tapir_ring__begin_at. */
void provider_loggers__commit(struct process_write *w, const struct tapir_event *event,
			      const uint8_t *payload, const void *frame);
/* Called in a forked child: loggers continue, what their threads held does not. */
void provider_loggers__forked(void);
/* Set while there is a logger that wants events by what it finds elsewhere, which is asked each
   TAPIR_POLL_MS: 1 if events are to be judged again. Under the lock. */
extern int (*provider_loggers_changed)(void);
void provider_loggers__fini(void); /* under the lock: no session is open */

/* ---- usdt/counter ------------------------------------------------------------------------- */

/* Publishes counters whose interval has ended; milliseconds until the next. Under the lock, which
   is released for a while. */
int provider_counters__tick(void);
int provider_counters__are_there(void); /* under the lock */
void provider_counters__forked(void);
/* Frees the groups, when the last provider goes. */
void provider_counters__fini(void);

/* ---- usdt/activity ------------------------------------------------------------------------ */

/* The thread's ids for an event: borrowed, NULL: none. As strict as a signal handler. */
void provider_activity__of(const struct tapir_event *event, const uint8_t **activity,
			   const uint8_t **related);

/* The trace and the span that the thread works for: 24 bytes, borrowed; NULL: none. Thread-safe in
 * the same way. */
const uint8_t *provider_trace__ids(void);

/* ---- provider_room.c ---------------------------------------------------------------------- */

/* Makes room in *data, from malloc, for `need` elements of `size` bytes: `first` of them, doubled
   until they are enough. 1, or 0 without memory, and nothing has changed. */
int provider_make_room(void **data, size_t *room, size_t need, size_t size, size_t first);

/* ---- provider_thread.c -------------------------------------------------------------------- */

/* Starts a thread in which the signals of `blocked` are blocked; NULL: all. 0 or -errno. */
int provider_thread__start(pthread_t *thread, size_t stack_bytes, const sigset_t *blocked,
			   void *(*run)(void *), void *arg);

/* ---- provider_poller.c -------------------------------------------------------------------- */

/* Starts the thread unless it runs or is not needed. Under the lock. 0 or -errno. */
int provider_poller__start(void);
/* Ends it and waits for it. Under the lock, which is released for a while. */
void provider_poller__stop(void);
/* Looks soon: a session was opened or closed. Under the lock. */
void provider_poller__wake(void);
/* In a forked child. */
void provider_poller__forked(void);
/* There, while it is set: an event that comes may start the thread. */
extern uint32_t provider_poller_is_missing;
/* Providers with TAPIR_PROVIDER_CHILD_THREAD; changed under the lock. */
extern uint32_t provider_child_threads;
void provider_poller__restore(void);
/* Words of all events anew, from the lane's and the sessions', or of one. Under the lock. */
void provider_poller__refresh(void);
void provider_poller__refresh_event(struct tapir_event *event);
/* Calls back where something has changed. Under the lock, which is released for a while. */
void provider_poller__call_back(void);
/* Returns when its callback is not running, unless the caller runs it, and will not be called
   again. Under the lock. */
void provider_poller__leave(struct tapir_provider *provider);

#pragma GCC visibility pop

#endif
