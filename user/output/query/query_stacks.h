/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * query_stacks.h - the functions of the stacks of records, as texts that are made once and
 * remembered while the names hold: most rows have a stack that an earlier row had. Bounded. For
 * output/query alone. One thread.
 */
#ifndef TAPIR_USER_QUERY_STACKS_H
#define TAPIR_USER_QUERY_STACKS_H

#include "base/arena.h"
#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"
#include "symbol/frame.h"
#include "symbol/stack_cache.h"

struct tapir_query_text {
	const char *text;
	size_t len;
};

/* A struct of zeros is empty. */
struct tapir_query_stacks {
	struct tapir_frame_cache innermost, frames; /* numbers of texts, by address */
	struct tapir_stack_cache whole;
	struct tapir_map by_text; /* hash -> idx + 1 */
	struct tapir_vec(struct tapir_query_text) texts;
	struct tapir_arena arena; /* of the texts */
	struct tapir_str text, name;
};

/* Adds the function's name, or its place in the file if it has none. buf is overwritten. */
void tapir_query_frame__add_name(struct tapir_str *out, const struct tapir_frame *function,
				 struct tapir_str *buf);

/*
 * Returns the innermost function of a stack; borrowed until the next call. No data: the record has
 * no such stack, or it is not described.
 */
struct tapir_sv tapir_query_stacks__function(struct tapir_query_stacks *s,
					     const struct tapir_catalog *catalog,
					     const struct tapir_rec *rec, uint64_t id);
/*
 * Returns all functions of a record's stacks, outermost first, as the folded format has them; as
 * above.
 */
struct tapir_sv tapir_query_stacks__whole(struct tapir_query_stacks *s,
					  const struct tapir_catalog *catalog,
					  const struct tapir_rec *rec);
/* Forgets everything, which is of one catalog. */
void tapir_query_stacks__fini(struct tapir_query_stacks *s);

#endif
