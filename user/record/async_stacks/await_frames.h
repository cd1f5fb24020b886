/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * await_frames.h - where in a thread's stack an async method was continued, and which async method
 * a stack is in, by the names of functions (lore). One thread.
 */
#ifndef TAPIR_USER_AWAIT_FRAMES_H
#define TAPIR_USER_AWAIT_FRAMES_H

#include <stdbool.h>

#include "symbol/stack_cache.h"
#include "trace/record.h"

struct tapir_await_frames { /* zeroed at first */
	/* for the frames alone */
	struct tapir_frame_cache memo;
};

/* In a stack, from the innermost frame on. */
struct tapir_await_location {
	unsigned idx;	   /* the outermost frame of the task that runs */
	size_t cnt;	   /* how many tasks' code the stack is in, one in another */
	uint64_t function; /* at idx, a number that is the function's; never 0 */
};

/*
 * Finds the frames of the task's code in a stack. False: the stack is in no task's code. ref: of
 * its process and time; the stack is view's.
 */
bool tapir_await_frames__find(struct tapir_await_frames *f, const struct tapir_catalog *catalog,
			      const struct tapir_stack_ref *ref,
			      const struct tapir_stack_view *view,
			      struct tapir_await_location *out);
/*
 * Finds the innermost async method of a stack, the only one that can have begun an await; out->cnt
 * is 0. False: there is none.
 */
bool tapir_await_frames__awaiting(struct tapir_await_frames *f, const struct tapir_catalog *catalog,
				  const struct tapir_stack_ref *ref,
				  const struct tapir_stack_view *view,
				  struct tapir_await_location *out);
/*
 * Finds the method that continues at va in a stack, if the code that continues it is there, too
 * (is_continued). idx: of the outermost such frame. False: it is not in the stack.
 */
bool tapir_await_frames__find_continued(struct tapir_await_frames *f,
					const struct tapir_catalog *catalog,
					const struct tapir_stack_ref *ref,
					const struct tapir_stack_view *view, uint64_t va,
					bool *is_continued, unsigned *idx);
/*
 * Returns true if something in the stack may have fired the event that begins or continues a task:
 * before it calls the task's code, or after that has returned.
 */
bool tapir_await_frames__is_between(struct tapir_await_frames *f,
				    const struct tapir_catalog *catalog,
				    const struct tapir_stack_ref *ref,
				    const struct tapir_stack_view *view);
void tapir_await_frames__fini(struct tapir_await_frames *f);

#endif
