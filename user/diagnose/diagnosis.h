/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * diagnosis.h - what is wrong with the recorded processes, for the first lines of a report: it
 * listens to the timeline and makes a ranked list (finding.h). One file for each kind of cause.
 */
#ifndef TAPIR_USER_DIAGNOSIS_H
#define TAPIR_USER_DIAGNOSIS_H

#include "base/keyed.h"
#include "analyze/allocators.h"
#include "analyze/io_sums.h"
#include "diagnose/chain_sums.h"
#include "diagnose/wait_table.h"
#include "diagnose/finding_awaits.h"
#include "diagnose/finding_locks_by_stack.h"
#include "diagnose/finding_calls.h"
#include "diagnose/finding_cpu_activity.h"
#include "diagnose/finding_futexes.h"
#include "diagnose/finding_gil.h"
#include "diagnose/finding_jvm.h"
#include "diagnose/finding_loop.h"
#include "diagnose/finding_interp_hotspots.h"
#include "diagnose/finding_postgresql.h"
#include "diagnose/finding_sessions.h"
#include "diagnose/finding_statements.h"
#include "diagnose/finding_executors.h"
#include "diagnose/finding.h"
#include "diagnose/function_sums.h"
#include "diagnose/name_marks.h"
#include "diagnose/node_facts.h"
#include "diagnose/overview.h"
#include "base/histogram.h"
#include "analyze/app_code.h"
#include "analyze/pool_waits.h"
#include "analyze/runtime_work.h"
#include "analyze/spans/request_routes.h"
#include "analyze/timeline.h"
#include "analyze/eventless_locks.h"
#include "analyze/wait_reason.h"
#include "analyze/process_lives.h"

/* A thread waits for a lock that another one holds. */
struct tapir_lock_wait_edge {
	uint64_t tid, owner; /* as the process counts its threads */
	uint32_t tgid, owner_tgid, node;
	uint64_t from_ns;
	bool has_ended;
	uint32_t seen_tid; /* as the kernel counts it, by a snapshot; 0: by events */
	uint32_t owner_seen_tid;
};

/* The object whose lock an interval waits for. */
struct tapir_lock_type {
	char *label, *type; /* as in the labels of locks */
};

/* A thread that waited for a lock throughout the recording. */
struct tapir_blocked_throughout {
	uint32_t name;	      /* of a function */
	uint64_t barging_key; /* key of its lock's reason, if others may get it during the wait; 0:
				 not */
};

/* A wait for a dependency that began before the recording. */
struct tapir_begun_wait {
	uint32_t tid, node;
	uint64_t ns;
	int wait_idx; /* idx of what it waits for */
};

/* The sizes of a .NET heap after a collection, by generation; 3: large objects, 4: pinned ones. */
struct tapir_heap_size {
	uint64_t at_ns;
	uint64_t bytes[5];
};

struct tapir_request_kind {
	uint32_t kind;
	uint64_t sum_ns, worst_ns;
	uint64_t by_thread_cnt; /* paired without an id */
	bool is_by_key;		/* served requests that have a key, but no activity */
	char *worst_label;
	struct tapir_time_breakdown parts; /* of all of them */
	struct tapir_label_sums inside;	   /* kinds of activities that they waited for */
	struct tapir_label_sums tasks;	   /* that they awaited */
	struct tapir_histogram took;
};

/*
 * The resources for which a thread waits until another thread or process provides them: rows of
 * finding_blocking_io.c.
 */
#define TAPIR_WAITED_FOR_CNT 6

struct tapir_waited {
	uint64_t ns;
	struct tapir_label_sums threads; /* of those whose functions are not known */
	struct tapir_function_sums callers;
};

/* Collections of one process. Those of several processes overlap, and are never added. */
struct tapir_collector {
	uint32_t tgid;
	uint64_t cnt, ns, worst_ns;			      /* pauses */
	uint64_t dotnet_cnt, dotnet_gen2_cnt, background_cnt; /* that began */
	uint64_t induced_cnt, started_cnt;		      /* of .NET, in the background too */
	uint64_t dotnet_ns;				      /* the longest one, */
	char *dotnet_label; /* "2 AllocLarge NonConcurrentGC"; NULL */
	uint64_t heap_cnt;
	struct tapir_heap_size heap_first, heap_last;
	/* The smallest heap after the collections of each tenth of a second. */
	struct tapir_vec(struct tapir_heap_size) post_gc_minima;
	bool has_collected_young; /* a generation above 0, after the first of them */
	uint64_t finalized_cnt;
	struct tapir_function_sums
		finalizer_functions; /* functions that its finalizer thread was in */
};

struct tapir_diagnosis {
	struct tapir_timeline *tl;
	bool has_clock; /* samples' periods are nanoseconds of a CPU: set it before the list */
	struct tapir_lives lives; /* of what was asked for */
	struct {
		uint64_t more; /* names of functions that found no row in any sums */
		bool failed;
	} names;
	struct {
		uint64_t samples, ns, gc, jit, timers, kernel; /* not of tapir's own threads */
		uint32_t cpu_cnt; /* at least that many; 0: not known */
		struct tapir_function_sums app, leaf, timer_app, timer_callbacks;
		struct tapir_function_sums calls; /* by which the kernel was entered */
	} cpu;
	struct {
		struct tapir_keyed(struct tapir_collector) processes;
		struct tapir_function_sums callers; /* of GC.Collect */
		struct tapir_function_sums
			cpu_callers; /* who allocated, by samples of collections */
		struct tapir_function_sums
			trigger_callers; /* who allocated when another one was due, */
		struct tapir_function_sums
			growth_callers; /* and when the heap needed more memory */
	} gc;
	struct {
		uint64_t cnt, ns, open_cnt;
		struct tapir_label_sums labels, classes; /* classes: kinds of shared ones */
		struct tapir_label_sums statements;
		struct tapir_vec(struct tapir_lock_type) types;
		struct tapir_function_sums waiters;
		struct tapir_function_sums acquired,
			blocked_throughout; /* waits that ended; waits throughout */
		struct tapir_vec(struct tapir_blocked_throughout) throughout;
		struct tapir_map barged; /* keys of reasons of whose locks some were got */
		struct tapir_eventless_locks eventless;
		struct tapir_keyed(struct tapir_lock_wait_edge) wait_edges;
		bool has_ended; /* the last snapshot began: it replaces the first */
		bool are_deadlocked;
	} locks;
	struct {
		uint64_t event_cnt, starved_cnt;
		struct tapir_pool_waits waits;
		struct tapir_function_sums blockers;
		struct tapir_histogram queued; /* how long work was, until a thread took it */
		uint64_t queued_ns;	       /* in all */
	} pool;
	struct {
		uint64_t cnt;
		struct tapir_label_sums types; /* each by its thrower */
	} exceptions;
	struct {
		struct tapir_waited by_reason[TAPIR_WAITED_FOR_CNT];
		struct tapir_label_sums for_threads; /* in own code: for others, or for work */
		struct tapir_map repeaters; /* threads and their functions that waited there */
		struct tapir_vec(struct tapir_begun_wait) begun;
	} waits;
	struct {
		uint64_t cnt, again_cnt; /* again: compiled by the thread that optimizes */
		double sum_ns;		 /* of the times of its samples, since the first record */
		struct tapir_function_sums callers;
	} jit;
	struct tapir_postgresql_finding postgresql;
	struct {
		uint64_t runnable_ns; /* of threads, waiting for a CPU */
	} cpu_pressure;
	bool has_dotnet;
	struct tapir_locks_by_stack locks_by_stack;
	struct tapir_wait_table wait_table;
	struct tapir_chain_sums chain_sums;
	struct tapir_futexes futexes;
	struct tapir_executors executors;
	struct tapir_jvm_findings jvm;
	struct {
		uint64_t samples; /* in functions that throw exceptions */
		struct tapir_function_sums throwers, functions;
	} exception_cost;
	struct tapir_cpu_activities cpu_activities;
	struct tapir_awaits awaits;
	struct tapir_gil gil;
	struct tapir_loops loops;
	struct tapir_interp_hotspots interp_hotspots;
	struct tapir_statements statements;
	struct tapir_idle_sessions sessions;
	struct tapir_keyed(struct tapir_request_kind) requests;
	struct tapir_request_routes *routes; /* NULL: no request and no call was seen */
	bool routes_failed;		     /* out of memory */
	uint64_t header_cnt; /* requests that were sent with a header for lack of any activity */
	struct tapir_allocators allocators;
	struct tapir_io_sums io;
	struct tapir_calls calls;
	struct tapir_failed_calls failed_calls;
	/* for the finding alone */
	struct tapir_works works;
	struct tapir_app_code app_code;
	struct tapir_wait_reasons reasons;
	struct tapir_nodes_facts facts;
	struct tapir_name_marks marks;
	struct tapir_map event_kind_by_probe, role_by_tid;
};

extern const struct tapir_timeline_fns tapir_diagnosis_fns; /* ctx: the finding */

/*
 * Lists the findings, after the timeline is finished, the most severe first. Empty: nothing stands
 * out.
 */
void tapir_diagnosis__list(struct tapir_diagnosis *f, struct tapir_findings *list);
/*
 * The parts of __list: this once, then each detector, in any order and any number of times, then
 * tapir_findings__judge.
 */
void tapir_diagnosis__conclude(struct tapir_diagnosis *f);
extern void (*const tapir_detectors[TAPIR_DETECTOR_CNT])(struct tapir_diagnosis *f,
							 struct tapir_findings *list);
/* Returns the CPUs that were used, on average. Negative: not known. */
double tapir_diagnosis__cpus(const struct tapir_diagnosis *f);
/*
 * Returns the CPUs that were used or waited for, on average: as many as it would use alone on the
 * machine, and more where its threads wait for each other. Negative: not known.
 */
double tapir_diagnosis__wanted_cpus(const struct tapir_diagnosis *f);
void tapir_diagnosis__fini(struct tapir_diagnosis *f);

#endif
