/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * heap_trigger.h - makes a process collect all generations, once, at the end of a time in which a
 * recording of its heap's events is on already (struct tapir_heap_ops).
 *
 * A thread of its own, with all signals blocked. Privileges: those of asking the runtime.
 */
#ifndef TAPIR_USER_HEAP_TRIGGER_H
#define TAPIR_USER_HEAP_TRIGGER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct tapir_diag;

struct tapir_heap_trigger {
	uint32_t tgid;
	int (*collect)(uint32_t tgid, int cancel_fd, uint64_t timeout_ns);
	uint64_t after_ns;   /* since __start */
	uint64_t timeout_ns; /* for the collection */
	int failed_fd;	     /* eventfd, borrowed: written when the process did not collect */
	/* for this file */
	int cancel_fd;
	pthread_t thread;
	bool is_started;
	struct tapir_diag *lines;
	int err;
};

/* 0; -errno with a line: then there is nothing to stop, but __stop may be called. */
int tapir_heap_trigger__start(struct tapir_heap_trigger *t);
/* Waits for the thread, which it cancels. 0, also when it was not yet time; -errno with its lines.
 */
int tapir_heap_trigger__stop(struct tapir_heap_trigger *t);

#endif
