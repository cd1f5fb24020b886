// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See finding_executors.h. While the file is read each wait of a worker is counted as idle, within
 * a task, or for another task, by the functions on its stack; pools are formed after the last
 * record, by the names of their threads.
 */
#include "diagnose/finding_executors.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "diagnose/diagnosis_impl.h"
#include "spec/runtime_db/lore.h"
#include "base/keyed.h"

#define MAX_WORKERS 65536u
#define MAX_POOLS   256u

/* ---- waits ---------------------------------------------------------------------------------- */

void tapir_finding_executors__wait(struct tapir_diagnosis *f, const struct tapir_wait *w)
{
	uint64_t took_ns = w->wake_ns - w->from_ns;
	struct tapir_executor_thread made = {.tgid = w->thread->tgid, .tid = w->thread->tid},
				     *worker;
	const char *reason;
	uint32_t marks;
	bool is_asleep;

	/* A thread that lost its CPU was runnable: it waited for no task. */
	if (!w->state)
		return;
	marks = tapir_node_facts__of(f, w->node)->marks;
	worker = marks & TAPIR_MARK_WORKER
			 ? tapir_keyed__add(&f->executors.rows, w->thread->tid, MAX_WORKERS, made)
			 : NULL;
	if (!worker)
		return;
	reason = tapir_diagnosis__reason_at(f, w->node);
	is_asleep = tapir_wait_reason__is_sleep(reason);
	if (marks & TAPIR_MARK_DEQUEUES)
		worker->idle_ns += took_ns;
	else if (marks & TAPIR_MARK_TASK_WAIT)
		worker->task_ns += took_ns;
	else if (is_asleep)
		worker->sleep_ns += took_ns;
	if (marks & TAPIR_MARK_DEQUEUES || !(marks & TAPIR_MARK_TASK_WAIT || is_asleep))
		return;
	if (marks & TAPIR_MARK_TASK_WAIT && took_ns > worker->longest_task_ns)
		worker->longest_task_ns = took_ns;
	tapir_diagnosis__add_app_stack(f, &worker->functions, w->node, took_ns);
}

/* ---- pools ---------------------------------------------------------------------------------- */

/* Threads that differ in a number at the end of their names, which the kernel cuts. */
struct pool {
	uint32_t tgid;
	char name[TAPIR_COMM_BYTES + 1];
	size_t thread_cnt, blocked_cnt;
	uint64_t idle_ns, task_ns, sleep_ns;
	struct tapir_function_sums functions;
};

struct pools tapir_vec(struct pool);

static void name_pool(struct tapir_diagnosis *f, const struct tapir_executor_thread *w, char *out,
		      size_t bytes)
{
	struct tapir_sv comm =
		tapir_timeline__comm(f->tl, w->tid, tapir_timeline__stats(f->tl)->last_ns);
	size_t len = comm.len;

	while (len && isdigit((unsigned char)comm.data[len - 1]))
		len--;
	snprintf(out, bytes, "%.*s", (int)len, comm.data ? comm.data : "");
}

static struct pool *pool_of(struct tapir_diagnosis *f, struct pools *pools,
			    const struct tapir_executor_thread *w)
{
	struct pool made = {.tgid = w->tgid}, *pool;

	name_pool(f, w, made.name, sizeof(made.name));
	tapir_vec_for_each (pool, pools)
		if (pool->tgid == made.tgid && !strcmp(pool->name, made.name))
			return pool;
	return pools->cnt < MAX_POOLS && tapir_vec__push(pools, made) ? &pools->data[pools->cnt - 1]
								      : NULL;
}

static void add_weights(struct tapir_diagnosis *f, struct tapir_function_sums *to,
			const struct tapir_function_sums *from)
{
	for (size_t i = 0; i < from->by_name.cap; i++)
		if (from->by_name.slots[i].used)
			tapir_function_sums__add(f, to, (uint32_t)from->by_name.slots[i].key,
						 from->by_name.slots[i].value);
	if (from->top && to->top_name == from->top_name)
		to->node = from->node;
}

static void find_pools(struct tapir_diagnosis *f, struct pools *pools)
{
	uint64_t span_ns = tapir_timeline__switched_ns(f->tl);
	const struct tapir_executor_thread *w;
	struct pool *pool;

	tapir_vec_for_each (w, &f->executors.rows) {
		pool = pool_of(f, pools, w);
		if (!pool)
			continue;
		pool->thread_cnt++;
		pool->blocked_cnt += TAPIR_IS_SHARE(THROUGHOUT, w->longest_task_ns, span_ns);
		pool->idle_ns += w->idle_ns;
		pool->task_ns += w->task_ns;
		pool->sleep_ns += w->sleep_ns;
		add_weights(f, &pool->functions, &w->functions);
	}
}

static void emit_pool(struct tapir_diagnosis *f, const struct pool *pool,
		      struct tapir_findings *list)
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
			.fact_kind = pool->blocked_cnt == pool->thread_cnt
					     ? TAPIR_FACT_BLOCKED_EXECUTOR
					     : TAPIR_FACT_EXECUTORS,
			.cnt = (double)pool->thread_cnt,
			.ns = (double)waited_ns,
			.own_ns = (double)span_ns,
			.percent = tapir_diagnosis__percent(waited_ns, all_ns),
			.rest = tapir_diagnosis__percent(pool->idle_ns, all_ns),
			.took_s = (double)pool->task_ns / 1e9,
			.asleep_s = (double)pool->sleep_ns / 1e9,
			.rest_s = (double)pool->idle_ns / 1e9,
			.where = &pool->functions,
			.note = pool->task_ns >= pool->sleep_ns ? "wait for other tasks" : "sleep",
			.who = name});
}

void tapir_finding_executors__list(struct tapir_diagnosis *f, struct tapir_findings *list)
{
	struct pools pools = {};
	struct pool *pool;

	find_pools(f, &pools);
	tapir_vec_for_each (pool, &pools) {
		emit_pool(f, pool, list);
		tapir_function_sums__fini(&pool->functions);
	}
	tapir_vec__fini(&pools);
}

void tapir_finding_executors__fini(struct tapir_diagnosis *f)
{
	struct tapir_executor_thread *w;

	tapir_vec_for_each (w, &f->executors.rows)
		tapir_function_sums__fini(&w->functions);
	tapir_keyed__fini(&f->executors.rows);
}
