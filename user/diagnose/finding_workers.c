// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See finding_workers.h. While the file is read each wait of a worker is counted as idle, within a
 * task, or for another task, by the functions on its stack; pools are formed after the last record,
 * by the names of their threads.
 */
#include "diagnose/finding_workers.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "diagnose/finding_impl.h"
#include "spec/runtime_db/lore.h"
#include "base/keyed.h"

#define MAX_WORKERS 65536u
#define MAX_POOLS   256u

/* The traits that a stack shows. */
enum { IS_KNOWN = 1, IS_WORKER = 2, IS_IDLE = 4, IS_FOR_TASK = 8 };

/* ---- waits ---------------------------------------------------------------------------------- */

static unsigned traits_of(const char *name)
{
	struct tapir_sv text = tapir_sv__of(tapir_own_code__without_type(name));
	unsigned traits = 0;

	tapir_lore_for_each (lore) {
		traits |= tapir_sv__starts_with_any(text, lore->workers) ? IS_WORKER : 0;
		traits |= tapir_sv__starts_with_any(text, lore->takes_work) ? IS_IDLE : 0;
		traits |= tapir_sv__starts_with_any(text, lore->task_waits) ? IS_FOR_TASK : 0;
	}
	return traits;
}

/* The traits of the functions from the node out to where the thread begins. */
static unsigned traits_at(struct tapir_finding *f, uint32_t node)
{
	const struct tapir_stack_tree *tree = tapir_timeline__stacks(f->tl);
	const uint64_t *known = tapir_map__get(&f->workers.traits_by_node, node);
	unsigned traits = IS_KNOWN;
	uint64_t *kept;

	if (known)
		return (unsigned)*known;
	for (uint32_t at = node; at && at < tree->nodes.cnt; at = tree->nodes.data[at].parent)
		traits |= traits_of(tree->names.data[tree->nodes.data[at].name]);
	kept = tapir_map__put(&f->workers.traits_by_node, node, NULL);
	if (kept)
		*kept = traits;
	return traits;
}

static struct tapir_worker *worker_of(struct tapir_workers *w, const struct tapir_tl_thread *thread)
{
	struct tapir_worker made = {.tgid = thread->tgid, .tid = thread->tid};

	return tapir_keyed__add(&w->rows, thread->tid, MAX_WORKERS, made);
}

static bool is_sleep(struct tapir_finding *f, uint32_t node)
{
	const char *reason =
		tapir_wait_reasons__of(&f->reasons, tapir_timeline__stacks(f->tl), node);

	return reason && !strcmp(reason, "sleep");
}

void tapir_finding_workers__wait(struct tapir_finding *f, const struct tapir_wait *w)
{
	const struct tapir_stack_tree *tree = tapir_timeline__stacks(f->tl);
	uint64_t took_ns = w->wake_ns - w->from_ns;
	struct tapir_worker *worker;
	unsigned traits;
	bool is_asleep;

	if (!w->state || !w->node || w->node >= tree->nodes.cnt)
		return;
	traits = traits_at(f, w->node);
	worker = traits & IS_WORKER ? worker_of(&f->workers, w->thread) : NULL;
	if (!worker)
		return;
	is_asleep = is_sleep(f, w->node);
	if (traits & IS_IDLE)
		worker->idle_ns += took_ns;
	else if (traits & IS_FOR_TASK)
		worker->task_ns += took_ns;
	else if (is_asleep)
		worker->sleep_ns += took_ns;
	if (traits & IS_IDLE || !(traits & IS_FOR_TASK || is_asleep))
		return;
	if (traits & IS_FOR_TASK && took_ns > worker->longest_task_ns)
		worker->longest_task_ns = took_ns;
	tapir_weights__add(f, &worker->places, tapir_own_code__of(&f->own, tree, w->node), took_ns);
}

/* ---- pools ---------------------------------------------------------------------------------- */

/* Threads that differ in a number at the end of their names, which the kernel cuts. */
struct pool {
	uint32_t tgid;
	char name[TAPIR_COMM_BYTES + 1];
	size_t thread_cnt, stuck_cnt;
	uint64_t idle_ns, task_ns, sleep_ns;
	struct tapir_weights places;
};

struct pools tapir_vec(struct pool);

static void name_pool(struct tapir_finding *f, const struct tapir_worker *w, char *out,
		      size_t bytes)
{
	struct tapir_sv comm =
		tapir_timeline__comm(f->tl, w->tid, tapir_timeline__stats(f->tl)->last_ns);
	size_t len = comm.len;

	while (len && isdigit((unsigned char)comm.data[len - 1]))
		len--;
	snprintf(out, bytes, "%.*s", (int)len, comm.data ? comm.data : "");
}

static struct pool *pool_of(struct tapir_finding *f, struct pools *pools,
			    const struct tapir_worker *w)
{
	struct pool made = {.tgid = w->tgid}, *pool;

	name_pool(f, w, made.name, sizeof(made.name));
	tapir_vec_for_each (pool, pools)
		if (pool->tgid == made.tgid && !strcmp(pool->name, made.name))
			return pool;
	return pools->cnt < MAX_POOLS && tapir_vec__push(pools, made) ? &pools->data[pools->cnt - 1]
								      : NULL;
}

static void add_weights(struct tapir_finding *f, struct tapir_weights *to,
			const struct tapir_weights *from)
{
	for (size_t i = 0; i < from->by_name.cap; i++)
		if (from->by_name.slots[i].used)
			tapir_weights__add(f, to, (uint32_t)from->by_name.slots[i].key,
					   from->by_name.slots[i].value);
}

static void find_pools(struct tapir_finding *f, struct pools *pools)
{
	uint64_t span_ns = tapir_timeline__switched_ns(f->tl);
	const struct tapir_worker *w;
	struct pool *pool;

	tapir_vec_for_each (w, &f->workers.rows) {
		pool = pool_of(f, pools, w);
		if (!pool)
			continue;
		pool->thread_cnt++;
		pool->stuck_cnt += w->longest_task_ns * 100 >= span_ns * TAPIR_LIMIT(THROUGHOUT);
		pool->idle_ns += w->idle_ns;
		pool->task_ns += w->task_ns;
		pool->sleep_ns += w->sleep_ns;
		add_weights(f, &pool->places, &w->places);
	}
}

static void list_pool(struct tapir_finding *f, const struct pool *pool,
		      struct tapir_found_list *list)
{
	uint64_t span_ns = tapir_timeline__switched_ns(f->tl);
	uint64_t all_ns = span_ns * pool->thread_cnt, waited_ns = pool->task_ns + pool->sleep_ns;
	struct tapir_str name = {};

	tapir_str__add_printable(&name, pool->name, strlen(pool->name));
	tapir_rules__judge(
		f, list,
		(struct tapir_rule_fact){
			/*
			 * All of them waited all the time: nothing was done at all, which is more
			 * than a pool that is too small.
			 */
			.what = pool->stuck_cnt == pool->thread_cnt ? TAPIR_FACT_STUCK_WORKERS
								    : TAPIR_FACT_WORKERS,
			.cnt = (double)pool->thread_cnt,
			.ns = (double)waited_ns,
			.own_ns = (double)span_ns,
			.percent = tapir_finding__percent(waited_ns, all_ns),
			.rest = tapir_finding__percent(pool->idle_ns, all_ns),
			.took_s = (double)pool->task_ns / 1e9,
			.asleep_s = (double)pool->sleep_ns / 1e9,
			.rest_s = (double)pool->idle_ns / 1e9,
			.where = &pool->places,
			.note = pool->task_ns >= pool->sleep_ns ? "wait for other tasks" : "sleep",
			.more = name});
}

void tapir_finding_workers__list(struct tapir_finding *f, struct tapir_found_list *list)
{
	struct pools pools = {};
	struct pool *pool;

	find_pools(f, &pools);
	tapir_vec_for_each (pool, &pools) {
		list_pool(f, pool, list);
		tapir_weights__fini(&pool->places);
	}
	tapir_vec__fini(&pools);
}

void tapir_finding_workers__fini(struct tapir_finding *f)
{
	struct tapir_worker *w;

	tapir_vec_for_each (w, &f->workers.rows)
		tapir_weights__fini(&w->places);
	tapir_keyed__fini(&f->workers.rows);
	tapir_map__fini(&f->workers.traits_by_node);
}
