/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * queue.h - what flows to the session thread: blocks of captured records from the drain thread, and
 * single records with an open file now and then from the control thread.
 *
 * The number of blocks is fixed: when the session thread falls behind, the drain thread finds none,
 * leaves records in the BPF rings, and the kernel counts those that do not fit there.
 */
#ifndef TAPIR_USER_QUEUE_H
#define TAPIR_USER_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tapir/abi.h"

#define TAPIR_BLOCK_BYTES (512u * 1024u)

struct tapir_block {
	struct tapir_block *next;
	size_t used_bytes;
	uint64_t data[TAPIR_BLOCK_BYTES / 8]; /* records, 8-aligned */
};

/* A record from the control thread; for a MAPPING the opened file, else fd -1. */
struct tapir_note {
	struct tapir_note *next;
	int fd;
	uint64_t rec[]; /* struct tapir_rec … */
};

/*
 * A note for the session alone, not for the file: from its time on .NET process tgid sends events
 * of the code it compiles. Its type is not one of abi.h's.
 */
#define TAPIR_NOTE_METHODS 0x8000u
struct tapir_note_methods {
	struct tapir_rec h;
	uint32_t tgid;
	uint32_t pad0;
};

/*
 * A note without data: the thread that posts it waits until the session has handled what came
 * before.
 */
#define TAPIR_NOTE_MARK 0x8001u

struct tapir_queue;

/*
 * block_cnt blocks of TAPIR_BLOCK_BYTES are reserved, and touched only when they are used. 0 or
 * -ENOMEM. __free is for after both threads have ended; it closes files that were not taken.
 */
int tapir_queue__new(unsigned block_cnt, struct tapir_queue **out);
void tapir_queue__free(struct tapir_queue *q); /* closes files that were not taken */

/* Drain thread: an empty block, owned by the caller; NULL if there was none within wait_ms. */
struct tapir_block *tapir_queue__take_empty(struct tapir_queue *q, int wait_ms);
/* Drain thread: passes the block on and wakes the session thread. */
void tapir_queue__give_full(struct tapir_queue *q, struct tapir_block *block);

/* Any thread: returns how many posted records wait for the session thread. */
size_t tapir_queue__backlog(struct tapir_queue *q);

/*
 * Any thread. Copies rec; takes fd (or -1), even when it fails with -ENOMEM. What fails is counted:
 * events by the first, everything else by the second number of tapir_queue__refused.
 */
int tapir_queue__post(struct tapir_queue *q, const struct tapir_rec *rec, int fd);
/*
 * The same, without waking the session thread: the record is taken along with the next one that
 * wakes it, with the next block, or within a second.
 */
int tapir_queue__post_coalesced(struct tapir_queue *q, const struct tapir_rec *rec);

/*
 * Between these two the thread that posts most (main) wakes the session thread once, not for each
 * record; a block of another thread takes them along. One thread at a time.
 */
void tapir_queue__begin_batch(struct tapir_queue *q);
void tapir_queue__end_batch(struct tapir_queue *q);

struct tapir_queue_refused {
	uint64_t event_cnt, other_cnt;
};
struct tapir_queue_refused tapir_queue__refused(struct tapir_queue *q); /* any thread */

/*
 * Session thread: waits for data or until until_ns (CLOCK_MONOTONIC). *notes: all posted ones, a
 * list owned by the caller (tapir_note__free each); *block: the oldest full one, to be returned;
 * NULL if there is none. false: closed and empty.
 */
bool tapir_queue__wait(struct tapir_queue *q, uint64_t until_ns, struct tapir_note **notes,
		       struct tapir_block **block);
/* Session thread: returns a block, whose records are no longer used. */
void tapir_queue__give_empty(struct tapir_queue *q, struct tapir_block *block);
/* Frees a note and closes its file, unless fd is -1. */
void tapir_note__free(struct tapir_note *note);

/* No more is coming: __wait returns what is left, then false. */
void tapir_queue__close(struct tapir_queue *q);

#endif
