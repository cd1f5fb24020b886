/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * await_links.h - which task each thread works for, and which tasks await which, from events in the
 * order of their times. A task is a number in its process. A link lives from the await that began
 * it until the awaiting task runs again, so what is remembered is what waits at present.
 *
 * Bounded; pure; one thread.
 */
#ifndef TAPIR_USER_AWAIT_LINKS_H
#define TAPIR_USER_AWAIT_LINKS_H

#include <stdbool.h>

#include "base/keyed.h"

#define TAPIR_AWAIT_MAX_LINKS	(1u << 20)
#define TAPIR_AWAIT_MAX_THREADS (1u << 16)
#define TAPIR_AWAIT_MAX_NESTED	256u /* of one thread */

/* The kinds of work, as the events number them: only the last one runs a task's code. */
#define TAPIR_AWAIT_WORK_RUNS	2u

/* A task awaits another one. */
struct tapir_await_link {
	uint64_t awaited, awaiter; /* process << 32 | task; awaiter 0: free */
	uint64_t va;		   /* in the awaiting function, after its await; 0: unknown */
	uint64_t function;	   /* of the awaiter, a number of the caller's; 0: unknown */
};

/* The work that a thread does for a task. */
struct tapir_await_work {
	uint32_t task, work;
	uint64_t function; /* of the task, by its last await; 0: unknown */
	uint64_t begin_ns;
};

struct tapir_await_nest {
	struct tapir_vec(struct tapir_await_work) all; /* outermost first */
	uint32_t beyond_cnt;			       /* begun past the bound */
};

struct tapir_await_links { /* zeroed at first */
	uint64_t no_room;  /* links and threads beyond the bounds */
	uint64_t shared;   /* awaits of a task that another one awaits as well */
	/* for the links alone */
	struct tapir_vec(struct tapir_await_link) links;
	struct tapir_vec(uint32_t) free_links;
	struct tapir_map by_awaited, by_awaiter;	   /* idx + 1 */
	struct tapir_keyed(struct tapir_await_nest) nests; /* by tid */
};

/* Notes that a thread begins work of a task. False: out of memory. */
bool tapir_await_links__begin(struct tapir_await_links *l, uint32_t tgid, uint32_t tid,
			      uint32_t task, uint32_t work, uint64_t time_ns);
/* Notes the end of that work. The end of work that began before the recording changes nothing. */
void tapir_await_links__end(struct tapir_await_links *l, uint32_t tid, uint32_t work);
/* Forgets the work of a thread that is known to work for no task now. */
void tapir_await_links__forget(struct tapir_await_links *l, uint32_t tid);
/* Notes that awaiter awaits task at va in function. False: out of memory. */
bool tapir_await_links__wait(struct tapir_await_links *l, uint32_t tgid, uint32_t task,
			     uint32_t awaiter, uint64_t va, uint64_t function);

/*
 * Returns the innermost work of a thread that runs a task's code, and how many such it is in; NULL:
 * none. Borrowed until the next call that changes something.
 */
const struct tapir_await_work *tapir_await_links__current(const struct tapir_await_links *l,
							  uint32_t tid, size_t *run_cnt);
/* Returns the first task that awaits this one, borrowed as above; NULL: no await of it was seen. */
const struct tapir_await_link *tapir_await_links__awaiter(const struct tapir_await_links *l,
							  uint64_t task);

static inline uint64_t tapir_await_task(uint32_t tgid, uint32_t task)
{
	return (uint64_t)tgid << 32 | task;
}

/* Frees the links; zeros are an empty set. */
void tapir_await_links__fini(struct tapir_await_links *l);

#endif
