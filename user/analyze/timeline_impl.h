/* SPDX-License-Identifier: GPL-2.0-or-later */
/* timeline_impl.h - what the timeline's files share: threads, processes, open intervals. */
#ifndef TAPIR_USER_TIMELINE_IMPL_H
#define TAPIR_USER_TIMELINE_IMPL_H

#include "decode/lock_names.h"
#include "trace/reorder.h"
#include "decode/record_where.h"
#include "analyze/timeline.h"

#define PAUSES_KEPT 8

/* The time for which a process has been stopped, up to any recent moment. */
struct pauses {
	uint64_t total_ns; /* of those that are over */
	uint64_t open_ns;
	uint32_t depth;
	uint32_t next;
	struct {
		uint64_t from_ns, until_ns;
	} recent[PAUSES_KEPT];
};

struct tapir_tl_process {
	uint32_t tgid;
	struct pauses gc, any; /* any: gc, or stopped for something else */
	struct tapir_tl_thread *threads;
	struct tapir_interval *shared; /* intervals that are no thread's own */
};

struct listener {
	const struct tapir_timeline_fns *fns;
	void *ctx;
};

struct tapir_timeline {
	const struct tapir_catalog *catalog;
	struct tapir_pairs *pairs;
	struct tapir_timeline_opts opts;
	struct tapir_timeline_stats stats;
	struct tapir_reorder *reorder;
	struct tapir_vec(struct listener) listeners;
	struct tapir_map threads, processes; /* -> pointers, by tid and tgid */
	struct tapir_vec(uint32_t) on_cpus;  /* tid of the thread that came last, by CPU; 0: none */
	struct tapir_map shared;	     /* map_key -> interval */
	struct tapir_map activities;	     /* -> interval */
	struct tapir_map awaited;	     /* key of a task -> the interval that awaits it */
	struct tapir_map task_names;	     /* key of a task -> char *, owned */
	struct tapir_map queued;	     /* key of a work item -> when */
	struct tapir_map request_tasks;	     /* key of a task -> map_key of its request, 0: none */
	bool has_requests;		     /* whose tasks may be followed */
	struct tapir_map task_probes; /* probe -> enum task_event, of timeline_accounting.c */
	size_t open_cnt;
	struct {
		uint32_t tid;
		const struct tapir_tl_thread
			*thread; /* gone if the tid belongs to another thread by now */
	} dead[TAPIR_TIMELINE_MAX_DEAD];
	size_t exited_next;
	struct tapir_stack_tree tree;
	struct tapir_event_fields fields;
	struct tapir_lock_names lock_names;
	/* The event at hand; NULL: what closes now has no end */
	const struct tapir_probe_view *now_probe;
	const struct tapir_event_view *now_event;
	bool is_past_range;
	bool failed; /* out of memory */
};

/* Each accepts NULL for listeners that do not care. */
#define NOTIFY(tl, fn, ...)                                                                        \
	do {                                                                                       \
		const struct listener *l_;                                                         \
		tapir_vec_for_each (l_, &(tl)->listeners)                                          \
			if (l_->fns->fn)                                                           \
				(l_->fns->fn)(l_->ctx, __VA_ARGS__);                               \
	} while (0)

/* timeline_accounting.c: time */
bool tapir_timeline__reports(const struct tapir_timeline *tl, uint32_t tgid, uint32_t tid);
/*
 * Returns true for a record of the thread that is of the requested trace: opts.trace says which
 * those are.
 */
/* Returns true if views hear of a part of the records only. */
static inline bool tapir_timeline__chooses(const struct tapir_timeline *tl)
{
	return tl->opts.where || (tl->opts.trace && tl->opts.trace->is_set);
}

bool tapir_timeline__is_chosen(struct tapir_timeline *tl, const struct tapir_tl_thread *t,
			       const struct tapir_rec *rec);
uint64_t tapir_pauses__at(const struct pauses *p, uint64_t time_ns);
void tapir_timeline__advance(struct tapir_tl_thread *t, uint64_t now_ns);
/* Counts the thread's time for the interval from now on; t->parts are up to date. */
void tapir_interval__enter(struct tapir_interval *i, struct tapir_tl_thread *t, uint64_t now_ns);
void tapir_interval__take_parts(struct tapir_interval *i, uint64_t now_ns);
void tapir_interval__leave(struct tapir_interval *i); /* without taking its parts */

/* timeline_close.c */
/*
 * Returns true if an interval around this one is of the same kind, and reports both
 * (TAPIR_NESTS_AS_ONE).
 */
bool tapir_interval__is_counted_with_outer(const struct tapir_timeline *tl,
					   const struct tapir_interval *i);
void tapir_timeline__close(struct tapir_timeline *tl, struct tapir_interval *i, uint64_t now_ns);
/* Closes the own intervals of a thread that is gone; shared ones continue without it. */
void tapir_timeline__close_thread(struct tapir_timeline *tl, struct tapir_tl_thread *t,
				  uint64_t now_ns);
void tapir_timeline__close_process(struct tapir_timeline *tl, struct tapir_tl_process *p,
				   uint64_t now_ns);
/* Counts an interval that stops its process. */
void tapir_timeline__pause(struct tapir_tl_process *p, const struct tapir_interval *i, bool begins,
			   uint64_t now_ns);

/* timeline_threads.c: states */
struct tapir_tl_thread *tapir_timeline__get_thread(struct tapir_timeline *tl, uint32_t tgid,
						   uint32_t tid, uint64_t now_ns);
void tapir_timeline__set_last_stack(struct tapir_timeline *tl, struct tapir_tl_thread *t,
				    uint32_t node, uint64_t now_ns);
void tapir_timeline__ran(struct tapir_timeline *tl, struct tapir_tl_thread *t, uint64_t now_ns);
void tapir_timeline__switch(struct tapir_timeline *tl, const struct tapir_rec_switch *rec);
void tapir_timeline__waits(struct tapir_timeline *tl, const struct tapir_rec_waits *rec);
/* Notes that the id is a new process's: what a dead thread of that id did is not its. */
void tapir_timeline__forget_exited(struct tapir_timeline *tl, uint32_t tid);
void tapir_timeline__end_process(struct tapir_timeline *tl, uint32_t tgid, uint64_t now_ns);
void tapir_timeline__free_exited(struct tapir_timeline *tl);
void tapir_timeline__end_all(struct tapir_timeline *tl, uint64_t now_ns);
/* Reports waits that continue where the range ends as at the end of a recording. */
void tapir_timeline__end_range(struct tapir_timeline *tl);

/* timeline_intervals.c */
void tapir_timeline__event(struct tapir_timeline *tl, const struct tapir_rec *rec);

/* timeline_requests.c: which threads work for requests that have a key */
struct tapir_request_work {
	uint32_t worker_cnt; /* threads */
	uint64_t rider;	     /* map_key of a request that is part of it; 0: none */
	bool is_lost;	     /* it is not known throughout */
	struct tapir_vec(uint64_t) tasks;
};
/* The thread that is at the begin event. */
void tapir_timeline__begin_request(struct tapir_timeline *tl, struct tapir_interval *i,
				   struct tapir_tl_thread *t);
/* Before the request closes by an event of t. */
void tapir_timeline__end_request(struct tapir_timeline *tl, struct tapir_interval *i,
				 struct tapir_tl_thread *t, uint64_t now_ns);
void tapir_timeline__free_request(struct tapir_timeline *tl, struct tapir_interval *i);
/* Work on a task, by its begin event; and once it has left its thread t. */
void tapir_timeline__begin_work(struct tapir_timeline *tl, struct tapir_interval *i,
				struct tapir_tl_thread *t, const struct tapir_event_fields *f,
				uint64_t now_ns);
void tapir_timeline__end_work(struct tapir_timeline *tl, struct tapir_interval *i,
			      struct tapir_tl_thread *t, uint64_t now_ns);
/* An await suspends on t. */
void tapir_timeline__suspend(struct tapir_timeline *tl, struct tapir_tl_thread *t,
			     const struct tapir_event_fields *f);

/* timeline_accounting.c: activities; keys are 0 where there is no id */
uint64_t tapir_timeline__activity_key(uint32_t tgid, const uint8_t *id);
/* Takes an event of the interval: this thread works for it now, another one did before. */
void tapir_interval__work_on(struct tapir_timeline *tl, struct tapir_interval *i,
			     struct tapir_tl_thread *t, uint64_t now_ns);
/* Removes the interval from the tasks that it awaited, as it ends. */
void tapir_interval__forget_await(struct tapir_timeline *tl, struct tapir_interval *i);
/* The key of a task, or of a work item; never 0. */
uint64_t tapir_timeline__task_key(const struct tapir_event_fields *f, uint32_t tgid,
				  const char *field);
/* NULL: it is counted (tasks beyond the bound), or there is no memory. */
uint64_t *tapir_timeline__slot_of_task(struct tapir_timeline *tl, struct tapir_map *tasks,
				       uint64_t key);
void tapir_timeline__free_tasks(struct tapir_timeline *tl);
/*
 * Finds, by an event, before it begins or ends anything, for which activity its thread works.
 * Returns true if with the event a method begins to await a task.
 */
bool tapir_timeline__follow(struct tapir_timeline *tl, struct tapir_tl_thread *t, uint32_t node,
			    const struct tapir_probe_view *probe,
			    const struct tapir_event_view *event);
void tapir_timeline__sleeps(struct tapir_tl_thread *t, uint64_t now_ns);
/*
 * Notes that the thread takes other work: it is not known since when no thread worked for the
 * requests of that kind (TAPIR_NO_KIND: of any) that it is on, except one, which may be NULL.
 */
void tapir_timeline__leave_requests(struct tapir_tl_thread *t, uint32_t kind,
				    const struct tapir_interval *except);
/* Begins an activity in another one, which waits for it, or not. */
void tapir_interval__begin_child(struct tapir_timeline *tl, struct tapir_interval *child,
				 const uint8_t *related_id, struct tapir_tl_thread *t);
/* Ends it. t: where it ended; NULL: not known. */
void tapir_interval__end_child(struct tapir_timeline *tl, const struct tapir_interval *child,
			       struct tapir_tl_thread *t);
/* Ends an interval while no thread works for it. */
void tapir_interval__end_away(struct tapir_interval *i, const struct tapir_tl_process *p);

static inline bool tapir_timeline__in_range(const struct tapir_timeline *tl, uint64_t ns)
{
	return ns >= tl->opts.from_ns && (!tl->opts.until_ns || ns <= tl->opts.until_ns);
}

#endif
