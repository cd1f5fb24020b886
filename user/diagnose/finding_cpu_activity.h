/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * finding_cpu_activity.h - the purpose of CPU time where the name of the function that uses it does
 * not show one (cpu_activities of spec/runtime_db: a database that scans tables), with the
 * statement that causes it; and processes, connections and threads that are started all the time.
 * One thread.
 */
#ifndef TAPIR_USER_FINDING_CPU_ACTIVITY_H
#define TAPIR_USER_FINDING_CPU_ACTIVITY_H

#include "base/keyed.h"
#include "diagnose/finding.h"
#include "diagnose/function_sums.h"
#include "trace/record.h"

struct tapir_diagnosis;
struct tapir_node_facts;
struct tapir_wait;
struct tapir_rec_switch;
struct tapir_diagnosis_event;

struct tapir_interval;
struct tapir_lore_activity;
struct tapir_rec;

/* CPU samples of one activity for one kind of requests. */
struct tapir_cpu_activity_sum {
	const struct tapir_lore_activity *activity;
	char *statement; /* NULL: for none that is known */
	uint64_t cnt;
};

/* A statement that was executed when a snapshot saw the thread. */
struct tapir_open_statement {
	char *text;
	bool is_seen_again; /* by the one at the end */
	bool has_ended;
};

/* A process whose title implies no work, as long as the catalog has this version. */
struct tapir_untitled {
	uint64_t version;
	uint32_t tgid;
};

#define TAPIR_UNTITLED 64 /* remembered, by their number */

struct tapir_cpu_activities {
	struct tapir_keyed(struct tapir_cpu_activity_sum) sums;
	struct tapir_label_sums statements; /* of all samples */
	bool names_statements;		    /* what most of a CPU is used for, and for which */
	struct tapir_function_sums callers; /* of the program's own functions */
	/* The statements that were executed when a thread was seen, until they end; by thread. */
	struct tapir_keyed(struct tapir_open_statement) begun; /* by tid */
	struct tapir_map tgids;
	uint64_t child_cnt; /* started by a thread that waited until they were */
	struct tapir_function_sums parents, starters; /* of its waits; of the CPU time for it */
	uint64_t connect_cnt;			      /* connections that were begun */
	struct tapir_function_sums connectors,
		connecting; /* by their events; by the CPU time for them */
	/* Functions by waits until a thread was started: any function, or the program's own. */
	struct tapir_function_sums thread_starters, app_thread_starters;
	uint64_t first_thread_cnt, last_thread_cnt; /* of the snapshots, */
	uint64_t first_thread_ns, last_thread_ns;   /* which began then */
	struct tapir_function_sums new_threads;	    /* where they are at the end */
	struct tapir_untitled untitled[TAPIR_UNTITLED];
};

/* Takes a sample: its stack says for what the CPU was used. */
void tapir_finding_cpu_activity__sample(struct tapir_diagnosis *f, uint32_t tid, uint32_t node,
					const struct tapir_node_facts *facts);
/* Returns the activity of a stack, for node_facts.h. NULL: no known one. */
const struct tapir_lore_activity *tapir_finding_cpu_activity__of(struct tapir_diagnosis *f,
								 uint32_t node);
void tapir_finding_cpu_activity__wait(struct tapir_diagnosis *f, const struct tapir_wait *wait);
/* Takes a thread of a snapshot. node: where it is, if it does not run. */
void tapir_finding_cpu_activity__snapshot(struct tapir_diagnosis *f,
					  const struct tapir_rec_switch *rec, uint32_t node);
void tapir_finding_cpu_activity__event(struct tapir_diagnosis *f,
				       const struct tapir_diagnosis_event *e);
/* Takes a WAIT record: what began before the recording has no begin, and so no text. */
void tapir_finding_cpu_activity__call(struct tapir_diagnosis *f, const struct tapir_rec *rec);
void tapir_finding_cpu_activity__close(struct tapir_diagnosis *f, const struct tapir_interval *i);
/* Takes an event of a process. */
void tapir_finding_cpu_activity__process(struct tapir_diagnosis *f, uint32_t tgid);
/* Returns the request that a thread works for, its numbers left out; false: none is known. */
bool tapir_finding_cpu_activity__statement(struct tapir_diagnosis *f, uint32_t tid,
					   struct tapir_str *out);
/*
 * Returns true if one that began before the recording was executed throughout, as far as is known:
 * there are events that would have reported its end, or it was seen at the end as well.
 */
bool tapir_finding_cpu_activity__is_confirmed(const struct tapir_diagnosis *f,
					      const char *statement);
/* Adds weight to the request that a thread works for, if one is known. */
void tapir_finding_cpu_activity__add_statement(struct tapir_diagnosis *f, uint32_t tid,
					       struct tapir_label_sums *statements,
					       uint64_t weight);
/* Appends "98% of the CPU for SELECT ..., ", if one has most of it and no other finding says so. */
void tapir_finding_cpu_activity__add_share(const struct tapir_diagnosis *f, struct tapir_str *out);

#endif
