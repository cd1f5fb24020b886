// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The ends of intervals, with all that their time was. Time of an interval that none of its threads
 * accounts for is "between threads"; a record that arrived too late may end an interval before it
 * began, which then has no time.
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/timeline_impl.h"

struct tapir_tl_thread *tapir_timeline__thread(const struct tapir_timeline *tl, uint32_t tid)
{
	const uint64_t *slot = tapir_map__get(&tl->threads, tid);

	return slot ? (void *)(uintptr_t)*slot : NULL;
}

static struct tapir_tl_process *process_in(const struct tapir_timeline *tl, uint32_t tgid)
{
	const uint64_t *slot = tapir_map__get(&tl->processes, tgid);

	return slot ? (void *)(uintptr_t)*slot : NULL;
}

static void unshare(struct tapir_timeline *tl, struct tapir_interval *i, struct tapir_tl_process *p)
{
	const uint64_t *slot = tapir_map__get(&tl->activities, i->activity);

	if (i->prev)
		i->prev->next = i->next;
	else
		p->shared = i->next;
	if (i->next)
		i->next->prev = i->prev;
	if (i->activity && slot && *slot == (uintptr_t)i)
		tapir_map__del(&tl->activities, i->activity);
	slot = tapir_map__get(&tl->shared, i->map_key);
	if (slot && *slot == (uintptr_t)i)
		tapir_map__del(&tl->shared, i->map_key);
}

bool tapir_interval__is_counted_with_outer(const struct tapir_timeline *tl,
					   const struct tapir_interval *i)
{
	return i->flags & TAPIR_INTERVAL_NESTED &&
	       tl->pairs->kinds.data[i->kind].nesting == TAPIR_NESTS_AS_ONE;
}

static void count_kind(struct tapir_timeline *tl, const struct tapir_interval *i)
{
	struct tapir_interval_kind *kind = &tl->pairs->kinds.data[i->kind];
	uint64_t took_ns = i->until_ns - i->from_ns;

	if (i->flags & TAPIR_INTERVAL_NO_END) {
		kind->unended++;
		return;
	}
	if (i->flags & TAPIR_INTERVAL_NO_BEGIN) {
		kind->unbegun++;
		return;
	}
	if (i->flags & TAPIR_INTERVAL_ATTACH) {
		kind->at_attach++;
		return;
	}
	kind->cnt++;
	kind->sum_ns += i->flags & TAPIR_INTERVAL_NESTED ? 0 : took_ns;
	if (took_ns > kind->worst_ns)
		kind->worst_ns = took_ns;
}

static void notify_close(struct tapir_timeline *tl, struct tapir_interval *i)
{
	if (i->until_ns < tl->opts.from_ns ||
	    (tl->opts.until_ns && i->from_ns > tl->opts.until_ns) ||
	    !tapir_timeline__reports(tl, i->tgid, i->tid) || !i->matches_filter ||
	    tapir_interval__is_counted_with_outer(tl, i))
		return;
	if ((i->is_request || tl->pairs->kinds.data[i->kind].is_call) &&
	    tapir_catalog__precedes_attach(tl->catalog, i->from_ns))
		i->flags |= TAPIR_INTERVAL_ATTACH;
	count_kind(tl, i);
	NOTIFY(tl, close, i);
}

/*
 * Time that none of its threads accounts for is "between threads". A record that arrived too late
 * can end it before its thread's share ends: then the share is cut.
 */
static void make_whole(struct tapir_interval *i)
{
	uint64_t left_ns = i->until_ns - i->from_ns;

	for (unsigned c = 0; c < TAPIR_CAUSE_CNT; c++)
		for (unsigned s = 0; s < TAPIR_THREAD_STATE_CNT; s++) {
			if (i->parts.ns[c][s] > left_ns)
				i->parts.ns[c][s] = left_ns;
			left_ns -= i->parts.ns[c][s];
		}
	i->parts.ns[TAPIR_CAUSE_NONE][TAPIR_THREAD_UNKNOWN] += left_ns;
}

static void begin_pause(struct pauses *p, uint64_t now_ns)
{
	if (!p->depth++)
		p->open_ns = now_ns;
}

static void end_pause(struct pauses *p, uint64_t now_ns)
{
	if (!p->depth || --p->depth || now_ns <= p->open_ns)
		return;
	p->total_ns += now_ns - p->open_ns;
	p->recent[p->next].from_ns = p->open_ns;
	p->recent[p->next].until_ns = now_ns;
	p->next = (p->next + 1) % PAUSES_KEPT;
}

void tapir_timeline__pause(struct tapir_tl_process *p, const struct tapir_interval *i, bool begins,
			   uint64_t now_ns)
{
	void (*fn)(struct pauses *, uint64_t) = begins ? begin_pause : end_pause;

	if (i->scope != TAPIR_PAIR_PROCESS || !i->cause)
		return;
	if (i->cause == TAPIR_CAUSE_GC)
		fn(&p->gc, now_ns);
	fn(&p->any, now_ns);
}

/* A thread that waits for this one may be reported a moment later. */
static void remember_label(struct tapir_tl_thread *t, struct tapir_interval *i)
{
	if (!t || i->map_key || !i->label)
		return;
	free(t->last_label);
	t->last_label = i->label;
	t->last_kind = i->kind;
	t->last_from_ns = i->from_ns;
	t->last_until_ns = i->until_ns;
	i->label = NULL;
}

/* PostgreSQL, for one, takes locks of its own while a process waits for a table's. */
static void take_from_outer(const struct tapir_timeline *tl, const struct tapir_interval *i)
{
	struct tapir_interval *outer = i->outer;

	while (outer && (outer->cause != TAPIR_CAUSE_LOCK || outer->map_key))
		outer = outer->outer;
	if (outer)
		outer->inner_ns += tapir_timeline__within_ns(tl, i->from_ns, i->until_ns);
}

void tapir_timeline__close(struct tapir_timeline *tl, struct tapir_interval *i, uint64_t now_ns)
{
	struct tapir_tl_process *p = process_in(tl, i->tgid);
	struct tapir_tl_thread *t = i->thread, *ended_on = tapir_timeline__thread(tl, i->end_tid);

	i->until_ns = now_ns > i->from_ns ? now_ns : i->from_ns;
	tapir_interval__forget_await(tl, i);
	if (i->thread) {
		if (i->cause == TAPIR_CAUSE_LOCK && !i->map_key)
			take_from_outer(tl, i);
		tapir_interval__take_parts(i, i->until_ns);
		tapir_interval__leave(i);
		tapir_timeline__end_work(tl, i, t, i->until_ns);
	} else if (p) {
		tapir_interval__end_away(i, p);
	}
	if (i->map_key && p) {
		tapir_timeline__pause(p, i, false, i->until_ns);
		unshare(tl, i, p);
	}
	/*
	 * All parts are known from here on: listeners are notified last of all, but before the
	 * memory goes.
	 */
	make_whole(i);
	notify_close(tl, i);
	tapir_interval__end_child(tl, i, ended_on && ended_on->process ? ended_on : NULL);
	if (t && i->cause == TAPIR_CAUSE_LOCK && !(i->flags & TAPIR_INTERVAL_NO_END))
		t->locked_ns = i->until_ns;
	remember_label(t, i);
	tapir_timeline__free_request(tl, i);
	tl->open_cnt--;
	free(i->label);
	free(i);
}

void tapir_timeline__close_thread(struct tapir_timeline *tl, struct tapir_tl_thread *t,
				  uint64_t now_ns)
{
	struct tapir_interval *i = t->open, *outer;

	for (; i; i = outer) {
		outer = i->outer;
		if (i->map_key) { /* another thread may end it */
			tapir_interval__take_parts(i, now_ns);
			tapir_interval__leave(i);
			if (i->work)
				i->work->is_lost = true;
			continue;
		}
		i->flags |= TAPIR_INTERVAL_NO_END;
		tapir_timeline__close(tl, i, now_ns);
	}
}

void tapir_timeline__close_process(struct tapir_timeline *tl, struct tapir_tl_process *p,
				   uint64_t now_ns)
{
	while (p->shared) {
		p->shared->flags |= TAPIR_INTERVAL_NO_END;
		tapir_timeline__close(tl, p->shared, now_ns);
	}
}

/* ---- of the time that was requested ---------------------------------------------------------- */

uint64_t tapir_timeline__within_ns(const struct tapir_timeline *tl, uint64_t from_ns,
				   uint64_t until_ns)
{
	if (from_ns < tl->opts.from_ns)
		from_ns = tl->opts.from_ns;
	if (tl->opts.until_ns && until_ns > tl->opts.until_ns)
		until_ns = tl->opts.until_ns;
	return until_ns > from_ns ? until_ns - from_ns : 0;
}

uint64_t tapir_timeline__waited_ns(const struct tapir_timeline *tl, const struct tapir_interval *i)
{
	uint64_t ns = tapir_timeline__within_ns(tl, i->from_ns, i->until_ns);

	return ns > i->inner_ns ? ns - i->inner_ns : 0;
}
