/* SPDX-License-Identifier: GPL-2.0-or-later */
/* inlined SECONDS - burns CPU in functions that the compiler inlines: main, work, twice(turn(mix)).
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static volatile uint64_t sink;

static inline __attribute__((always_inline)) uint64_t mix(uint64_t at)
{
	return (at ^ sink) * 0x9e3779b97f4a7c15ull;
}

static inline __attribute__((always_inline)) void turn(uint64_t from)
{
	for (uint64_t i = 0; i < 20000; i++)
		sink = mix(from + i);
}

static inline __attribute__((always_inline)) void twice(uint64_t from)
{
	turn(from);
	turn(from + 1);
}

static __attribute__((noipa)) void work(double seconds)
{
	clock_t until = clock() + (clock_t)(seconds * CLOCKS_PER_SEC);

	while (clock() < until)
		twice(sink);
	sink++;
}

int main(int argc, char **argv)
{
	puts("ready");
	fflush(stdout);
	work(argc > 1 ? atof(argv[1]) : 0.5);
	return sink == 7;
}
