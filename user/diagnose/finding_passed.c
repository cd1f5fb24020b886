// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Semaphores that threads pass to each other. Whether one is used as a lock or for work shows only
 * when all threads that wait there are known, so that is decided after the last record.
 */
#include "diagnose/finding_passed.h"

#include <inttypes.h>

#include "base/keyed.h"
#include "diagnose/finding_impl.h"
#include "spec/runtime_db/lore.h"

#define MAX_ROWS 65536u

static uint64_t handoff_key(uint32_t tgid, uint32_t name, uint32_t tid)
{
	return tapir_hash__mix(tapir_hash__mix(tapir_hash__mix(13, tgid), name), tid);
}

static void count_thread(struct tapir_passed *p, const struct tapir_passed_row *like, uint32_t tid,
			 uint64_t ns)
{
	struct tapir_passed_thread made = {
		.wait = like->wait, .tgid = like->tgid, .tid = tid, .name = like->name};
	struct tapir_passed_thread *thread = tapir_keyed__add(&p->threads, tid, MAX_ROWS, made);

	if (!thread)
		return;
	thread->ns += ns;
	thread->has_several |= thread->name != like->name || thread->wait != like->wait;
}

static void count_nameless(struct tapir_passed *p, const struct tapir_wait *w)
{
	struct tapir_passed_nameless made = {
		.tgid = w->thread->tgid, .tid = w->thread->tid, .waker_tid = w->waker_tid};
	uint64_t key = handoff_key(made.tgid, made.waker_tid, made.tid);
	struct tapir_passed_nameless *row = tapir_keyed__add(&p->nameless, key, MAX_ROWS, made);

	if (!row)
		return;
	row->ns += w->wake_ns - w->from_ns;
	row->cnt++;
}

bool tapir_finding_passed__wait(struct tapir_finding *f, const struct tapir_wait *w, bool is_open)
{
	const struct tapir_stack_tree *tree = tapir_timeline__stacks(f->tl);
	const struct tapir_lore_wait *wait = tapir_finding__lore_wait(f, w);
	struct tapir_passed_row like = {.tgid = w->thread->tgid, .waker_tid = w->waker_tid};
	uint64_t took_ns = w->wake_ns - w->from_ns;
	struct tapir_passed_row *row;

	if (!wait || !wait->is_passed)
		return false;
	if (is_open && wait->passed && f->passed.parked.cnt < MAX_ROWS)
		(void)tapir_vec__push(&f->passed.parked,
				      ((struct tapir_parked){w->thread->tid, took_ns}));
	like.wait = wait;
	like.name = tapir_finding__own(f, w->node);
	if (like.name == TAPIR_APP_CODE_NONE) {
		/*
		 * The stack ends before the program's own function. These waits are given to the
		 * place whose other waits have the same waker.
		 */
		if (!is_open && w->waker_tid &&
		    tapir_wait_reason__is_truncated(tree, w->node, wait))
			count_nameless(&f->passed, w);
		return false;
	}
	if (f->passed.waiters.cnt < MAX_ROWS)
		tapir_map__put(&f->passed.waiters,
			       handoff_key(like.tgid, like.name, w->thread->tid), NULL);
	count_thread(&f->passed, &like, w->thread->tid, took_ns);
	/* Only a wait that ended shows which thread passed the semaphore on. */
	row = is_open || !w->waker_tid
		      ? NULL
		      : tapir_keyed__add(&f->passed.rows,
					 handoff_key(like.tgid, like.name, like.waker_tid),
					 MAX_ROWS, like);
	if (row) {
		row->ns += took_ns;
		row->cnt++;
	}
	return true;
}

/* All who wait in functions where threads end each other's waits. */
struct passed_sum {
	struct tapir_weights where;
	uint64_t wait_cnt, truncated_ns;
	size_t thread_cnt;
	const struct tapir_lore_wait *wait;
	struct tapir_map sites; /* of those, and how long they did there */
};

static void find_handoff_sites(struct tapir_finding *f, struct passed_sum *all)
{
	const struct tapir_passed *p = &f->passed;
	const struct tapir_passed_row *row;
	uint64_t *slot;

	tapir_vec_for_each (row, &p->rows) {
		if (!tapir_map__get(&p->waiters, handoff_key(row->tgid, row->name, row->waker_tid)))
			continue;
		slot = tapir_map__put(&all->sites, handoff_key(row->tgid, row->name, 0), NULL);
		if (slot)
			*slot += row->ns;
		tapir_weights__add(f, &all->where, row->name, row->ns);
		all->wait_cnt += row->cnt;
		all->wait = row->wait;
	}
}

/* A thread that waits in one such place alone waits there when its stacks do not tell, too. */
static void add_truncated_waits(struct tapir_finding *f, struct passed_sum *all)
{
	const struct tapir_passed_thread *t;
	uint64_t cnt, ns;

	tapir_vec_for_each (t, &f->passed.threads) {
		if (!tapir_map__get(&all->sites, handoff_key(t->tgid, t->name, 0)))
			continue;
		all->thread_cnt++;
		ns = t->has_several
			     ? 0
			     : tapir_truncated_waits__of(f, t->tid, t->wait->reason, t->ns, &cnt);
		if (!ns)
			continue;
		tapir_weights__add(f, &all->where, t->name, ns);
		all->truncated_ns += ns;
		all->wait_cnt += cnt;
	}
}

/* The one place where the thread waits that is such a place; else NULL. */
static const struct tapir_passed_thread *fellow_of(const struct tapir_finding *f,
						   const struct passed_sum *all, uint32_t tid)
{
	const struct tapir_passed_thread *t = tapir_keyed__get(&f->passed.threads, tid);

	return t && !t->has_several && tapir_map__get(&all->sites, handoff_key(t->tgid, t->name, 0))
		       ? t
		       : NULL;
}

/*
 * A thread whose stacks never show where it waits is counted with the threads that end its waits.
 */
static void add_nameless(struct tapir_finding *f, struct passed_sum *all)
{
	const struct tapir_passed_nameless *row;
	const struct tapir_passed_thread *fellow;
	struct tapir_map tids = {};

	tapir_vec_for_each (row, &f->passed.nameless) {
		fellow = tapir_keyed__get(&f->passed.threads, row->tid)
				 ? NULL
				 : fellow_of(f, all, row->waker_tid);
		if (!fellow || fellow->tgid != row->tgid)
			continue;
		tapir_weights__add(f, &all->where, fellow->name, row->ns);
		all->truncated_ns += row->ns;
		all->wait_cnt += row->cnt;
		(void)tapir_map__put(&tids, row->tid, NULL);
	}
	all->thread_cnt += tids.cnt;
	tapir_map__fini(&tids);
}

void tapir_finding_passed__list(struct tapir_finding *f, struct tapir_found_list *list)
{
	struct passed_sum all = {};

	find_handoff_sites(f, &all);
	add_truncated_waits(f, &all);
	add_nameless(f, &all);
	if (all.wait)
		TAPIR_JUDGE(f, list, PASSED, .cnt = all.thread_cnt, .other = all.wait_cnt,
			    .ns = all.where.sum, .own_ns = all.truncated_ns,
			    .subject = all.wait->reason, .where = &all.where,
			    .label = all.wait->passed ? all.wait->passed : all.wait->reason);
	tapir_weights__fini(&all.where);
	tapir_map__fini(&all.sites);
}

void tapir_finding_passed__add_parked(const struct tapir_finding *f, struct tapir_str *out)
{
	uint64_t span_ns = tapir_timeline__switched_ns(f->tl);
	struct tapir_found_labels names = {};
	const struct tapir_found_label *top;
	const struct tapir_parked *parked;

	tapir_vec_for_each (parked, &f->passed.parked)
		if (TAPIR_IS_SHARE(THROUGHOUT, parked->ns, span_ns))
			tapir_finding__count_thread(f, &names, parked->tid, 1);
	top = tapir_found_labels__worst(&names);
	if (top && top->cnt >= TAPIR_LIMIT(PARKED))
		tapir_str__addf(out,
				"; %" PRIu64 " threads %s stayed parked throughout (idle, or "
				"waiting for each other)",
				top->cnt, top->label);
	tapir_found_labels__fini(&names);
}

void tapir_finding_passed__fini(struct tapir_finding *f)
{
	tapir_vec__fini(&f->passed.parked);
	tapir_keyed__fini(&f->passed.rows);
	tapir_keyed__fini(&f->passed.threads);
	tapir_keyed__fini(&f->passed.nameless);
	tapir_map__fini(&f->passed.waiters);
}
