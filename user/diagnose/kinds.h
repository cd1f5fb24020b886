/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kinds.h - the kinds of findings and every number that decides about them, which judging
 * (finding.h), 'report --explain' and 'tapir help findings' share.
 */
#ifndef TAPIR_USER_KINDS_H
#define TAPIR_USER_KINDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A finding is reported from the magnitude `report_at` on. Its severity is `min_severity` there,
 * `max_severity` from `critical_at` on, and between the two in proportion. What stops a program is
 * more severe than what slows it down, and a busy CPU is least severe: it may be what the program
 * is for. A wait for another end of a connection may be a wait for work, as an await may be; no
 * thread waits for a disk to get work. Slow requests are a symptom: a cause that explains them is
 * more severe. Neighbours come and go: what a program does itself, or loses permanently, is more
 * severe than what they take.
 *
 * X(ID, name, title, unit, view, report_at, critical_at, min_severity, max_severity, claims,
 * measured, remedy)
 */
/* clang-format off */
#define TAPIR_KINDS(X) \
	X(DEADLOCK, "deadlock", "deadlock", "threads", "contention", 2, 2, 100, 100, \
	  "threads wait for each other's locks, or for a lock that no thread releases", \
	  "threads in the cycle, or that waited from beginning to end", \
	  "take locks in one order everywhere, and release them where an exception leaves") \
	X(CRASH, "crash", "crashed processes", "processes", "tree", 1, 5, 72, 92, \
	  "a fault, abort(3) or a lack of memory ended a process", \
	  "such processes", \
	  "see its stack where it wrote a core, or its cgroup's memory limit") \
	X(KILLED, "killed", "killed processes", "processes", "tree", 1, 5, 12, 30, \
	  "SIGKILL, or a limit of CPU time or of a file, ended a process", \
	  "such processes", \
	  "see who sends it: record --signals, --view tree") \
	X(THREADPOOL_STARVATION, "starvation", "blocked thread pool", "threads", "threadpool", 1, 8, 70, 97, \
	  "tasks find no free thread, since the pool's threads are blocked", \
	  "threads of the pool that are blocked in a task, on average", \
	  "await instead of blocking (.Result, .Wait()), or give blocking work threads of its own") \
	X(POOL_QUEUE, "pool-queue", "queue of the thread pool", "ms", "threadpool", 10, 500, 46, 80, \
	  "work waits in the queue until a thread of the pool takes it", \
	  "median of the time in the queue", \
	  "see what keeps its threads: --view threadpool, --view cpu; queue less work at a time") \
	X(REQUESTS, "requests", "slow requests", "ms", "slow", 100, 2000, 30, 55, \
	  "some requests take long", \
	  "99th percentile of their durations", \
	  "see which part of their time is longest; another finding may be its cause") \
	X(LOCKS, "locks", "waits for locks", "threads", "contention", 0.1, 2, 30, 86, \
	  "threads wait for locks that other threads hold", \
	  "threads that wait, on average", \
	  "hold the lock for less time, or have more of them; what its holder waits for is the cause") \
	X(LOOP, "event-loop", "blocked event loop", "%", "cpu", 5, 60, 50, 87, \
	  "an event loop does not serve events while one callback runs or sleeps", \
	  "time in which it was blocked, for 50 ms and more or in synchronous calls", \
	  "split the work, or move it to another thread; use asynchronous calls") \
	X(LOOP_BUSY, "busy-loop", "busy event loop", "%", "cpu", 40, 100, 36, 70, \
	  "an event loop hardly sleeps: each event waits for those before it", \
	  "time in which it did not sleep", \
	  "have more processes share the work, or do less of it per event") \
	X(LOOP_SYNC, "synchronous-calls", "synchronous calls of an event loop", \
	  "%", "cpu", 5, 50, 28, 35, \
	  "an event loop waits in calls that have an asynchronous form", \
	  "time in such calls, where other work of the loop takes more", \
	  "use the asynchronous form") \
	X(EXCEPTIONS, "exceptions", "many exceptions", "1/s", "exceptions", 20, 2000, 25, 78, \
	  "exceptions are thrown all the time", \
	  "exceptions per second", \
	  "return a result instead of throwing where the case is usual") \
	X(GC, "gc", "garbage collection", "%", "gc", 5, 40, 32, 88, \
	  "the collector stops the program or takes its CPU time", \
	  "time in pauses, or CPU time in the collector, whichever is more", \
	  "allocate less where the finding says; see --view allocations") \
	X(INDUCED_GC, "induced-gc", "collections that are asked for", "1/s", "gc", 1, 20, 50, 88, \
	  "the program or an operator requests the collections", \
	  "such collections per second", \
	  "remove the calls of GC.Collect or System.gc()") \
	X(HEAP, "heap-growth", "growing heap", "MB/s", "gc", 1, 50, 45, 82, \
	  "what survives collections becomes more", \
	  "growth of the heap from the first collection to the last", \
	  "compare two 'tapir heap' of the process: which type becomes more, and what holds it") \
	X(MEMORY, "memory-growth", "growing memory", "MB/s", "memory", 2, 100, 38, 74, \
	  "the resident memory of a process becomes more", \
	  "growth from the first reading to the last", \
	  "see what holds it: --view memory, or 'tapir heap' where the runtime has one") \
	X(HUMONGOUS, "humongous", "very large objects", "1/s", "gc", 1, 20, 50, 86, \
	  "objects of half a G1 region and more cause the collections", \
	  "such collections per second", \
	  "allocate smaller arrays, or set -XX:G1HeapRegionSize") \
	X(CLASSES, "class-growth", "growing number of classes", \
	  "1/s", "counters", 100, 5000, 45, 89, \
	  "classes are loaded and not unloaded", \
	  "classes loaded per second", \
	  "cache generated classes; find what holds their loaders") \
	X(CPU_ACTIVITY, "cpu-purpose", "purpose of the CPU time", "%", "cpu", 15, 90, 40, 60, \
	  "most CPU time is for one purpose that functions of servers and libraries show", \
	  "share of the CPU for it; of a CPU that is less used, as much less", \
	  "see which function or statement asks for it") \
	X(PROCESSES, "processes", "many processes are started", "1/s", "cpu", 10, 400, 46, 58, \
	  "processes are started all the time", \
	  "processes per second", \
	  "keep processes or connections and use them again (a pool)") \
	X(CONNECTIONS, "connections", "many connections are opened", \
	  "1/s", "cpu", 10, 400, 51, 60, \
	  "connections are opened all the time", \
	  "connections per second", \
	  "use one client for all requests: it keeps its connections") \
	X(THREADS, "threads", "many threads are started", "1/s", "offcpu", 50, 2000, 40, 84, \
	  "threads are started all the time", \
	  "threads started per second", \
	  "use a pool of threads") \
	X(THREAD_GROWTH, "thread-growth", "growing number of threads", \
	  "1/s", "stacks", 5, 200, 46, 74, \
	  "threads are started and do not end", \
	  "threads more, each second", \
	  "see where the new ones are; end them, or use a pool") \
	X(THROWING, "exception-cpu", "CPU time of exceptions", "%", "cpu", 10, 60, 46, 78, \
	  "CPU time creates and throws exceptions, of which there are no events", \
	  "share of the CPU for it; of a CPU that is less used, as much less", \
	  "return a result instead of throwing where the case is usual") \
	X(FINALIZER, "finalizer", "stuck finalizer", "s", "gc", 1, 4, 84, 90, \
	  "the finalizer thread does not keep up, and objects that wait for it are kept", \
	  "seconds without an end of its work", \
	  "dispose of objects instead, and do not block in a finalizer") \
	X(TIMERS, "timers", "CPU time of timers", "%", "cpu", 10, 40, 50, 66, \
	  "callbacks of timers use the CPU", \
	  "share of the CPU in timers", \
	  "use fewer timers, or longer periods") \
	X(JIT, "jit", "compilation", "%", "jit", 20, 60, 35, 76, \
	  "the just-in-time compiler uses the CPU", \
	  "share of the CPU; of a CPU that is less used, as much less; half while a program starts", \
	  "do not generate code again and again (expressions, regexes, proxies); ReadyToRun for starts") \
	X(CPU, "cpu", "CPU use", "CPUs", "cpu", 0.1, 1, 20, 45, \
	  "the CPU is used, most in this function", \
	  "CPUs used, on average", \
	  "see the callers: --view cpu or 'tapir flamegraph'") \
	X(QUOTA, "quota", "CPU quota", "%", "offcpu", 5, 50, 60, 94, \
	  "the cgroup's quota keeps threads from running", \
	  "time in which they were throttled", \
	  "raise the limit, or use fewer threads at a time") \
	X(NOISY_NEIGHBOUR, "neighbour", "waits for a CPU", "%", "offcpu", 8, 80, 10, 50, \
	  "other processes have the CPUs that the threads want", \
	  "wait for a CPU, of the CPU time wanted; where less than a CPU is wanted, as much less", \
	  "move one of them, or give this one more weight") \
	X(EXECUTORS, "busy-pool", "busy thread pool", "threads", "stacks", 1.5, 16, 22, 50, \
	  "all threads of a pool wait in their tasks: further tasks wait as long", \
	  "threads of it that wait in a task, on average", \
	  "make the pool larger, or let tasks not wait for each other") \
	X(CALLS, "calls", "waits for a peer", "calls", "net", 0.5, 4, 20, 52, \
	  "the process waits for answers to its calls of one peer", \
	  "calls of that peer at a time, on average (record --net)", \
	  "make that peer faster, ask it for more at once, or keep its answers") \
	X(WAITS, "waits", "waits for others", "threads", "offcpu", 0.5, 4, 20, 48, \
	  "threads wait for another end of a connection, a pipe, a file lock or a name server", \
	  "threads that wait, on average", \
	  "look at the other end; ask it for more at once") \
	X(DISK, "disk", "waits for a disk", "threads", "offcpu", 0.2, 2, 30, 60, \
	  "threads wait for a disk", \
	  "threads that wait, on average", \
	  "see which files: record --io, --view io") \
	X(CHECKPOINTS, "checkpoints", "frequent checkpoints", \
	  "1/min", "slow=postgresql:checkpoint", 12, 120, 58, 87, \
	  "PostgreSQL writes all changed pages often", \
	  "checkpoints per minute", \
	  "raise max_wal_size") \
	X(FILE_SORTS, "file-sorts", "sorts in temporary files", \
	  "1/s", "slow=postgresql:sort", 0.3, 10, 48, 66, \
	  "sorts do not fit in memory", \
	  "such sorts per second", \
	  "raise work_mem for that statement, or add an index") \
	X(STATEMENTS, "statements", "many short statements", \
	  "1/s", "slow=postgresql:query", 400, 10000, 49, 64, \
	  "a client sends many short statements, one at a time", \
	  "statements per second of such sessions", \
	  "send one statement for many rows (a join, COPY, an array)") \
	X(IDLE_SESSIONS, "idle-transactions", "idle transactions", "s", "stacks", 1, 60, 24, 52, \
	  "a session keeps a transaction open and does nothing", \
	  "seconds for which the longest was idle at the end", \
	  "end the transaction earlier; idle_in_transaction_session_timeout") \
	X(INJECTED_TRACEPARENT, "trace-headers", "headers that the recording added", \
	  "requests", "slow", 1, 1, 3, 3, \
	  "requests had a traceparent header only since they were recorded", \
	  "such requests", \
	  "record without --profile requests") \
	X(AWAITS, "awaits", "awaits", "awaits", "awaits", 0.5, 14, 5, 44, \
	  "much is awaited at a time in one method", \
	  "awaits at a time, on average", \
	  "see what it awaits: --view awaits, --profile http") \
	X(AWAIT_TURNS, "await-turns", "awaits in turns", "awaits", "awaits", 2, 12, 58, 84, \
	  "one gets after the other what is awaited: a semaphore, a channel, a connection", \
	  "awaits at a time, on average", \
	  "hold it for less time (not across other awaits), or have more of them") \
	X(REQUESTS_WITHOUT_DURATION, "untimed-requests", "requests of unknown duration", \
	  "requests", "offcpu", 1, 1, 4, 4, \
	  "requests began, and which end is whose is not known", \
	  "such requests", \
	  "record --activities, or the member that is named") \
	X(IDLE, "idle", "little CPU use", "%", "offcpu", 85, 100, 1, 2, \
	  "nothing else was found, and the CPU is hardly used", \
	  "time without CPU use", \
	  "see what its threads wait for: --view offcpu") \
	/* A kind is a row above this line. */
/* clang-format on */

enum tapir_finding_kind {
#define TAPIR_KIND_ID(id, ...) TAPIR_FINDING_##id,
	TAPIR_KINDS(TAPIR_KIND_ID)
#undef TAPIR_KIND_ID
		TAPIR_FINDING_KIND_CNT
};

struct tapir_finding_kind_info {
	const char *name, *title;	   /* "deadlock"; "blocked thread pool" */
	const char *unit, *view;	   /* of the magnitude; for --view */
	double report_at, critical_at;	   /* magnitude */
	double min_severity, max_severity; /* severity, 0 to 100 */
	const char *claims, *measured, *remedy;
};

extern const struct tapir_finding_kind_info tapir_finding_kinds[TAPIR_FINDING_KIND_CNT];

/* Returns true and its number if a kind has that name. */
bool tapir_finding_kind__find(const char *name, size_t len, unsigned *kind);
/* Returns the i-th name, for options; NULL after the last. */
const char *tapir_finding_kind__name(size_t i);

/*
 * Kinds that explain others: where `by` was found with at least `at` percent of what a finding of
 * the kind `of` has (its magnitude, or the threads it is about), that one's magnitude becomes
 * `leaves`; 0: it is not listed. ANY: of any other kind; WAITING: of any in threads, awaits or
 * calls.
 *
 * X(by, of, at, leaves, why)
 */
/* clang-format off */
#define TAPIR_EXPLANATIONS(X) \
	X(INDUCED_GC, GC, 0, 0, "collections are frequent since they are asked for") \
	X(HUMONGOUS, GC, 0, 0, "very large objects cause the collections") \
	X(HEAP, MEMORY, 50, 0, "the memory is the heap's") \
	X(QUOTA, NOISY_NEIGHBOUR, 0, 0, "the quota takes the CPUs, not other processes") \
	X(WAITING, NOISY_NEIGHBOUR, 300, 10, "far more threads wait for something of the program's own") \
	X(ANY, IDLE, 0, 0, "a program of which something else was found is not idle") \
	X(THREADPOOL_STARVATION, POOL_QUEUE, 0, 0, "work is queued since the threads are blocked") \
	/* An explanation is a row above this line. */
/* clang-format on */

enum { TAPIR_FINDING_ANY = TAPIR_FINDING_KIND_CNT, TAPIR_FINDING_WAITING };

struct tapir_explanation {
	unsigned by; /* enum tapir_finding_kind, TAPIR_FINDING_ANY or TAPIR_FINDING_WAITING */
	enum tapir_finding_kind of;
	double at, leaves;
	const char *why;
};

/* Ended by a row without words. */
extern const struct tapir_explanation tapir_explanations[];

/*
 * A wait is offered to these in the order of their numbers. The first that recognizes it counts it,
 * so that a second of waiting is in one finding; another order would be another row's number.
 *
 * X(number, name, label, which waits it takes)
 */
/* clang-format off */
#define TAPIR_WAIT_CONSUMERS(X) \
	X(0, pool, "pool", "of threads of .NET's pool that have no work, and of its finalizer") \
	X(1, locks_by_stack, "lock stack", "for a lock that the functions on the stack name") \
	X(2, locks_by_event, "lock event", "for a lock that events name, or only the runtime knows") \
	X(3, handoffs, "handoffs", "for a semaphore that threads pass to each other") \
	X(4, futexes, "futexes", "at an address that may be a lock or a queue") \
	X(5, calls, "calls", "for a socket, where exchanges of its bytes were recorded (--net)") \
	X(6, blocking_io, "waits", "for a disk, or another end of a connection") \
	/* A consumer of waits is a row above this line. */
/* clang-format on */

/*
 * A detector is tapir_finding_NAME__list of the file that counts for it. It reads only what was
 * counted, so the order of these rows means nothing.
 */
/* clang-format off */
#define TAPIR_DETECTORS(X) \
	X(gc) X(jvm) X(locks_by_event) X(handoffs) X(futexes) X(locks_by_stack) X(pool) X(executors) X(exceptions) \
	X(exception_cost) X(cpu_activity) X(loop) X(requests) X(awaits) X(postgresql) X(statements) X(sessions) \
	X(calls) X(blocking_io) X(quota) X(neighbours) X(memory) X(ends) X(jit) X(timers) X(busy) X(idle) \
	/* A detector is an X above this line. */
/* clang-format on */

#define TAPIR_DETECTOR_ONE(name) +1
#define TAPIR_DETECTOR_CNT	 (0 TAPIR_DETECTORS(TAPIR_DETECTOR_ONE))

struct tapir_diagnosis;
struct tapir_findings;

#define TAPIR_DETECTOR(name)                                                                       \
	void tapir_finding_##name##__list(struct tapir_diagnosis *f, struct tapir_findings *list);
TAPIR_DETECTORS(TAPIR_DETECTOR)
#undef TAPIR_DETECTOR

/* A number of the table of limits decides about one of these. */
enum tapir_limit_role {
	TAPIR_AT_LEAST, /* a finding requires as much, in addition to its magnitude, */
	TAPIR_AT_MOST,	/* or no more */
	TAPIR_COUNTS,	/* what is counted, and for what */
	TAPIR_WORDS,	/* which words its sentence has */
};

/*
 * Every number that decides and is no magnitude of a kind. KIND_CNT: of several kinds.
 *
 * X(ID, kind, role, number, unit, what it is)
 */
/* clang-format off */
#define TAPIR_LIMITS(X) \
	X(DOMINANT, KIND_CNT, TAPIR_WORDS, 50, "%", "of a sum is most of it") \
	X(SMALL, KIND_CNT, TAPIR_WORDS, 1, "%", "of the CPU: a function with less is not named") \
	X(SIGNIFICANT, KIND_CNT, TAPIR_WORDS, 10, "%", "of a sum: a function with less explains nothing") \
	X(WORTH, KIND_CNT, TAPIR_WORDS, 25, "%", "of a time: a part with less is not mentioned") \
	X(THROUGHOUT, KIND_CNT, TAPIR_COUNTS, 95, "%", "of the recording is throughout") \
	X(ONE_HOLDS_IT, KIND_CNT, TAPIR_WORDS, 80, "%", "of the time others waited: one thread has it") \
	X(SAMPLES, KIND_CNT, TAPIR_AT_LEAST, 50, "samples", ": fewer say nothing of a share") \
	X(SHARE_RANGE, KIND_CNT, TAPIR_WORDS, 20, "%", "points in which a share of samples is to 95 %") \
	X(GROWTH, KIND_CNT, TAPIR_AT_LEAST, 20, "%", "more than at the beginning") \
	X(POINTS, KIND_CNT, TAPIR_AT_LEAST, 3, "values", ": fewer show no growth") \
	X(SPAN, KIND_CNT, TAPIR_AT_LEAST, 1.5, "s", "between the first value and the last") \
	X(STARTED, KIND_CNT, TAPIR_AT_LEAST, 50, "starts", ": fewer make no rate") \
	X(TRUNCATED_WAITS, KIND_CNT, TAPIR_COUNTS, 5, "times", "a wait's time may be with truncated stacks") \
	X(BLOCKED_THROUGHOUT, DEADLOCK, TAPIR_AT_LEAST, 0.5, "s", "recorded: less says nothing of what never happens") \
	X(BLOCKED_THROUGHOUT_SHARE, DEADLOCK, TAPIR_COUNTS, 85, "%", "of the recording: first stacks may be cut") \
	X(BLOCKED_THROUGHOUT_WAITS, DEADLOCK, TAPIR_COUNTS, 2, "waits", "more than these wakeups, of a thread that is blocked throughout") \
	X(BLOCKED_THROUGHOUT_WAKES, DEADLOCK, TAPIR_COUNTS, 3, "1/s", "wakeups: a thread that polls the lock") \
	X(LOCK_CLASS, LOCKS, TAPIR_WORDS, 20, "%", "of the waits: a lock with less is one of many") \
	X(HOLDER_SAMPLES, LOCKS, TAPIR_WORDS, 20, "samples", "in an interpreter: fewer show no holder") \
	X(BLOCKED_SHARE, THREADPOOL_STARVATION, TAPIR_AT_LEAST, 50, "%", "of its time, unless it has grown for it") \
	X(QUEUED, POOL_QUEUE, TAPIR_AT_LEAST, 20, "items", ": fewer have no median") \
	X(POOL_THREADS, EXECUTORS, TAPIR_AT_LEAST, 2, "threads", ": one is no pool") \
	X(POOL_WAITING, EXECUTORS, TAPIR_AT_LEAST, 90, "%", "of the time of all of the pool's threads") \
	X(POOL_IDLE, EXECUTORS, TAPIR_AT_MOST, 1, "%", "of that time without a task") \
	X(TRUNCATED_REQUESTS, REQUESTS, TAPIR_WORDS, 20, "times", "as many as the edges cut: awaits of each") \
	X(CALLS_SHOWN, REQUESTS, TAPIR_WORDS, 1.5, "awaits", "or calls of a request: with more, it has their number") \
	X(SECOND_PART, REQUESTS, TAPIR_WORDS, 10, "%", "of their time: a second part is mentioned") \
	X(REQUEST_CNT, REQUESTS, TAPIR_COUNTS, 3, "requests", ": fewer have no percentiles") \
	X(LOOP_BLOCKED, LOOP, TAPIR_COUNTS, 50, "ms", "for less a loop is not blocked") \
	X(LOOP_SLEEPS, LOOP, TAPIR_COUNTS, 10, "times", "as long without a pause: it hardly has any") \
	X(LOOP_ITERATIONS, LOOP, TAPIR_COUNTS, 4, "iterations", "with one sample in the loop: many short ones") \
	X(LOOP_CHANCE, LOOP, TAPIR_COUNTS, 10, "times", "the mean time: by chance in one of 20,000") \
	X(LOOP_KNOWN, LOOP, TAPIR_COUNTS, 50, "%", "of a time: with less, too little is known of it") \
	X(LOOP_CALLS, LOOP, TAPIR_COUNTS, 120, "%", "of the blocked time: synchronous calls are it") \
	X(LOOP_STEPS, LOOP, TAPIR_WORDS, 50, "times", "in callbacks with one between: one takes long") \
	X(ITERATION_KNOWN, LOOP_BUSY, TAPIR_COUNTS, 50, "ms", ": shorter iterations count without samples") \
	X(THROWN, EXCEPTIONS, TAPIR_AT_LEAST, 10, "exceptions", ": fewer make no rate") \
	X(ONE_THROWS, EXCEPTIONS, TAPIR_WORDS, 95, "%", "of a type: one function throws it") \
	X(EVENTS_OF_THROWS, THROWING, TAPIR_AT_MOST, 0, "exceptions", "with events they are counted") \
	X(GC_CPU, GC, TAPIR_COUNTS, 10, "%", "of the CPU, also without long pauses") \
	X(GC_TRIGGERS, GC, TAPIR_WORDS, 3, "collections", ": fewer do not show who allocates") \
	X(INDUCED, INDUCED_GC, TAPIR_AT_LEAST, 5, "collections", ": fewer are no habit") \
	X(INDUCED_SHARE, INDUCED_GC, TAPIR_AT_LEAST, 50, "%", "of the collections") \
	X(INDUCED_POLLS, INDUCED_GC, TAPIR_AT_LEAST, 3, "values", "of a JVM's counters have the cause") \
	X(HEAP_GCS, HEAP, TAPIR_AT_LEAST, 3, "collections", ": fewer show no growth") \
	X(HEAP_STEADY, HEAP, TAPIR_AT_LEAST, 25, "%", "of the growth is left at its least, later") \
	X(HEAP_START, HEAP, TAPIR_COUNTS, 50, "%", "of a JVM's growth, later: else it was of its start") \
	X(HEAP_FALL, HEAP, TAPIR_AT_MOST, 10, "%", "of a JVM's growth fell again") \
	X(HEAP_MINIMA, HEAP, TAPIR_COUNTS, 100, "ms", "of which the smallest heap is kept") \
	X(MEMORY_POINTS, MEMORY, TAPIR_AT_LEAST, 4, "values", ": fewer show no growth") \
	X(MEMORY_STEADY, MEMORY, TAPIR_AT_LEAST, 30, "%", "of the growth is in its second half") \
	X(MEMORY_START, MEMORY, TAPIR_COUNTS, 10, "s", "after a program starts it takes memory anyway") \
	X(MEMORY_GROWTH_CALLERS, MEMORY, TAPIR_WORDS, 3, "times", "that the heap took memory") \
	X(CLASSES_UNLOADED, CLASSES, TAPIR_AT_MOST, 10, "%", "of them unloaded") \
	X(ROWS_SHARE, CPU_ACTIVITY, TAPIR_COUNTS, 20, "times", "the samples of what gives rows, with them") \
	X(NEW_THREADS, THREAD_GROWTH, TAPIR_AT_LEAST, 20, "threads", ": fewer: a pool has grown") \
	X(FINALIZER_GCS, FINALIZER, TAPIR_AT_LEAST, 3, "collections", "in which it did not end") \
	X(FINALIZER_BUSY, FINALIZER, TAPIR_AT_LEAST, 90, "%", "of the time in finalizers") \
	X(TIMER_CPUS, TIMERS, TAPIR_AT_LEAST, 0.03, "CPUs", "for timers") \
	X(JIT_CPUS, JIT, TAPIR_AT_LEAST, 0.1, "CPUs", "for the compiler") \
	X(JIT_METHODS, JIT, TAPIR_COUNTS, 10, "1/s", "methods: fewer are for the recorder's sake") \
	X(JIT_AGAIN, JIT, TAPIR_COUNTS, 60, "%", "of the methods were compiled before: warming up") \
	X(JIT_STARTS, JIT, TAPIR_COUNTS, 50, "%", "of the share counts while a program starts") \
	X(JIT_MIDDLE, JIT, TAPIR_COUNTS, 0.35, "", "of the recording: steady work has its middle at 0.5") \
	X(CPUS_MOST, CPU, TAPIR_COUNTS, 110, "%", "of the CPUs: more cannot have been used") \
	X(CPUS_FEW, CPU, TAPIR_COUNTS, 1, "CPUs", "with too few samples: more is not believed") \
	X(CPUS, CPU, TAPIR_AT_LEAST, 0.1, "CPUs", "a share of less says little") \
	X(CPU_LEAF, CPU, TAPIR_WORDS, 20, "%", "of the CPU in a function that the named one calls") \
	X(CPU_HARDLY, CPU, TAPIR_WORDS, 0.5, "CPUs", ": with less, what was not recorded is mentioned") \
	X(OVERSUBSCRIBED, CPU, TAPIR_WORDS, 1.5, "times", "the CPUs that there are: too many threads compute") \
	X(RUNNABLE, NOISY_NEIGHBOUR, TAPIR_AT_LEAST, 0.2, "threads", "without a CPU, on average") \
	X(RUNNABLE_SHARE, NOISY_NEIGHBOUR, TAPIR_AT_LEAST, 40, "%", "of the time that threads want a CPU") \
	X(MACHINE_BUSY, NOISY_NEIGHBOUR, TAPIR_AT_LEAST, 80, "%", "of all CPUs in use") \
	X(NEIGHBOUR_NAMED, NOISY_NEIGHBOUR, TAPIR_WORDS, 5, "%", "of others' CPU time: with less, a process is not named") \
	X(CALL_CNT, CALLS, TAPIR_AT_LEAST, 3, "calls", "of a time that is known: fewer are no habit") \
	X(CALL_WAITERS, CALLS, TAPIR_WORDS, 25, "%", "of their time: with less, no thread waits there") \
	X(TOGETHER, WAITS, TAPIR_WORDS, 1.5, "threads", ": one is the main thread, which waits") \
	X(CHECKPOINTS, CHECKPOINTS, TAPIR_AT_LEAST, 3, "checkpoints", ": one or two come by the clock") \
	X(FILE_SORTS, FILE_SORTS, TAPIR_AT_LEAST, 2, "sorts", ": one is no habit") \
	X(STATEMENT_CNT, STATEMENTS, TAPIR_AT_LEAST, 200, "statements", ": fewer make no rate") \
	X(STATEMENT_TIME, STATEMENTS, TAPIR_COUNTS, 0.5, "ms", "a journey to the client takes as long") \
	X(STATEMENT_LOOP, STATEMENTS, TAPIR_COUNTS, 100, "1/s", "of a session: fewer are no loop") \
	X(CLIENT_SHARE, STATEMENTS, TAPIR_WORDS, 10, "%", "of a session's time: it waits for its client") \
	X(AWAITS_OF_LOOPS, AWAITS, TAPIR_AT_LEAST, 3, "awaits", "if events were refused") \
	X(INTERP_SAMPLES, CPU, TAPIR_WORDS, 8, "readings", "of running threads' frames: fewer show too little") \
	X(PARKED, IDLE, TAPIR_WORDS, 2, "threads", "of one name that stayed parked") \
	X(IDLE_SHARE, IDLE, TAPIR_WORDS, 98, "%", "of the time: it is idle") \
	X(STARVED, IDLE, TAPIR_AT_MOST, 0.5, "CPUs", "that it would have used") \
	/* A limit is a row above this line. */
/* clang-format on */

enum tapir_limit {
#define TAPIR_LIMIT_ID(id, ...) TAPIR_LIMIT_##id,
	TAPIR_LIMITS(TAPIR_LIMIT_ID)
#undef TAPIR_LIMIT_ID
		TAPIR_LIMIT_CNT
};

struct tapir_limit_row {
	enum tapir_finding_kind kind;
	enum tapir_limit_role role;
	double number;
	const char *unit, *description;
};

/* In the header, so that a limit in a condition is a constant of it. */
static const struct tapir_limit_row tapir_limits[TAPIR_LIMIT_CNT] = {
#define TAPIR_LIMIT_ROW(id, kind, role, number, unit, description)                                 \
	[TAPIR_LIMIT_##id] = {TAPIR_FINDING_##kind, role, number, unit, description},
	TAPIR_LIMITS(TAPIR_LIMIT_ROW)
#undef TAPIR_LIMIT_ROW
};

static inline double tapir_limit(enum tapir_limit limit)
{
	return tapir_limits[limit].number;
}

/* TAPIR_LIMIT(DOMINANT) */
#define TAPIR_LIMIT(id)	   tapir_limit(TAPIR_LIMIT_##id)
#define TAPIR_LIMIT_NS(id) tapir_limit__ns(TAPIR_LIMIT_##id)
/* TAPIR_IS_SHARE(DOMINANT, part, of): the part is at least that percentage of it. */
#define TAPIR_IS_SHARE(id, part, of)                                                               \
	((double)(part)*100 >= (double)(of)*tapir_limit(TAPIR_LIMIT_##id))

/* Returns the number, which is in seconds or milliseconds, in nanoseconds. */
static inline uint64_t tapir_limit__ns(enum tapir_limit limit)
{
	return (uint64_t)(tapir_limits[limit].number *
			  (tapir_limits[limit].unit[0] == 's' ? 1e9 : 1e6));
}

#endif
