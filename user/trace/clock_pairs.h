/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * clock_pairs.h - UTC of a record's time, from the CLOCK records of a file: each holds for the time
 * from it to the next, so that a clock that is set during a recording changes only what comes after
 * it. Between two that differ as much as a clock is slewed, the difference grows evenly.
 *
 * At most 65,536 pairs: later ones are dropped. One thread.
 */
#ifndef TAPIR_USER_CLOCK_PAIRS_H
#define TAPIR_USER_CLOCK_PAIRS_H

#include <stdbool.h>

#include "base/vec.h"
#include "tapir/abi.h"

struct tapir_clock_pair {
	uint64_t time_ns;
	uint64_t offset_ns; /* UTC less time_ns, modulo 2^64 */
};

struct tapir_clock_pairs {
	struct tapir_vec(struct tapir_clock_pair) all; /* by time */
};

/* Frees the pairs; a set of zeros is empty. */
void tapir_clock_pairs__fini(struct tapir_clock_pairs *pairs);

/* Adds a pair. One that agrees with those around it changes nothing. false: out of memory. */
bool tapir_clock_pairs__add(struct tapir_clock_pairs *pairs, const struct tapir_rec_clock *clock);

/* Returns UTC in ns since 1970. 0: no pair is known. Before the first one, that one holds. */
uint64_t tapir_clock_pairs__utc_ns(const struct tapir_clock_pairs *pairs, uint64_t time_ns);

#endif
