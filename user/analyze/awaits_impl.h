/* SPDX-License-Identifier: GPL-2.0-or-later */
/* awaits_impl.h - what the files of awaits share: tasks, which await, and the sites where they do.
 */
#ifndef TAPIR_USER_AWAITS_IMPL_H
#define TAPIR_USER_AWAITS_IMPL_H

#include "analyze/awaits.h"

#define TAPIR_AWAIT_LIBRARY	UINT32_MAX /* a method's name: it is none of the program's */
#define TAPIR_AWAIT_MAX_PENDING 4u

/* A wait for something without a task, of a method that is not known yet. */
struct tapir_await_pending {
	uint64_t from_ns, until_ns;
	uint8_t kind;
};

struct tapir_await_task {
	uint64_t id;	  /* process << 32 | number; 0: free */
	uint64_t awaits;  /* the task that it awaits */
	uint64_t awaiter; /* the first that awaits it; 0: none */
	uint64_t from_ns; /* since when; 0: it awaits no task */
	uint64_t idle_ns; /* since when no thread has run it, as far as is known; 0: not known */
	uint64_t done_ns; /* when what it awaits was complete; 0: it is not */
	uint64_t offset;  /* of its await, in the code at code_va */
	uint64_t code_va;
	uint64_t request; /* for which it awaits; 0: for none, or not known */
	uint32_t method;  /* name + 1, or TAPIR_AWAIT_LIBRARY; 0: not known */
	uint8_t kind;	  /* of what completed it, in .kinds */
	uint8_t pending_cnt;
	bool is_covered;  /* another method of the program awaits inside of it */
	bool is_in_queue; /* a library's, which awaits its turn for a connection */
	bool is_passed;	  /* a task that had what it awaits has completed that */
	uint32_t got;	  /* .method of the last await in turns, of this task or one that it awaited
			   */
	struct tapir_await_pending pending[TAPIR_AWAIT_MAX_PENDING];
};

struct tapir_await_location {
	uint64_t offset, code_va;
};

static inline bool tapir_await_task__is_own(const struct tapir_await_task *t)
{
	return t->method && t->method != TAPIR_AWAIT_LIBRARY;
}

/* The call site of a task's await; NULL: there is no room. Borrowed until the next one. */
struct tapir_await_site *tapir_awaits__site_of(struct tapir_awaits *a,
					       const struct tapir_await_task *t);
/*
 * Counts an await of the task; kind: of what completed it, in .kinds. Returns true if it could be
 * one in turns.
 */
bool tapir_awaits__count(struct tapir_awaits *a, const struct tapir_await_task *t, uint64_t from_ns,
			 uint64_t until_ns, uint8_t kind);

#endif
