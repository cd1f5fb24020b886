// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An array of samples and a map from tid to its place: one sample a thread, the newest. Frames are
 * copied, because a record ends with its block.
 */
#include "base/keyed.h"
#include "analyze/recent_samples.h"

#include <errno.h>

#define MAX_THREADS 65536u

int tapir_recent_samples__keep(struct tapir_recent_samples *s, uint32_t tid,
			       const struct tapir_recent_sample *sample)
{
	struct tapir_recent_sample *row = tapir_keyed__add(&s->by_tid, tid, MAX_THREADS, *sample);

	if (row)
		*row = *sample;
	return s->by_tid.failed ? -ENOMEM : 0;
}

const struct tapir_recent_sample *
tapir_recent_samples__latest_before(const struct tapir_recent_samples *s, uint32_t tid,
				    uint64_t time_ns)
{
	const struct tapir_recent_sample *sample = tapir_keyed__get(&s->by_tid, tid);

	return sample && time_ns - sample->time_ns < TAPIR_RECENT_NS ? sample : NULL;
}

void tapir_recent_samples__fini(struct tapir_recent_samples *s)
{
	tapir_keyed__fini(&s->by_tid);
}
