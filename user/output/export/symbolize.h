/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * symbolize.h - a recording with names that it lacked: first every record, whose stacks ask the
 * reader's second source of names (symbol/offline_symbols.h), then a copy that has them. A name
 * takes the place of the range it names. One thread.
 */
#ifndef TAPIR_USER_SYMBOLIZE_H
#define TAPIR_USER_SYMBOLIZE_H

#include "base/map.h"
#include "base/vec.h"
#include "symbol/offline_symbols.h"
#include "trace/reader.h"
#include "trace/rewrite.h"

struct tapir_symbolize {
	struct tapir_offline_symbols *names; /* borrowed */
	struct tapir_vec(struct tapir_offline_symbol_list)
		by_segment;    /* sorted by file and offset */
	struct tapir_map seen; /* stacks of this segment */
	uint64_t segment;
	bool failed; /* out of memory */
};

/* Each record of the reader, in order; __read_end after the last. */
void tapir_symbolize__add(struct tapir_symbolize *s, const struct tapir_reader *reader,
			  const struct tapir_rec *rec);
int tapir_symbolize__read_end(struct tapir_symbolize *s);
void tapir_symbolize__fini(struct tapir_symbolize *s);

/* Writes the copy. check, ctx: of struct tapir_rewrite. */
int tapir_symbolize__write(struct tapir_symbolize *s, const struct tapir_reader *reader,
			   struct tapir_writer *w, int (*check)(void *ctx), void *ctx);

#endif
