/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * timeline.h - the join: records by time, each with the state of its thread: whether it runs, is
 * runnable or sleeps, why, which thread woke it, and which intervals are open on it.
 *
 * Every nanosecond of a thread is counted once, under one state and one cause. So what an interval
 * took is a difference of two counts, and its parts add up to the whole.
 *
 * Feed it every record of a file, descriptions included, as the reader delivers them. Views listen.
 * Bounded memory; what finds no room is counted. One thread.
 */
#ifndef TAPIR_USER_TIMELINE_H
#define TAPIR_USER_TIMELINE_H

#include "decode/event_fields.h"
#include "analyze/pairs.h"
#include "analyze/stack_tree.h"
#include "trace/catalog.h"
#include "trace/record.h"
#include "trace/trace_filter.h"

#define TAPIR_TIMELINE_MAX_THREADS   (1u << 17)
#define TAPIR_TIMELINE_MAX_DEAD	     1024u /* threads still known after their end */
#define TAPIR_TIMELINE_MAX_PROCESSES (1u << 16)
#define TAPIR_TIMELINE_MAX_OPEN	     (1u << 16) /* intervals, of all threads */
#define TAPIR_TIMELINE_MAX_NESTED    256u	/* of one kind on a thread */
#define TAPIR_TIMELINE_MAX_ON_THREAD 1024u	/* of all; then shared ones leave it */
#define TAPIR_INTERVAL_LABEL_BYTES   512

enum tapir_thread_state {
	TAPIR_THREAD_UNKNOWN, /* nothing of it was seen yet, or not that it left; no switches */
	TAPIR_THREAD_RUNNING,
	TAPIR_THREAD_RUNNABLE,
	TAPIR_THREAD_SLEEPING,
	TAPIR_THREAD_AWAITING,		/* of intervals: since one thread's last event of it, before
					 * another's
					 */
	TAPIR_THREAD_IN_CHILD_ACTIVITY, /* of an activity: in one that it began */
	TAPIR_THREAD_QUEUED, /* of an activity: its work was queued, no thread of the pool took it
			      */
	TAPIR_THREAD_STATE_CNT
};

/* Nanoseconds of a thread, by cause and state. */
struct tapir_time_breakdown {
	uint64_t ns[TAPIR_CAUSE_CNT][TAPIR_THREAD_STATE_CNT];
};

struct tapir_timeline;
struct tapir_tl_process;

#define TAPIR_TL_WAITS 8

struct tapir_tl_wait {
	uint64_t from_ns, wake_ns, until_ns;
	uint32_t node;	       /* a stack that stands for it */
	uint32_t offcpu_node;  /* the one with which the thread left its CPU */
	uint32_t waker_tid;    /* as in struct tapir_wait */
	uint16_t state, flags; /* as in the SWITCH record */
};

/* A number that holds for a second of the records' time, since a thread may be renamed. */
struct tapir_tl_memo {
	uint64_t second; /* + 1; 0: nothing is known */
	uint8_t value;
};

struct tapir_tl_thread {
	uint32_t tgid, tid;
	bool is_gone;	 /* it left its last CPU: later records with its id are of another thread */
	bool has_exited; /* for a while a view may ask what it did */
	bool has_switched;	/* one of its switches was seen */
	bool had_filtered_wait; /* it left its CPU in the trace, and where, that was requested */
	bool is_of_tapir;	/* tapir's, in a traced process: its waits are not reported */
	uint8_t look_cnt;	/* stacks that were asked whether it is */
	uint8_t state;		/* enum tapir_thread_state */
	uint8_t own_cause;	/* of its innermost interval that has one */
	uint16_t out_state, out_flags;
	uint16_t cpu;		/* on which it came last */
	uint64_t ran_ns;	/* the last time at which it is known to have run */
	uint64_t since_ns;	/* parts hold everything before */
	uint64_t gc_ns, any_ns; /* time the process had been stopped at since_ns */
	struct tapir_time_breakdown parts;
	/* Sums of the thread, where short waits are summed: parts count those as running. */
	uint64_t run_ns, short_runnable_ns, short_asleep_ns;
	uint64_t out_ns;       /* when it left its CPU */
	uint64_t out_futex_va; /* for which it then waited; 0: none, or unknown */
	uint32_t offcpu_node;  /* with which stack; TAPIR_NO_NODE: not requested */
	/* of its last sample, wait or event, and of the last one that was not cut short */
	uint32_t last_node, complete_node;
	uint64_t last_node_ns, whole_node_ns; /* 0: none */
	/* The last waits, the earliest first, without those that a longer one followed. */
	struct tapir_tl_wait waits[TAPIR_TL_WAITS];
	unsigned wait_cnt;
	struct tapir_interval *open; /* the last one that began first */
	struct tapir_interval *outermost;
	unsigned open_cnt;
	uint64_t locked_ns; /* when it got the last lock it had waited for; 0: none */
	char *last_label;   /* of its own interval that ended last, NULL: none */
	uint32_t last_kind;
	uint64_t last_from_ns, last_until_ns;
	uint64_t queued_ns, taken_ns; /* of the work it took last, when; 0: not known */
	uint64_t first_of;	      /* request that began while it worked on no task; 0: none */
	uint64_t suspended_ns; /* when a method of that one last suspended here; 0: none did */
	/* The kinds that its name implies, which listeners need for each sample. */
	struct tapir_tl_memo work, role;
	struct tapir_tl_process *process;
	struct tapir_tl_thread *next, *prev; /* of the process */
};

#define TAPIR_NO_NODE		UINT32_MAX

#define TAPIR_INTERVAL_NO_BEGIN (1u << 0) /* its begin is not in the file: from its start */
#define TAPIR_INTERVAL_NO_END	(1u << 1) /* its end is not: until its thread's or the file's */
#define TAPIR_INTERVAL_MIGRATED (1u << 2) /* it ended on another thread than it began */
#define TAPIR_INTERVAL_NESTED	(1u << 3) /* its thread was in another one of its kind */
/*
 * Tasks show which threads worked for it throughout: time without one is awaited, or in a queue.
 */
#define TAPIR_INTERVAL_FOLLOWED (1u << 5)
#define TAPIR_INTERVAL_ATTACH                                                                      \
	(1u << 4) /* a request, or a call, that began before all was attached */

struct tapir_interval {
	uint32_t kind; /* idx in the pairs' kinds */
	uint16_t flags;
	uint8_t scope, cause; /* the kind's */
	uint32_t tgid, tid;   /* of the thread that began it */
	uint64_t from_ns, until_ns;
	uint64_t key;	   /* hash of its key; 0: none */
	uint64_t activity; /* hash of its activity id; 0: none */
	uint64_t parent;   /* of the activity that began it; 0: none, or not known */
	char *label;	   /* of the begin event; NULL: none */
	uint32_t node;	   /* stack of the begin event, or TAPIR_NO_NODE */
	uint32_t end_tid;
	struct tapir_time_breakdown parts; /* whole once it is closed */
	uint64_t inner_ns; /* a wait for a lock: of it, in the range, for other ones */
	/* for the timeline alone, while it is open */
	struct tapir_time_breakdown at;
	uint64_t last_ns, gc_ns, any_ns; /* its thread's then */
	struct tapir_tl_thread *thread;	 /* the thread whose time it is at present; NULL: none */
	uint32_t child_cnt;		 /* activities that it began and that go on */
	bool matches_filter;		 /* of the trace that was requested */
	bool has_trace;			 /* of some trace, by its begin event */
	bool is_suspended;		 /* awaited: no thread works for it */
	bool is_request;		 /* the kind's */
	bool has_slept;			 /* its thread, since its last event */
	struct tapir_request_work *work; /* of a request: who works for it; NULL: not known */
	uint64_t carrier;		 /* map_key of the request of which it is part; 0: none */
	uint64_t served;		 /* work on a task: map_key of the request it is for */
	uint64_t task;			 /* key of that task, if it is complete with this */
	bool is_work;			 /* the kind's */
	uint64_t awaits;		 /* key of the task it awaits; 0: none is known */
	char *await_label;		 /* what that task is; NULL: not known */
	uint32_t await_node;		 /* where it awaits */
	struct tapir_interval *outer, *inner;
	struct tapir_interval *next, *prev; /* of the process, if it may change threads */
	uint64_t map_key;
	void *details; /* a view's: the one that asked for it */
};

/* A thread was away from its CPU. */
struct tapir_wait {
	struct tapir_tl_thread *thread;
	uint64_t from_ns, wake_ns, until_ns; /* wake_ns: until_ns when it is not known */
	uint32_t node;			     /* the stack with which it left */
	uint16_t state, flags;		     /* as in the SWITCH record */
	uint32_t waker_tid;		     /* 0: unknown, or an interrupt */
	uint64_t futex_va;		     /* 0: it waited for none, or unknown */
	struct tapir_time_breakdown parts;   /* sleeping and runnable, by cause */
};

static inline uint64_t tapir_tl_memo__second(uint64_t time_ns)
{
	return (time_ns >> 30) + 1;
}

/* The callbacks of a view; each may be NULL. Nothing outside the range is reported. */
struct tapir_timeline_fns {
	void (*sample)(void *ctx, struct tapir_tl_thread *thread,
		       const struct tapir_rec_sample *sample);
	/* A sample of a thread that was at this node will come: what it needs can be prefetched. */
	void (*expect)(void *ctx, uint32_t node);
	void (*wait)(void *ctx, const struct tapir_wait *wait);
	/*
	 * A wait that began before the recording (without a stack) or has not ended in it: the part
	 * that lies in the recording.
	 */
	void (*open_ended_wait)(void *ctx, const struct tapir_wait *wait);
	void (*event)(void *ctx, struct tapir_tl_thread *thread,
		      const struct tapir_probe_view *probe, const struct tapir_event_view *event);
	void (*open)(void *ctx, struct tapir_interval *interval);
	/*
	 * The interval was awaited for ns, up to now, .last_ns; await_label and await_node say for
	 * what, if it is an activity's.
	 */
	void (*awaited)(void *ctx, struct tapir_interval *interval, uint64_t ns);
	/* The interval's parts are complete; it is freed afterwards. */
	void (*close)(void *ctx, struct tapir_interval *interval);
	void (*counter)(void *ctx, const struct tapir_rec_counter *counter);
	/* A thread as it was when the recording began; node: TAPIR_NO_NODE where it ran. */
	void (*snapshot)(void *ctx, const struct tapir_rec_switch *rec, uint32_t node);
	/* The interpreted functions in which a thread was that ran or waited for a CPU. */
	void (*interp_sample)(void *ctx, const struct tapir_rec_interp_sample *rec, uint32_t node);
	/* A context switch or a whole wait as it was recorded, no snapshot; of any thread. */
	void (*switched)(void *ctx, const struct tapir_rec_switch *rec);
	/* Short waits of a thread, in numbers: they are in no .wait. */
	void (*waits)(void *ctx, const struct tapir_rec_waits *rec);
	/*
	 * A thread ended, or the recording: its parts are whole, of all its time. Not where a part
	 * of the time is asked for.
	 */
	void (*ended)(void *ctx, const struct tapir_tl_thread *thread);
	/* A request to a block device, of a traced thread or of no thread; node: of its stack. */
	void (*io)(void *ctx, const struct tapir_rec *rec, uint32_t node);
	/* Numbers of system calls; node: of the stack of AT_STACK. */
	void (*calls)(void *ctx, const struct tapir_rec_calls *rec, uint32_t node);
	/* Native memory; node: of what allocated it. */
	void (*native)(void *ctx, const struct tapir_rec_native *rec, uint32_t node);
	/* The kernel's work in numbers; node: of its stack, the user's or the kernel's. */
	void (*kernel)(void *ctx, const struct tapir_rec_kernel *rec, uint32_t node);
	/* The system call in which a thread of a snapshot waits, after its snapshot. */
	void (*call)(void *ctx, const struct tapir_rec *rec);
	/*
	 * A process was described, forked, executed a program or ended: as it is read, which may be
	 * before what happened earlier, and of every process, whatever is asked for.
	 */
	void (*process)(void *ctx, const struct tapir_rec *rec);
	/* A captured record of a type that no function above receives. */
	void (*record)(void *ctx, const struct tapir_rec *rec);
};

struct tapir_where;

struct tapir_timeline_opts {
	uint64_t from_ns, until_ns; /* 0: from the beginning, to the end */
	const uint32_t *tgids;	    /* borrowed; whose threads views hear of; cnt 0: all */
	size_t tgid_cnt;
	const uint32_t *tids;
	size_t tid_cnt;
	/*
	 * Borrowed; NULL: of every trace. Else views hear of what has the id itself, and of what
	 * happened on a thread inside an interval that began with it; a record with ids of another
	 * trace is not of this one in any case.
	 */
	const struct tapir_trace_filter *trace;
	/*
	 * Borrowed; NULL: all. Else views hear of records for which it is true, of times off the
	 * CPU for the switch that began them, and of intervals whose begin or end is such an event.
	 */
	struct tapir_where *where;
	bool wants_stacks; /* of samples, waits and events that begin: thread->last_node, ->node */
};

struct tapir_timeline_stats {
	uint64_t records, late; /* late: too far behind the others to be sorted */
	uint64_t samples, switches, events;
	uint64_t unpaired; /* switches that do not fit what was seen before */
	uint64_t chosen;   /* of the trace: records that have its id, intervals apart */
	/*
	 * Counts over all traces: samples that views could receive; with ids; without, in an
	 * interval that has a trace.
	 */
	uint64_t delivered_samples, delivered_with_ids, delivered_joined;
	uint64_t lost_events; /* by LOSS records, of all processes */
	uint64_t no_room;     /* threads, processes, intervals, tasks beyond the bounds */
	uint64_t first_ns, last_ns;
	uint64_t any_ns;      /* of the last record, whatever it is */
	uint64_t switched_ns; /* of the first context switch or snapshot; 0: none */
	bool has_ended; /* the last snapshot of all threads is read: what follows only ends waits
			   and intervals */
	uint64_t cpu_ns, runnable_ns, sleeping_ns; /* of all threads, once finished */
	bool has_sums; /* short waits were summed: parts count them as running */
	uint64_t short_cnt, short_runnable_ns, short_asleep_ns; /* of those that views hear of */
};

/*
 * catalog and opts' arrays are borrowed until __free; pairs too: name them first. NULL: out of
 * memory.
 */
struct tapir_timeline *tapir_timeline__new(const struct tapir_catalog *catalog,
					   struct tapir_pairs *pairs,
					   const struct tapir_timeline_opts *opts);
void tapir_timeline__free(struct tapir_timeline *tl);

/* Adds a listener, called in the order of adding; fns is borrowed. 0 or -ENOMEM. */
int tapir_timeline__listen(struct tapir_timeline *tl, const struct tapir_timeline_fns *fns,
			   void *ctx);
/* Takes a well-formed record, in the order of times (reorder.h). 0 or -ENOMEM. */
int tapir_timeline__add(struct tapir_timeline *tl, const struct tapir_rec *rec);
/* Does the same, with a hint of the memo of tapir_timeline__stacks for a sample's stack, or 0. */
int tapir_timeline__add_hinted(struct tapir_timeline *tl, const struct tapir_rec *rec,
			       uint64_t hint);
/* Closes as unended what is open, after the last record. 0 or -ENOMEM. */
int tapir_timeline__finish(struct tapir_timeline *tl);

/* Counts so far; complete once __finish has returned. Borrowed. */
const struct tapir_timeline_stats *tapir_timeline__stats(const struct tapir_timeline *tl);
/* Returns the length of the recorded time inside the requested range. */
uint64_t tapir_timeline__span_ns(const struct tapir_timeline *tl);
/*
 * Returns the part of it in which context switches, and samples, were recorded: events may be there
 * earlier. It is the base of shares and averages of waits and of CPU time.
 */
uint64_t tapir_timeline__switched_ns(const struct tapir_timeline *tl);
/* Returns the part of that time that lies in the requested range. */
uint64_t tapir_timeline__within_ns(const struct tapir_timeline *tl, uint64_t from_ns,
				   uint64_t until_ns);
/*
 * Returns the time of a wait for a lock in the range, without what its thread waited for another
 * lock during it, which is counted for that one. So the waits of a thread never add up to more than
 * its time.
 */
uint64_t tapir_timeline__waited_ns(const struct tapir_timeline *tl, const struct tapir_interval *i);
struct tapir_pairs *tapir_timeline__pairs(struct tapir_timeline *tl);
struct tapir_stack_tree *tapir_timeline__stacks(struct tapir_timeline *tl);
const struct tapir_catalog *tapir_timeline__catalog(const struct tapir_timeline *tl);
/* Returns the fields of an event that a view receives; borrowed until the next one. */
const struct tapir_event_fields *tapir_timeline__fields(struct tapir_timeline *tl,
							const struct tapir_probe_view *probe,
							const struct tapir_event_view *event);
/* Returns what an interval's .key is of an event with that value; never 0. */
uint64_t tapir_timeline__key_of(const struct tapir_event_fields *fields, const char *field);
/* Returns, while a view hears that an interval opens or closes, by which event. False: by none. */
bool tapir_timeline__current(const struct tapir_timeline *tl, const struct tapir_probe_view **probe,
			     const struct tapir_event_view **event);
/* Returns true if views hear of this process, see struct tapir_timeline_opts. */
bool tapir_timeline__reports_at(const struct tapir_timeline *tl, uint32_t tgid);
/* Returns true if a record is of the trace about which the timeline is asked, or that is of all. */
bool tapir_timeline__has_trace(const struct tapir_timeline *tl, const struct tapir_rec *rec);
/* Returns what is known of a thread; NULL: nothing was seen of it. */
struct tapir_tl_thread *tapir_timeline__thread(const struct tapir_timeline *tl, uint32_t tid);

/*
 * Returns the node of a stack in the tree, created if it is new. TAPIR_NO_NODE: the stack is
 * unknown.
 */
uint32_t tapir_timeline__node(struct tapir_timeline *tl, const struct tapir_stack_ref *ref);
/*
 * Returns the wait that took half or more of a thread's time up to now; NULL: none did. Of an
 * earlier time, it may not be known any longer.
 */
const struct tapir_tl_wait *tapir_tl_thread__longest_wait(const struct tapir_tl_thread *thread,
							  uint64_t since_ns, uint64_t now_ns);
/*
 * Returns the stack that stands for a thread's activity in a time that ends now: that of its
 * longest wait, or if it did not wait, its last one. TAPIR_NO_NODE: no stack is known.
 */
uint32_t tapir_tl_thread__dominant_stack(const struct tapir_tl_thread *thread, uint64_t since_ns,
					 uint64_t now_ns);
/*
 * Returns the label of its innermost own interval that has one, at a time that is now or a moment
 * ago, when the interval may have been open still; *kind: its kind. Borrowed; NULL: none.
 */
const char *tapir_tl_thread__label(const struct tapir_tl_thread *thread, uint64_t at_ns,
				   uint32_t *kind);
/*
 * Returns the cause under which a thread's time counts now, by its process or its innermost
 * interval.
 */
enum tapir_cause tapir_tl_thread__cause(const struct tapir_tl_thread *thread);
/*
 * Returns the map_key of the request for which the thread works, by events of .NET's tasks; 0: for
 * none, or it is not known. The request may have ended.
 */
uint64_t tapir_tl_thread__request(const struct tapir_tl_thread *thread);
/* Returns the activity that began an interval that closes, and waits for it; NULL: none. */
struct tapir_interval *tapir_timeline__parent(const struct tapir_timeline *tl,
					      const struct tapir_interval *child);
/* Returns the innermost interval of a kind with a cause; NULL: none. */
const struct tapir_interval *tapir_tl_thread__causing(const struct tapir_tl_thread *thread);
/*
 * Keys by which waits for the same lock are recognized: a server's lock (is_shared) is one for all
 * of its processes, any other belongs to one process. The owner of the locks a process waits for,
 * and the key of the lock that an interval waits for: of its owner, the label and, if that does not
 * say all, the kind of wait.
 */
uint64_t tapir_timeline__lock_owner(const struct tapir_timeline *tl, uint32_t tgid, bool is_shared,
				    uint64_t now_ns);
uint64_t tapir_timeline__lock_key(const struct tapir_timeline *tl,
				  const struct tapir_interval *wait);
/* Returns "java": what it is called now; empty: unknown. Borrowed from the catalog. */
struct tapir_sv tapir_timeline__comm(const struct tapir_timeline *tl, uint32_t tid,
				     uint64_t time_ns);

/* The time of summed short waits without a CPU, and asleep. */
static inline uint64_t tapir_waits__runnable_ns(const struct tapir_rec_waits *rec)
{
	return rec->ns[TAPIR_WAIT_RUNNABLE] + rec->ns[TAPIR_WAIT_WOKEN];
}

static inline uint64_t tapir_waits__asleep_ns(const struct tapir_rec_waits *rec)
{
	return rec->ns[TAPIR_WAIT_SLEEPING] + rec->ns[TAPIR_WAIT_UNINTERRUPTIBLE] +
	       rec->ns[TAPIR_WAIT_OTHER];
}

static inline uint64_t tapir_time_breakdown__sum(const struct tapir_time_breakdown *parts,
						 unsigned cause)
{
	uint64_t sum = 0;

	for (unsigned state = 0; state < TAPIR_THREAD_STATE_CNT; state++)
		sum += parts->ns[cause][state];
	return sum;
}

static inline void tapir_time_breakdown__add_difference(struct tapir_time_breakdown *sum,
							const struct tapir_time_breakdown *later,
							const struct tapir_time_breakdown *earlier)
{
	for (unsigned c = 0; c < TAPIR_CAUSE_CNT; c++)
		for (unsigned s = 0; s < TAPIR_THREAD_STATE_CNT; s++)
			sum->ns[c][s] += later->ns[c][s] - earlier->ns[c][s];
}

#endif
