/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * reorder.h - records in the order of their times, although CPUs and lanes are read one after the
 * other: a copy of each waits until the newest is half a second ahead of it, or too many wait.
 *
 * Bounded memory, whatever times a file claims. One thread.
 */
#ifndef TAPIR_USER_REORDER_H
#define TAPIR_USER_REORDER_H

#include <stdbool.h>

#include "tapir/abi.h"

#define TAPIR_REORDER_WINDOW_NS 500000000u
#define TAPIR_REORDER_MAX_CNT	(1u << 17)
#define TAPIR_REORDER_MAX_BYTES (32u << 20)

struct tapir_reorder;

/* The distance of a record from its delivery: data that it will need can be prefetched. */
enum tapir_reorder_step {
	TAPIR_REORDER_FAR,
	TAPIR_REORDER_NEAR,
	TAPIR_REORDER_NEXT,
	TAPIR_REORDER_STEP_CNT
};
/* The number of records that are delivered before a record of that step. */
extern const uint8_t tapir_reorder_ahead[TAPIR_REORDER_STEP_CNT];

/*
 * out is called with each record, borrowed for the call, when its turn has come. NULL: out of
 * memory. __free drops what still waits.
 */
struct tapir_reorder *tapir_reorder__new(void (*out)(void *ctx, const struct tapir_rec *rec),
					 void *ctx);
void tapir_reorder__free(struct tapir_reorder *r);
/* Calls coming(ctx, record, step) for records that will be out soon, mostly; once for each step. */
void tapir_reorder__announce(struct tapir_reorder *r,
			     void (*coming)(void *ctx, const struct tapir_rec *rec,
					    enum tapir_reorder_step step));

/*
 * Adds a copy of a well-formed record. is_ahead: a description that arrives long before its time
 * waits for the others and does not advance them. 0 or -ENOMEM. It calls out for records whose turn
 * has come.
 */
int tapir_reorder__add(struct tapir_reorder *r, const struct tapir_rec *rec, bool is_ahead);
/*
 * Does the same, with a number that tapir_reorder__hint returns while the record is out or coming;
 * else it is 0.
 */
int tapir_reorder__add_hinted(struct tapir_reorder *r, const struct tapir_rec *rec, bool is_ahead,
			      uint64_t hint);
uint64_t tapir_reorder__hint(const struct tapir_reorder *r);
/* Delivers all that waits, after the last record. */
void tapir_reorder__finish(struct tapir_reorder *r);
/* The number that arrived later than the window allows and were delivered after younger ones. */
uint64_t tapir_reorder__late(const struct tapir_reorder *r);

#endif
