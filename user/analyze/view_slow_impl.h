/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * view_slow_impl.h - what the files of the view "slow" share: intervals and what is known of them.
 * One thread.
 */
#ifndef TAPIR_USER_VIEW_SLOW_IMPL_H
#define TAPIR_USER_VIEW_SLOW_IMPL_H

#include "base/histogram.h"
#include "analyze/view.h"
#include "analyze/wait_reason.h"

/* A sample count for running, nanoseconds for waits. */
struct detail {
	uint8_t cause, state;
	uint32_t node, waker_tid, holder_node;
	uint64_t inside; /* hash of the label of an activity that it waited for; 0: none */
	uint64_t amount, cnt;
	char comm[TAPIR_COMM_TEXT_BYTES]; /* of the waker */
	const char *reason;		  /* of a wait; NULL: unknown from its stack */
	char *label;			  /* of the interval that caused it; NULL: none */
	char *holder_in;		  /* the interval its waker was in; NULL: none */
	char *chain;	    /* what its waker waited for, and so on (wait_chain.h); NULL: nothing */
	uint64_t holder_ns; /* of the longest such wait, whose the last three are */
};

struct details {
	struct tapir_vec(struct detail) rows;
};

struct slow_one {
	uint64_t from_ns, until_ns;
	uint32_t tgid, tid, end_tid;
	uint16_t flags;
	char comm[TAPIR_COMM_TEXT_BYTES];
	char *label;
	struct tapir_time_breakdown parts;
	struct details *details; /* NULL: there was no room for them */
};

struct slow {
	struct tapir_view_args args;
	uint64_t watched;
	struct tapir_vec(int8_t) is_kind; /* by kind idx: 0 not asked, 1 it is, -1 it is not */
	struct tapir_vec(struct slow_one) slowest; /* sorted, the slowest first */
	struct tapir_time_breakdown sum;	   /* of all whole ones */
	uint64_t cnt, sum_ns, half_cnt, nested_cnt, attach_cnt;
	struct tapir_histogram took;
	struct tapir_wait_reasons reasons;
};

extern const char *const tapir_slow_state_names[TAPIR_THREAD_STATE_CNT];
/* Returns a state of a thread in words, static. */
const char *tapir_slow__state_text(const struct slow *s, unsigned state);
/* Returns "in GC: ", "in a lock: ": a part's cause in words, before what it was. */
const char *tapir_slow__cause_text(unsigned cause);
/* Adds the parts of an interval, below its row of the table `slowest`. */
void tapir_slow__add_parts(struct slow *s, struct tapir_view_result *result, size_t slowest,
			   const struct slow_one *one);

#endif
