/* SPDX-License-Identifier: GPL-2.0-or-later */
/* queue_drain.h - takes what comes through a queue, as the session does, until it is closed. */
#ifndef TAPIR_TEST_QUEUE_DRAIN_H
#define TAPIR_TEST_QUEUE_DRAIN_H

#include "base/clock.h"
#include "attach/flow/queue.h"

/* see: left_bytes of its block, 0 for a note; false: the rest of the block is not read. */
static inline void queue_drain(struct tapir_queue *queue,
			       bool (*see)(const struct tapir_rec *rec, size_t left_bytes))
{
	struct tapir_note *notes;
	struct tapir_block *block;

	while (tapir_queue__wait(queue, tapir_clock__now_ns() + TAPIR_NS_PER_SEC, &notes, &block)) {
		while (notes) {
			struct tapir_note *next = notes->next;

			see((const void *)notes->rec, 0);
			tapir_note__free(notes);
			notes = next;
		}
		for (size_t at = 0; block && at < block->used_bytes;) {
			const struct tapir_rec *rec =
				(const void *)((const char *)block->data + at);

			if (!see(rec, block->used_bytes - at))
				break;
			at += rec->size;
		}
		if (block)
			tapir_queue__give_empty(queue, block);
	}
}

#endif
