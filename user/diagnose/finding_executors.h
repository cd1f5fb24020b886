/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * finding_executors.h - pools of threads that a runtime's library makes (java.util.concurrent's
 * executors), by the functions on their stacks: lore's pools. Whether tasks are queued is not
 * known. But where threads of a pool wait within tasks, and none ever waited for one, whatever else
 * was to be done was not; and where all of them wait for other tasks throughout, those may be what
 * they wait for. Bounded. One thread.
 */
#ifndef TAPIR_USER_FINDING_EXECUTORS_H
#define TAPIR_USER_FINDING_EXECUTORS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/keyed.h"
#include "base/vec.h"
#include "diagnose/function_sums.h"

struct tapir_diagnosis;
struct tapir_findings;
struct tapir_wait;

/* A thread of a pool. */
struct tapir_executor_thread {
	uint32_t tgid, tid;
	uint64_t idle_ns;		      /* without a task */
	uint64_t task_ns, sleep_ns;	      /* in one: until others are done; asleep */
	uint64_t longest_task_ns;	      /* of those waits */
	struct tapir_function_sums functions; /* of the latter two */
};

struct tapir_executors {
	struct tapir_keyed(struct tapir_executor_thread) rows;
};

/* Takes a wait of a thread that may be a worker. */
void tapir_finding_executors__wait(struct tapir_diagnosis *f, const struct tapir_wait *wait);

#endif
