/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * await_runs.h - which async methods each thread had continued at a time, by the buffers of .NET
 * 11's AsyncProfilerEventSource (decode/async_buffer.h). A buffer arrives long after the events in
 * it, when it is full or its thread no longer runs async methods: so all are added first, then
 * sealed, then queried.
 *
 * Bounded; pure; one thread.
 */
#ifndef TAPIR_USER_AWAIT_RUNS_H
#define TAPIR_USER_AWAIT_RUNS_H

#include "base/arena.h"
#include "base/keyed.h"
#include "decode/async_buffer.h"

#define TAPIR_AWAIT_RUNS_MAX_BYTES (256u << 20) /* of buffers */
#define TAPIR_AWAIT_RUNS_MAX	   (8u << 20)	/* of runs, and of moments */
#define TAPIR_AWAIT_RUNS_NESTED	   64u		/* of one thread, one in another */

/* A dispatcher continues methods, each of which is awaited by the next. */
struct tapir_await_run {
	uint64_t begin_ns;
	uint64_t task;	    /* the dispatcher's, which others may await */
	uint32_t frames_at; /* in .frames */
	uint8_t frame_cnt;
	bool is_machine; /* of state machines: the frames are no addresses */
};

/* The run that a thread is in from from_ns on; or none. */
struct tapir_await_moment {
	uint64_t from_ns;
	uint32_t run;	   /* idx + 1; 0: none */
	uint32_t done_cnt; /* of its methods, innermost first, that have ended */
};

struct tapir_await_timeline {
	struct tapir_vec(struct tapir_await_moment) moments;
};

struct tapir_await_process {
	struct tapir_async_layout layout;
	uint64_t least_lag_ns; /* from a buffer's last event to its arrival */
	bool is_ahead;	       /* a buffer that came before its last event */
};

struct tapir_await_buffer {
	uint64_t thread; /* process << 32 | tid in its own namespace */
	uint64_t first_ns;
	const uint8_t *bytes;
	uint32_t len;
};

struct tapir_await_runs { /* zeroed at first */
	uint64_t buffers, refused[TAPIR_ASYNC_FAULT_CNT];
	uint64_t other_clock; /* buffers with times of another clock than the recording's */
	uint64_t no_room;     /* buffers, runs and moments beyond the bounds */
	/* for the runs alone */
	struct tapir_keyed(struct tapir_await_process) processes; /* by tgid */
	struct tapir_vec(struct tapir_await_buffer) all;
	struct tapir_vec(struct tapir_await_run) runs;
	struct tapir_vec(uint64_t) frames;
	struct tapir_keyed(struct tapir_await_timeline) timelines; /* by thread */
	struct tapir_map frames_by_hash;			   /* in .frames + 1 */
	struct tapir_arena arena;
	size_t moment_cnt;
	bool failed; /* out of memory */
};

/* The methods that a thread continues: frames[0] runs, each is awaited by the next. */
struct tapir_await_now {
	uint64_t begin_ns, task;
	const uint64_t *frames; /* addresses; borrowed */
	unsigned frame_cnt;	/* 0: it is not known which */
};

/* Takes a buffer that came with an event at time_ns. False: out of memory. */
bool tapir_await_runs__add(struct tapir_await_runs *r, uint32_t tgid, uint64_t time_ns,
			   const uint8_t *bytes, size_t len);
/* Sorts what was added, after the last one. False: out of memory. */
bool tapir_await_runs__seal(struct tapir_await_runs *r);
/*
 * Returns what a thread continued at a time. ns_tid: in the process's own namespace. False: it
 * continues none, or it is not known.
 */
bool tapir_await_runs__at(const struct tapir_await_runs *r, uint32_t tgid, uint32_t ns_tid,
			  uint64_t time_ns, struct tapir_await_now *out);
void tapir_await_runs__fini(struct tapir_await_runs *r);

#endif
