/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * chunk_ahead.h - a thread that reads and unpacks the next chunk of a file while the one before is
 * being used: unpacking takes a fifth of the time of most readers.
 *
 * It holds one chunk, calls no malloc and reports nothing: what fails there is done again by the
 * caller, whose messages and order of errors are the same with and without it.
 */
#ifndef TAPIR_USER_CHUNK_AHEAD_H
#define TAPIR_USER_CHUNK_AHEAD_H

#include "trace/chunk.h"

struct tapir_chunk_ahead;

/*
 * fd is borrowed until __stop. NULL: there is no memory, or no thread can be made; __stop accepts
 * it.
 */
struct tapir_chunk_ahead *tapir_chunk_ahead__start(int fd);
void tapir_chunk_ahead__stop(struct tapir_chunk_ahead *a);

/* Begins with the chunk at ref. A chunk that was asked for before and not taken is dropped. */
void tapir_chunk_ahead__want(struct tapir_chunk_ahead *a, const struct tapir_chunk_ref *ref);
/*
 * Waits for the chunk at ref and exchanges it with *chunk, whose records are not listed yet.
 * False: it was not asked for, is damaged or failed: the caller loads it.
 */
bool tapir_chunk_ahead__take(struct tapir_chunk_ahead *a, const struct tapir_chunk_ref *ref,
			     struct tapir_chunk *chunk);

#endif
