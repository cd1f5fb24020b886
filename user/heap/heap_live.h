/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * heap_live.h - sampled objects that are still alive, by the stacks that made them, with what holds
 * them.
 *
 * Of a runtime that can be asked: those that it sampled (heap_ops.h). Of .NET: the samples of
 * heap_allocations.h that are in the snapshot. One thread.
 */
#ifndef TAPIR_USER_HEAP_LIVE_H
#define TAPIR_USER_HEAP_LIVE_H

#include "analyze/view_result.h"
#include "base/arena.h"
#include "base/keyed.h"
#include "heap/heap_allocations.h"

struct tapir_heap_live_row {
	const char *type, *stack, *path; /* texts of the list's; "" not known */
	uint64_t cnt;
	uint64_t bytes; /* of all that the samples stand for; 0: not known */
};

struct tapir_heap_live {
	struct tapir_keyed(struct tapir_heap_live_row) rows; /* most samples first, once sorted */
	uint64_t cnt, bytes;
	uint64_t taken_cnt; /* sampled in all; 0: not known */
	uint64_t left_cnt;  /* not where they must be if they are alive: in no row */
	uint64_t lost_cnt;  /* records that were lost, so that samples may be missing */
	bool is_uneven;	    /* not taken at random: types have wrong shares */
	struct tapir_arena texts;
	bool failed;
};

/* Sleeps for the given time, or until Ctrl-C. */
void tapir_heap_live__wait(uint64_t ns);
/* Joins a complete snapshot with what was recorded before it. 0 or -ENOMEM. out: zeros. */
int tapir_heap_live__join(struct tapir_heap_live *out, const struct tapir_heap_allocations *a,
			  const struct tapir_heap_snapshot *s);

enum tapir_heap_live_text {
	TAPIR_HEAP_LIVE_TYPE,
	TAPIR_HEAP_LIVE_STACK,
	TAPIR_HEAP_LIVE_PATH,
	TAPIR_HEAP_LIVE_TEXTS
};
/* Counts one object; bytes: what it stands for, 0: not known. Then __sort. */
void tapir_heap_live__count(struct tapir_heap_live *l,
			    const struct tapir_str texts[TAPIR_HEAP_LIVE_TEXTS], uint64_t bytes);
void tapir_heap_live__sort(struct tapir_heap_live *l);

/* Adds the table "live", of `top` rows. */
void tapir_heap_live__add_table(const struct tapir_heap_live *l, uint64_t top,
				struct tapir_view_result *out);
/* Appends "120 of 900 sampled objects are alive; most: byte[] (62), ...". */
void tapir_heap_live__add_headline(const struct tapir_heap_live *l, struct tapir_str *out);

/* Frees the rows. */
void tapir_heap_live__fini(struct tapir_heap_live *l);

#endif
