/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nettrace_v6.h - the blocks of a nettrace file of version 6 (dotnet-trace collect-linux, 'tapir
 * export'), after NetTraceFormat.md of microsoft/perfview: of several processes, whose threads have
 * rows of their own, with labels that events share.
 *
 * What is found goes to the sink of nettrace_stream.h. How an event is described becomes a blob of
 * version 4, which METADATA records have. Blocks are hostile: sizes and counts are bounded, and a
 * block is skipped from its first error on. Pure; one thread at a time.
 */
#ifndef TAPIR_USER_NETTRACE_V6_H
#define TAPIR_USER_NETTRACE_V6_H

#include "decode/nettrace_stream.h"

#define TAPIR_NETTRACE_V6_HEAD_BYTES 20u /* before the first block */
#define TAPIR_NETTRACE_V6_MAJOR	     6u

struct tapir_nettrace_v6;

/* sink is copied. 0 or -ENOMEM. */
int tapir_nettrace_v6__new(const struct tapir_nettrace_sink *sink, struct tapir_nettrace_v6 **out);
void tapir_nettrace_v6__free(struct tapir_nettrace_v6 *v);

/*
 * header: the four bytes before a block. Returns how many bytes the block has; 0 with *ends: the
 * file ends here.
 */
size_t tapir_nettrace_v6__block_bytes(uint32_t header, bool *ends);
/* The block that has this header. -EPROTO: its trace block makes no sense; else 0 or -ENOMEM. */
int tapir_nettrace_v6__take(struct tapir_nettrace_v6 *v, uint32_t header, const uint8_t *data,
			    size_t len);

/* Blocks and parts of blocks that made no sense. */
uint64_t tapir_nettrace_v6__malformed_cnt(const struct tapir_nettrace_v6 *v);

#endif
