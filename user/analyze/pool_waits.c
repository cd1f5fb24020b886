// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Classifies the waits of a thread pool's workers. A worker that waits for work is idle, one that
 * waits for anything else is blocked, and both sleep in the same function: the worker's last event
 * and the time of its next one decide.
 */
#include "analyze/pool_waits.h"

#include <string.h>

#include "spec/runtime_db/lore.h"

#define LONG_NS	    5000000u
#define MAX_THREADS 65536u

void tapir_pool_waits__says_idle(struct tapir_pool_waits *p, uint32_t tid, uint64_t now_ns)
{
	uint64_t *since =
		p->idle_since.cnt < MAX_THREADS ? tapir_map__put(&p->idle_since, tid, NULL) : NULL;

	if (since)
		*since = now_ns;
}

/* The next sleep after it said so. */
static bool has_no_work(struct tapir_pool_waits *p, const struct tapir_wait *w)
{
	const uint64_t *since = tapir_map__get(&p->idle_since, w->thread->tid);

	if (!since || *since > w->until_ns)
		return false;
	tapir_map__del(&p->idle_since, w->thread->tid);
	return true;
}

static bool is_idle_function(const char *name)
{
	tapir_lore_for_each (lore)
		if (tapir_sv__starts_with_any(tapir_sv__of(name), lore->pool_idle))
			return true;
	return false;
}

/*
 * The worker may have slept and searched for work several times since it reported that it has none.
 */
static bool waits_for_work(const struct tapir_stack_tree *tree, uint32_t node)
{
	for (; node && node < tree->nodes.cnt; node = tree->nodes.data[node].parent)
		if (is_idle_function(tree->names.data[tree->nodes.data[node].name]))
			return true;
	return false;
}

/* Many short waits for answers block a thread as one long wait does; the runtime's own do not. */
static bool has_known_reason(struct tapir_pool_waits *p, struct tapir_timeline *tl,
			     const struct tapir_wait *w)
{
	return tapir_wait_reasons__of(&p->reasons, tapir_timeline__stacks(tl), w->node);
}

static enum tapir_pool_wait classify_pool_wait(struct tapir_pool_waits *p,
					       struct tapir_timeline *tl,
					       const struct tapir_wait *w, bool has_app_code)
{
	bool is_unbegun =
		w->flags & TAPIR_SWITCH_SNAPSHOT ||
		(w->node == TAPIR_NO_NODE && w->from_ns == tapir_timeline__stats(tl)->first_ns);

	/* The worker may have received work before it slept: then the program is on its stack. */
	if (has_no_work(p, w) && !has_app_code)
		return TAPIR_POOL_IDLE;
	if (w->wake_ns - w->from_ns < LONG_NS && !(has_app_code && has_known_reason(p, tl, w)))
		return TAPIR_POOL_SHORT;
	if (!has_app_code && waits_for_work(tapir_timeline__stacks(tl), w->node))
		return TAPIR_POOL_IDLE;
	if (!is_unbegun || has_app_code)
		return TAPIR_POOL_BLOCKED;
	return tapir_stack__is_complete(tapir_timeline__stacks(tl), w->node) ? TAPIR_POOL_IDLE
									     : TAPIR_POOL_UNBEGUN;
}

static void count_alive(struct tapir_pool_waits *p, const struct tapir_wait *w)
{
	bool is_new = false;
	uint64_t *until = p->alive_until.cnt < MAX_THREADS
				  ? tapir_map__put(&p->alive_until, w->thread->tid, &is_new)
				  : NULL;

	if (!until)
		return;
	if (is_new)
		*until = w->from_ns;
	if (w->until_ns > *until) {
		p->alive_ns += w->until_ns - *until;
		*until = w->until_ns;
	}
}

enum tapir_pool_wait tapir_pool_waits__add(struct tapir_pool_waits *p, struct tapir_timeline *tl,
					   const struct tapir_wait *w, bool has_app_code)
{
	uint64_t took_ns = w->wake_ns - w->from_ns;
	enum tapir_pool_wait pool_wait =
		w->state ? classify_pool_wait(p, tl, w, has_app_code) : TAPIR_POOL_SHORT;

	if (w->state)
		count_alive(p, w);
	p->idle_ns += pool_wait == TAPIR_POOL_IDLE ? took_ns : 0;
	p->unbegun_ns += pool_wait == TAPIR_POOL_UNBEGUN ? took_ns : 0;
	p->blocked_ns += pool_wait == TAPIR_POOL_BLOCKED ? took_ns : 0;
	return pool_wait;
}

void tapir_pool_waits__fini(struct tapir_pool_waits *p)
{
	tapir_wait_reasons__fini(&p->reasons);
	tapir_map__fini(&p->idle_since);
	tapir_map__fini(&p->alive_until);
}

/* The runtime's number, if it has no name. */
bool tapir_pool__is_for_blocked(const char *reason)
{
	return strstr(reason, "tarvation") || strstr(reason, "CooperativeBlocking") ||
	       !strcmp(reason, "6") || !strcmp(reason, "8");
}

bool tapir_pool__has(const struct tapir_timeline *tl, uint32_t tid, uint64_t now_ns)
{
	struct tapir_sv comm = tapir_timeline__comm(tl, tid, now_ns);

	tapir_lore_for_each (lore)
		if (lore->pool_thread && tapir_sv__starts_with(comm, lore->pool_thread))
			return true;
	return false;
}
