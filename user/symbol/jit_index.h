/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jit_index.h - the entries of a jit_table.h, ordered by (start_va, from_ns): leaves of up to 64
 * entries under one array, so that a million take about 37 bytes each and one more goes in within a
 * fraction of a microsecond, in any order. For jit_table.c only; one thread.
 */
#ifndef TAPIR_USER_JIT_INDEX_H
#define TAPIR_USER_JIT_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tapir_jit_entry {
	uint64_t start_va;
	uint64_t from_ns, until_ns;
	uint32_t size : 31; /* at most 1 GB */
	uint32_t is_given_out : 1;
	uint32_t text : 31; /* in the arena */
	uint32_t is_queued : 1;
};

static inline uint64_t tapir_jit_entry__end_va(const struct tapir_jit_entry *e)
{
	return e->start_va + e->size;
}

struct tapir_jit_leaf;

struct tapir_jit_slot {
	uint64_t first_ns;	     /* of its first entry */
	uint64_t max_end_va;	     /* of all its entries */
	struct tapir_jit_leaf *leaf; /* never empty */
};

#define TAPIR_JIT_HINTS 64

struct tapir_jit_index {
	uint64_t *first_vas; /* of each slot's first entry: what a search walks through */
	struct tapir_jit_slot *slots;
	size_t slot_cnt, slot_cap;
	size_t cnt;
	size_t bytes;
	uint64_t max_size;		 /* of all entries there ever were */
	bool is_disjoint;		 /* set by its owner: no two entries overlap */
	uint32_t hints[TAPIR_JIT_HINTS]; /* slots of the last searches */
};

/* An entry's place, valid until the next insert or remove. */
struct tapir_jit_pos {
	size_t slot;
	unsigned idx;
};

/* Frees the leaves; the texts are the arena's. */
void tapir_jit_index__fini(struct tapir_jit_index *ix);

/* Prefetches into the processor's cache what a __floor or an __insert at va will read. */
void tapir_jit_index__expect(struct tapir_jit_index *ix, uint64_t va);

/* Adds a copy of e. False: out of memory. */
bool tapir_jit_index__insert(struct tapir_jit_index *ix, const struct tapir_jit_entry *e);
/* The same where the position is known: after pos, the last entry that is not after e. */
bool tapir_jit_index__insert_after(struct tapir_jit_index *ix, struct tapir_jit_pos pos,
				   const struct tapir_jit_entry *e);
/* Removes the entry there. */
void tapir_jit_index__remove(struct tapir_jit_index *ix, struct tapir_jit_pos pos);

/* Borrowed like its place. from_ns is changed by __set_from, start_va and size never. */
struct tapir_jit_entry *tapir_jit_index__at(const struct tapir_jit_index *ix,
					    struct tapir_jit_pos pos);

/* Puts another entry in its place, with the same start. */
void tapir_jit_index__replace(struct tapir_jit_index *ix, struct tapir_jit_pos pos,
			      const struct tapir_jit_entry *e);

/* Changes from_ns, which may not pass that of a neighbour with the same start. */
void tapir_jit_index__set_from(struct tapir_jit_index *ix, struct tapir_jit_pos pos,
			       uint64_t from_ns);

/* Finds the last entry not after (va, ns). False: there is none. */
bool tapir_jit_index__floor(struct tapir_jit_index *ix, uint64_t va, uint64_t ns,
			    struct tapir_jit_pos *pos);
/* Moves to the entry after pos. False: it was the last. */
bool tapir_jit_index__next(const struct tapir_jit_index *ix, struct tapir_jit_pos *pos);

/* Entries that overlap [start_va, end_va), backwards:  while (tapir_jit_over__next(&over)) ... */
struct tapir_jit_over {
	struct tapir_jit_index *ix;
	uint64_t start_va;
	struct tapir_jit_pos pos;
	bool is_at_end; /* nothing before pos is left */
	bool is_first;
	bool gave_up;	   /* there may be more */
	unsigned step_cnt; /* entries and leaves examined */
};

/* Starts at the last entry that may overlap; the index must not change during the walk. */
struct tapir_jit_over tapir_jit_over__in(struct tapir_jit_index *ix, uint64_t start_va,
					 uint64_t end_va);
/* Returns the next one, borrowed; NULL: there are no more, or max_steps were made. */
struct tapir_jit_entry *tapir_jit_over__next(struct tapir_jit_over *over, unsigned max_steps);

#endif
