/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * finding_loop.h - event loops that are blocked: how long a thread that serves all in turn (lore's
 * loop_function: libuv's uv_run) did not get back to where it waits for the next event, and in
 * which functions it was during that time. One thread.
 */
#ifndef TAPIR_USER_FINDING_LOOP_H
#define TAPIR_USER_FINDING_LOOP_H

#include "base/keyed.h"
#include "diagnose/finding.h"
#include "diagnose/function_sums.h"

struct tapir_diagnosis;
struct tapir_node_facts;
struct tapir_rec_interp_sample;
struct tapir_rec_sample;
struct tapir_rec_switch;
struct tapir_lore;
struct tapir_tl_thread;
struct tapir_wait;

/* Callbacks that all run before a loop continues, also those that are added then. */
enum tapir_loop_queue {
	TAPIR_LOOP_QUEUE_NONE,
	TAPIR_LOOP_QUEUE_CALLED, /* in what one of them called */
	TAPIR_LOOP_QUEUE_STEP,	 /* in what adds them, or goes from one to the next */
};

/* The activity of a thread for some time, one row for each function. */
struct tapir_loop_time {
	uint32_t name, called; /* its own function; what native one it had called; or none */
	const char *reason;    /* it slept for that; "" for a reason unknown; NULL: it did not */
	bool is_runnable;      /* it waited for a CPU */
	enum tapir_loop_queue queue;
	uint64_t ns;
};

/* A long time in which the thread was not seen in the loop itself. */
struct tapir_loop_stall {
	uint64_t ns, points; /* points: samples, and when it lost its CPU */
	size_t first_time;   /* of kept ones, up to the next one's */
	bool is_open;	     /* it had not ended when the recording did */
	bool is_dominant;    /* of the time between two sleeps */
};

/* The number of times that a thread was seen in the loop itself and in what that called. */
struct tapir_loop_points {
	uint64_t in_loop, called;
};

/*
 * Synchronous calls (lore's loop_blocking_calls: a file that is read while all others wait):
 * however short each is, the loop serves nothing else during it.
 */
struct tapir_loop_sync {
	uint64_t ns, runnable_ns; /* in such calls; of that, waiting for a CPU */
	struct tapir_function_sums called,
		app; /* functions of the runtime; the program's that call them */
	struct tapir_label_sums reasons; /* of waits */
};

/*
 * The time for which a loop did not sleep, whether it was in one long call or in many short ones:
 * what performance.eventLoopUtilization() of Node.js measures.
 */
struct tapir_loop_busy {
	uint64_t ns, longest_ns;			/* between two sleeps */
	uint64_t runnable_ns;				/* of that, waiting for a CPU */
	uint64_t attributed_ns, attributed_runnable_ns; /* since it slept */
	struct tapir_function_sums app;
};

struct tapir_loop {
	uint32_t tgid, tid;
	const struct tapir_lore *lore; /* whose loop it is */
	uint8_t depth;	   /* calls of the interpreter where it asks for events; 0: not known */
	bool is_confirmed; /* else its thread may ask for events for other reasons */
	struct tapir_function_sums seen; /* functions in which snapshots of all threads saw it */
	uint64_t slept_ns;		 /* until when it last slept in the loop; 0: not known */
	uint64_t from_ns, seen_ns;	 /* since it was last seen in the loop; 0: not known */
	uint64_t attributed_ns, points;	 /* of that: times of the rows below */
	uint64_t unknown_ns;		 /* it waited, and stacks do not show where */
	struct tapir_vec(struct tapir_loop_time) times;
	struct tapir_loop_points iteration, long_iterations;
	uint64_t back_cnt; /* points in the loop since it was last seen in what it called */
	uint64_t long_iteration_cnt;
	size_t iteration_first_stall;
	uint64_t idle_ns; /* it slept in the loop */
	struct tapir_vec(struct tapir_loop_stall) stalls;
	struct tapir_vec(struct tapir_loop_time) kept;
	/* of all times in which it was blocked */
	uint64_t ns, worst_ns, cnt, runnable_ns;
	uint64_t queue_ns,
		steps_ns; /* of that: in callbacks of a queue and between them; between */
	bool is_open;	  /* it was when the recording ended */
	struct tapir_function_sums app, called;
	struct tapir_label_sums reasons;
	struct tapir_loop_sync sync; /* also when it was not blocked for long */
	struct tapir_loop_busy busy;
};

struct tapir_loops {
	struct tapir_keyed(struct tapir_loop) rows; /* by tid */
};

/*
 * Take samples, waits, threads of a snapshot, and readings of an interpreter: what shows where an
 * event loop is.
 */
void tapir_finding_loop__sample(struct tapir_diagnosis *f, const struct tapir_tl_thread *thread,
				const struct tapir_rec_sample *sample, uint32_t node,
				const struct tapir_node_facts *facts);
void tapir_finding_loop__wait(struct tapir_diagnosis *f, const struct tapir_wait *wait);
void tapir_finding_loop__snapshot(struct tapir_diagnosis *f, const struct tapir_rec_switch *rec,
				  uint32_t node);
void tapir_finding_loop__interp_sample(struct tapir_diagnosis *f,
				       const struct tapir_rec_interp_sample *sample, uint32_t node);

#endif
