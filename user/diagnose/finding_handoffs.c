// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Semaphores that threads pass to each other. Whether one is used as a lock or for work shows only
 * when all threads that wait there are known, so that is decided after the last record.
 */
#include <inttypes.h>

#include "base/keyed.h"
#include "diagnose/diagnosis_impl.h"
#include "spec/runtime_db/lore.h"

#define MAX_ROWS 65536u

static uint64_t handoff_key(uint32_t tgid, uint32_t name, uint32_t tid)
{
	return tapir_hash__mix(tapir_hash__mix(tapir_hash__mix(13, tgid), name), tid);
}

/* A thread that waits for semaphores of that kind: in one function alone, or in several. */
struct handoff_thread {
	const struct tapir_lore_wait *wait;
	uint32_t tgid, tid, name;
	bool has_several;
	uint64_t ns;
};

/* The threads that wait in functions where threads end each other's waits. */
struct handoff_sum {
	struct tapir_function_sums where;
	uint64_t wait_cnt, truncated_ns;
	size_t thread_cnt;
	const struct tapir_lore_wait *wait;
	struct tapir_keyed(struct handoff_thread) threads;
	struct tapir_map waiters; /* which thread waits in which function */
	struct tapir_map sites;	  /* those functions, with the time waited there */
};

bool tapir_finding_handoffs__wait(struct tapir_diagnosis *f, const struct tapir_wait *w,
				  bool is_open)
{
	const struct tapir_lore_wait *wait = tapir_diagnosis__lore_wait(f, w);

	(void)is_open;
	return wait && wait->is_handoff && tapir_diagnosis__own(f, w->node) != TAPIR_APP_CODE_NONE;
}

static bool is_handoff(const struct tapir_wait_row *row)
{
	return row->wait && row->wait->is_handoff && !row->is_lock;
}

static void count_threads(const struct tapir_diagnosis *f, struct handoff_sum *all)
{
	const struct tapir_wait_row *row;
	struct handoff_thread *thread;

	tapir_vec_for_each (row, &f->wait_table.rows) {
		struct handoff_thread made = {
			.wait = row->wait, .tgid = row->tgid, .tid = row->tid, .name = row->own};

		if (!is_handoff(row) || row->own == TAPIR_APP_CODE_NONE)
			continue;
		tapir_map__put(&all->waiters, handoff_key(row->tgid, row->own, row->tid), NULL);
		thread = tapir_keyed__add(&all->threads, row->tid, MAX_ROWS, made);
		if (!thread)
			continue;
		thread->ns += row->ns;
		thread->has_several |= thread->name != row->own || thread->wait != row->wait;
	}
}

/* Only a wait that ended shows which thread passed the semaphore on. */
static void find_handoff_sites(struct tapir_diagnosis *f, struct handoff_sum *all)
{
	const struct tapir_wait_row *row;
	uint64_t *slot;

	tapir_vec_for_each (row, &f->wait_table.rows) {
		if (!is_handoff(row) || row->own == TAPIR_APP_CODE_NONE || !row->waker_tid ||
		    !tapir_map__get(&all->waiters,
				    handoff_key(row->tgid, row->own, row->waker_tid)))
			continue;
		slot = tapir_map__put(&all->sites, handoff_key(row->tgid, row->own, 0), NULL);
		if (slot)
			*slot += row->ns;
		tapir_function_sums__add(f, &all->where, row->own, row->ns);
		all->wait_cnt += row->cnt;
		all->wait = row->wait;
	}
}

/* A thread that waits at one such site alone is taken to wait there where its stacks are truncated.
 */
static void add_truncated_waits(struct tapir_diagnosis *f, struct handoff_sum *all)
{
	const struct handoff_thread *t;
	uint64_t cnt, ns;

	tapir_vec_for_each (t, &all->threads) {
		if (!tapir_map__get(&all->sites, handoff_key(t->tgid, t->name, 0)))
			continue;
		all->thread_cnt++;
		ns = t->has_several
			     ? 0
			     : tapir_wait_table__truncated(f, t->tid, t->wait->reason, t->ns, &cnt);
		if (!ns)
			continue;
		tapir_function_sums__add(f, &all->where, t->name, ns);
		all->truncated_ns += ns;
		all->wait_cnt += cnt;
	}
}

/* Returns the thread if it waits at one such site alone; else NULL. */
static const struct handoff_thread *waiter_at_site(const struct handoff_sum *all, uint32_t tid)
{
	const struct handoff_thread *t = tapir_keyed__get(&all->threads, tid);

	return t && !t->has_several && tapir_map__get(&all->sites, handoff_key(t->tgid, t->name, 0))
		       ? t
		       : NULL;
}

/*
 * A thread whose stacks end before the program's function, in all its waits, is counted with the
 * peers that end its waits.
 */
static void add_unattributed_waits(struct tapir_diagnosis *f, struct handoff_sum *all)
{
	const struct tapir_wait_row *row;
	const struct handoff_thread *peer;
	struct tapir_map tids = {};

	tapir_vec_for_each (row, &f->wait_table.rows) {
		if (!is_handoff(row) || row->own != TAPIR_APP_CODE_NONE || !row->waker_tid ||
		    !row->is_truncated)
			continue;
		peer = tapir_keyed__get(&all->threads, row->tid)
			       ? NULL
			       : waiter_at_site(all, row->waker_tid);
		if (!peer || peer->tgid != row->tgid)
			continue;
		tapir_function_sums__add(f, &all->where, peer->name, row->ns);
		all->truncated_ns += row->ns;
		all->wait_cnt += row->cnt;
		(void)tapir_map__put(&tids, row->tid, NULL);
	}
	all->thread_cnt += tids.cnt;
	tapir_map__fini(&tids);
}

void tapir_finding_handoffs__list(struct tapir_diagnosis *f, struct tapir_findings *list)
{
	struct handoff_sum all = {};

	count_threads(f, &all);
	find_handoff_sites(f, &all);
	add_truncated_waits(f, &all);
	add_unattributed_waits(f, &all);
	if (all.wait)
		TAPIR_JUDGE(f, list, HANDOFFS, .cnt = all.thread_cnt, .other = all.wait_cnt,
			    .ns = all.where.sum, .own_ns = all.truncated_ns,
			    .subject = all.wait->reason, .where = &all.where,
			    .label = all.wait->handoff_label ? all.wait->handoff_label
							     : all.wait->reason);
	list->more += all.threads.more;
	list->failed |= all.threads.failed;
	tapir_function_sums__fini(&all.where);
	tapir_keyed__fini(&all.threads);
	tapir_map__fini(&all.waiters);
	tapir_map__fini(&all.sites);
}

void tapir_finding_handoffs__add_parked(const struct tapir_diagnosis *f, struct tapir_str *out)
{
	uint64_t span_ns = tapir_timeline__switched_ns(f->tl);
	struct tapir_label_sums names = {};
	const struct tapir_label_sum *top;
	const struct tapir_wait_row *row;

	tapir_vec_for_each (row, &f->wait_table.rows)
		if (is_handoff(row) && row->is_open && row->wait->handoff_label &&
		    TAPIR_IS_SHARE(THROUGHOUT, row->ns, span_ns))
			tapir_diagnosis__count_thread(f, &names, row->tid, 1);
	top = tapir_label_sums__largest(&names);
	if (top && top->cnt >= TAPIR_LIMIT(PARKED))
		tapir_str__addf(out,
				"; %" PRIu64 " threads %s stayed parked throughout (idle, or "
				"waiting for each other)",
				top->cnt, top->label);
	tapir_label_sums__fini(&names);
}
