/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stack_ends.h - how many user stacks of a recording are complete, and why and in which file the
 * others end, for each family of captured records. Bounded. One thread.
 */
#ifndef TAPIR_USER_STACK_ENDS_H
#define TAPIR_USER_STACK_ENDS_H

#include "base/map.h"
#include "base/vec.h"
#include "symbol/stack_memo.h"
#include "trace/catalog.h"
#include "trace/family.h"
#include "trace/record.h"

#define TAPIR_STACK_ENDS_MAX 4096 /* rows */

/* Stacks that end in this file for this reason. */
struct tapir_stack_end_row {
	char *module; /* "libfoo.so", "generated code"; "" unknown. The table's */
	uint8_t end;  /* enum tapir_stack_end: callers are missing */
	uint64_t cnt[TAPIR_FAMILY_CNT];
};

struct tapir_stack_ends {
	uint64_t whole[TAPIR_FAMILY_CNT];
	uint64_t known[TAPIR_FAMILY_CNT]; /* stacks whose end is known; of them whole ones */
	struct tapir_vec(struct tapir_stack_end_row) rows;
	bool failed; /* out of memory */
	/* for the table alone */
	struct tapir_map row_by_name;
	struct tapir_stack_memo memo;
};

/* Counts the user stack of a captured record, if it has one. */
void tapir_stack_ends__add(struct tapir_stack_ends *ends, const struct tapir_catalog *catalog,
			   const struct tapir_rec *rec, enum tapir_family_id family);
/* How many stacks have an end that is known, of all families together. */
uint64_t tapir_stack_ends__known(const struct tapir_stack_ends *ends);
/* Largest first. Nothing may be added afterwards. */
void tapir_stack_ends__sort(struct tapir_stack_ends *ends);
void tapir_stack_ends__fini(struct tapir_stack_ends *ends);

#endif
