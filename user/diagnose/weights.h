/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * weights.h - sums by the name of a function, of which the heaviest is known, and by a label.
 * Bounded: what finds no row is in the sum alone, and counted in struct tapir_diagnosis. One
 * thread.
 */
#ifndef TAPIR_USER_WEIGHTS_H
#define TAPIR_USER_WEIGHTS_H

#include <stdint.h>

#include "base/keyed.h"
#include "base/vec.h"

struct tapir_weights {
	uint64_t sum, best;
	uint32_t best_name; /* idx in the tree's names, or TAPIR_OWN_CODE_NONE */
	uint32_t node;	    /* a stack of that function; 0: none is known */
	struct tapir_map by_name;
};

struct tapir_found_label {
	uint64_t ns, cnt;
	uint32_t name; /* of a function, idx in the tree's names; or TAPIR_OWN_CODE_NONE */
	char *label;
};

struct tapir_found_labels {
	struct tapir_keyed(struct tapir_found_label) rows;
};

#endif
