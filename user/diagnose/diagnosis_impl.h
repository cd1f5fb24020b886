/* SPDX-License-Identifier: GPL-2.0-or-later */
/* diagnosis_impl.h - what the files of diagnosis.h share. */
#ifndef TAPIR_USER_DIAGNOSIS_IMPL_H
#define TAPIR_USER_DIAGNOSIS_IMPL_H

#include "diagnose/diagnosis.h"
#include "diagnose/rules.h"

/* The meaning of an event here, found once for each probe. */
enum tapir_diagnosis_event_kind {
	TAPIR_DIAGNOSIS_EVENT_NOTHING,
	TAPIR_DIAGNOSIS_EVENT_CONTENTION_BEGIN,
	TAPIR_DIAGNOSIS_EVENT_CONTENTION_END,
	TAPIR_DIAGNOSIS_EVENT_EXCEPTION,
	TAPIR_DIAGNOSIS_EVENT_GC_START,
	TAPIR_DIAGNOSIS_EVENT_GC_TRIGGERED,
	TAPIR_DIAGNOSIS_EVENT_HEAP_MEMORY,
	TAPIR_DIAGNOSIS_EVENT_HEAP,
	TAPIR_DIAGNOSIS_EVENT_FINALIZED,
	TAPIR_DIAGNOSIS_EVENT_POOL,
	TAPIR_DIAGNOSIS_EVENT_POOL_CHANGE,
	TAPIR_DIAGNOSIS_EVENT_POOL_IDLE,
	TAPIR_DIAGNOSIS_EVENT_METHOD_LOAD,
	TAPIR_DIAGNOSIS_EVENT_REQUEST_SENT,
	TAPIR_DIAGNOSIS_EVENT_CONNECTS,
	TAPIR_DIAGNOSIS_EVENT_CHECKPOINT,
	TAPIR_DIAGNOSIS_EVENT_SORTED,
};

/*
 * Causes that know something only after the last record, before anything is listed: sums that only
 * all records give, and what one cause knows of waits that another one counts. In this order.
 */
/* clang-format off */
#define TAPIR_CONCLUDED(X) \
	X(cpu) X(locks_by_event) X(locks_by_stack) X(futexes) X(calls) X(blocking_io) X(cpu_activity) X(loop) X(awaits)
/* Causes that own memory, which their __fini frees. */
#define TAPIR_DETECTOR_PARTS(X) \
	X(gc) X(locks_by_event) X(locks_by_stack) X(futexes) X(executors) X(jvm) X(cpu_activity) X(postgresql) \
	X(gil) X(loop) X(interp_hotspots) X(statements) X(sessions) X(pool) X(cpu) X(requests) X(calls) X(blocking_io)
/* clang-format on */

#define TAPIR_CONCLUDE(name) void tapir_finding_##name##__conclude(struct tapir_diagnosis *f);
TAPIR_CONCLUDED(TAPIR_CONCLUDE)
#undef TAPIR_CONCLUDE
#define TAPIR_PART(name) void tapir_finding_##name##__fini(struct tapir_diagnosis *f);
TAPIR_DETECTOR_PARTS(TAPIR_PART)
#undef TAPIR_PART

struct tapir_diagnosis_event {
	enum tapir_diagnosis_event_kind event_kind;
	struct tapir_tl_thread *thread;
	const struct tapir_event_fields *fields; /* NULL where it means nothing */
	uint64_t now_ns;
	uint32_t node;
};

/* Adds weight to a name. A name without room is in the sum alone, and is counted in f. */
void tapir_function_sums__add(struct tapir_diagnosis *f, struct tapir_function_sums *w,
			      uint32_t name, uint64_t weight);
/* The same of a stack, of which the function with most keeps one. */
void tapir_function_sums__add_at(struct tapir_diagnosis *f, struct tapir_function_sums *w,
				 uint32_t name, uint32_t node, uint64_t weight);
/* Returns the function that has most after another one (NULL: most of all); NULL: none is left. */
const struct tapir_map_slot *tapir_function_sums__next(const struct tapir_function_sums *w,
						       const struct tapir_map_slot *after);
void tapir_function_sums__fini(struct tapir_function_sums *w);
/* name: of a function by which equal labels are distinguished, or TAPIR_APP_CODE_NONE. */
void tapir_label_sums__add(struct tapir_label_sums *labels, uint64_t key, const char *label,
			   uint32_t name, uint64_t ns);
const struct tapir_label_sum *tapir_label_sums__largest(const struct tapir_label_sums *labels);
/* Returns the same if it has most of it; NULL: none has. Appends it. */
const struct tapir_label_sum *tapir_label_sums__dominant(const struct tapir_label_sums *labels,
							 uint64_t of);
void tapir_label_sums__append_dominant(const struct tapir_label_sums *labels, uint64_t of,
				       struct tapir_str *out);
void tapir_label_sums__fini(struct tapir_label_sums *labels);

/* Returns the function of a stack by which it is named: its own, else a managed library's. */
uint32_t tapir_diagnosis__function(struct tapir_diagnosis *f, uint32_t node);
/* Returns the program's own managed function of a stack, or TAPIR_APP_CODE_NONE. */
uint32_t tapir_diagnosis__own(struct tapir_diagnosis *f, uint32_t node);
/* Return what a thread with that stack waits for; NULL: not known. */
const struct tapir_lore_wait *tapir_diagnosis__wait_at(struct tapir_diagnosis *f, uint32_t node);
const char *tapir_diagnosis__reason_at(struct tapir_diagnosis *f, uint32_t node);
/* Return the same of a wait; NULL also if it was one for a CPU. */
const struct tapir_lore_wait *tapir_diagnosis__lore_wait(struct tapir_diagnosis *f,
							 const struct tapir_wait *w);
const char *tapir_diagnosis__reason(struct tapir_diagnosis *f, const struct tapir_wait *w);
/*
 * Add weight to the function by which the stack at node is named (__function); to the program's own
 * alone (__own).
 */
void tapir_diagnosis__add_stack(struct tapir_diagnosis *f, struct tapir_function_sums *w,
				uint32_t node, uint64_t weight);
void tapir_diagnosis__add_app_stack(struct tapir_diagnosis *f, struct tapir_function_sums *w,
				    uint32_t node, uint64_t weight);
/*
 * Appends " in Shop.Draw(int)", if one function has at least a tenth of it; before: "" or a word.
 */
bool tapir_diagnosis__append_top_function(const struct tapir_diagnosis *f,
					  const struct tapir_function_sums *w, const char *before,
					  struct tapir_str *out);
/* name: as tapir_diagnosis__most has it. "draw shop.js:12:3" of a JavaScript engine's name. */
void tapir_diagnosis__add_name(const struct tapir_diagnosis *f, uint32_t name,
			       struct tapir_str *out);
const char *tapir_diagnosis__top_function(const struct tapir_diagnosis *f,
					  const struct tapir_function_sums *w);
/* Appends "waits for a socket", or "sleeps". */
void tapir_diagnosis__add_waits(const char *reason, struct tapir_str *out);
/* Appends "clerk-*": threads of one purpose have a name in common. */
void tapir_diagnosis__add_thread(const struct tapir_diagnosis *f, uint32_t tid,
				 struct tapir_str *out);
/* Counts a thread by that name. */
void tapir_diagnosis__count_thread(const struct tapir_diagnosis *f, struct tapir_label_sums *names,
				   uint32_t tid, uint64_t ns);
/* Appends "clerk-7 4711". */
void tapir_diagnosis__add_thread_id(const struct tapir_diagnosis *f, uint32_t tid,
				    struct tapir_str *out);
double tapir_diagnosis__percent(uint64_t part, uint64_t of);

/* The role of a thread, by its name. */
enum tapir_thread_role {
	TAPIR_ROLE_PROGRAM,
	TAPIR_ROLE_WORKER, /* of the runtime's pool */
	TAPIR_ROLE_FINALIZER,
	TAPIR_ROLE_TRACER, /* works for the tracer of the process: its time is no finding */
};
/* Returns the role of a thread at that time, by its name (spec/runtime_db). */
enum tapir_thread_role tapir_diagnosis__role(struct tapir_diagnosis *f,
					     struct tapir_tl_thread *thread, uint64_t time_ns);

/* Take events, closed intervals and finalizers' time of the collector. */
void tapir_finding_gc__event(struct tapir_diagnosis *f, const struct tapir_diagnosis_event *e);
void tapir_finding_gc__close(struct tapir_diagnosis *f, const struct tapir_interval *i);
/* function: that the finalizer thread of the process was in, for so many nanoseconds. */
void tapir_finding_gc__finalizer(struct tapir_diagnosis *f, uint32_t tgid, uint32_t function,
				 uint64_t ns);
/* Returns the collector of a process; NULL: nothing of it was recorded. */
const struct tapir_collector *tapir_finding_gc__collector(const struct tapir_diagnosis *f,
							  uint32_t tgid);
/* Returns the sum of that generation and those above, in bytes. */
uint64_t tapir_heap_size__sum(const struct tapir_heap_size *size, unsigned youngest);

/* Take an event, and a thread of a snapshot, that say who holds a lock. */
void tapir_finding_locks_by_event__event(struct tapir_diagnosis *f,
					 const struct tapir_diagnosis_event *e);
void tapir_finding_locks_by_event__snapshot(struct tapir_diagnosis *f,
					    const struct tapir_rec_switch *rec);
/*
 * Returns the thread that holds what this one waits for, and does not wait for a lock itself; 0:
 * not known.
 */
uint32_t tapir_finding_locks_by_event__holder(struct tapir_diagnosis *f, uint32_t tid);
void tapir_finding_locks_by_event__call(struct tapir_diagnosis *f, const struct tapir_rec *rec);
void tapir_finding_locks_by_event__close(struct tapir_diagnosis *f, const struct tapir_interval *i);
/* Takes a wait. is_open: it has not ended in the recording. True: it was a wait for a lock. */
bool tapir_finding_locks_by_event__wait(struct tapir_diagnosis *f, const struct tapir_wait *wait,
					bool is_open);

/* Takes a sample, which is counted for its function. */
void tapir_finding_cpu__sample(struct tapir_diagnosis *f, struct tapir_tl_thread *t,
			       const struct tapir_rec_sample *sample);

/* Takes an event of the JIT compiler. */
void tapir_finding_cpu__event(struct tapir_diagnosis *f, const struct tapir_diagnosis_event *e);
/*
 * Returns the functions to which a CPU's use is attributed, in samples, of f->cpu.samples: the
 * program's own, or if those explain nothing, the innermost ones. NULL: there are too few samples
 * for shares.
 */
const struct tapir_function_sums *tapir_finding_cpu__functions(const struct tapir_diagnosis *f);

/* Takes an event of a pool: its size, its queue. */
void tapir_finding_pool__event(struct tapir_diagnosis *f, const struct tapir_diagnosis_event *e);
/* Takes a closed interval: work of a pool that was queued, among others. */
void tapir_finding_pool__close(struct tapir_diagnosis *f, const struct tapir_interval *i);
/* Takes a wait. True: it is of a thread of a pool, and this was its own affair. */
bool tapir_finding_pool__wait(struct tapir_diagnosis *f, const struct tapir_wait *wait,
			      bool is_open);
/* Appends "; threads of the pool were blocked for 5.912 s in Shop.Store(int)": most of the time. */
void tapir_finding_pool__add_blocked(const struct tapir_diagnosis *f, struct tapir_str *out);

/*
 * Semaphores that are used as locks, and pools of objects (lore's is_handoff): the threads that
 * wait in a function end each other's waits. Where others end them, they wait for work, and that is
 * no finding. Takes a wait. True: it was one for a semaphore.
 */
bool tapir_finding_handoffs__wait(struct tapir_diagnosis *f, const struct tapir_wait *wait,
				  bool is_open);
/*
 * Appends "; 4 threads pool-* stayed parked throughout ...": what an idle process has, or one that
 * hangs.
 */
void tapir_finding_handoffs__add_parked(const struct tapir_diagnosis *f, struct tapir_str *out);

/* Returns the text that the recording has for key (its META records); empty: none. Borrowed. */
struct tapir_sv tapir_diagnosis__meta(const struct tapir_diagnosis *f, const char *key);

/* Takes a wait, of which the time for which the thread was runnable counts. */
void tapir_finding_cpu_pressure__wait(struct tapir_diagnosis *f, const struct tapir_wait *wait);
/*
 * Appends "; its threads want 15.9 CPUs of 2: they waited 40 s for one, most of it for one
 * another".
 */
void tapir_finding_cpu_pressure__append_oversubscription(const struct tapir_diagnosis *f,
							 struct tapir_str *out);

/* Returns true for kinds of intervals that a client waits for. */
bool tapir_finding_requests__is_one(const struct tapir_interval_kind *kind);
void tapir_finding_requests__event(struct tapir_diagnosis *f,
				   const struct tapir_diagnosis_event *e);
void tapir_finding_requests__open(struct tapir_diagnosis *f, const struct tapir_interval *i);
void tapir_finding_requests__close(struct tapir_diagnosis *f, struct tapir_interval *i);
void tapir_finding_requests__awaited(struct tapir_diagnosis *f, const struct tapir_interval *i,
				     uint64_t ns);
/* Returns true if the durations of that kind are those of requests, not of pairs that do not belong
 * together. */
bool tapir_finding_requests__is_timed(const struct tapir_diagnosis *f,
				      const struct tapir_request_kind *row);
/*
 * Appends ", 92% of their time awaited": the largest part, if it is most of the time. words: "of
 * their time " or "".
 */
void tapir_finding_requests__add_part(const struct tapir_request_kind *row, const char *words,
				      struct tapir_str *out);
/* Adds the requests of the first screen, once. */
void tapir_overview_requests__add(struct tapir_diagnosis *f, struct tapir_overview *overview);

/* Takes a wait. True: no other one follows that may know it. */
bool tapir_finding_blocking_io__wait(struct tapir_diagnosis *f, const struct tapir_wait *wait,
				     bool is_open);
/* Takes it later. wait->thread is not used: the thread may have ended since. */
void tapir_finding_blocking_io__take(struct tapir_diagnosis *f, const struct tapir_wait *wait,
				     uint32_t tid, bool is_truncated);
/* Counts waits of a function for that reason, which their stacks do not show. */
void tapir_finding_blocking_io__count(struct tapir_diagnosis *f, const char *reason, uint32_t app,
				      uint64_t ns);
/* Returns true if it is for a disk, or for another end of a connection. */
bool tapir_finding_blocking_io__is_dependency(const char *reason);
/* Appends "; 6.0 threads waited in Shop.Ask() (condition): for work, or for other threads". */
void tapir_finding_blocking_io__add_for_threads(const struct tapir_diagnosis *f,
						struct tapir_str *out);

#endif
