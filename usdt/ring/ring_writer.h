/* SPDX-License-Identifier: MIT */
/*
 * ring_writer.h - the process side of the ring lane (tapir/ring.h), for code that runs inside
 * the traced program: events are registered and written, and nothing else. Link libtapir.a.
 *
 * Nothing here prints, installs a signal handler, starts a thread or holds a lock. Needs Linux
 * 5.14 to be safe where memory runs out, no privileges. Where the lane cannot be had (no memfd,
 * no address space) every call still works and every event is off.
 */
#ifndef TAPIR_RING_WRITER_H
#define TAPIR_RING_WRITER_H

#include "tapir/ring.h"

/*
 * The description of an event: copied into the catalog when it registers. Strings borrowed until
 * then.
 */
struct tapir_ring_about {
	const char *provider, *event;
	uint64_t keywords;
	uint16_t event_id;
	uint8_t version, level, encoding;
	uint16_t field_cnt;
	const struct tapir_field *fields; /* name_len is filled from field_names */
	const char *const *field_names;
	const void *metadata; /* NULL: none */
	uint32_t metadata_bytes, metadata_format;
};

/*
 * An event, in storage of the caller's that stays until it is unregistered; all zero before.
 * `word` is never NULL after registering, whether that succeeded or not.
 */
struct tapir_ring_event {
	const uint64_t *word;
	const struct tapir_ring_about *about; /* read again in a forked child */
	uint32_t id;			      /* TAPIR_RING_ID: as in its records */
};

/* An event being written. */
struct tapir_ring_write {
	uint8_t *payload; /* fill payload_bytes of it, in any order */
	void *writer;
	uint32_t life;
	/* Set by __begin whatever it returns: the sessions that have the event or a count of it,
	   added to the address of their ctl; 0: none. */
	uint64_t taken;
};

/*
 * The lane of this process: makes ctl and the first arena. 0 or -errno; 0 when it is there
 * already. Any thread, not in a signal handler.
 */
int tapir_ring__init(void);

/* The same, for the one tracer that chose this key (not 0): TAPIR_RING_CTL_PRIVATE. */
int tapir_ring__init_private(uint64_t key);

/*
 * Takes the lane down, for dlclose: no event of any thread may be under way or come (so: stop what
 * fires, wait until each call has returned, then this, then dlclose). Threads that have fired may
 * live on and exit whenever they like. Events still registered are off from here on. Takes some 2
 * ms. The lane can be made anew afterwards, by code that stays loaded. Not in a signal handler.
 */
void tapir_ring__fini(void);

/*
 * 0, -ENOSPC (TAPIR_RING_EVENTS are registered, or their descriptions take all of the catalog),
 * -ENODEV (no lane), -EINVAL. Any thread, not in a signal handler.
 */
int tapir_ring__register(struct tapir_ring_event *event, const struct tapir_ring_about *about);

/*
 * Gives the event's entry back, for another event to take once no session can have records of this
 * one left. No thread may be firing it, or fire it later.
 */
void tapir_ring__unregister(struct tapir_ring_event *event);

/*
 * An event fired that has no entry (NO_ENTRY, NO_PROVIDER): counted for each session that would
 * have taken it. Returns the number of these. Any thread, not in a signal handler.
 */
uint32_t tapir_ring__miss(const struct tapir_ring_about *about, enum tapir_ring_cause cause);

/* Returns true if a session selects the event. Any thread, any time. */
static inline int tapir_ring__wanted(const struct tapir_ring_event *event)
{
	return __builtin_expect((uint32_t)__atomic_load_n(event->word, __ATOMIC_RELAXED) != 0, 0);
}

/*
 * Begins an event of payload_bytes with the caller's stack, if a session wants one. 1: fill
 * write->payload, then commit; between the two call nothing that may fire an event or not return.
 * 0: no session wants it, or it was dropped and counted. Any thread, any time, signal handlers too.
 * No system call, except for a thread's first event, the first pass over its ring and one per
 * TAPIR_RING_LIFE_NS.
 */
int tapir_ring__begin(struct tapir_ring_write *write, const struct tapir_ring_event *event,
		      uint32_t payload_bytes);

/* The same, with ids of 16 bytes each; NULL: none. All zero is written as it is. */
int tapir_ring__begin_with_ids(struct tapir_ring_write *write, const struct tapir_ring_event *event,
			       uint32_t payload_bytes, const uint8_t *activity,
			       const uint8_t *related);
/* Ids of an event, each NULL: none. */
struct tapir_ring_ids {
	const uint8_t *activity, *related; /* 16 bytes */
	const uint8_t *trace;		   /* of the trace, 16 bytes, and of the span, 8 */
	uint32_t is_probed; /* its USDT site is attached and follows: TAPIR_RING_HAS_PROBES */
};
/* The same; the stack begins at the caller of the function whose frame record is at `frame`, one
   of the thread's own, that is still running. */
int tapir_ring__begin_at(struct tapir_ring_write *write, const struct tapir_ring_event *event,
			 uint32_t payload_bytes, const struct tapir_ring_ids *ids,
			 const void *frame);
/* The same without ids, for these of the sessions that want it alone (a bit each). */
int tapir_ring__begin_for(struct tapir_ring_write *write, const struct tapir_ring_event *event,
			  uint32_t payload_bytes, uint32_t sessions, const void *frame);
/* Makes the record visible to tracers. It may not be touched afterwards. */
void tapir_ring__commit(struct tapir_ring_write *write);

/*
 * Misleading frames: functions in [low_va, high_va) may hide their caller from a frame-pointer
 * walk. find() is called for each return address there: fp is the address of its frame record, the
 * words between from_va and until_va may be read. 0: nothing hidden; else the address of the word
 * that holds the hidden return address. Called while an event is written: as strict as a signal
 * handler. The table is borrowed until it is set to NULL.
 */
struct tapir_ring_repair {
	uint64_t low_va, high_va;
	uint64_t (*find)(uint64_t ip, uint64_t fp, uint64_t from_va, uint64_t until_va);
};
/* Sets what repairs a walked stack, for all threads; NULL: nothing. Before there are events. */
void tapir_ring__set_repair(const struct tapir_ring_repair *repair);

#endif
