// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Each thread waits for one other at most. So a search from each thread, which ends where an
 * earlier one has been, finds all cycles in linear time.
 */
#include "base/keyed.h"
#include "analyze/lock_waits.h"

#include <errno.h>

int tapir_lock_waits__add(struct tapir_lock_waits *w, uint32_t tid, uint32_t owner_tid)
{
	const struct tapir_lock_wait wait = {.tid = tid, .owner_tid = owner_tid};
	struct tapir_lock_wait *row = tapir_keyed__add(&w->by_tid, tid, SIZE_MAX, wait);

	if (!row)
		return -ENOMEM;
	*row = wait;
	return 0;
}

uint32_t tapir_lock_waits__owner(const struct tapir_lock_waits *w, uint32_t tid)
{
	const struct tapir_lock_wait *wait = tapir_keyed__get(&w->by_tid, tid);

	return wait ? wait->owner_tid : 0;
}

static size_t length_of(const struct tapir_lock_waits *w, const struct tapir_lock_wait *first)
{
	size_t cnt = 1;

	for (uint32_t tid = first->owner_tid; tid != first->tid; cnt++)
		tid = tapir_lock_waits__owner(w, tid);
	return cnt;
}

size_t tapir_lock_waits__each_deadlock(struct tapir_lock_waits *w, tapir_deadlock_fn fn, void *ctx)
{
	struct tapir_lock_wait *from, *at;
	uint32_t round = 0;
	size_t cycle_cnt = 0;

	tapir_vec_for_each (from, &w->by_tid)
		from->round = 0;
	tapir_vec_for_each (from, &w->by_tid) {
		round++;
		for (at = from; at && !at->round; at = tapir_keyed__get(&w->by_tid, at->owner_tid))
			at->round = round;
		if (!at || at->round != round)
			continue; /* it ends with a thread that runs, or where an earlier one was */
		cycle_cnt++;
		fn(ctx, at->tid, length_of(w, at));
	}
	return cycle_cnt;
}

uint32_t tapir_lock_waits__most_contended(const struct tapir_lock_waits *w, size_t *cnt)
{
	struct tapir_map cnt_by_owner = {};
	const struct tapir_lock_wait *wait;
	uint32_t owner = 0;

	*cnt = 0;
	tapir_vec_for_each (wait, &w->by_tid) {
		uint64_t *waiting = tapir_map__put(&cnt_by_owner, wait->owner_tid, NULL);

		if (waiting && ++*waiting > *cnt) {
			*cnt = *waiting;
			owner = wait->owner_tid;
		}
	}
	tapir_map__fini(&cnt_by_owner);
	return owner;
}

void tapir_lock_waits__fini(struct tapir_lock_waits *w)
{
	tapir_keyed__fini(&w->by_tid);
}
