/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * usage_watch.h - what traced processes use while they are recorded, each second: memory, their
 * cgroup's CPU quota, and which other processes use the CPUs (decode/usage_text.h). Reads /proc and
 * cgroup files: the first and the last look cost some microseconds per process of the machine.
 *
 * One thread, the control thread.
 */
#ifndef TAPIR_USER_USAGE_WATCH_H
#define TAPIR_USER_USAGE_WATCH_H

#include <stdint.h>

#include "record/targets.h"
#include "attach/flow/queue.h"

struct tapir_usage_watch;

/* targets and queue are borrowed. 0 or -ENOMEM. */
int tapir_usage_watch__new(const struct tapir_targets *targets, struct tapir_queue *queue,
			   struct tapir_usage_watch **out);
void tapir_usage_watch__free(struct tapir_usage_watch *w); /* accepts NULL */

/* Takes a reading if it is time, twice a second; accepts NULL. */
void tapir_usage_watch__poll(struct tapir_usage_watch *w, uint64_t now_ns);
/* Takes the last reading, while targets still run; accepts NULL. */
void tapir_usage_watch__finish(struct tapir_usage_watch *w, uint64_t now_ns);

#endif
