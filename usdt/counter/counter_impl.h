/* SPDX-License-Identifier: MIT */
/*
 * counter_impl.h - a counter's cells and its place among others. Compiled with floating-point
 * registers, unlike the rest of usdt/.
 */
#ifndef TAPIR_COUNTER_IMPL_H
#define TAPIR_COUNTER_IMPL_H

#include "../provider/provider_impl.h"
#include "tapir/counter.h"

#define COUNTER_CELLS  64u /* 0: of no thread; 63: shared */
#define COUNTER_SHARED 63u

/* One thread writes it; doubles are stored whole. */
struct counter_cell {
	uint64_t count;
	double sum, square_sum;
	double min, max; /* of the interval `round` */
	uint32_t round;
	uint32_t pad0;
	uint64_t pad1[2];
};
_Static_assert(sizeof(struct counter_cell) == 64, "counter_cell");

/* Sums over all cells, of differences from the counter's origin. */
struct counter_sums {
	uint64_t count;
	double sum, square_sum, min, max; /* min > max: none */
};

/* The moments of `count` values that have these sums. */
struct counter_moments {
	double sum, mean, deviation;
};

/*
 * Values by magnitude: 16 parts of each power of two from 2^-32 on, those above zero and those
 * below. A cell each, as of struct tapir_counter; counts wrap, differences of them do not matter.
 */
#define HISTOGRAM_PARTS	  16u
#define HISTOGRAM_LEAST	  (-32)
#define HISTOGRAM_BUCKETS (96u * HISTOGRAM_PARTS)

struct counter_buckets {
	uint32_t above[HISTOGRAM_BUCKETS], below[HISTOGRAM_BUCKETS];
};

/* Sums over all cells, in the order of the values. */
struct counter_spread {
	uint32_t cnt[2 * HISTOGRAM_BUCKETS];
};

#define PERCENTILE_CNT 3u /* 50, 95, 99 */

struct counter_group;

/* The part of a counter that one session has received. */
struct counter_view {
	uint64_t published_ns; /* 0: never */
	struct counter_sums published;
	double min, max;     /* of its interval, until the last round's end; min > max: none */
	double polled;	     /* INCREMENTING_POLLING: last time */
	uint32_t has_polled; /* `polled` is set: since the session subscribed */
	struct counter_spread *spread; /* of histograms */
};

struct tapir_counter {
	struct tapir_counter *next;
	struct counter_group *group;
	double (*poll)(void *ctx);
	void *ctx;
	uint32_t type, round;
	uint32_t is_busy, is_leaving;
	/*
	 * The counter's first value; NaN before. Cells sum differences from it: of values that are
	 * large and near to each other, such as the size of a heap, the squares would differ in
	 * digits that a double does not have.
	 */
	double origin;
	struct counter_view *views[TAPIR_SESSION_MAX]; /* NULL: it has not asked */
	struct counter_buckets *buckets;	       /* HISTOGRAM: a cell each; else NULL */
	struct tapir_ring_event entry;		       /* what tools outside see of it */
	struct tapir_ring_about about;		       /* as the entry has it */
	void *metadata;
	char *name, *display_name, *unit, *tags;
	struct counter_cell cells[COUNTER_CELLS] __attribute__((aligned(64)));
};

/* An interval of one session's. */
struct counter_report {
	double mean, deviation, min, max, increment;
	double percentiles[PERCENTILE_CNT];
	uint32_t count;
	double interval_s;
	uint32_t requested_ms;
};

#pragma GCC visibility push(hidden)

/* counter_view.c: under the lock */
void counter__sum(const struct tapir_counter *c, struct counter_sums *out);
struct counter_moments counter__moments(const struct tapir_counter *c, double count, double sum,
					double square_sum,
					double all_squares);	     /* count: 1 or more */
void counter_view__begin(struct tapir_counter *c, uint32_t session); /* nothing was written yet */
void counter_view__take(struct tapir_counter *c, uint32_t session, struct counter_report *report);
/* Frees what readers have seen of it; under the lock. */
void counter_views__free(struct tapir_counter *c);
/* counter_publish.c: under the lock */
int counter_group__join(struct tapir_counter *c, const struct tapir_provider *provider);
/* Takes the counter out of its group; the last one ends the group. Under the lock. */
void counter_group__leave(struct tapir_counter *c);
const char *counter_group__provider(const struct counter_group *group);
/* In a forked child: the thread that published is not there. */
void counter_groups__forked(void);
/* counter_payload.c: from malloc, *bytes of it. NULL: no memory. */
void *counter_payload__make(const struct tapir_counter *c, const struct counter_report *report,
			    size_t *bytes);
/* Returns 1 for a counter whose interval reports what was added. */
int counter__is_increment(const struct tapir_counter *c);
extern const struct tapir_event_about counter_mean_about, counter_increment_about,
	counter_histogram_about;
/* counter_histogram.c. 0 or -ENOMEM. */
int counter_histogram__init(struct tapir_counter *c);
/* Frees the buckets. Under the lock. */
void counter_histogram__fini(struct tapir_counter *c);
/* Under the lock: percentiles of what came since it was read with `since`; NULL: of everything. */
void counter_histogram__read(const struct tapir_counter *c, struct counter_spread *since,
			     double min, double max, double out[PERCENTILE_CNT]);
/* counter_entry.c: the counter in the lane's catalog. Without a lane it has no entry. */
void counter_entry__open(struct tapir_counter *c);
/* Gives the entry back; tools see the counter no longer. */
void counter_entry__close(struct tapir_counter *c);

#pragma GCC visibility pop

/* Doubles are loaded whole. */
#define counter_load(from, to) __atomic_load(&(from), &(to), __ATOMIC_RELAXED)

/* The bucket of a value that is finite, of one cell. */
static inline uint32_t *counter_bucket__of(struct counter_buckets *buckets, double value)
{
	uint64_t bits;
	int64_t idx;

	memcpy(&bits, &value, sizeof(bits));
	/* The exponent and the first 4 bits after it: a number of 1/16ths of powers of two. */
	idx = (int64_t)(bits >> 48 & 0x7fff) - (1023 + HISTOGRAM_LEAST) * (int64_t)HISTOGRAM_PARTS;
	if (idx < 0)
		idx = 0;
	if (idx >= (int64_t)HISTOGRAM_BUCKETS)
		idx = HISTOGRAM_BUCKETS - 1;
	return bits >> 63 ? &buckets->below[idx] : &buckets->above[idx];
}

#endif
