// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A draw is between two neighbours, chosen with equal probability. The first of all would be
 * infinite: it is such that the mean between it and the second is right.
 */
#include "attach/native_draws.h"

#include <math.h>

#include "bpf/native_logic.bpf.h"

void tapir_native__fill_draws(unsigned long long *draws, uint64_t mean_bytes)
{
	double mean = (double)mean_bytes;

	draws[0] = (unsigned long long)(mean * (log(TAPIR_NATIVE_DRAWS) + 2));
	for (unsigned i = 1; i <= TAPIR_NATIVE_DRAWS; i++)
		draws[i] = (unsigned long long)(mean * -log((double)i / TAPIR_NATIVE_DRAWS));
}
