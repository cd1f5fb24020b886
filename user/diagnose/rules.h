/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rules.h - facts, which detectors count, and the rules that make findings of them: which number of
 * a fact is the magnitude of which kind (kinds.h), what else it requires, and the sentence. One
 * thread.
 */
#ifndef TAPIR_USER_RULES_H
#define TAPIR_USER_RULES_H

#include "base/str.h"
#include "diagnose/finding.h"
#include "diagnose/function_sums.h"

/*
 * Facts are about these. A detector makes one for each process, pool or lock of which it counted
 * something; its rules say what of it. The last column is what shows it: a record, an event, a
 * counter or a snapshot; STACK: one stack of the function with most of it.
 */
/* clang-format off */
#define TAPIR_FACTS(X) \
	X(AWAITS, "events of awaits") \
	X(AWAITS_IN_TURNS, "events of awaits") \
	X(BRIEF_AWAITS, "events of awaits") \
	X(CALLS, "EXCHANGE records") \
	X(CHECKPOINTS, "event postgresql:checkpoint__start") \
	X(CHILDREN, STACK) \
	X(CLASSES, "counter hsperfdata:classes-loaded") \
	X(COLLECTIONS, "events of collections, samples of the collector") \
	X(CONNECTIONS, "event System.Net.Sockets:ConnectStart") \
	X(CONVOY, STACK) \
	X(CPU, STACK) \
	X(CRASHES, "PROCESS records") \
	X(CYCLE, "events of locks, snapshots of threads") \
	X(DISK, STACK) \
	X(EXCEPTIONS, "events of exceptions") \
	X(FILE_SORTS, "event postgresql:sort__done") \
	X(FINALIZER, STACK) \
	X(GIL, STACK) \
	X(INJECTED_TRACEPARENT, "event Microsoft-Diagnostics-DiagnosticSource:Activity2Start") \
	X(HEAP, "event Microsoft-Windows-DotNETRuntime:GCHeapStats") \
	X(HELD_LOCKS, "snapshots of threads") \
	X(HUMONGOUS, "counter hsperfdata:collections") \
	X(IDLE, "SAMPLE records") \
	X(IDLE_SESSIONS, "snapshots of threads") \
	X(INDUCED, "event Microsoft-Windows-DotNETRuntime:GCStart") \
	X(JIT, STACK) \
	X(JVM_CAUSE, "counter hsperfdata:collections") \
	X(KEPT_LOCK, STACK) \
	X(KILLS, "PROCESS records") \
	X(LOCKS, STACK) \
	X(LOOP, STACK) \
	X(LOOP_BUSY, STACK) \
	X(LOOP_CALLS, STACK) \
	X(LOOP_CALLS_TOO, STACK) \
	X(LOOP_SECOND, "SAMPLE and SWITCH records") \
	X(MEMORY, "counter resident memory") \
	X(NEVER_ACQUIRED, STACK) \
	X(OLD_GENERATION, "counter hsperfdata:old-generation") \
	X(HANDOFFS, STACK) \
	X(POOL, STACK) \
	X(PROCESSES, "PROCESS records") \
	X(PURPOSE, STACK) \
	X(QUEUE, "events of the thread pool") \
	X(QUOTA, "counter cpu.stat of the cgroup") \
	X(REQUESTS, "events of requests") \
	X(RUNNABLE, "SWITCH records") \
	X(SHARED_LOCKS, STACK) \
	X(STATEMENTS, "events of postgresql") \
	X(BLOCKED_THROUGHOUT, STACK) \
	X(BLOCKED_EXECUTOR, STACK) \
	X(THREADS_LEFT, "snapshots of threads") \
	X(THREADS_STARTED, "THREAD records") \
	X(THROWS, STACK) \
	X(TIMERS, STACK) \
	X(UNANSWERED_CALLS, "EXCHANGE records") \
	X(REQUESTS_WITHOUT_DURATION, "events of requests") \
	X(WAITS, STACK) \
	X(EXECUTORS, STACK) \
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
	X(each_ns)    /* the mean, */                                                              \
	X(p50_ns)     /* median, */                                                                \
	X(p99_ns)     /* and 99th percentile of times */                                           \
	X(from)	      /* at the beginning */                                                       \
	X(to)	      /* at the end */                                                             \
	X(percent)    /* of a sum that only the detector knows, */                                 \
	X(rest)	      /* and of another one */                                                     \
	X(runnable)   /* percent of it in which no CPU was free */                                 \
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
	X(threads) /* ns of the time in which switches were recorded: the same of threads */       \
	X(share)   /* cnt of `of`, in percent */                                                   \
	X(cost)	   /* share of the CPU; of a CPU that is less used, as much less */                \
	X(cpus)	   /* that the share is; 1 where the CPUs used are not known */

/* Words that its detector makes, which judging takes; empty: there are none. */
#define TAPIR_FACT_WORDS(X)                                                                        \
	X(who)	   /* threads, a process, */                                                       \
	X(object)  /* what they wait for */                                                        \
	X(request) /* or execute; */                                                               \
	X(holder)  /* who has what they wait for, */                                               \
	X(does)	   /* and what that one does; */                                                   \
	X(more)	   /* what no other rule says */

struct tapir_rule_fact {
	enum tapir_rule_fact_kind fact_kind;
#define TAPIR_FACT_NUMBER(name) double name;
	TAPIR_FACT_NUMBERS(TAPIR_FACT_NUMBER)
	TAPIR_DERIVED_NUMBERS(TAPIR_FACT_NUMBER)
#undef TAPIR_FACT_NUMBER
	const struct tapir_function_sums *where, *elsewhere; /* functions; NULL: none are known */
	const char *subject;	  /* NULL: the function with most of it */
	const char *label, *note; /* words; NULL: there are none */
#define TAPIR_FACT_WORD(name) struct tapir_str name;
	TAPIR_FACT_WORDS(TAPIR_FACT_WORD)
#undef TAPIR_FACT_WORD
	const char *view; /* NULL: the rule's */
	bool is_least;	  /* ns is a lower limit: it began before the recording, or had not ended */
	uint64_t since_ns, until_ns; /* of what was counted; 0: throughout the recording */
};

/*
 * Rules. In a sentence {name} is a number of the fact, {name.1} with one decimal, {name|s|p} its
 * singular or plural, {sampled} the share as samples show it ("43%", or "most" where they are too
 * few for a figure), {ns} says "at least" where it is a lower limit, {place} and {elsewhere} the
 * functions with most, {subject}, {label}, {note}, {who} and so on its words. What stands in <> is
 * left out where one of its values is 0 or not known, and <?...> is said where the one before it
 * was left out.
 *
 * X(fact, kind, magnitude, view or NULL for the kind's, sentence, evidence or NULL, requirements)
 */
/* clang-format off */
#define WAITED_FOR "threads waited {ns} for a {label}< in {place}><, most of them {who}>"
#define CUT_STACKS "{other} waits<; {own_ns} of them have truncated stacks>"
#define OF_WORKERS \
	"{took_s.3} s for other tasks, {asleep_s.3} s asleep, {rest_s.3} s without a task"
#define IN_SYNC_CALLS \
	"the event loop of process {of} was in synchronous calls {percent}% of the time" \
	"<, {rest}% of it in {elsewhere}>< for {place}><, waiting for a {label}>" \
	"<, {runnable}% of it waiting for a CPU>{more}"
#define TAPIR_RULES(X) \
	X(AWAITS, AWAITS, rate, NULL, "{more}", NULL) \
	X(AWAITS_IN_TURNS, AWAIT_TURNS, rate, NULL, "{more}", NULL) \
	X(BRIEF_AWAITS, AWAITS, rate, NULL, "{more}", NULL, \
	  REQUIRES(AWAITS_OF_LOOPS, rate)) \
	X(CALLS, CALLS, at_once, NULL, \
	  "{cnt} calls of {object}, {each_ns} each, {at_once.1} at a time" \
	  "<, {other} without an answer for {own_ns}><, {percent}% of the time of all calls>{more}", \
	  NULL, REQUIRES(CALL_CNT, of)) \
	X(CHECKPOINTS, CHECKPOINTS, per_min, NULL, \
	  "{cnt} checkpoints in {recorded.1} s<, most since {note} was reached>", NULL, \
	  REQUIRES(CHECKPOINTS, cnt)) \
	X(CHILDREN, PROCESSES, per_s, NULL, \
	  "{per_s} processes are started a second<, most by {place}>", NULL, \
	  REQUIRES(STARTED, cnt)) \
	X(CLASSES, CLASSES, per_s, "counters", \
	  "{per_s} classes are loaded a second, <{percent}% of them unloaded><?none is unloaded>: " \
	  "{cnt} more in {seconds.1} s<; metaspace grew from {from.1} MB to {to.1} MB>", NULL, \
	  REQUIRES(POINTS, other), REQUIRES(SPAN, seconds), REQUIRES(CLASSES_UNLOADED, percent)) \
	X(COLLECTIONS, GC, percent, NULL, "{more}", NULL) \
	X(CONNECTIONS, CONNECTIONS, per_s, NULL, \
	  "{per_s} connections are opened a second<, most for {place}>: " \
	  "an HttpClient, or another client, may be created for each request", NULL, \
	  REQUIRES(STARTED, cnt)) \
	X(CONVOY, LOCKS, threads, "offcpu", \
	  "threads waited {ns} for a {subject}< ({object})>: {threads.1} of {cnt} threads at any time" \
	  "{who}<, in {place}><, most for {request}><; {holder} holds it>{does}", \
	  CUT_STACKS) \
	X(CPU, CPU, rate, NULL, "<{used.2} CPUs used, >{more}", NULL, \
	  REQUIRES(SAMPLES, cnt)) \
	X(CRASHES, CRASH, cnt, NULL, \
	  "<{who} crashed: {does}><?{cnt} processes crashed: {more}><; and {other} more>", NULL) \
	X(CYCLE, DEADLOCK, cnt, NULL, \
	  "deadlock: {cnt} threads wait for each other's locks< ({who})>< in {place}>, for {ns} " \
	  "when the recording ended<; {other} more wait for locks>", NULL) \
	X(DISK, DISK, threads, NULL, \
	  WAITED_FOR, NULL) \
	X(EXCEPTIONS, EXCEPTIONS, per_s, NULL, \
	  "{per_s} exceptions a second<, {percent}% of them {object}>" \
	  "<, {rest}% of these thrown by {who}><?, thrown by {who}>", "{cnt} thrown", \
	  REQUIRES(THROWN, cnt)) \
	X(FILE_SORTS, FILE_SORTS, per_s, NULL, \
	  "{cnt} of {of} sorts did not fit work_mem: {per_s.1} a second write temporary files, " \
	  "of up to {mb.1} MB<, most for {request}>", NULL, \
	  REQUIRES(FILE_SORTS, cnt)) \
	X(FINALIZER, FINALIZER, recorded, NULL, \
	  "the finalizer thread{who} has not caught up in {cnt} collections ({ns})" \
	  "<: it is in {place}>", NULL, \
	  REQUIRES(FINALIZER_GCS, cnt)) \
	X(FINALIZER, FINALIZER, seconds, "offcpu", \
	  "the finalizer thread{who} is saturated: {percent}% of the time in finalizers" \
	  "<, most in {place}>", NULL, \
	  REQUIRES(FINALIZER_BUSY, percent)) \
	X(GIL, LOCKS, threads, "offcpu", \
	  "threads waited {ns} for the {subject}< ({object})>: {threads.1} of {cnt} threads at any time" \
	  "{who}<, in {place}><, most for {request}><; {holder} holds it>{does}", \
	  CUT_STACKS) \
	X(INJECTED_TRACEPARENT, INJECTED_TRACEPARENT, cnt, "slow=http_request", \
	  "{cnt} requests were sent with a traceparent header only because this was recorded " \
	  "(--profile requests)", NULL) \
	X(HEAP, HEAP, rate, NULL, \
	  "the heap{who} grows by {rate.1} MB/s: {to.1} MB survive the last of {cnt} collections, " \
	  "{from.1} MB the first, {seconds.1} s before{more}", NULL, \
	  REQUIRES(HEAP_GCS, cnt), REQUIRES(GROWTH, percent), REQUIRES(HEAP_STEADY, rest)) \
	X(HELD_LOCKS, DEADLOCK, cnt, "stacks", \
	  "deadlock, or a lock that is never released: {cnt} threads waited for a {subject} " \
	  "throughout the recording ({ns})< in {place}>", NULL) \
	X(HUMONGOUS, HUMONGOUS, per_s, NULL, \
	  "humongous allocations, of half a G1 region and more, make the JVM collect {per_s.1} times " \
	  "a second: {cnt} of {of} collections, {ms} ms in all ({percent}% of the time)", NULL, \
	  REQUIRES(INDUCED, cnt), REQUIRES(INDUCED_POLLS, other), REQUIRES(INDUCED_SHARE, share)) \
	X(IDLE, IDLE, percent, NULL, "{note}: {took_s.2} s of CPU in {recorded.1} s{more}", NULL, \
	  REQUIRES(STARVED, used)) \
	X(IDLE_SESSIONS, IDLE_SESSIONS, seconds, NULL, \
	  "{cnt} session{cnt| is|s are} idle in transaction, {cnt||the longest }for {ns}: {who}" \
	  "<, after {subject}><; it holds the locks of transaction {other}>", \
	  "its transaction began {own_ns} before the end") \
	X(INDUCED, INDUCED_GC, per_s, NULL, \
	  "GC.Collect is called {per_s.1} times a second< by {place}>; " \
	  "{cnt} of {of} collections are induced; {more}", NULL, \
	  REQUIRES(INDUCED, cnt), REQUIRES(INDUCED_SHARE, share)) \
	X(JIT, JIT, percent, NULL, \
	  "{sampled} of the CPU in the JIT compiler<: {other} methods, {rate} a second>" \
	  "<, most for {place}>{note}", NULL, \
	  REQUIRES(SAMPLES, cnt), REQUIRES(JIT_CPUS, used)) \
	X(JVM_CAUSE, INDUCED_GC, per_s, NULL, \
	  "{subject} makes the JVM collect {per_s.1} times a second: {cnt} of {of} collections, " \
	  "{ms} ms in all ({percent}% of the time)", NULL, \
	  REQUIRES(INDUCED, cnt), REQUIRES(INDUCED_POLLS, other), REQUIRES(INDUCED_SHARE, share)) \
	X(KEPT_LOCK, LOCKS, cnt, "stacks", \
	  "a lock is not released: {cnt} threads{who}, waited for a {subject}< ({object})> throughout " \
	  "the recording ({ns})< in {place}><, most for {request}><; {holder} holds it>{does}", \
	  CUT_STACKS) \
	X(KILLS, KILLED, cnt, NULL, \
	  "<{who} was killed: {does}><?{cnt} processes were killed: {more}><; and {other} more>", \
	  NULL) \
	X(LOCKS, LOCKS, in_threads, NULL, \
	  "threads waited {ns} for locks, {percent}% of it for {subject}< ({label})>" \
	  "< in {place}><?, most for {request}><; {other} still waiting at the end>", "{cnt} waits") \
	X(LOOP, LOOP, percent, NULL, \
	  "the event loop of process {of} was blocked {percent}% of the time: {cnt} time{cnt||s} for " \
	  "{ms} ms and more, {own_ns} at most{does}<, {runnable}% of it waiting for a CPU>{note}" \
	  "<; {other} more loops were blocked>{more}", "{ns} in all") \
	X(LOOP_BUSY, LOOP_BUSY, percent, NULL, \
	  "the event loop of process {of} was busy {percent}% of the time, {own_ns} at most without " \
	  "a pause<: {rest}% of it in {place}><, {runnable}% of it waiting for a CPU>{more}", \
	  "{ns} in all") \
	X(LOOP_CALLS, LOOP, percent, NULL, \
	  IN_SYNC_CALLS, "{ns} in all") \
	X(LOOP_CALLS_TOO, LOOP_SYNC, percent, NULL, \
	  IN_SYNC_CALLS, "{ns} in all") \
	X(LOOP_SECOND, LOOP, percent, NULL, \
	  "the event loop of process {of} was also blocked {percent}% of the time in {more}", \
	  "{ns} in all") \
	X(MEMORY, MEMORY, rate, NULL, \
	  "resident memory grows by {rate.1} MB/s: from {from.1} MB to {to.1} MB in {seconds.1} s" \
	  "{more}", NULL, \
	  REQUIRES(MEMORY_POINTS, cnt), REQUIRES(GROWTH, percent), REQUIRES(MEMORY_STEADY, rest)) \
	X(NEVER_ACQUIRED, DEADLOCK, cnt, "stacks", \
	  "deadlock, or a lock that is never released: {cnt} threads{who}, waited for a {subject}" \
	  "< ({object})> throughout the recording ({ns})< in {place}><, most for {request}>", \
	  CUT_STACKS) \
	X(OLD_GENERATION, HEAP, rate, "counters", \
	  "the old generation grows by {rate.1} MB/s: from {from.1} MB to {to.1} MB in {seconds.1} s", \
	  NULL, REQUIRES(POINTS, cnt), REQUIRES(SPAN, seconds), REQUIRES(GROWTH, percent), \
	  REQUIRES(HEAP_FALL, rest)) \
	X(HANDOFFS, LOCKS, threads, "offcpu", \
	  "threads waited {ns} for a {label} that is used as a lock: {threads.1} of {cnt} threads at " \
	  "any time<, in {place}>", CUT_STACKS) \
	X(POOL, THREADPOOL_STARVATION, threads, NULL, \
	  "{note}{threads.1} of {of.1} pool threads are blocked on average< in {place}>" \
	  "<; the pool changed its size for blocked threads {other} time{other||s}>", \
	  "{other} changes, {took_s.3} s blocked, {rest_s.3} s without work", \
	  REQUIRES(BLOCKED_SHARE, percent)) \
	X(PROCESSES, PROCESSES, per_s, NULL, \
	  "{per_s} processes are started a second, each for one connection or task", NULL, \
	  REQUIRES(STARTED, cnt)) \
	X(PURPOSE, CPU_ACTIVITY, cost, NULL, \
	  "{sampled} of the CPU {label}<, most for {request}><, most for {place}>", NULL, \
	  REQUIRES(SAMPLES, cnt)) \
	X(QUEUE, POOL_QUEUE, ms, NULL, \
	  "work waits {p50_ns} (median), {p99_ns} (99%) for a thread of the pool: {at_once.1} items " \
	  "are queued on average, {cnt} were taken", NULL, \
	  REQUIRES(QUEUED, cnt)) \
	X(QUOTA, QUOTA, percent, NULL, \
	  "throttled {took_s.1} s of {seconds.1} s by a quota of {rest}% of a CPU (cgroup {object})", \
	  "in {cnt} of {of} periods") \
	X(REQUESTS, REQUESTS, ms, NULL, \
	  "{who} {p50_ns} (median), {p99_ns} (99%){more}; the slowest of {cnt} took {ns}" \
	  "<: {request}>", NULL) \
	X(RUNNABLE, NOISY_NEIGHBOUR, rate, NULL, \
	  "threads waited {ns} for a CPU, {share}% of their runnable time" \
	  "<, at least {own_ns} of it for one another>{more}", NULL, \
	  REQUIRES(RUNNABLE, in_threads), REQUIRES(RUNNABLE_SHARE, percent), \
	  REQUIRES(MACHINE_BUSY, rest)) \
	X(SHARED_LOCKS, LOCKS, threads, "offcpu", \
	  "threads waited {ns} for a {subject}: {threads.1} of {cnt} threads at any time" \
	  "<, {percent}% of it for one of {of} locks><, in {place}>" \
	  "<; {holder} holds it {rest}% of the time, and {does}>" \
	  "<?; {holder} holds it {rest}% of the time><?; the holder {does}>", "{other} waits") \
	X(STATEMENTS, STATEMENTS, per_s, NULL, \
	  "{per_s} short statements a second, one at a time from {other} session{other||s}{note}" \
	  "<: {percent}% of them {label} ({each_ms.2} ms each)>" \
	  "<; between them the server waits for the client {rest}% of the time>", NULL, \
	  REQUIRES(STATEMENT_CNT, cnt)) \
	X(BLOCKED_THROUGHOUT, DEADLOCK, cnt, NULL, \
	  "deadlock, or a lock that is never released: {cnt} threads waited for locks throughout " \
	  "({ns}){more}", NULL, \
	  REQUIRES(BLOCKED_THROUGHOUT, seconds)) \
	X(BLOCKED_EXECUTOR, THREADPOOL_STARVATION, threads, "stacks", \
	  "thread pool starvation: {threads.1} of {cnt} threads of the pool {who}* {note}" \
	  "< in {place}>: none was free in {own_ns}", \
	  OF_WORKERS, \
	  REQUIRES(POOL_THREADS, cnt), REQUIRES(POOL_WAITING, percent), REQUIRES(POOL_IDLE, rest)) \
	X(THREADS_LEFT, THREAD_GROWTH, per_s, NULL, \
	  "{per_s} more threads each second: {from} at the beginning, {to} at the end" \
	  "<, most of the new ones in {place}>", NULL, \
	  REQUIRES(NEW_THREADS, cnt)) \
	X(THREADS_STARTED, THREADS, per_s, NULL, \
	  "{per_s} threads are started a second<, {percent}% of them by {elsewhere}>" \
	  "<?, most by {place}><?, most of them {label}>", NULL, \
	  REQUIRES(STARTED, cnt)) \
	X(THROWS, THROWING, cost, NULL, \
	  "{sampled} of the CPU creates and throws exceptions<, most in {place}><? ({elsewhere})>", \
	  NULL, REQUIRES(SAMPLES, cnt), REQUIRES(EVENTS_OF_THROWS, other)) \
	X(TIMERS, TIMERS, share, NULL, \
	  "{sampled} of the CPU in timers<, most in {place}><, to call {elsewhere}>", NULL, \
	  REQUIRES(SAMPLES, cnt), REQUIRES(TIMER_CPUS, cpus)) \
	X(UNANSWERED_CALLS, CALLS, at_once, NULL, \
	  "{object} does not answer: {other} call{other||s}, {at_once.1} at a time" \
	  "<, {other} without an answer for {own_ns}><, {percent}% of the time of all calls>{more}", \
	  NULL, REQUIRES(CALL_CNT, of)) \
	X(REQUESTS_WITHOUT_DURATION, REQUESTS_WITHOUT_DURATION, cnt, NULL, \
	  "{cnt} times {object}, how long is not known: <its events were recorded without {label}>" \
	  "<?its events have no activity id and change threads (record --activities)>", NULL) \
	X(WAITS, WAITS, threads, NULL, \
	  WAITED_FOR, NULL) \
	X(EXECUTORS, EXECUTORS, threads, "stacks", \
	  "{threads.1} of {cnt} threads of the pool {who}* {note}< in {place}>: none was free in " \
	  "{own_ns}", \
	  OF_WORKERS, \
	  REQUIRES(POOL_THREADS, cnt), REQUIRES(POOL_WAITING, percent), REQUIRES(POOL_IDLE, rest)) \
	/* A rule is a row above this line. */
/* clang-format on */

struct tapir_rule {
	enum tapir_rule_fact_kind fact;
	enum tapir_finding_kind kind;
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

struct tapir_diagnosis;

/* Appends the sentence with what the fact has. */
void tapir_rules__add_sentence(const struct tapir_diagnosis *f, const struct tapir_rule_fact *fact,
			       const char *text, struct tapir_str *out);
/*
 * Appends the share that cnt of so many samples have: "43%", or if a binomial bound says that it
 * may be quite another one, "most" or "part".
 */
void tapir_rules__add_share(double cnt, double of, struct tapir_str *out);
/* Returns true if the fact meets one of its rules, and notes how close it came. */
bool tapir_rules__are_met(const struct tapir_diagnosis *f, struct tapir_findings *list,
			  const struct tapir_rule_fact *fact);
/* Applies the rules of a fact: adds what they find to the list. */
void tapir_rules__judge(const struct tapir_diagnosis *f, struct tapir_findings *list,
			struct tapir_rule_fact fact);
/* TAPIR_JUDGE(f, list, TIMERS, .cnt = 3, .of = 7) */
#define TAPIR_FACT(id, ...)	      ((struct tapir_rule_fact){.fact_kind = TAPIR_FACT_##id, __VA_ARGS__})
#define TAPIR_JUDGE(f, list, id, ...) tapir_rules__judge(f, list, TAPIR_FACT(id, __VA_ARGS__))

#endif
