/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * function_sums.h - sums of a time or a number by the name of a function, with the function that
 * has most, and by a label. Bounded: what finds no row is in the sum alone, and counted in struct
 * tapir_diagnosis. One thread.
 */
#ifndef TAPIR_USER_FUNCTION_SUMS_H
#define TAPIR_USER_FUNCTION_SUMS_H

#include <stdint.h>

#include "base/keyed.h"
#include "base/vec.h"

struct tapir_function_sums {
	uint64_t sum, top;
	uint32_t top_name; /* idx in the tree's names, or TAPIR_APP_CODE_NONE */
	uint32_t node;	   /* a stack of that function; 0: none is known */
	struct tapir_map by_name;
};

struct tapir_label_sum {
	uint64_t ns, cnt;
	uint32_t name; /* of a function, idx in the tree's names; or TAPIR_APP_CODE_NONE */
	char *label;
};

struct tapir_label_sums {
	struct tapir_keyed(struct tapir_label_sum) rows;
};

#endif
