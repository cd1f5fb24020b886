// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An array of samples and a map from tid to its place: one sample a thread, the newest. Frames are
 * copied, because a record ends with its block.
 */
#include "record/threads/recent_samples.h"

#include <errno.h>

#define MAX_THREADS 65536u

int tapir_recent_samples__keep(struct tapir_recent_samples *s, uint32_t tid,
			       const struct tapir_recent_sample *sample)
{
	uint64_t *idx;

	if (s->vec.cnt == MAX_THREADS)
		return 0;
	idx = tapir_map__put(&s->idx_by_tid, tid, NULL);
	if (idx && *idx)
		s->vec.data[*idx - 1] = *sample;
	else if (idx && tapir_vec__push(&s->vec, *sample))
		*idx = s->vec.cnt;
	else
		return -ENOMEM;
	return 0;
}

const struct tapir_recent_sample *
tapir_recent_samples__latest_before(const struct tapir_recent_samples *s, uint32_t tid,
				    uint64_t time_ns)
{
	const uint64_t *idx = tapir_map__get(&s->idx_by_tid, tid);
	const struct tapir_recent_sample *sample = idx && *idx ? &s->vec.data[*idx - 1] : NULL;

	return sample && time_ns - sample->time_ns < TAPIR_RECENT_NS ? sample : NULL;
}

void tapir_recent_samples__fini(struct tapir_recent_samples *s)
{
	tapir_vec__fini(&s->vec);
	tapir_map__fini(&s->idx_by_tid);
}
