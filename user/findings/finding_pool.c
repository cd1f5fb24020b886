// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The thread pool: its threads that wait although they have work. A worker without work says so
 * before it waits (ThreadPoolWorkerThreadWait); any other long wait of it is work that is blocked.
 * Whether one that waited before the recording began had work, only the runtime tells: it adds
 * threads: for "starvation" when nothing is taken from the queue, for
 * "cooperative blocking" when a task is waited for.
 */
#include <inttypes.h>
#include <string.h>

#include "findings/finding_impl.h"

#define LONG_NS		5000000u
#define MAX_THREADS	65536u
#define BLOCKED_PERCENT 50 /* of the time of its threads, where the runtime did not add any */

static bool is_for_starvation(const struct tapir_finding_event *e)
{
	struct tapir_str reason = {};
	bool is_one;

	tapir_event_fields__add_text(e->fields, "Reason", 40, &reason);
	is_one = reason.data &&
		 (strstr(reason.data, "tarvation") || strstr(reason.data, "CooperativeBlocking") ||
		  !strcmp(reason.data, "6") || !strcmp(reason.data, "8"));
	tapir_str__fini(&reason);
	return is_one;
}

void tapir_finding_pool__event(struct tapir_finding *f, const struct tapir_finding_event *e)
{
	uint64_t *since;

	if (e->meaning != TAPIR_MEANS_POOL && e->meaning != TAPIR_MEANS_POOL_CHANGE &&
	    e->meaning != TAPIR_MEANS_POOL_IDLE)
		return;
	f->pool.event_cnt++;
	if (e->meaning == TAPIR_MEANS_POOL_CHANGE) {
		f->pool.starved_cnt += is_for_starvation(e);
		return;
	}
	since = e->meaning == TAPIR_MEANS_POOL_IDLE && f->pool.waits_since.cnt < MAX_THREADS
			? tapir_map__put(&f->pool.waits_since, e->thread->tid, NULL)
			: NULL;
	if (since)
		*since = e->now_ns;
}

/* The next sleep after it said so. */
static bool has_no_work(struct tapir_finding *f, const struct tapir_wait *w)
{
	const uint64_t *since = tapir_map__get(&f->pool.waits_since, w->thread->tid);

	if (!since || *since > w->until_ns)
		return false;
	tapir_map__del(&f->pool.waits_since, w->thread->tid);
	return true;
}

bool tapir_finding_pool__wait(struct tapir_finding *f, const struct tapir_wait *w)
{
	enum tapir_thread_role role = tapir_finding__role(f, w->thread, w->until_ns);
	uint64_t took_ns = w->wake_ns - w->from_ns;

	if (role == TAPIR_ROLE_FINALIZER) {
		tapir_finding__weigh(f, &f->gc.finalizers, w->node, took_ns);
		return true;
	}
	if (role != TAPIR_ROLE_WORKER || !w->state)
		return false;
	if (f->pool.tids.cnt < MAX_THREADS)
		tapir_map__put(&f->pool.tids, w->thread->tid, NULL);
	if (has_no_work(f, w)) {
		f->pool.idle_ns += took_ns;
		return true;
	}
	if (took_ns < LONG_NS)
		return false;
	if (w->flags & TAPIR_SWITCH_SNAPSHOT ||
	    (w->node == TAPIR_NO_NODE && w->from_ns == tapir_timeline__stats(f->tl)->first_ns)) {
		f->pool.unbegun_ns += took_ns;
		return true;
	}
	f->pool.blocked_ns += took_ns;
	tapir_finding__weigh(f, &f->pool.blockers, w->node, took_ns);
	return false;
}

void tapir_finding_pool__list(struct tapir_finding *f, struct tapir_found_list *list)
{
	uint64_t span_ns = tapir_timeline__span_ns(f->tl);
	uint64_t blocked_ns = f->pool.blocked_ns + (f->pool.starved_cnt ? f->pool.unbegun_ns : 0);
	double threads = span_ns ? (double)blocked_ns / (double)span_ns : 0;
	double share = tapir_finding__percent(blocked_ns, blocked_ns + f->pool.idle_ns);
	struct tapir_str text = {}, evidence = {};

	if (!f->pool.event_cnt || (!f->pool.starved_cnt && share < BLOCKED_PERCENT) ||
	    !tapir_found__counts(TAPIR_FOUND_STARVATION, threads))
		return;
	tapir_str__addf(&text,
			"thread pool starvation: %.1f of %zu pool threads are blocked on average",
			threads, f->pool.tids.cnt);
	tapir_finding__add_most(f, &f->pool.blockers, " in ", &text);
	if (f->pool.starved_cnt)
		tapir_str__addf(&text,
				"; the pool changed its size for blocked threads %" PRIu64 " times",
				f->pool.starved_cnt);
	tapir_str__addf(&evidence, "%" PRIu64 " changes, %.3f s blocked, %.3f s without work",
			f->pool.starved_cnt, (double)blocked_ns / 1e9,
			(double)f->pool.idle_ns / 1e9);
	tapir_found_list__add(list, TAPIR_FOUND_STARVATION, threads,
			      tapir_finding__most(f, &f->pool.blockers), &text, &evidence, NULL);
}

void tapir_finding_pool__fini(struct tapir_finding *f)
{
	tapir_map__fini(&f->pool.waits_since);
	tapir_map__fini(&f->pool.tids);
	tapir_weights__fini(&f->pool.blockers);
}
