/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rewrite.h - a recording copied record by record, with some left out, some changed, and others put
 * at the start of a segment. Segments and the order of records stay as they are. One thread.
 */
#ifndef TAPIR_USER_REWRITE_H
#define TAPIR_USER_REWRITE_H

#include <stdint.h>

#include "trace/reader.h"
#include "trace/writer.h"

struct tapir_rewrite {
	/* segment: from 1, as tapir_reader_stats.segments counts them; 0: before the first. NULL:
	 * nothing is put there. */
	int (*begin_segment)(void *ctx, uint64_t segment, struct tapir_writer *w);
	/* Puts what the copy has in the place of this record: itself, another, or nothing. */
	int (*put)(void *ctx, uint64_t segment, const struct tapir_rec *rec,
		   struct tapir_writer *w);
	/* Once a chunk; -errno ends the copy. */
	int (*check)(void *ctx);
	void *ctx;
};

/* reader: for its file alone, at whatever place it is. 0 or -errno; damage is left out. */
int tapir_rewrite__copy(const struct tapir_reader *reader, struct tapir_writer *w,
			const struct tapir_rewrite *rewrite);

#endif
