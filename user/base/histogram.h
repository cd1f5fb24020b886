/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * histogram.h - how long things took, in 32 steps an octave: any percentile within 3 %, in a fixed
 * room of 15 KB. Values are any uint64_t, mostly nanoseconds. Plain data; one thread at a time.
 */
#ifndef TAPIR_USER_HISTOGRAM_H
#define TAPIR_USER_HISTOGRAM_H

#include <stdint.h>

#include "bpf/sums_logic.bpf.h"

#define TAPIR_HISTOGRAM_STEPS TAPIR_OCTAVE_STEPS

struct tapir_histogram {
	uint64_t cnt, max; /* most: the largest value, which no percentile exceeds */
	uint64_t counts[TAPIR_USED_STEPS];
};

/* The kernel has the same steps, where it adds up. */
static inline unsigned tapir_histogram__step(uint64_t value)
{
	return tapir_octave_step(value);
}

static inline void tapir_histogram__add(struct tapir_histogram *h, uint64_t value)
{
	h->cnt++;
	h->max = value > h->max ? value : h->max;
	h->counts[tapir_histogram__step(value)]++;
}

static inline void tapir_histogram__merge(struct tapir_histogram *h,
					  const struct tapir_histogram *more)
{
	h->cnt += more->cnt;
	h->max = more->max > h->max ? more->max : h->max;
	for (unsigned i = 0; i < TAPIR_USED_STEPS; i++)
		h->counts[i] += more->counts[i];
}

/* The smallest value of a step, and how many values it has. */
static inline uint64_t tapir_histogram__low(unsigned step)
{
	uint64_t octave = step / TAPIR_HISTOGRAM_STEPS;

	if (!octave)
		return step;
	return (uint64_t)(TAPIR_HISTOGRAM_STEPS + step % TAPIR_HISTOGRAM_STEPS) << (octave - 1);
}

static inline uint64_t tapir_histogram__width(unsigned step)
{
	return step < TAPIR_HISTOGRAM_STEPS ? 1 : 1ull << (step / TAPIR_HISTOGRAM_STEPS - 1);
}

/* The middle of the step that contains the percent-th of all values; 0: there are no values. */
static inline uint64_t tapir_histogram__percentile(const struct tapir_histogram *h, double percent)
{
	uint64_t want = (uint64_t)((double)h->cnt * percent / 100), seen = 0;

	for (unsigned i = 0; i < TAPIR_USED_STEPS; i++) {
		uint64_t middle = tapir_histogram__low(i) + tapir_histogram__width(i) / 2;

		seen += h->counts[i];
		if (seen <= want && !(seen == h->cnt && seen && h->counts[i]))
			continue;
		if (i < TAPIR_HISTOGRAM_STEPS)
			return i;
		return middle < h->max ? middle : h->max;
	}
	return 0;
}

#endif
