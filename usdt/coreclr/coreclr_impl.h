/* SPDX-License-Identifier: MIT */
/*
 * coreclr_impl.h - what the files of usdt/coreclr share. One profiler a copy of the library.
 *
 * Threads: the runtime's callbacks run on any thread, events possibly while the runtime holds its
 * locks or collects garbage: nothing there waits, allocates by malloc, or calls the runtime except
 * for a provider's name. Everything else is done by the one control thread.
 */
#ifndef TAPIR_CORECLR_IMPL_H
#define TAPIR_CORECLR_IMPL_H

#include <stddef.h>
#include <stdint.h>

#include "coreclr_abi.h"
#include "tapir/coreclr.h"
#include "tapir/ring.h"

#define CORECLR_NAME_BYTES   192u /* of a provider, its NUL among them: as a selection has it */
#define CORECLR_ARGS_BYTES   (1u << 20) /* arguments of all providers */
#define CORECLR_WANT_MAX     1024u
#define CORECLR_RUNTIME_NAME "Microsoft-Windows-DotNETRuntime"

/* FNV-1a */
static inline uint64_t coreclr_hash(const void *data, size_t len)
{
	const uint8_t *bytes = data;
	uint64_t hash = 0xcbf29ce484222325ull;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ bytes[i]) * 0x100000001b3ull;
	return hash;
}

#define coreclr_load(p)		    __atomic_load_n(p, __ATOMIC_RELAXED)
#define coreclr_load_acquire(p)	    __atomic_load_n(p, __ATOMIC_ACQUIRE)
#define coreclr_store(p, v)	    __atomic_store_n(p, v, __ATOMIC_RELAXED)
#define coreclr_store_release(p, v) __atomic_store_n(p, v, __ATOMIC_RELEASE)
#define coreclr_unlikely(x)	    __builtin_expect(!!(x), 0)

#pragma GCC visibility push(hidden)

/* ---- coreclr_memory.c: memory that is there until all of it goes ----------------------- */

int coreclr_memory__init(void); /* 0 or -ENOMEM */
void coreclr_memory__fini(void);
void *coreclr_memory__take(uint64_t bytes); /* zeroed, 16-aligned; NULL: used up */
/* Returns memory, with the size it was allocated with, when no thread reads it. */
void coreclr_memory__give(void *at, uint64_t bytes);
int coreclr_memory__is_scarce(void); /* more than half has been taken */

/* ---- coreclr_text.c: UTF-16 of the runtime, UTF-8 of tapir ------------------------------- */

/* Up to `units` or a NUL into out, cut to its room; always ended. The length. */
uint32_t coreclr_text__narrow(char *out, uint32_t room, const uint8_t *text, uint32_t units);
uint32_t coreclr_text__widen(uint16_t *out, uint32_t room, const char *text);
int coreclr_text__glob(const char *pattern, const char *text); /* * and ? */
int coreclr_text__is_glob(const char *text);

/* ---- coreclr_blob.c: EventPipe's description of an event -------------------------------- */

struct coreclr_blob {
	uint32_t id, version, level;
	uint64_t keywords;
	const uint8_t *name; /* UTF-16, in the blob */
	uint32_t name_units;
};

/* 0, or -EPROTO: it ends early; what was read is in *out, the rest is 0. */
int coreclr_blob__parse(const uint8_t *bytes, uint32_t len, struct coreclr_blob *out);

/* ---- coreclr_wakeup.c: the control thread is woken ------------------------------------------- */

void coreclr_wakeup__at(const struct tapir_ring_ctl *ctl); /* where it waits; NULL: nowhere */
void coreclr_wakeup(void);				   /* providers have come. Any thread */

/* ---- coreclr_providers.c: providers by their pointers ------------------------------------ */

/* One a name, never freed: providers of one name come and go by the thousand. */
struct coreclr_provider {
	char name[CORECLR_NAME_BYTES];
};

/* Reserve the table of providers, and that of kinds. 0 or -ENOMEM. Before there are events. */
int coreclr_providers__init(void);
/*
 * Returns the provider of the runtime's pointer, registered with the ring at first sight. NULL: the
 * runtime does not provide it, or there is no room. Any thread.
 */
const struct coreclr_provider *coreclr_providers__find(uint64_t va);
/* Writes the runtime's name of a provider that is not in the table; "": unknown. Any thread. */
void coreclr_providers__ask(uint64_t va, char out[CORECLR_NAME_BYTES]);
/* Notes a new provider at this place: what was known of it is of the past. Any thread. */
int coreclr_providers__created(uint64_t va, int *is_new); /* 1: another was at its address */
/* The providers known so far, for control. idx from 0 while below the limit; NULL: none there. */
const struct coreclr_provider *coreclr_providers__at(uint32_t idx);
uint32_t coreclr_providers__limit(void);
uint32_t coreclr_providers__unnamed_cnt(void); /* that found no place for their name */
/* For control: half of the places are taken. A sweep drops all that is not kept. */
int coreclr_providers__are_many(void);
/* A sweep of control's: all that is not kept between the two is dropped. */
void coreclr_providers__begin_sweep(void);
void coreclr_providers__keep(uint64_t va);
void coreclr_providers__end_sweep(void);

/* ---- coreclr_kinds.c: what kinds of events there are --------------------------------------- */

int coreclr_kinds__init(void);
/*
 * Notes a new provider at this place: kinds of the one that was there are dropped, and control is
 * woken. Any thread.
 */
void coreclr_kinds__provider_created(uint64_t va);

/*
 * Control's: when places run short, those of events and providers that have not been met lately
 * are given back. Takes a few milliseconds then; otherwise nothing.
 */
void coreclr_kinds__sweep(void);

/* ---- coreclr_events.c: an event's way to its ring ---------------------------------------- */

/* EventPipeEventDelivered. */
int32_t coreclr_event__deliver(void *self, uintptr_t provider, uint32_t id, uint32_t version,
			       uint32_t meta_bytes, const uint8_t *meta, uint32_t data_bytes,
			       const uint8_t *data, const uint8_t *activity, const uint8_t *related,
			       uintptr_t thread, uint32_t frame_cnt, const uintptr_t *frames);

/*
 * ---- coreclr_dedup.c: two sessions of the library deliver an event twice
 * -----------------------
 */

enum coreclr_dedup {
	DEDUP_NONE = 0,
	DEDUP_MAYBE = 1, /* one of the two is being started or stopped */
	DEDUP_BOTH = 2,
};

struct coreclr_delivery {
	uint64_t provider;
	uint32_t id, version;
	const uint8_t *data;
	uint32_t data_bytes;
	uint64_t frame; /* of the callback */
};

/* 1: the event before, delivered by the other session. */
int coreclr_dedup__is_duplicate(const struct coreclr_delivery *d, uint32_t dedup);
/* The window has opened while this one was written: it may have been for long. */
void coreclr_dedup__note(const struct coreclr_delivery *d);
void coreclr_dedup__done(void); /* the callback is about to return */

/* ---- coreclr_wants.c: what open sessions ask for, as EventPipe's providers ----------------- */

struct coreclr_want {
	uint64_t keywords;
	uint32_t level;
	uint32_t args_off; /* in the text, with its NUL; 0: none */
	char provider[CORECLR_NAME_BYTES];
};

struct coreclr_wants {
	uint32_t cnt;
	uint32_t session_cnt; /* open, or about to */
	uint32_t publishes;   /* one of them wants TAPIR_RING_WANTS_PROBES */
	uint32_t left_cnt;    /* asked for, and no place among `all` */
	uint32_t has_glob;    /* providers are asked for that have no name here */
	uint32_t text_bytes;
	struct coreclr_want all[CORECLR_WANT_MAX];
	char text[CORECLR_ARGS_BYTES]; /* begins with "" */
};

/* ctl may hold any bytes, and change in the meantime. */
void coreclr_wants__collect(struct coreclr_wants *out, const struct tapir_ring_ctl *ctl);
/* Compare, and copy, with texts. Control thread. */
int coreclr_wants__are_equal(const struct coreclr_wants *a, const struct coreclr_wants *b);
void coreclr_wants__copy(struct coreclr_wants *to, const struct coreclr_wants *from);

/* ---- coreclr_session.c: the EventPipe session ---------------------------------------------- */

struct coreclr_session {
	uint64_t id; /* 0: none */
	struct coreclr_wants wants;
	struct coreclr_provider_config configs[CORECLR_WANT_MAX];
	uint16_t names[CORECLR_WANT_MAX][CORECLR_NAME_BYTES];
	uint16_t args[CORECLR_ARGS_BYTES]; /* as wants.text */
};

/* The new one is on before the old one goes. 0; -EIO: the runtime refused, all is as it was. */
int coreclr_session__change(struct coreclr_session *session, const struct coreclr_wants *wants);
/* Ends the session, if there is one and the runtime is not shutting down. */
void coreclr_session__stop(struct coreclr_session *session);

/* ---- coreclr_repair.c: callers that the runtime's helpers hide --------------------------- */

int coreclr_repair__start(void); /* before there are events. 0: also without a table */
void coreclr_repair__stop(void); /* when no thread can be walking its stack */

/*
 * ---- coreclr_quiescence.c: no thread is inside
 * -----------------------------------------------------
 */

struct coreclr_quiescence;

struct coreclr_quiescence *
coreclr_quiescence__note(void); /* the threads as they are now; NULL: cannot */
/*
 * 1: since they were noted, each of them has slept in the kernel, run for a millisecond, or exited.
 */
int coreclr_quiescence__is_proven(struct coreclr_quiescence *quiet);
/* Accepts NULL. */
void coreclr_quiescence__free(struct coreclr_quiescence *quiet);

/* ---- coreclr_detach_lock.c: copies of this library in one process leave one after the other --------- */

int coreclr_detach_lock__take(void); /* waits, up to 30 s; the turn, -1: without */
void coreclr_detach_lock__release(int turn);

/* ---- coreclr_control.c: the control thread --------------------------------------------------- */

/* await_ns: so long the first session is waited for, and opened, in here (Initialize). */
int coreclr_control__start(uint64_t open_within_ns, uint64_t await_ns);
void coreclr_control__join(void); /* after it asked for the detach */

/* ---- coreclr_com.c ----------------------------------------------------------------------------- */

struct coreclr_state {
	struct coreclr_object *info; /* ICorProfilerInfo12 */
	uint64_t key;		     /* of the lane */
	/* Memory that a forked child finds wiped: 1 while events are to be taken. Never moves. */
	uint32_t *const gate;
	uint32_t inside_cnt;   /* callbacks that StopSession does not wait for */
	uint32_t dedup;	       /* enum coreclr_dedup */
	uint32_t dedup_window; /* raised when one begins */
	uint32_t is_shut_down; /* the runtime goes: it is called no more */
};

extern struct coreclr_state coreclr;

#pragma GCC visibility pop
#endif
