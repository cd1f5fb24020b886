/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * live_load - what bench-live asks about: one event with four longs and a text of 16 characters, or
 * two events that begin and end an interval, fired as fast as one thread can.
 *
 *	live_load event|pair ROUNDS HITS
 *
 * It prints a line when it is ready, waits for a line on stdin (the tracer attaches meanwhile),
 * runs, and prints JSON: hits, and ns of each, least and median of the rounds. The first number
 * goes from 0 to HITS in each round. Sites stand in functions of their own, so that their arguments
 * are in the registers of a call, where the hand-written programs expect them.
 */
// build: -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -fno-optimize-sibling-calls -no-pie
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tapir/usdt.h"

#define MAX_ROUNDS 10000

static double round_ns[MAX_ROUNDS];

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static __attribute__((noipa)) void fire_event(long a, long b, long c, long d, const char *text)
{
	TAPIR_PROBE(live, event, a, b, c, d, text);
}

static __attribute__((noipa)) void fire_begin(long key)
{
	TAPIR_PROBE(live, begin, key);
}

static __attribute__((noipa)) void fire_end(long key)
{
	TAPIR_PROBE(live, end, key);
}

static void run(int is_pair, unsigned round_cnt, long hit_cnt)
{
	for (unsigned round = 0; round < round_cnt; round++) {
		uint64_t start_ns = now_ns();

		for (long i = 0; i < hit_cnt; i++) {
			if (is_pair) {
				fire_begin(i);
				fire_end(i);
			} else {
				fire_event(i, round, -1, 42, "sixteen chars...");
			}
		}
		round_ns[round] = (double)(now_ns() - start_ns) / (double)hit_cnt;
	}
}

static int by_value(const void *left, const void *right)
{
	double l = *(const double *)left, r = *(const double *)right;

	return (l > r) - (l < r);
}

int main(int argc, char **argv)
{
	unsigned round_cnt = argc == 4 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
	long hit_cnt = argc == 4 ? strtol(argv[3], NULL, 10) : 0;
	char line[16];

	if (!round_cnt || round_cnt > MAX_ROUNDS || hit_cnt <= 0) {
		fprintf(stderr, "usage: live_load event|pair ROUNDS HITS\n");
		return 2;
	}
	puts("ready");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	run(!strcmp(argv[1], "pair"), round_cnt, hit_cnt);
	qsort(round_ns, round_cnt, sizeof(*round_ns), by_value);
	printf("{\"fired\": %" PRIu64 ", \"ns_min\": %.1f, \"ns_median\": %.1f}\n",
	       (uint64_t)round_cnt * (uint64_t)hit_cnt, round_ns[0], round_ns[round_cnt / 2]);
	return 0;
}
