/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jit_table.h - names of one process's generated code, by address and time.
 *
 * Runtimes reuse addresses: a name is valid from when it was learned until another takes a part of
 * its address range, or its end is reported. Of names that are valid at one time, no two overlap.
 * Names arrive mostly in order of time; a late one fills only unknown ranges.
 *
 * The names are chosen by the traced process: memory is bounded (in one table, and in all
 * together), and so is the work of a call. A name that does not fit evicts names that ended long
 * ago, or is refused and counted. One thread at a time.
 */
#ifndef TAPIR_USER_JIT_TABLE_H
#define TAPIR_USER_JIT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tapir/abi.h"

#define TAPIR_JIT_MAX_NAME_BYTES  4096		 /* longer is cut */
#define TAPIR_JIT_MAX_CODE_BYTES  (1ull << 30)	 /* larger is refused */
#define TAPIR_JIT_TABLE_MAX_BYTES (192ull << 20) /* of one table */
#define TAPIR_JIT_ALL_MAX_BYTES	  (768ull << 20) /* of all tables of this process */

/* Code may run before its name is reported, at most this much earlier. */
#define TAPIR_JIT_EARLY_NS	  100000000ull

struct tapir_jit_table;

struct tapir_jit_name {
	uint64_t start_va, size;
	uint64_t from_ns;  /* 0: from the start, or unknown */
	uint64_t until_ns; /* 0: still valid */
	const char *name;  /* name_len bytes, any; from the table: borrowed until its next __add */
	size_t name_len;
	enum tapir_jit_source source;
};

/*
 * 0 or -ENOMEM; the table is the caller's to free. What it takes counts against the bound of all
 * tables.
 */
int tapir_jit_table__new(struct tapir_jit_table **out);
void tapir_jit_table__free(struct tapir_jit_table *t);

/*
 * Copies the name; its until_ns is ignored. It ends every name it overlaps that began before it;
 * one that began after it ends the new one. From time 0, it takes nothing from names with times: it
 * is valid until the first of them. A name that is known with these addresses changes nothing. 1:
 * it was new, 0: it was not. -EINVAL: no code, or a size that cannot be; -ENOSPC: the memory bound;
 * -ENOMEM. Refused ones are counted, no line is added.
 */
int tapir_jit_table__add(struct tapir_jit_table *t, const struct tapir_jit_name *n);

/*
 * Prefetches what adding a name soon will need. A call ten names before the addition makes a large
 * table several times faster.
 */
void tapir_jit_table__expect(struct tapir_jit_table *t, uint64_t start_va, uint64_t size);

/* Returns true if any name is valid in a part of this range now. */
bool tapir_jit_table__is_held(struct tapir_jit_table *t, uint64_t start_va, uint64_t size);

/*
 * Finds the name that begins at start_va and holds now, borrowed until the next __add; it does not
 * count as given out. False: there is none.
 */
bool tapir_jit_table__at(struct tapir_jit_table *t, uint64_t start_va, struct tapir_jit_name *out);

/*
 * Ends what begins at start_va and holds at at_ns, because the code was unloaded. False: nothing
 * does.
 */
bool tapir_jit_table__end(struct tapir_jit_table *t, uint64_t start_va, uint64_t at_ns);

/*
 * Moves the code to another address from at_ns on; size 0: as long as it was. -ENOENT: nothing
 * begins at from_va; else as __add.
 */
int tapir_jit_table__move(struct tapir_jit_table *t, uint64_t from_va, uint64_t to_va,
			  uint64_t size, uint64_t at_ns);

/*
 * The name that covered va at time_ns, which it marks as used. If there was none, and the next name
 * there begins at most TAPIR_JIT_EARLY_NS later: that one. So that a lookup by (start_va, from_ns)
 * finds it, it then begins that much earlier, at most TAPIR_JIT_EARLY_NS and not before its
 * addresses were free; if it was used before, the earlier time becomes a separate name that ends
 * when the known one begins.
 */
bool tapir_jit_table__find(struct tapir_jit_table *t, uint64_t va, uint64_t time_ns,
			   struct tapir_jit_name *out);

/*
 * One after another, the names that were given out and have ended since (or ended earlier than was
 * thought), and those that took their addresses: a caller that keeps names which were given out
 * needs these, too. False: no more now.
 */
bool tapir_jit_table__next_changed(struct tapir_jit_table *t, struct tapir_jit_name *out);

/* Returns how many names are held, ended ones included. */
size_t tapir_jit_table__cnt(const struct tapir_jit_table *t); /* held, ended ones included */
/* The memory that the table takes, in bytes. */
size_t tapir_jit_table__bytes(const struct tapir_jit_table *t);
/* The number of names that found no room. */
uint64_t tapir_jit_table__refused(const struct tapir_jit_table *t);
/* Returns true if names were refused because of the memory bound: code is unnamed. */
bool tapir_jit_table__is_full(const struct tapir_jit_table *t);

#endif
