/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench_site - what a probe site of usdt.h costs while nobody traces. Each loop body holds 64
 * sites; the cost of an empty body is subtracted. Rounds are interleaved; prints JSON: ns a
 * site, least and median of the rounds.
 *
 * It is a throughput: all is cached, branches are predicted, and nothing around the sites
 * wants the machine's width. Nops and compares then retire several a cycle, so a site shows
 * as a fraction of one; a site among other work costs its share of decode and of cache.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tapir/usdt.h"

#define ROUNDS 41
#define LOOPS  20000
#define SITES  64

TAPIR_PROBE_DEFINE_SEMAPHORE(bench, guarded);

#define TIMES_4(x)  x x x x
#define TIMES_64(x) TIMES_4(TIMES_4(TIMES_4(x)))

/* As in a program, the arguments lie in an object and have to be fetched for the probe. */
struct order {
	int id, item, amount, price;
	const char *customer;
};
static struct order orders[1] = {{1, 2, 3, 4, "text"}};
static int enabled_cnt;

#define FIELDS order->id, order->item, order->amount, order->price, order->customer

/* The empty asm keeps the loop, hides which order it is, and makes the fields be read again. */
#define BODY(name, ...)                                                                            \
	static __attribute__((noinline)) void name(void)                                           \
	{                                                                                          \
		struct order *order = orders;                                                      \
                                                                                                   \
		for (int i = 0; i < LOOPS; i++) {                                                  \
			__asm__ __volatile__("" : "+r"(order) : : "memory");                       \
			TIMES_64(__VA_ARGS__)                                                      \
		}                                                                                  \
	}

BODY(empty, )
BODY(no_arguments, TAPIR_PROBE(bench, none);)
BODY(five_arguments, TAPIR_PROBE(bench, five, FIELDS);)
BODY(enabled, if (TAPIR_PROBE_ENABLED(bench, guarded)) enabled_cnt++;)
BODY(guarded, TAPIR_PROBE_SEM(bench, guarded, FIELDS);)

static struct measured {
	const char *name;
	void (*run)(void);
	double ns[ROUNDS];
} measured[] = {
	{"empty", empty, {0}},
	{"no_arguments", no_arguments, {0}},
	{"five_arguments", five_arguments, {0}},
	{"enabled", enabled, {0}},
	{"guarded_five_arguments", guarded, {0}},
};
#define MEASURED_CNT (sizeof(measured) / sizeof(measured[0]))

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static int by_value(const void *left, const void *right)
{
	double l = *(const double *)left, r = *(const double *)right;

	return (l > r) - (l < r);
}

int main(void)
{
	for (int round = 0; round < ROUNDS; round++) {
		for (size_t i = 0; i < MEASURED_CNT; i++) {
			double start_ns = now_ns();

			measured[i].run();
			measured[i].ns[round] = (now_ns() - start_ns) / LOOPS / SITES;
		}
	}
	for (size_t i = 0; i < MEASURED_CNT; i++)
		qsort(measured[i].ns, ROUNDS, sizeof(double), by_value);
	for (size_t i = 1; i < MEASURED_CNT; i++)
		printf("{\"site\": \"%s\", \"min_ns\": %.3f, \"median_ns\": %.3f}\n",
		       measured[i].name, measured[i].ns[0] - measured[0].ns[0],
		       measured[i].ns[ROUNDS / 2] - measured[0].ns[ROUNDS / 2]);
	return 0;
}
