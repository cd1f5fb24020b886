/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * recent_samples.h - the last CPU sample of each thread: a moment later it still shows where the
 * thread runs. One thread.
 */
#ifndef TAPIR_USER_RECENT_SAMPLES_H
#define TAPIR_USER_RECENT_SAMPLES_H

#include <stdint.h>

#include "base/keyed.h"

#define TAPIR_RECENT_NS (150 * 1000000ull)

struct tapir_recent_sample {
	uint64_t time_ns;
	uint32_t node; /* of the tree of stacks */
};

struct tapir_recent_samples { /* zeroed at first */
	struct tapir_keyed(struct tapir_recent_sample) by_tid;
};

/* 0 or -ENOMEM. Samples of more threads than a snapshot has are left out. */
int tapir_recent_samples__keep(struct tapir_recent_samples *s, uint32_t tid,
			       const struct tapir_recent_sample *sample);
/*
 * Returns the thread's last sample of a moment before; NULL: none. Borrowed until the next is kept.
 */
const struct tapir_recent_sample *
tapir_recent_samples__latest_before(const struct tapir_recent_samples *s, uint32_t tid,
				    uint64_t time_ns);
void tapir_recent_samples__fini(struct tapir_recent_samples *s);

#endif
