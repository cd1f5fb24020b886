/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jit_table_impl.h - the inside of a table, for jit_table.c (add, end) and jit_lookup.c (find,
 * report changes). One thread.
 */
#ifndef TAPIR_USER_JIT_TABLE_IMPL_H
#define TAPIR_USER_JIT_TABLE_IMPL_H

#include "base/vec.h"
#include "symbol/jit_arena.h"
#include "symbol/jit_index.h"
#include "symbol/jit_table.h"

struct tapir_jit_key {
	uint64_t start_va, from_ns;
};

/* A name that was used and ended: a name that takes its addresses is reported, too. */
struct tapir_jit_watch {
	uint64_t start_va, end_va, until_ns;
	bool is_taken; /* a name that took it was reported */
};

struct tapir_jit_table {
	struct tapir_jit_index live, past;
	struct tapir_jit_arena arena;
	uint64_t newest_ns;
	uint64_t past_until_ns; /* no name in past holds at this time or later */
	uint64_t refused;
	bool is_full; /* some of them for lack of memory */
	unsigned credit;
	size_t accounted_bytes;
	uint64_t next_forget_ns;
	struct tapir_vec(struct tapir_jit_key) changed; /* in past */
	size_t changed_head;
	struct tapir_vec(struct tapir_jit_watch) watched;
	size_t watch_idx;
	bool is_watch_due; /* something was added since all were checked */
};

static inline struct tapir_jit_text *tapir_jit_table__text(const struct tapir_jit_table *t,
							   const struct tapir_jit_entry *e)
{
	return tapir_jit_arena__at(&t->arena, e->text);
}

/* Returns true if an entry fits without evicting another. */
bool tapir_jit_table__has_room(struct tapir_jit_table *t);
/* Copies an entry that has ended into past. False: out of memory; the table is as it was. */
bool tapir_jit_table__add_past(struct tapir_jit_table *t, const struct tapir_jit_entry *e);

#endif
