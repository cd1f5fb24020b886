// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds functions that wait for a lock which has no events: several threads sleep there, and one
 * wakes the next. Stacks are the same from the program's innermost frame on; the kernel's part
 * differs by how the wait was seen.
 */
#include "analyze/eventless_locks.h"

#include "analyze/wait_reason.h"
#include "base/keyed.h"

#define MAX_ROWS 65536u

/* 0: it did not sleep, or where it did is not known to its thread's start. */
static uint32_t waiting_function(struct tapir_timeline *tl, const struct tapir_wait *w)
{
	const struct tapir_stack_tree *tree = tapir_timeline__stacks(tl);

	return w->state && tapir_stack__is_complete(tree, w->node)
		       ? tapir_stack_tree__user_leaf(tree, w->node)
		       : 0;
}

static struct tapir_eventless_lock *eventless_lock_of(struct tapir_eventless_locks *u,
						      const struct tapir_wait *w, uint32_t function)
{
	uint64_t key = tapir_hash__mix(tapir_hash__mix(17, w->thread->tid), function);
	const struct tapir_eventless_lock new = {
		.tgid = w->thread->tgid, .tid = w->thread->tid, .node = w->node};

	return tapir_keyed__add(&u->rows, key, MAX_ROWS, new);
}

static void add_lock_wait(struct tapir_eventless_locks *u, const struct tapir_wait *w,
			  uint32_t function, bool is_open)
{
	uint64_t ns = w->wake_ns - w->from_ns;
	struct tapir_eventless_lock *row = eventless_lock_of(u, w, function);

	if (!row)
		return;
	row->cnt++;
	row->ns += ns;
	row->open_cnt += is_open;
	row->worst_ns = ns > row->worst_ns ? ns : row->worst_ns;
}

void tapir_eventless_locks__add_wait(struct tapir_eventless_locks *u, struct tapir_timeline *tl,
				     const struct tapir_wait *w, bool is_open)
{
	const struct tapir_interval *causing = tapir_tl_thread__causing(w->thread);
	uint32_t function = waiting_function(tl, w);

	if (!function)
		return;
	if (!causing || causing->cause != TAPIR_CAUSE_LOCK)
		add_lock_wait(u, w, function, is_open);
	else if (u->lock_stacks.cnt < MAX_ROWS)
		tapir_map__put(&u->lock_stacks, function, NULL);
}

bool tapir_eventless_locks__is_lock(const struct tapir_eventless_locks *u,
				    struct tapir_timeline *tl,
				    const struct tapir_eventless_lock *row)
{
	return tapir_map__get(&u->lock_stacks,
			      tapir_stack_tree__user_leaf(tapir_timeline__stacks(tl), row->node));
}

void tapir_eventless_locks__fini(struct tapir_eventless_locks *u)
{
	tapir_keyed__fini(&u->rows);
	tapir_map__fini(&u->lock_stacks);
}
