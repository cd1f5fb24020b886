// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Links and the work that threads have begun, in maps by task and by thread. A task runs again when
 * what it awaits has completed, so its link ends with the next work it begins; ids of tasks are
 * used again after 2^31 of them.
 */
#include "record/async_stacks/await_links.h"

static struct tapir_await_nest *nest_of(const struct tapir_await_links *l, uint32_t tid)
{
	return tapir_keyed__get(&l->nests, tid);
}

/* NULL: no room, or out of memory. */
static struct tapir_await_nest *add_nest(struct tapir_await_links *l, uint32_t tid)
{
	return tapir_keyed__add(&l->nests, tid, TAPIR_AWAIT_MAX_THREADS,
				(struct tapir_await_nest){});
}

/* ---- links ------------------------------------------------------------------------------- */

static void forget_if_same(struct tapir_map *map, uint64_t key, uint64_t value)
{
	const uint64_t *known = tapir_map__get(map, key);

	if (known && *known == value)
		tapir_map__del(map, key);
}

/* The awaiting task runs again, and so no longer awaits. Returns its function; 0: unknown. */
static uint64_t resume(struct tapir_await_links *l, uint64_t awaiter)
{
	const uint64_t *known = tapir_map__get(&l->by_awaiter, awaiter);
	uint64_t value = known ? *known : 0, function;
	struct tapir_await_link *link;

	if (!value)
		return 0;
	link = &l->links.data[value - 1];
	function = link->function;
	forget_if_same(&l->by_awaited, link->awaited, value);
	tapir_map__del(&l->by_awaiter, awaiter);
	*link = (struct tapir_await_link){};
	if (!tapir_vec__push(&l->free_links, (uint32_t)value - 1))
		l->no_room++; /* its place is not used again */
	return function;
}

/* idx + 1; 0: no room, or out of memory. */
static uint64_t take_link(struct tapir_await_links *l)
{
	if (l->free_links.cnt)
		return l->free_links.data[--l->free_links.cnt] + 1ull;
	if (l->links.cnt >= TAPIR_AWAIT_MAX_LINKS || !tapir_vec__add(&l->links))
		return 0;
	return l->links.cnt;
}

bool tapir_await_links__wait(struct tapir_await_links *l, uint32_t tgid, uint32_t task,
			     uint32_t awaiter, uint64_t va, uint64_t function)
{
	uint64_t awaited_key = tapir_await_task(tgid, task);
	uint64_t awaiter_key = tapir_await_task(tgid, awaiter);
	uint64_t *by_awaiter, *by_awaited, value;
	bool is_new = false;

	(void)resume(l, awaiter_key); /* one whose begin was lost */
	value = take_link(l);
	if (!value) {
		l->no_room++;
		return l->links.cnt >= TAPIR_AWAIT_MAX_LINKS;
	}
	l->links.data[value - 1] =
		(struct tapir_await_link){awaited_key, awaiter_key, va, function};
	by_awaiter = tapir_map__put(&l->by_awaiter, awaiter_key, NULL);
	if (!by_awaiter)
		return false;
	*by_awaiter = value;
	by_awaited = tapir_map__put(&l->by_awaited, awaited_key, &is_new);
	if (!by_awaited)
		return false;
	l->shared += !is_new;
	if (is_new)
		*by_awaited = value;
	return true;
}

const struct tapir_await_link *tapir_await_links__awaiter(const struct tapir_await_links *l,
							  uint64_t task)
{
	const uint64_t *value = tapir_map__get(&l->by_awaited, task);

	return value ? &l->links.data[*value - 1] : NULL;
}

/* ---- work -------------------------------------------------------------------------------- */

bool tapir_await_links__begin(struct tapir_await_links *l, uint32_t tgid, uint32_t tid,
			      uint32_t task, uint32_t work, uint64_t time_ns)
{
	struct tapir_await_work one = {.task = task, .work = work, .begin_ns = time_ns};
	struct tapir_await_nest *nest = add_nest(l, tid);

	if (!nest) {
		l->no_room++;
		return l->nests.cnt >= TAPIR_AWAIT_MAX_THREADS;
	}
	if (work == TAPIR_AWAIT_WORK_RUNS)
		one.function = resume(l, tapir_await_task(tgid, task));
	if (nest->beyond_cnt || nest->all.cnt >= TAPIR_AWAIT_MAX_NESTED) {
		nest->beyond_cnt++;
		return true;
	}
	return tapir_vec__push(&nest->all, one);
}

void tapir_await_links__end(struct tapir_await_links *l, uint32_t tid, uint32_t work)
{
	struct tapir_await_nest *nest = nest_of(l, tid);
	size_t at;

	if (!nest)
		return;
	if (nest->beyond_cnt) {
		nest->beyond_cnt--;
		return;
	}
	/* Work that is nested further in than the work that ends has lost its end. */
	for (at = nest->all.cnt; at && nest->all.data[at - 1].work != work; at--)
		;
	if (at)
		nest->all.cnt = at - 1;
}

void tapir_await_links__forget(struct tapir_await_links *l, uint32_t tid)
{
	struct tapir_await_nest *nest = nest_of(l, tid);

	if (nest)
		nest->all.cnt = nest->beyond_cnt = 0;
}

const struct tapir_await_work *tapir_await_links__current(const struct tapir_await_links *l,
							  uint32_t tid, size_t *run_cnt)
{
	const struct tapir_await_nest *nest = nest_of(l, tid);
	const struct tapir_await_work *last = NULL;

	*run_cnt = 0;
	if (!nest || nest->beyond_cnt)
		return NULL;
	for (size_t i = 0; i < nest->all.cnt; i++) {
		if (nest->all.data[i].work != TAPIR_AWAIT_WORK_RUNS)
			continue;
		last = &nest->all.data[i];
		++*run_cnt;
	}
	return last;
}

void tapir_await_links__fini(struct tapir_await_links *l)
{
	struct tapir_await_nest *nest;

	tapir_vec_for_each (nest, &l->nests)
		tapir_vec__fini(&nest->all);
	tapir_keyed__fini(&l->nests);
	tapir_vec__fini(&l->links);
	tapir_vec__fini(&l->free_links);
	tapir_map__fini(&l->by_awaited);
	tapir_map__fini(&l->by_awaiter);
}
