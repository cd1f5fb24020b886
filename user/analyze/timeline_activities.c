// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Activities: intervals that go from thread to thread by their id. A thread's time is an activity's
 * only while the thread works for it: until it takes other work, or an event of another activity
 * shows that it did. While an activity waits for one that it began (the related id of its begin),
 * its time is "inside" that one, whichever threads run. So each part is counted once.
 */
#include "analyze/timeline_impl.h"

uint64_t tapir_tl__activity_key(uint32_t tgid, const uint8_t *id)
{
	uint64_t hash;

	if (!id)
		return 0;
	hash = tapir_hash__bytes(tapir_hash__mix(3, tgid), id, 16);
	return hash ? hash : 1;
}

static struct tapir_interval *of_key(const struct tapir_timeline *tl, uint64_t activity)
{
	const uint64_t *place = activity ? tapir_map__get(&tl->activities, activity) : NULL;

	return place ? (void *)(uintptr_t)*place : NULL;
}

/* Since it was last counted no thread's time was its own. */
static void add_away(struct tapir_interval *i, const struct tapir_tl_process *p, unsigned state,
		     uint64_t now_ns)
{
	uint64_t gc_ns = tapir_pauses__at(&p->gc, now_ns);
	uint64_t any_ns = tapir_pauses__at(&p->any, now_ns);

	if (now_ns <= i->last_ns)
		return;
	tapir_parts__add(&i->parts, state, TAPIR_CAUSE_NONE, now_ns - i->last_ns,
			 gc_ns > i->gc_ns ? gc_ns - i->gc_ns : 0,
			 any_ns > i->any_ns ? any_ns - i->any_ns : 0);
	i->last_ns = now_ns;
	i->gc_ns = gc_ns;
	i->any_ns = any_ns;
}

/* Up to now it belongs to the thread that it is on, if that is t; else nobody worked for it. */
static void settle(struct tapir_interval *i, const struct tapir_tl_thread *t, uint64_t now_ns)
{
	if (i->thread && i->thread == t)
		tapir_interval__take_parts(i, now_ns);
	else if (i->thread || i->is_away)
		add_away(i, t->process, TAPIR_THREAD_BETWEEN, now_ns);
}

void tapir_interval__work_on(struct tapir_interval *i, struct tapir_tl_thread *t, uint64_t now_ns)
{
	if (i->child_cnt)
		return;
	tapir_tl__advance(t, now_ns);
	settle(i, t, now_ns);
	i->has_slept = false;
	if (i->thread == t)
		return;
	if (i->thread)
		tapir_interval__leave(i);
	tapir_interval__enter(i, t, now_ns);
	i->is_away = false;
	if (t->tid != i->tid)
		i->flags |= TAPIR_INTERVAL_CROSSED;
}

/* What it has done since its last event was for its activity until now; later it may be awaited. */
void tapir_tl__sleeps(struct tapir_tl_thread *t, uint64_t now_ns)
{
	for (struct tapir_interval *i = t->open; i; i = i->outer) {
		if (!i->activity || i->has_slept)
			continue;
		tapir_interval__take_parts(i, now_ns);
		i->has_slept = true;
	}
}

/* Of the runtime's pool: a work item is over, and it waits or takes the next one. */
static bool ends_work(const struct tapir_probe_view *probe)
{
	return tapir_sv__is(probe->event, "ThreadPoolWorkerThreadWait") ||
	       tapir_sv__is(probe->event, "ThreadPoolDequeueWork");
}

/* Of a thread that slept since, it is not known when it began to work for another one. */
static void leave_others(struct tapir_tl_thread *t, uint64_t activity, uint64_t related,
			 bool is_over, uint64_t now_ns)
{
	struct tapir_interval *i, *outer;

	for (i = t->open; i; i = outer) {
		outer = i->outer;
		if (!i->activity ||
		    (!is_over && (i->activity == activity || i->activity == related)))
			continue;
		if (is_over || !i->has_slept)
			tapir_interval__take_parts(i, now_ns);
		tapir_interval__leave(i);
		i->is_away = true;
	}
}

void tapir_tl__follow(struct tapir_timeline *tl, struct tapir_tl_thread *t,
		      const struct tapir_probe_view *probe, const struct tapir_event_view *event)
{
	uint64_t now_ns = event->rec->h.time_ns;
	uint64_t activity = tapir_tl__activity_key(t->tgid, event->activity_id);
	bool is_over = tl->activities.cnt && t->open && ends_work(probe);
	struct tapir_interval *i;

	if (!tl->activities.cnt || !(activity || is_over))
		return;
	leave_others(t, activity, tapir_tl__activity_key(t->tgid, event->related_id), is_over,
		     now_ns);
	i = is_over ? NULL : of_key(tl, activity);
	if (i)
		tapir_interval__work_on(i, t, now_ns);
}

struct tapir_interval *tapir_timeline__parent(const struct tapir_timeline *tl,
					      const struct tapir_interval *child)
{
	struct tapir_interval *parent = of_key(tl, child->parent);

	return parent && parent->child_cnt && parent->from_ns <= child->from_ns ? parent : NULL;
}

void tapir_interval__begin_child(struct tapir_timeline *tl, struct tapir_interval *child,
				 const uint8_t *related_id, struct tapir_tl_thread *t)
{
	uint64_t key = tapir_tl__activity_key(t->tgid, related_id);
	struct tapir_interval *parent = of_key(tl, key);

	if (!parent || parent == child || !child->activity || key == child->activity)
		return;
	child->parent = key;
	if (parent->child_cnt++)
		return;
	settle(parent, t, child->from_ns);
	if (parent->thread)
		tapir_interval__leave(parent);
	parent->is_away = true;
}

void tapir_interval__end_child(struct tapir_timeline *tl, const struct tapir_interval *child,
			       struct tapir_tl_thread *t)
{
	struct tapir_interval *parent = tapir_timeline__parent(tl, child);

	if (!parent || --parent->child_cnt)
		return;
	if (!t) /* its thread is gone, and with it perhaps the process */
		return;
	add_away(parent, t->process, TAPIR_THREAD_INSIDE, child->until_ns);
	tapir_interval__work_on(parent, t, child->until_ns);
}

void tapir_interval__end_away(struct tapir_interval *i, const struct tapir_tl_process *p)
{
	if (i->child_cnt)
		add_away(i, p, TAPIR_THREAD_INSIDE, i->until_ns);
	else if (i->is_away)
		add_away(i, p, TAPIR_THREAD_BETWEEN, i->until_ns);
}
