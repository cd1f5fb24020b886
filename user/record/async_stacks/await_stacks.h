/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * await_stacks.h - a recording whose stacks are those of async methods: what a thread did, down to
 * the async method that was continued on it, then the methods that await that one, and those that
 * await them. What the thread did outside of it (the pool, the task that ended before) is left out.
 *
 * A stage of a reader: samples, context switches and events arrive with such stacks in place of
 * theirs, in the order of their times. The frame of a method that awaits is marked
 * (TAPIR_VA_AWAITS). Stacks of which the tasks are not known for sure stay as they are, and are
 * counted. One thread.
 */
#ifndef TAPIR_USER_AWAIT_STACKS_H
#define TAPIR_USER_AWAIT_STACKS_H

#include "decode/async_buffer.h"
#include "trace/reader.h"

struct tapir_await_stacks;

struct tapir_await_counts {
	uint64_t awaits;    /* events that link two tasks */
	uint64_t inside;    /* stacks of threads that ran a task */
	uint64_t chained;   /* of these, with methods that await */
	uint64_t unawaited; /* no await of the task was seen */
	uint64_t unclear;   /* stack and events do not agree: left as it is */
	uint64_t no_room;   /* tasks, threads or frames beyond the bounds */
	uint64_t malformed; /* events with a payload that is too short */
	/* For .NET 11: buffers of what threads continue, and those that are not used. */
	uint64_t buffers, refused[TAPIR_ASYNC_FAULT_CNT], other_clock, runs_no_room;
};

/* Before the first record is read. NULL: out of memory. */
struct tapir_await_stacks *tapir_await_stacks__new(struct tapir_reader *reader);
const struct tapir_await_counts *tapir_await_stacks__counts(struct tapir_await_stacks *a);
/* Call it after the reader's last record, before the reader is closed. */
void tapir_await_stacks__free(struct tapir_await_stacks *a);

#endif
