/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * awaits.h - what async methods of the program await, by call site: from the event with which a
 * method suspends until it continues; no thread waits. Of methods that await each other, the
 * innermost one of the program counts, whatever methods of libraries are between them.
 *
 * Fed with events in the order of their times. Bounded; one thread.
 */
#ifndef TAPIR_USER_AWAITS_H
#define TAPIR_USER_AWAITS_H

#include "base/keyed.h"
#include "analyze/name_traits.h"
#include "analyze/timeline.h"
#include "base/histogram.h"
#include "spec/runtime_db/lore.h"

#define TAPIR_AWAITS_MAX_TASKS (1u << 17) /* at a time */
#define TAPIR_AWAITS_MAX_SPANS (1u << 20)
#define TAPIR_AWAITS_MAX_SITES 4096u
#define TAPIR_AWAITED_KINDS    32u /* rows of lore's tables */

/* A method that awaits, and where. */
struct tapir_await_site {
	uint32_t tgid, name;		     /* name: of the method, idx in the tree's names */
	uint64_t offset;		     /* in its code, after the await; 0: not known */
	uint64_t code_va;		     /* of that code: a method is compiled more than once */
	uint64_t cnt, sum_ns;		     /* that ended */
	uint64_t open_cnt;		     /* that had not ended at the end */
	uint64_t connection_ns;		     /* of it, until a library had a connection */
	struct tapir_histogram *took;	     /* owned */
	uint32_t kinds[TAPIR_AWAITED_KINDS]; /* how many were completed by what; [0]: not known */
	uint64_t taskless_cnt; /* of what is not known: ValueTasks of channels, sockets */
	/* Awaits in a queue that a task which had awaited it here completed, and
	 * those of a task that had awaited it here before. */
	uint64_t passed_cnt, again_cnt;
	const struct tapir_lore_awaited *awaited; /* of most; NULL: not known */
	/* In this time all of them are known: how many ended, and how long they lasted together. */
	uint64_t known_from_ns, known_until_ns, known_cnt, within_ns;
	uint64_t seen_ns; /* the time in which awaits of its process were recorded */
	uint32_t into;	  /* the site that has its sums, plus 1; 0: itself */
};

/* An await that ended; site: see tapir_awaits__site. */
struct tapir_await_span {
	uint64_t from_ns, until_ns;
	uint32_t site;
	bool is_joint;	  /* for others, which are awaited, too */
	bool is_in_queue; /* a part of one of that site: until a library had a connection */
	bool is_taskless; /* of what is not known: of a ValueTask, such as an iterator's next item
			   */
};

struct tapir_awaits {
	struct tapir_timeline *tl; /* set by the owner before the first event */
	bool has_events;
	struct tapir_keyed(struct tapir_await_site) sites;
	uint64_t dropped_cnt; /* awaits beyond the bounds */
	bool failed;	      /* out of memory */
	/*
	 * Set by the owner, or NULL: an await of a request has ended (tapir_tl_thread__request; 0:
	 * it was for none, or that is not known).
	 */
	void (*ended)(void *ctx, uint64_t request, const struct tapir_await_span *span);
	void *ended_ctx;
	/* for this file alone */
	struct tapir_vec(struct tapir_await_task) tasks;
	struct tapir_vec(uint32_t) free_tasks;
	struct tapir_vec(struct tapir_await_span) spans;
	struct tapir_keyed(struct tapir_await_thread) threads;
	struct tapir_vec(const struct tapir_lore_awaited *) kinds; /* [0]: NULL */
	struct tapir_map task_by_id, event_by_probe;
	struct tapir_map method_by_node, kind_by_node, location_by_stack;
	struct tapir_map first_ns; /* process: of its first event */
	struct tapir_name_traits traits;
	struct tapir_vec(struct tapir_await_location) locations;
	struct tapir_vec(
		uint32_t) sites_now; /* once finished: of each that was, idx + 1 in sites */
	uint64_t request;	     /* of the event at hand */
	bool is_finished;
	uint64_t full_ns; /* there is no room for those that ended later; 0: there is */
};

/* Takes an event of the timeline that begins or ends an await; others are ignored. */
void tapir_awaits__event(struct tapir_awaits *a, const struct tapir_tl_thread *thread,
			 const struct tapir_probe_view *probe,
			 const struct tapir_event_view *event);
/* Call it once, after the last event: .what, .open_cnt and what follows .what of sites are set. */
void tapir_awaits__finish(struct tapir_awaits *a);
/* Returns the site of a span, once finished; NULL: it is not known. Borrowed. */
const struct tapir_await_site *tapir_awaits__site(const struct tapir_awaits *a, uint32_t site);
/* Returns the number of awaits at a time, on average. */
double tapir_await_site__at_once(const struct tapir_await_site *site);
/* Returns the number that ended, a second. */
double tapir_await_site__per_second(const struct tapir_await_site *site);
/* Returns true if awaits of the process are recorded only as long as they are few. */
bool tapir_awaits__is_brief(const struct tapir_awaits *a, uint32_t tgid);
/*
 * Returns true if the awaits end in turns: of a semaphore that is used as a lock, a full channel, a
 * limit of connections; not those of loops that await work.
 */
bool tapir_await_site__is_queue(const struct tapir_await_site *site);
/* Adds "; one gets it each 20.8 ms: 48.1 a second" of what is a queue. */
void tapir_await_site__add_queue(const struct tapir_await_site *site, struct tapir_str *out);
/* Returns what is awaited: "a semaphore". */
const char *tapir_await_site__label(const struct tapir_await_site *site);
/* Returns what is awaited once there is a connection, whatever most of the time is for: "HTTP". */
const char *tapir_await_site__answer(const struct tapir_await_site *site);
#define TAPIR_AWAITED_CONNECTION "a free connection"
/* Frees what it holds; zeros are fine. */
void tapir_awaits__fini(struct tapir_awaits *a);

#endif
