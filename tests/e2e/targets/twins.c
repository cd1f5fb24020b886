/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * twins BURSTS - fires twins:hit(way), which stands below LEVELS calls of one function by itself.
 * Bit n of way says which of two calls level n made: all stacks have the same frames at the same
 * addresses, and differ in return addresses alone. Each way is fired three times before another,
 * which differs in one bit or in several.
 */
#include "target.h"

#define LEVELS	 10
#define WAYS	 100
#define PAUSE_NS 10000000

__attribute__((noipa)) void level(unsigned n, long way);
__attribute__((noipa)) void level(unsigned n, long way)
{
	if (n == LEVELS) {
		TAPIR_PROBE(twins, hit, way);
		return;
	}
	if (way >> n & 1) {
		level(n + 1, way);
		__asm__ __volatile__("" : : "i"(1) : "memory");
	} else {
		level(n + 1, way);
		__asm__ __volatile__("nop" : : "i"(2) : "memory");
	}
}

int main(int argc, char **argv)
{
	unsigned way = 1;
	long bursts;

	target__start(&argc, argv);
	bursts = target__number(argc, argv, 1, 1);
	for (long burst = 0; burst < bursts; burst++) {
		for (unsigned i = 0; i < WAYS; i++) {
			way = i & 1 ? way ^ 1u << (8 + i % LEVELS) : way * 1103515245u + 12345u;
			for (unsigned repeat = 0; repeat < 3; repeat++)
				level(0, way >> 8 & ((1u << LEVELS) - 1));
		}
		target__sleep_ns(PAUSE_NS);
	}
	printf("{\"fired\": %ld}\n", bursts * WAYS * 3);
	return 0;
}
