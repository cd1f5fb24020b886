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
	X(CONNECTIONS, "connections that were opened") \
	X(EXCEPTIONS, "exceptions, by events") \
	X(FILE_SORTS, "sorts that wrote files, of all sorts") \
	X(JIT, "samples in the compiler, of those of the CPU") \
	X(PROCESSES, "processes with events that began in the recording") \
	X(PURPOSE, "samples of the commonest activity, of those of the CPU") \
	X(STATEMENTS, "short statements of sessions that send one after the other") \
	X(THREADS_LEFT, "threads at the end more than at the beginning") \
	X(THREADS_STARTED, "threads that began in the recording") \
	X(THROWS, "samples in functions that throw, of those of the CPU") \
	X(TIMERS, "samples in callbacks of timers, of those of the CPU") \
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
	X(cnt)	   /* how many there were, */                                                      \
	X(of)	   /* of how many of their sort; */                                                \
	X(other)   /* how many of another sort */                                                  \
	X(seconds) /* in which they were counted; 0: in the recording */                           \
	X(from)	   /* at the beginning */                                                          \
	X(to)	   /* at the end */                                                                \
	X(mb)                                                                                      \
	X(each_ms)                                                                                 \
	X(percent) /* of a sum that only the detector knows */                                     \
	X(rest)	   /* percent of another one */                                                    \
	X(rate)	   /* in a second, of what is not counted in cnt */                                \
	X(used)	   /* CPUs */

/* The numbers that follow from them. */
#define TAPIR_DERIVED_NUMBERS(X)                                                                   \
	X(recorded) /* seconds of the recording */                                                 \
	X(per_s)    /* cnt a second */                                                             \
	X(per_min)                                                                                 \
	X(share) /* cnt of `of`, in percent */                                                     \
	X(cost)	 /* share of the CPU; of a CPU that is less used, as much less */                  \
	X(cpus)	 /* that the share is; 1 where the CPUs used are not known */

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
};

/*
 * Rules. In a sentence {name} is a number of the fact, {name.1} with one decimal, {name|s|p} its
 * singular or plural, {place} and {elsewhere} the functions with most, {label}, {note} and {more}
 * its words. What stands in [] is left out where one of its values is 0 or not known, and [?...] is
 * said where the one before it was left out.
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
	X(CONNECTIONS, CONNECTIONS, per_s, NULL, \
	  "{per_s} connections are opened a second[, most for {place}]: " \
	  "an HttpClient, or another client, may be created for each request", NULL, \
	  REQUIRES(STARTED, cnt)) \
	X(EXCEPTIONS, EXCEPTIONS, per_s, NULL, \
	  "{per_s} exceptions a second{more}", "{cnt} thrown", \
	  REQUIRES(THROWN, cnt)) \
	X(FILE_SORTS, FILE_SORTS, per_s, NULL, \
	  "{cnt} of {of} sorts did not fit work_mem: {per_s.1} a second write temporary files, " \
	  "of up to {mb.1} MB{more}", NULL, \
	  REQUIRES(FILE_SORTS, cnt)) \
	X(JIT, JIT, percent, NULL, \
	  "{share}% of the CPU in the JIT compiler[: {other} methods, {rate} a second]" \
	  "[, most for {place}]{note}", NULL, \
	  REQUIRES(SAMPLES, cnt), REQUIRES(JIT_CPUS, used)) \
	X(PROCESSES, PROCESSES, per_s, NULL, \
	  "{per_s} processes are started a second, each for one connection or task", NULL, \
	  REQUIRES(STARTED, cnt)) \
	X(PURPOSE, DOING, cost, NULL, \
	  "{share}% of the CPU {label}{more}[, most for {place}]", NULL, \
	  REQUIRES(SAMPLES, cnt)) \
	X(STATEMENTS, STATEMENTS, per_s, NULL, \
	  "{per_s} short statements a second, one at a time from {other} session{other||s}{note}" \
	  "[: {percent}% of them {label} ({each_ms.2} ms each)]" \
	  "[; between them the server waits for the client {rest}% of the time]", NULL, \
	  REQUIRES(STATEMENT_CNT, cnt)) \
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
