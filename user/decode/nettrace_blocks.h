/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nettrace_blocks.h - the contents of a block of a nettrace stream; for nettrace_stream.c and
 * nettrace_v6.c only.
 */
#ifndef TAPIR_USER_NETTRACE_BLOCKS_H
#define TAPIR_USER_NETTRACE_BLOCKS_H

#include "base/map.h"
#include "decode/nettrace_stream.h"

struct nettrace_blocks {
	struct tapir_nettrace_sink sink;
	struct tapir_map sequences; /* by capture thread: the number of its last event */
	uint64_t malformed_cnt;
};

/*
 * Each reads the content of a block of its kind, of len bytes of any content, and calls the sink; a
 * malformed one is counted and skipped from its first error on.
 */
void tapir_nettrace_blocks__metadata(struct nettrace_blocks *b, const uint8_t *data, size_t len);
void tapir_nettrace_blocks__events(struct nettrace_blocks *b, const uint8_t *data, size_t len);
void tapir_nettrace_blocks__stacks(struct nettrace_blocks *b, const uint8_t *data, size_t len);
void tapir_nettrace_blocks__sequence_point(struct nettrace_blocks *b, const uint8_t *data,
					   size_t len);

/*
 * For events whose rows another file reads: the number of an event of a capture thread, which
 * counts what it tries to write from 1 on, and that of the last it tried to write, at a sequence
 * point. What was lost in between goes to the sink.
 */
void tapir_nettrace_blocks__count(struct nettrace_blocks *b, uint64_t thread, uint32_t sequence,
				  uint64_t ticks);
void tapir_nettrace_blocks__settle(struct nettrace_blocks *b, uint64_t thread, uint32_t tried,
				   uint64_t ticks);

#endif
