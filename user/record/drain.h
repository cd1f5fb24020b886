/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * drain.h - the thread that empties the BPF rings into blocks. It never waits for a disk and
 * never names anything; a ring that fills up is replaced by one of twice the size.
 */
#ifndef TAPIR_USER_DRAIN_H
#define TAPIR_USER_DRAIN_H

#include <stddef.h>

#include "attach/programs.h"
#include "attach/flow/queue.h"

struct tapir_drain_opts {
	size_t sz;
	struct tapir_programs *programs; /* borrowed until __stop */
	struct tapir_queue *queue;	 /* borrowed until __stop, too */
	size_t max_ring_bytes;		 /* a ring does not grow beyond that */
	unsigned wait_ms;		 /* records stay in a ring for at most that long */
	void (*on_woken)(void *ctx);	 /* a ring woke this thread, not the clock; may be NULL */
	void *ctx;
};

struct tapir_drain;

/* Starts the thread; opts' pointers are borrowed until __stop. 0 or -errno. */
int tapir_drain__start(const struct tapir_drain_opts *opts, struct tapir_drain **out);

/* Drains what the programs have written until now, ends the thread and frees. NULL is fine. */
void tapir_drain__stop(struct tapir_drain *drain);

#endif
