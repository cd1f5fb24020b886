/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * found.h - findings: what costs the user of a program, ranked. One table (found.c) holds what
 * each kind must reach to be reported and how much it then weighs, so that the first line of a
 * report compares a lock with a collector with a timer. One thread.
 */
#ifndef TAPIR_USER_FOUND_H
#define TAPIR_USER_FOUND_H

#include "base/str.h"
#include "base/vec.h"

enum tapir_found_kind {
	TAPIR_FOUND_DEADLOCK,	   /* threads in a cycle */
	TAPIR_FOUND_STARVATION,	   /* threads of the pool that are blocked, on average */
	TAPIR_FOUND_REQUESTS,	   /* milliseconds of the 99th percentile */
	TAPIR_FOUND_LOCKS,	   /* threads that wait, on average */
	TAPIR_FOUND_LOOP,	   /* percent of the time in which an event loop was blocked */
	TAPIR_FOUND_LOOP_BUSY,	   /* percent of the time in which an event loop did not sleep */
	TAPIR_FOUND_LOOP_SYNC,	   /* percent of the time; less than other work of the loop */
	TAPIR_FOUND_EXCEPTIONS,	   /* a second */
	TAPIR_FOUND_GC,		   /* percent of the time or of the CPU */
	TAPIR_FOUND_INDUCED_GC,	   /* a second */
	TAPIR_FOUND_HEAP,	   /* MB a second */
	TAPIR_FOUND_MEMORY,	   /* MB a second */
	TAPIR_FOUND_HUMONGOUS,	   /* collections a second */
	TAPIR_FOUND_CLASSES,	   /* loaded a second and kept */
	TAPIR_FOUND_DOING,	   /* percent of the CPU */
	TAPIR_FOUND_PROCESSES,	   /* a second */
	TAPIR_FOUND_CONNECTIONS,   /* a second */
	TAPIR_FOUND_THREADS,	   /* started a second */
	TAPIR_FOUND_THREAD_GROWTH, /* more, each second */
	TAPIR_FOUND_THROWING,	   /* percent of the CPU */
	TAPIR_FOUND_FINALIZER,	   /* seconds without an end */
	TAPIR_FOUND_TIMERS,	   /* percent of the CPU */
	TAPIR_FOUND_JIT,	   /* percent of a CPU */
	TAPIR_FOUND_CPU,	   /* CPUs */
	TAPIR_FOUND_QUOTA,	   /* percent of the time, throttled */
	TAPIR_FOUND_NEIGHBOUR,	   /* percent of the CPU time wanted, or of a CPU if that is less */
	TAPIR_FOUND_WORKERS,	   /* threads of a pool that wait in their tasks, on average */
	TAPIR_FOUND_WAITS,	   /* threads that wait, on average */
	TAPIR_FOUND_DISK,	   /* threads that wait for one, on average */
	TAPIR_FOUND_CHECKPOINTS,   /* a minute */
	TAPIR_FOUND_FILE_SORTS,	   /* a second that write temporary files */
	TAPIR_FOUND_STATEMENTS,	   /* a second that are short, one at a time */
	TAPIR_FOUND_IDLE_SESSIONS, /* seconds, of the longest one in a transaction */
	TAPIR_FOUND_HEADERS,	   /* requests with a header that the recording caused */
	TAPIR_FOUND_AWAITS,	   /* at a time, on average */
	TAPIR_FOUND_UNTIMED,	   /* requests without a duration that is known */
	TAPIR_FOUND_IDLE,	   /* percent of the time without CPU */
	TAPIR_FOUND_KIND_CNT
};

struct tapir_found {
	enum tapir_found_kind kind;
	double severity;  /* 0 to 100 */
	double magnitude; /* in the kind's unit */
	char *subject;	  /* a method, an exception, a lock; NULL: the process */
	char *text;	  /* "threads waited 20.3 s for locks, ..." */
	char *evidence;	  /* what else was counted; NULL: nothing */
	char *view;	  /* for --view; NULL: the report itself */
};

struct tapir_found_list {
	struct tapir_vec(struct tapir_found) rows; /* the worst first, once ranked */
	bool failed;				   /* out of memory */
};

const char *tapir_found__kind_name(unsigned kind); /* "deadlock" */
const char *tapir_found__unit(unsigned kind);	   /* "threads" */
const char *tapir_found__title(unsigned kind);	   /* "blocked thread pool" */
/* Returns the word for a severity from 0 to 100: "critical", "serious", "moderate", "minor". */
const char *tapir_found__level(double severity);
/* Is it worth a finding? So that no text is made for what is not. */
bool tapir_found__counts(enum tapir_found_kind kind, double magnitude);
/*
 * Adds one if it counts. text and evidence are taken; subject and view are copied and may be NULL:
 * the view then is the kind's.
 */
void tapir_found_list__add(struct tapir_found_list *list, enum tapir_found_kind kind,
			   double magnitude, const char *subject, struct tapir_str *text,
			   struct tapir_str *evidence, const char *view);
void tapir_found_list__rank(struct tapir_found_list *list);
void tapir_found_list__fini(struct tapir_found_list *list);

#endif
