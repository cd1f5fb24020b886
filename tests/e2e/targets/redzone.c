/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * redzone [--wait] COUNT - fires redzone:hit(i) COUNT times in a leaf function that keeps its
 * data below the stack pointer, in the 128 bytes that nobody else may touch (System V ABI for
 * x86-64, 3.2.2). "damaged" counts the calls after which the data was not what it had been.
 */
#include "target.h"

#define WORDS 14

/* volatile keeps the array in memory; a leaf with so little of it moves no stack pointer. */
static __attribute__((noinline)) bool fire_over_red_zone(uint64_t i)
{
	volatile uint64_t words[WORDS];
	uint64_t wrong = 0;

	for (uint64_t n = 0; n < WORDS; n++)
		words[n] = i * 0x9e3779b97f4a7c15u + n;
	TAPIR_PROBE(redzone, hit, i);
	for (uint64_t n = 0; n < WORDS; n++)
		wrong |= words[n] ^ (i * 0x9e3779b97f4a7c15u + n);
	return wrong != 0;
}

int main(int argc, char **argv)
{
	long hits, damaged_cnt = 0;

	target__start(&argc, argv);
	hits = target__number(argc, argv, 1, 1000);
	for (long i = 0; i < hits; i++)
		damaged_cnt += fire_over_red_zone((uint64_t)i);
	printf("{\"fired\": %ld, \"damaged\": %ld}\n", hits, damaged_cnt);
	return 0;
}
