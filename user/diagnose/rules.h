/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rules.h - facts, which detectors count, and the rules that make findings of them: which number of
 * a fact is the magnitude of which kind (kinds.h), what it requires besides, and the sentence. One
 * thread.
 */
#ifndef TAPIR_USER_RULES_H
#define TAPIR_USER_RULES_H

#include "base/str.h"
#include "diagnose/found.h"
#include "diagnose/weights.h"

/*
 * Facts are about these. A detector makes one for each process, pool or lock of which it counted
 * something.
 *
 * X(ID, what is counted)
 */
/* clang-format off */
#define TAPIR_FACTS(X) \
	X(CHECKPOINTS, "checkpoints of PostgreSQL") \
	X(CHILDREN, "processes that this one started, by its waits for their starts") \
	X(CLASSES, "classes that a JVM loaded and unloaded") \
	X(COLLECTIONS, "pauses of the collector, and samples in it") \
	X(CONNECTIONS, "connections that were opened") \
	X(CRASHES, "processes that a fault, an abort or a lack of memory ended") \
	X(EXCEPTIONS, "exceptions, by events") \
	X(FILE_SORTS, "sorts that wrote files, of all sorts") \
	X(FINALIZER, "time that the finalizer thread spent in finalizers") \
	X(HEADERS, "requests that were sent with a header for lack of any activity") \
	X(HEAP, "heap of .NET after its collections") \
	X(HUMONGOUS, "collections of a JVM for very large objects, of all") \
	X(IDLE_SESSIONS, "time for which sessions of PostgreSQL were idle in a transaction at the end") \
	X(INDUCED, "collections of .NET that the program asked for, of all") \
	X(JIT, "samples in the compiler, of those of the CPU") \
	X(JVM_CAUSE, "collections of a JVM that the program or an operator asked for, of all") \
	X(KILLS, "processes that SIGKILL or a limit ended") \
	X(MEMORY, "resident memory, each second") \
	X(OLD_GENERATION, "old generation of a JVM, each second or after collections") \
	X(POOL, "time for which threads of the pool were blocked") \
	X(PROCESSES, "processes with events that began in the recording") \
	X(PURPOSE, "samples of the commonest activity, of those of the CPU") \
	X(QUEUE, "time for which work was in the queue of the pool") \
	X(QUOTA, "periods in which the cgroup was throttled, of all") \
	X(REQUESTS, "durations of the slowest kind of requests") \
	X(RUNNABLE, "time in which threads waited for a CPU, of that in which they wanted one") \
	X(STATEMENTS, "short statements of sessions that send one after the other") \
	X(STUCK_WORKERS, "time for which all threads of a pool waited in one task") \
	X(THREADS_LEFT, "threads at the end more than at the beginning") \
	X(THREADS_STARTED, "threads that began in the recording") \
	X(THROWS, "samples in functions that throw, of those of the CPU") \
	X(TIMERS, "samples in callbacks of timers, of those of the CPU") \
	X(UNTIMED, "requests whose ends are not known") \
	X(WORKERS, "time for which threads of a pool waited in tasks") \
	/* A fact is a row above this line. */
/* clang-format on */

enum tapir_rule_fact_kind {
#define TAPIR_FACT_ID(id, ...) TAPIR_FACT_##id,
	TAPIR_FACTS(TAPIR_FACT_ID)
#undef TAPIR_FACT_ID
		TAPIR_FACT_KIND_CNT
};

/* The numbers of a fact that its detector sets; 0: it has none of that. */
#define TAPIR_FACT_NUMBERS(X)                                                                      \
	X(cnt)	      /* how many there were, */                                                   \
	X(of)	      /* of how many of their sort; */                                             \
	X(other)      /* how many of another sort */                                               \
	X(seconds)    /* in which they were counted; 0: in the recording */                        \
	X(ns)	      /* for how long, */                                                          \
	X(own_ns)     /* and another time */                                                       \
	X(p50_ns)     /* median, */                                                                \
	X(p99_ns)     /* and 99th percentile of times */                                           \
	X(from)	      /* at the beginning */                                                       \
	X(to)	      /* at the end */                                                             \
	X(percent)    /* of a sum that only the detector knows, */                                 \
	X(rest)	      /* and of another one */                                                     \
	X(rate)	      /* in a second, of what is not counted in cnt */                             \
	X(in_threads) /* on average, by another time than the recorded one */                      \
	X(used)	      /* CPUs */                                                                   \
	X(took_s)                                                                                  \
	X(asleep_s)                                                                                \
	X(rest_s)                                                                                  \
	X(ms)                                                                                      \
	X(each_ms)                                                                                 \
	X(mb)

/* The numbers that follow from them. */
#define TAPIR_DERIVED_NUMBERS(X)                                                                   \
	X(recorded) /* seconds of the recording */                                                 \
	X(per_s)    /* cnt a second */                                                             \
	X(per_min)                                                                                 \
	X(at_once) /* ns of the recording: how many there are at a time, on average */             \
	X(threads) /* ns of the time in which switches were recorded, likewise */                  \
	X(share)   /* cnt of `of`, in percent */                                                   \
	X(cost)	   /* share of the CPU; of a CPU that is less used, as much less */                \
	X(cpus)	   /* that the share is; 1 where the CPUs used are not known */

struct tapir_rule_fact {
	enum tapir_rule_fact_kind what;
#define TAPIR_FACT_NUMBER(name) double name;
	TAPIR_FACT_NUMBERS(TAPIR_FACT_NUMBER)
	TAPIR_DERIVED_NUMBERS(TAPIR_FACT_NUMBER)
#undef TAPIR_FACT_NUMBER
	const struct tapir_weights *where, *elsewhere; /* functions; NULL: none are known */
	const char *subject;			       /* NULL: the function with most of it */
	const char *label, *note;		       /* words; NULL: there are none */
	struct tapir_str more;			       /* more words; taken */
	const char *view;			       /* NULL: the rule's */
};

/*
 * Rules. In a sentence {name} is a number of the fact, {name.1} with one decimal, {name|s|p} its
 * singular or plural, {place} and {elsewhere} the functions with most, {subject}, {label}, {note}
 * and {more} its words. What stands in [] is left out where one of its values is 0 or not known,
 * and [?...] is said where the one before it was left out.
 *
 * X(fact, kind, magnitude, view or NULL for the kind's, sentence, evidence or NULL, requirements)
 */
/* clang-format off */
#define TAPIR_RULES(X) \
	X(CHECKPOINTS, CHECKPOINTS, per_min, NULL, \
	  "{cnt} checkpoints in {recorded.1} s[, most since {note} was reached]", NULL, \
	  REQUIRES(CHECKPOINTS, cnt)) \
	X(CHILDREN, PROCESSES, per_s, NULL, \
	  "{per_s} processes are started a second[, most by {place}]", NULL, \
	  REQUIRES(STARTED, cnt)) \
	X(CLASSES, CLASSES, per_s, "counters", \
	  "{per_s} classes are loaded a second, [{percent}% of them unloaded][?none is unloaded]: " \
	  "{cnt} more in {seconds.1} s[; metaspace grew from {from.1} MB to {to.1} MB]", NULL, \
	  REQUIRES(POINTS, other), REQUIRES(SPAN, seconds), REQUIRES(CLASSES_UNLOADED, percent)) \
	X(COLLECTIONS, GC, percent, NULL, "{more}", NULL) \
	X(CONNECTIONS, CONNECTIONS, per_s, NULL, \
	  "{per_s} connections are opened a second[, most for {place}]: " \
	  "an HttpClient, or another client, may be created for each request", NULL, \
	  REQUIRES(STARTED, cnt)) \
	X(CRASHES, CRASH, cnt, NULL, "{more}", NULL) \
	X(EXCEPTIONS, EXCEPTIONS, per_s, NULL, \
	  "{per_s} exceptions a second{more}", "{cnt} thrown", \
	  REQUIRES(THROWN, cnt)) \
	X(FILE_SORTS, FILE_SORTS, per_s, NULL, \
	  "{cnt} of {of} sorts did not fit work_mem: {per_s.1} a second write temporary files, " \
	  "of up to {mb.1} MB{more}", NULL, \
	  REQUIRES(FILE_SORTS, cnt)) \
	X(FINALIZER, FINALIZER, recorded, NULL, \
	  "the finalizer thread{label} has not caught up in {cnt} collections ({ns})" \
	  "[: it is in {place}]", NULL, \
	  REQUIRES(FINALIZER_GCS, cnt)) \
	X(FINALIZER, FINALIZER, seconds, "offcpu", \
	  "the finalizer thread{label} is saturated: {percent}% of the time in finalizers" \
	  "[, most in {place}]", NULL, \
	  REQUIRES(FINALIZER_BUSY, percent)) \
	X(HEADERS, HEADERS, cnt, "slow=http_request", \
	  "{cnt} requests were sent with a traceparent header only because this was recorded " \
	  "(--profile requests)", NULL) \
	X(HEAP, HEAP, rate, NULL, \
	  "the heap{label} grows by {rate.1} MB/s: {to.1} MB survive the last of {cnt} collections, " \
	  "{from.1} MB the first, {seconds.1} s before{more}", NULL, \
	  REQUIRES(HEAP_GCS, cnt), REQUIRES(GROWTH, percent), REQUIRES(HEAP_STEADY, rest)) \
	X(HUMONGOUS, HUMONGOUS, per_s, NULL, \
	  "humongous allocations, of half a G1 region and more, make the JVM collect {per_s.1} times " \
	  "a second: {cnt} of {of} collections, {ms} ms in all ({percent}% of the time)", NULL, \
	  REQUIRES(INDUCED, cnt), REQUIRES(INDUCED_POLLS, other), REQUIRES(INDUCED_SHARE, share)) \
	X(IDLE_SESSIONS, IDLE_SESSIONS, seconds, NULL, \
	  "{cnt} session{cnt| is|s are} idle in transaction, {cnt||the longest }for {ns}: {more}" \
	  "[, after {subject}][; it holds the locks of transaction {other}]", \
	  "its transaction began {own_ns} before the end") \
	X(INDUCED, INDUCED_GC, per_s, NULL, \
	  "GC.Collect is called {per_s.1} times a second[ by {place}]; " \
	  "{cnt} of {of} collections are induced; {more}", NULL, \
	  REQUIRES(INDUCED, cnt), REQUIRES(INDUCED_SHARE, share)) \
	X(JIT, JIT, percent, NULL, \
	  "{share}% of the CPU in the JIT compiler[: {other} methods, {rate} a second]" \
	  "[, most for {place}]{note}", NULL, \
	  REQUIRES(SAMPLES, cnt), REQUIRES(JIT_CPUS, used)) \
	X(JVM_CAUSE, INDUCED_GC, per_s, NULL, \
	  "{subject} makes the JVM collect {per_s.1} times a second: {cnt} of {of} collections, " \
	  "{ms} ms in all ({percent}% of the time)", NULL, \
	  REQUIRES(INDUCED, cnt), REQUIRES(INDUCED_POLLS, other), REQUIRES(INDUCED_SHARE, share)) \
	X(KILLS, KILLED, cnt, NULL, "{more}", NULL) \
	X(MEMORY, MEMORY, rate, NULL, \
	  "resident memory grows by {rate.1} MB/s: from {from.1} MB to {to.1} MB in {seconds.1} s" \
	  "{more}", NULL, \
	  REQUIRES(MEMORY_POINTS, cnt), REQUIRES(GROWTH, percent), REQUIRES(MEMORY_STEADY, rest)) \
	X(OLD_GENERATION, HEAP, rate, "counters", \
	  "the old generation grows by {rate.1} MB/s: from {from.1} MB to {to.1} MB in {seconds.1} s", \
	  NULL, REQUIRES(POINTS, cnt), REQUIRES(SPAN, seconds), REQUIRES(GROWTH, percent), \
	  REQUIRES(HEAP_FALL, rest)) \
	X(POOL, STARVATION, threads, NULL, \
	  "{note}{threads.1} of {of.1} pool threads are blocked on average[ in {place}]" \
	  "[; the pool changed its size for blocked threads {other} time{other||s}]", \
	  "{other} changes, {took_s.3} s blocked, {rest_s.3} s without work", \
	  REQUIRES(BLOCKED_SHARE, percent)) \
	X(PROCESSES, PROCESSES, per_s, NULL, \
	  "{per_s} processes are started a second, each for one connection or task", NULL, \
	  REQUIRES(STARTED, cnt)) \
	X(PURPOSE, DOING, cost, NULL, \
	  "{share}% of the CPU {label}{more}[, most for {place}]", NULL, \
	  REQUIRES(SAMPLES, cnt)) \
	X(QUEUE, POOL_QUEUE, ms, NULL, \
	  "work waits {p50_ns} (median), {p99_ns} (99%) for a thread of the pool: {at_once.1} items " \
	  "are queued on average, {cnt} were taken", NULL, \
	  REQUIRES(QUEUED, cnt)) \
	X(QUOTA, QUOTA, percent, NULL, \
	  "throttled {took_s.1} s of {seconds.1} s by a quota of {rest}% of a CPU (cgroup {more})", \
	  "in {cnt} of {of} periods") \
	X(REQUESTS, REQUESTS, ms, NULL, \
	  "{label} {p50_ns} (median), {p99_ns} (99%){more}; the slowest of {cnt} took {ns}" \
	  "[: {note}]", NULL) \
	X(RUNNABLE, NEIGHBOUR, rate, NULL, \
	  "threads waited {ns} for a CPU, {share}% of their runnable time" \
	  "[, at least {own_ns} of it for one another]{more}", NULL, \
	  REQUIRES(RUNNABLE, in_threads), REQUIRES(RUNNABLE_SHARE, percent), \
	  REQUIRES(MACHINE_BUSY, rest)) \
	X(STATEMENTS, STATEMENTS, per_s, NULL, \
	  "{per_s} short statements a second, one at a time from {other} session{other||s}{note}" \
	  "[: {percent}% of them {label} ({each_ms.2} ms each)]" \
	  "[; between them the server waits for the client {rest}% of the time]", NULL, \
	  REQUIRES(STATEMENT_CNT, cnt)) \
	X(STUCK_WORKERS, STARVATION, threads, "stacks", \
	  "thread pool starvation: {threads.1} of {cnt} threads of the pool {more}* {note}" \
	  "[ in {place}]: none was free in {own_ns}", \
	  "{took_s.3} s for other tasks, {asleep_s.3} s asleep, {rest_s.3} s without a task", \
	  REQUIRES(POOL_THREADS, cnt), REQUIRES(POOL_WAITING, percent), REQUIRES(POOL_IDLE, rest)) \
	X(THREADS_LEFT, THREAD_GROWTH, per_s, NULL, \
	  "{per_s} more threads each second: {from} at the beginning, {to} at the end" \
	  "[, most of the new ones in {place}]", NULL, \
	  REQUIRES(NEW_THREADS, cnt)) \
	X(THREADS_STARTED, THREADS, per_s, NULL, \
	  "{per_s} threads are started a second[, {percent}% of them by {elsewhere}]" \
	  "[?, most by {place}][?, most of them {label}]", NULL, \
	  REQUIRES(STARTED, cnt)) \
	X(THROWS, THROWING, cost, NULL, \
	  "{share}% of the CPU creates and throws exceptions[, most in {place}][? ({elsewhere})]", \
	  NULL, REQUIRES(SAMPLES, cnt), REQUIRES(EVENTS_OF_THROWS, other)) \
	X(TIMERS, TIMERS, share, NULL, \
	  "{share}% of the CPU in timers[, most in {place}]", NULL, \
	  REQUIRES(SAMPLES, cnt), REQUIRES(TIMER_CPUS, cpus)) \
	X(UNTIMED, UNTIMED, cnt, NULL, \
	  "{cnt} times {more}, how long is not known: [its events were recorded without {label}]" \
	  "[?its events have no activity id and change threads (record --activities)]", NULL) \
	X(WORKERS, WORKERS, threads, "stacks", \
	  "{threads.1} of {cnt} threads of the pool {more}* {note}[ in {place}]: none was free in " \
	  "{own_ns}", \
	  "{took_s.3} s for other tasks, {asleep_s.3} s asleep, {rest_s.3} s without a task", \
	  REQUIRES(POOL_THREADS, cnt), REQUIRES(POOL_WAITING, percent), REQUIRES(POOL_IDLE, rest)) \
	/* A rule is a row above this line. */
/* clang-format on */

struct tapir_rule {
	enum tapir_rule_fact_kind fact;
	enum tapir_found_kind kind;
	size_t magnitude; /* offset of a number in a fact */
	const char *view, *sentence, *evidence;
	struct {
		enum tapir_limit limit;
		size_t number; /* 0: there is no such requirement */
	} requires[TAPIR_CHECKS_MAX];
};

#define TAPIR_RULE_ONE(...) +1
#define TAPIR_RULE_CNT	    (0 TAPIR_RULES(TAPIR_RULE_ONE))

/* The rows, in any order: a test has others. */
extern const struct tapir_rule *tapir_rules;
extern const char *const tapir_rule_facts[TAPIR_FACT_KIND_CNT]; /* what is counted */

struct tapir_finding;

/* Appends the sentence with what the fact has. */
void tapir_rules__add_sentence(const struct tapir_finding *f, const struct tapir_rule_fact *fact,
			       const char *text, struct tapir_str *out);
/* Returns true if the fact meets one of its rules, and notes how close it came. */
bool tapir_rules__are_met(const struct tapir_finding *f, struct tapir_found_list *list,
			  const struct tapir_rule_fact *fact);
/* Applies the rules of a fact: adds what they find to the list. */
void tapir_rules__judge(const struct tapir_finding *f, struct tapir_found_list *list,
			struct tapir_rule_fact fact);

#endif
