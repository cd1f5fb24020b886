/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * near_samples.h - the last CPU sample of each thread: a moment later it still shows where the
 * thread runs. One thread.
 */
#ifndef TAPIR_USER_NEAR_SAMPLES_H
#define TAPIR_USER_NEAR_SAMPLES_H

#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"

#define TAPIR_NEAR_NS (150 * 1000000ull)

struct tapir_near_sample {
	uint64_t time_ns;
	uint32_t node; /* of the tree of stacks */
};

struct tapir_near_samples { /* zeroed at first */
	struct tapir_vec(struct tapir_near_sample) vec;
	struct tapir_map idx_by_tid; /* and 1 */
};

/* 0 or -ENOMEM. Samples of more threads than a snapshot has are left out. */
int tapir_near_samples__keep(struct tapir_near_samples *s, uint32_t tid,
			     const struct tapir_near_sample *sample);
/* NULL: none a moment before. Borrowed until the next is kept. */
const struct tapir_near_sample *tapir_near_samples__before(const struct tapir_near_samples *s,
							   uint32_t tid, uint64_t time_ns);
void tapir_near_samples__fini(struct tapir_near_samples *s);

#endif
