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

/* Sums over all cells. */
struct counter_sums {
	uint64_t count;
	double sum, square_sum, min, max; /* min > max: none */
};

struct counter_group;

struct tapir_counter {
	struct tapir_counter *next;
	struct counter_group *group;
	double (*poll)(void *ctx);
	void *ctx;
	uint32_t type, round;
	uint32_t is_busy, is_leaving;
	uint64_t published_ns; /* 0: never */
	struct counter_sums published;
	double polled; /* INCREMENTING_POLLING: last time */
	char *name, *display_name, *unit, *tags;
	struct counter_cell cells[COUNTER_CELLS] __attribute__((aligned(64)));
};

#pragma GCC visibility push(hidden)

/* counter.c */
void counter__sum(const struct tapir_counter *c, struct counter_sums *out);
/* counter_publish.c: under the lock */
int counter_group__join(struct tapir_counter *c, const struct tapir_provider *provider);
void counter_group__leave(struct tapir_counter *c);
const char *counter_group__provider(const struct counter_group *group);
/* counter_payload.c: from malloc, *bytes of it. NULL: no memory. */
struct counter_report {
	double mean, deviation, min, max, increment;
	uint32_t count;
	double interval_s;
	uint32_t asked_ms;
};
void *counter_payload__make(const struct tapir_counter *c, const struct counter_report *report,
			    size_t *bytes);
int counter__is_increment(const struct tapir_counter *c);
extern const struct tapir_event_about counter_mean_about, counter_increment_about;

#pragma GCC visibility pop

#endif
