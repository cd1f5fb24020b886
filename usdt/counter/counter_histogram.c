/* SPDX-License-Identifier: MIT */
/*
 * counter_histogram.c - the buckets of a histogram, and percentiles of what they gained. Buckets
 * only grow, as the cells' sums do: an interval is the difference of two readings, so that any
 * number of readers have intervals of their own.
 */
#include <sys/mman.h>

#include "counter_impl.h"

#define BUCKETS_BYTES (COUNTER_CELLS * sizeof(struct counter_buckets))

int counter_histogram__init(struct tapir_counter *c)
{
	void *room = mmap(NULL, BUCKETS_BYTES, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (room == MAP_FAILED)
		return -ENOMEM;
	c->buckets = room;
	return 0;
}

void counter_histogram__fini(struct tapir_counter *c)
{
	if (c->buckets)
		munmap(c->buckets, BUCKETS_BYTES);
	c->buckets = NULL;
}

/* Adds up from the least value to the greatest. Cells that no thread had are not touched. */
static void add_up(const struct tapir_counter *c, struct counter_spread *out)
{
	memset(out, 0, sizeof(*out));
	for (uint32_t i = 1; i < COUNTER_CELLS; i++) {
		const struct counter_buckets *b = &c->buckets[i];

		if (!prov_load_acquire(&c->cells[i].count))
			continue;
		for (uint32_t k = 0; k < HISTOGRAM_BUCKETS; k++) {
			out->cnt[HISTOGRAM_BUCKETS - 1 - k] += prov_load(&b->below[k]);
			out->cnt[HISTOGRAM_BUCKETS + k] += prov_load(&b->above[k]);
		}
	}
}

/* The middle of the bucket at this place of the spread. */
static double value_at(uint32_t position)
{
	uint32_t bucket = position < HISTOGRAM_BUCKETS ? HISTOGRAM_BUCKETS - 1 - position
						       : position - HISTOGRAM_BUCKETS;
	/* Exponent, 4 bits of the fraction, then half of what is left. */
	uint64_t bits =
		(uint64_t)(bucket + (1023 + HISTOGRAM_LEAST) * HISTOGRAM_PARTS) << 48 | 1ull << 47;
	double value;

	memcpy(&value, &bits, sizeof(value));
	return position < HISTOGRAM_BUCKETS ? -value : value;
}

static double percentile(const struct counter_spread *gained, uint64_t total, uint32_t percent)
{
	uint64_t rank = (total * percent + 99) / 100, seen = 0;
	uint32_t position = 0;

	for (; position < 2 * HISTOGRAM_BUCKETS - 1; position++) {
		seen += gained->cnt[position];
		if (seen >= rank)
			break;
	}
	return value_at(position);
}

void counter_histogram__read(const struct tapir_counter *c, struct counter_spread *since,
			     double min, double max, double out[PERCENTILE_CNT])
{
	static const uint32_t percents[PERCENTILE_CNT] = {50, 95, 99};
	static struct counter_spread now; /* under the lock */
	uint64_t total = 0;

	add_up(c, &now);
	for (uint32_t i = 0; i < 2 * HISTOGRAM_BUCKETS; i++) {
		uint32_t all = now.cnt[i];

		if (since) {
			now.cnt[i] -= since->cnt[i];
			since->cnt[i] = all;
		}
		total += now.cnt[i];
	}
	for (uint32_t i = 0; i < PERCENTILE_CNT; i++) {
		double value = total ? percentile(&now, total, percents[i]) : 0;

		out[i] = total && value < min ? min : total && value > max ? max : value;
	}
}
