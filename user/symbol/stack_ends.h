/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stack_ends.h - how many user stacks of a recording are complete, and why and in which file the
 * others end, for each family of captured records; and which names they lack. Bounded. One thread.
 */
#ifndef TAPIR_USER_STACK_ENDS_H
#define TAPIR_USER_STACK_ENDS_H

#include "base/map.h"
#include "base/vec.h"
#include "symbol/stack_cache.h"
#include "trace/catalog.h"
#include "trace/family.h"
#include "trace/record.h"

#define TAPIR_STACK_ENDS_MAX 4096 /* rows */
#define TAPIR_STACKS_MIN     20	  /* of fewer, a share says little */
#define TAPIR_LOST_PERCENT   10.0 /* a family that lacks more callers than this is worth a line */

struct tapir_lore;

/* Stacks that end in this file for this reason. */
struct tapir_stack_end_row {
	char *module; /* "libfoo.so", "generated code"; "" unknown. The table's */
	uint8_t end;  /* enum tapir_stack_end: callers are missing */
	const struct tapir_lore *runtime; /* of the process; NULL: not known */
	uint64_t cnt[TAPIR_FAMILY_CNT];
};

/*
 * Stacks whose innermost function without a name is in this file, or that have no function of this
 * runtime's language.
 */
struct tapir_name_gap_row {
	char *path;			  /* NULL: a runtime's. The table's */
	const struct tapir_lore *runtime; /* NULL: a file's */
	uint64_t cnt;
	uint64_t of; /* stacks of that runtime's processes */
};

struct tapir_stack_ends {
	uint64_t known[TAPIR_FAMILY_CNT]; /* stacks whose end is known */
	uint64_t whole[TAPIR_FAMILY_CNT]; /* of them: complete */
	uint64_t by_fp[TAPIR_FAMILY_CNT]; /* frame pointers alone lead to the thread's start */
	struct tapir_vec(struct tapir_stack_end_row) rows;
	struct tapir_vec(struct tapir_name_gap_row) gaps;
	uint64_t searched; /* stacks that were searched for names */
	bool failed;	   /* out of memory */
	/* for the table alone */
	struct tapir_map row_by_name, gap_by_name, runtime_by_tgid;
	uint32_t search_cnt; /* different stacks */
	uint32_t era;	     /* grows when all is forgotten */
	struct tapir_stack_cache memo;
};

/* Counts the user stack of a captured record, if it has one. */
void tapir_stack_ends__add(struct tapir_stack_ends *ends, const struct tapir_catalog *catalog,
			   const struct tapir_rec *rec, enum tapir_family_id family);

/* The end of a stack, for callers that remember things of stacks themselves. */
struct tapir_stack_end_fact {
	uint64_t fact;
	uint32_t era; /* 0: of no stack that is described */
};
/* Brings known, zeroed at the beginning, up to date for the user stack of ref, which is not 0. */
void tapir_stack_ends__look_up(struct tapir_stack_ends *ends, const struct tapir_catalog *catalog,
			       const struct tapir_stack_ref *ref,
			       struct tapir_stack_end_fact *known);
/* Counts so many stacks of which that is known. */
void tapir_stack_ends__count(struct tapir_stack_ends *ends, enum tapir_family_id family,
			     const struct tapir_stack_end_fact *known, uint64_t cnt);
/* The number of stacks with an end that is known, of all families together. */
uint64_t tapir_stack_ends__known(const struct tapir_stack_ends *ends);
/* The number of stacks that lack callers. */
uint64_t tapir_stack_ends__lost(const struct tapir_stack_ends *ends, enum tapir_family_id family);
/* The same as a share, in percent; 0 of too few stacks. */
double tapir_stack_ends__lost_percent(const struct tapir_stack_ends *ends,
				      enum tapir_family_id family);
/* Sorts both tables, largest first. Nothing may be added afterwards. */
void tapir_stack_ends__sort(struct tapir_stack_ends *ends);
/* Frees both tables. */
void tapir_stack_ends__fini(struct tapir_stack_ends *ends);

#endif
