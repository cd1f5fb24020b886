/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lore.h - what is known of each runtime, server and library without asking it: the names of its
 * files, threads and functions, which events it has and what they mean. Data only: one file,
 * lore_NAME.c, per runtime, and a line in lore.c. The reader of each table is named with it.
 *
 * All of it is static and constant. Lists of strings end with NULL, tables with a zero row.
 */
#ifndef TAPIR_USER_LORE_H
#define TAPIR_USER_LORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tapir/abi.h"

/* ---- arguments of USDT probes (decode/usdt_hints.h) ----------------------------------------- */

struct tapir_hint_arg {
	const char *name;
	uint8_t field_type; /* enum tapir_field_type; NONE: the number the note describes */
	uint8_t len_arg;    /* STRN: the argument that holds the length in bytes */
	bool is_cxx_type;   /* PTR to a std::type_info, whose name is recorded */
};

struct tapir_hint {
	const char *provider;
	const char *event;
	struct tapir_hint_arg args[TAPIR_MAX_ARGS];
	unsigned arg_cnt;
};

struct tapir_hint_table {
	const struct tapir_hint *hints;
	size_t cnt;
};

/* ---- profiles (decode/profiles.h) ----------------------------------------------------------- */

enum tapir_profile_id {
	TAPIR_PROFILE_ID_DEFAULT, /* cheap enough to leave on; no event per call */
	TAPIR_PROFILE_ID_GC,
	TAPIR_PROFILE_ID_CPU,
	TAPIR_PROFILE_ID_EXCEPTIONS,
	TAPIR_PROFILE_ID_CONTENTION,
	TAPIR_PROFILE_ID_ALLOCATIONS,
	TAPIR_PROFILE_ID_THREADPOOL,
	TAPIR_PROFILE_ID_HTTP,
	TAPIR_PROFILE_ID_REQUESTS, /* never by default: the program creates activities for it */
	TAPIR_PROFILE_ID_ASYNC,	   /* never by default: it slows each await */
	TAPIR_PROFILE_ID_EVERYTHING,
	TAPIR_PROFILE_ID_CNT
};

/* ---- intervals (analyze/pairs.h) ------------------------------------------------------------ */

/* The scope in which the end of an interval is searched. */
enum tapir_pair_scope {
	TAPIR_PAIR_THREAD,   /* on the thread that began it; key: and with the same value */
	TAPIR_PAIR_KEY,	     /* in the process, by the key's value */
	TAPIR_PAIR_ACTIVITY, /* in the process, by the activity id */
	TAPIR_PAIR_PROCESS   /* in the process: it is of all threads */
};

/* The cause under which a thread's time in an interval counts, if not its own. */
enum tapir_cause {
	TAPIR_CAUSE_NONE,
	TAPIR_CAUSE_GC,	       /* process: all threads are stopped for the collector */
	TAPIR_CAUSE_SAFEPOINT, /* process: they do for something else */
	TAPIR_CAUSE_JIT,
	TAPIR_CAUSE_LOCK,
	TAPIR_CAUSE_IO,
	TAPIR_CAUSE_CNT
};

struct tapir_pair {
	const char *provider, *begin;
	const char *end; /* any of these, separated by '|' */
	const char *kind;
	uint8_t scope, cause;
	const char *key;   /* a field; NULL: none */
	const char *label; /* fields of the begin event, separated by ' '; NULL: none */
};

/* The meaning of an interval that begins while one of its kind is open on the thread. */
enum tapir_pair_nesting {
	TAPIR_NESTS,	     /* it is inside of it */
	TAPIR_NESTS_AS_ONE,  /* two events are about the same: it is reported once */
	TAPIR_NESTS_IN_NONE, /* the other one has ended, without an event */
};

/* Further properties that few pairs have. */
struct tapir_pair_more {
	const char *provider, *kind;
	const char *aborted_by;	 /* events after which the end does not come; NULL: none */
	bool is_shared;		 /* what it is about is one thing for all processes of a server */
	bool is_postgresql_lock; /* its label is a lock's (decode/postgresql_text.h) */
	enum tapir_pair_nesting nesting;
};

struct tapir_pair_table {
	const struct tapir_pair *pairs;
	size_t cnt;
};

/* Names for the numbers in a label. */
struct tapir_lore_value {
	const char *provider, *kind, *field;
	const char *const *names; /* by value; NULL: that value has no name */
	size_t cnt;
};

/* ---- events that are counted by type (analyze/event_counts.h) ------------------------------- */

struct tapir_counted_event {
	const char *provider, *event;
	const char *label, *more; /* fields, separated by ' '; more: NULL none */
	const char *weight;	  /* the first of these fields that is there; NULL: each weighs 1 */
};

/* One in that many bytes of allocations is sampled, at random (gcevents, .NET 10). */
#define TAPIR_ALLOCATION_SAMPLE_BYTES (100u * 1024u)

enum tapir_event_counts_id {
	TAPIR_COUNTS_NONE,
	TAPIR_COUNTS_EXCEPTIONS,
	TAPIR_COUNTS_ALLOCATIONS,
	TAPIR_COUNTS_ALLOCATION_SAMPLES, /* taken at random: better than the others */
	TAPIR_COUNTS_CNT
};

/* An event whose count is more informative than its name: "48 GCs"
 * (output/render/report_headline.c). */
struct tapir_lore_headline {
	const char *provider, *event, *text;
};

/* ---- names of threads, functions and files -------------------------------------------------- */

/* A prefix of names that are at work for that cause: GC or JIT (analyze/runtime_work.h). */
struct tapir_lore_work {
	const char *prefix;
	uint8_t cause;
};

/*
 * A prefix of functions (after a '*': a part), or a kind of intervals, and what the runtime does in
 * them, and in what they call of its own (analyze/frame_runs.h).
 */
struct tapir_lore_purpose {
	const char *of;
	const char *activity;
};

enum tapir_lore_match {
	TAPIR_LORE_WHOLE,   /* the file's name */
	TAPIR_LORE_VERSION, /* and nothing else but a version: "python3.11" */
	TAPIR_LORE_PREFIX   /* and anything else: "libpython3.11.so.1.0" */
};

/* A file that holds the runtime's own code (symbol/frame_kind.h). */
struct tapir_lore_module {
	const char *name;
	enum tapir_lore_match match;
};

/*
 * A file that identifies the runtime, its version between prefix and suffix (runtime/recognize.h).
 */
struct tapir_lore_file {
	const char *prefix, *suffix;
	const char *path_of_version; /* "/postgresql/": or after that; NULL: not there */
};

/* A function in which a thread waits (analyze/wait_reason.h). */
struct tapir_lore_wait {
	const char *function; /* one with a '*': begins with what is before, has what is after it */
	const char *reason;
	bool is_lock;	/* until another thread releases a lock */
	bool is_common; /* many things use it: a name further out decides */
	bool may_idle;	/* a lock, but also how a thread waits for work: one that never gets it */
	bool is_interpreter; /* the lock of an interpreter: who runs in it has it */
	/* Only a wait for that reason, with nothing between but functions of the runtime's file of
	 * which a stripped file has no names. NULL: any. */
	const char *by;
	/* A semaphore: a lock where its waiters end each other's waits; else they wait for work. */
	bool is_handoff;
	bool is_shared; /* a lock of all processes of a server */
	/* A lock, or a wait for work: diagnose/finding_futexes.c distinguishes them. */
	bool is_lock_or_queue;
	const char *handoff_label; /* what the waiters hand to each other; NULL: the reason */
	const char *instead_of; /* of a wait for that reason within it: it is a part of this one */
	bool allows_barging;	/* a lock that others may get again and again while one waits
				   throughout */
};

/*
 * A function, or prefix with '*', that shows the purpose of the functions below it
 * (diagnose/finding_cpu_activity.c).
 */
#define TAPIR_CPU_ACTIVITY_STARTS_PROCESSES "starts processes"
#define TAPIR_CPU_ACTIVITY_CONNECTS                                                                \
	"opens and closes connections (an HttpClient may be created for each request)"
/* The reason of a wait for that, and for locks of the runtime during it. */
#define TAPIR_REASON_THREAD_START    "start of a thread"
/*
 * The activity for each row that a function of the same request receives, which shows its purpose.
 */
#define TAPIR_CPU_ACTIVITY_WITH_ROWS ""

struct tapir_lore_activity {
	const char *function, *label;
	bool gives_rows;
};
#define TAPIR_CPU_ACTIVITY(function, label)                                                        \
	{                                                                                          \
		(function), (label), false                                                         \
	}

/* ---- what depends on how the runtime was started -------------------------------------------- */

/*
 * Probes that fire only then; events: globs. Its command line and environment show whether a
 * process was started so (runtime/started_with.h): any of the options, in one of those variables,
 * too; or the variable, if it is a number but 0.
 */
struct tapir_lore_condition {
	const char *provider;
	const char *const *events;
	const char *needs; /* "in a JVM started with -XX:+DTraceMethodProbes" */
	const char *const *options, *const *option_variables;
	const char *variable;
};

/* An event, by its names. */
struct tapir_lore_event {
	const char *provider, *event;
};

/* The awaits for which methods get what they await one after the other. */
enum tapir_awaited_queue {
	TAPIR_QUEUE_NONE,
	TAPIR_QUEUE_ALWAYS,
	TAPIR_QUEUE_HANDOFF, /* where those who had it complete it for the next; else it is a signal
			      */
	TAPIR_QUEUE_ONCE,    /* where a task awaits it once; one that does so in a loop may await
				work */
};

/*
 * Functions that complete what async methods await: of the stack on which an await ends, the
 * innermost one with such a prefix says what it was.
 */
struct tapir_lore_awaited {
	const char *prefix, *awaited;
	enum tapir_awaited_queue queue;
	bool is_joint; /* it is complete when others are, which are awaited, too */
};

/* The quality of stacks, or names, in a recording of it (runtime/doctor_runtime.c). */
struct tapir_lore_yield {
	const char *const *options; /* any in the command line or environment; NULL: no matter */
	const char *with, *without; /* without: NULL where there are no options */
	const char *remedy;	    /* how to get more; NULL: nothing to do */
	/* Or the same holds of a process that executes code there, whatever its options. */
	const char *unless_code_in;
	/* Or its generated code says how large its frames are (runtime/jvm/jvm_code.h). */
	bool unless_it_has_frame_sizes;
	/* Or the functions that its interpreter runs are found from outside (bpf/interp.h). */
	bool unless_its_frames_are_walked;
};

/* Events of .NET tasks and awaits (record/async_stacks/await_stacks.c). */
#define TAPIR_LORE_TASK_EVENTS "System.Threading.Tasks.TplEventSource"
/* Npgsql's statements: an event without a key begins one, on the thread that then awaits it. */
#define TAPIR_LORE_NPGSQL      "Npgsql.Sql"
/* The events that begin and end an await: of tasks, and of the task that a thread runs. */
#define TAPIR_LORE_AWAITS_SPEC                                                                     \
	TAPIR_LORE_TASK_EVENTS                                                                     \
	":0x21,-ev=AwaitTaskContinuationScheduled,-ev=TaskScheduled:Informational"
/* The source's only event has buffers of what threads continue (decode/async_buffer.h); .NET 11. */
#define TAPIR_LORE_ASYNC_BUFFERS  "System.Runtime.CompilerServices.AsyncProfilerEventSource"
/* Methods that the runtime suspends (not state machines): resumed with their stack, suspended,
 * ended, unwound. */
#define TAPIR_LORE_ASYNC_KEYWORDS 0x25cu

/* ---- one runtime, server or library --------------------------------------------------------- */

struct tapir_lore {
	const char *name;	      /* as a person reads it: "CPython" */
	const char *short_name;	      /* of its intervals (analyze/interval_names.h); NULL: its
					 first provider */
	const char *const *providers; /* of events; the first identifies the runtime of a process */
	bool is_library;	      /* of any program: like CPU time, it does not identify one */
	bool is_kernel;		      /* waits are of the kernel's functions */
	const struct tapir_lore_file *files; /* a library is surer than a program: first */
	const struct tapir_lore_module *modules;
	/* Texts in the paths of these that a version follows (symbol/process_runtime.c). */
	const char *const *version_after;
	const struct tapir_lore_work *threads, *functions;
	const struct tapir_lore_purpose *purposes, *interval_purposes;
	/* Prefixes of functions of its own library and of frameworks (analyze/app_code.h). */
	const char *const *library_code;
	/*
	 * Prefixes of the library functions that do something for any caller: they explain nothing.
	 */
	const char *const *framework_glue;
	/* Prefixes of functions of a native program that come from elsewhere: the language's. */
	const char *const *native_library_code;
	/*
	 * Globs (record/async_stacks/await_frames.c): code of async methods; functions that
	 * continue these; those that begin other tasks as well; and those that continue methods
	 * which the runtime suspends, whose names are like any other's.
	 */
	const char *const *async_methods, *const *continuation_functions,
						  *const *task_start_functions;
	const char *const *async_dispatchers;
	/* Prefixes of functions that create and throw exceptions (diagnose/finding_cpu.c). */
	const char *const *exception_functions;
	/* Another tool that shows which sampled objects are alive (heap/heap.c); NULL: unknown */
	const char *live_from;
	/* The name of forked processes that replace their command line by what they do
	 * (record/titles.h); NULL: none do. */
	const char *titled_comm;
	const char *heap_from; /* who else lists its objects (heap/heap.c); NULL: unknown */
	/*
	 * Names of threads (diagnose/finding_pool.c): of its pool, the one that runs finalizers,
	 * and those that work for its tracer.
	 */
	const char *pool_thread, *finalizer_thread;
	/* Prefixes of functions in which threads of its pool wait for work. */
	const char *const *pool_idle;
	/* Pools that its library makes, by prefixes of functions (diagnose/finding_executors.c):
	 * one in which a thread of a pool runs its tasks, those by which threads take the next one
	 * or what others made for them, and those that wait until another task is done. */
	const char *const *workers, *const *dequeue_functions, *const *join_functions;
	const char *const *tracer_threads;
	const char *const
		*interpreter_loops;	/* functions that go from instruction to instruction */
	const char *const *interpreted; /* prefixes of interpreted functions in its perf map */
	/* Event loops (diagnose/finding_loop.c): the function that a loop is, the prefix of those
	 * by which it finds events, and what lies between the runtime's functions and their
	 * callers. */
	const char *loop_function, *loop_prefix;
	/*
	 * For a loop that is written in the runtime's language, and so has no function: prefixes of
	 * the functions by which it calls the program; its wait is recognized by the system call.
	 */
	const char *const *loop_callers;
	/* Prefixes of its own functions, by which a thread is known that runs one. */
	const char *const *loop_names;
	const char *const *loop_glue;
	/* The function that runs callbacks until none is left, what for, and prefixes of functions
	 * that add them, or go from one to the next. */
	const char *loop_queue, *loop_queued;
	const char *const *loop_queue_steps;
	/*
	 * Prefixes of functions that block until they have done what a loop would do together with
	 * other work.
	 */
	const char *const *loop_blocking_calls;
	const struct tapir_lore_wait *waits;
	const struct tapir_lore_activity *cpu_activities;
	const struct tapir_hint_table *hints[2]; /* NULL: none */
	struct tapir_pair_table pairs;
	const struct tapir_pair_more *pairs_more;
	const struct tapir_lore_value *values;
	const struct tapir_counted_event *counted[TAPIR_COUNTS_CNT];
	const struct tapir_lore_headline *headlines;
	const struct tapir_lore_condition *conditions;
	const struct tapir_lore_event *stackless; /* frequent, and their stacks show nothing */
	const struct tapir_lore_awaited *awaited; /* analyze/awaits.h */
	struct tapir_lore_yield stacks, names;
	const char *const *specs[TAPIR_PROFILE_ID_CNT]; /* spec/spec.h; NULL: none */
	const char *const *activities;			/* SPECs of --activities */
};

extern const struct tapir_lore *const tapir_lore_all[]; /* ended by NULL */

#define tapir_lore_for_each(lore)                                                                  \
	for (const struct tapir_lore *const *lore##_at = tapir_lore_all, *lore;                    \
	     (lore = *lore##_at) != NULL; lore##_at++)

/* Identifies a process: returns the index of the lore whose first provider this is, or -1. */
int tapir_lore__of_provider(const char *provider, size_t len);

/* Returns the condition that a probe needs to fire; NULL: none. */
const struct tapir_lore_condition *tapir_lore__condition(const char *provider, const char *event);

/*
 * Returns true for events that the lanes without a trap record without stacks, unless all are
 * requested.
 */
bool tapir_lore__is_stackless(const char *provider, size_t provider_len, const char *event,
			      size_t event_len);

/* Returns the lore of that name; NULL: none. */
const struct tapir_lore *tapir_lore__named(const char *name);

/* Returns what a function of that name completes; NULL: it is not known. */
const struct tapir_lore_awaited *tapir_lore__awaited(const char *function);

/* Returns the idx-th event that is counted there; NULL after the last. */
const struct tapir_counted_event *tapir_lore__counted_event(enum tapir_event_counts_id id,
							    size_t idx);

/*
 * Returns the name of a number in an event of that kind of interval: "transaction"; NULL: it has
 * none.
 */
const char *tapir_lore__value_name(const char *provider, const char *kind, const char *field,
				   uint64_t value);

/* Returns what more is known of the pair; NULL: nothing. */
const struct tapir_pair_more *tapir_lore__pair_more(const struct tapir_pair *pair);
/* Returns the idx-th pair of all; NULL after the last. */
const struct tapir_pair *tapir_lore__pair(size_t idx);

#endif
