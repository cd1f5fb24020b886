/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * manysites [--wait] ROUNDS - 500 sites, manysites:s000(0) .. manysites:s499(499), each fired
 * ROUNDS times.
 */
#include "target.h"

#define SITE(h, t, u) TAPIR_PROBE(manysites, s##h##t##u, h * 100 + t * 10 + u);
#define TEN(h, t)                                                                                  \
	SITE(h, t, 0)                                                                              \
	SITE(h, t, 1)                                                                              \
	SITE(h, t, 2)                                                                              \
	SITE(h, t, 3)                                                                              \
	SITE(h, t, 4) SITE(h, t, 5) SITE(h, t, 6) SITE(h, t, 7) SITE(h, t, 8) SITE(h, t, 9)
#define HUNDRED(h)                                                                                 \
	TEN(h, 0)                                                                                  \
	TEN(h, 1) TEN(h, 2) TEN(h, 3) TEN(h, 4) TEN(h, 5) TEN(h, 6) TEN(h, 7) TEN(h, 8) TEN(h, 9)

int main(int argc, char **argv)
{
	long rounds;

	target__start(&argc, argv);
	rounds = target__number(argc, argv, 1, 1);
	for (long i = 0; i < rounds; i++) {
		HUNDRED(0) HUNDRED(1) HUNDRED(2) HUNDRED(3) HUNDRED(4)
	}
	printf("{\"sites\": 500, \"fired\": %ld}\n", 500 * rounds);
	return 0;
}
