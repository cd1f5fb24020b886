// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * This file finds the threads that work for a request that has a key. A method that awaits is a
 * task; its events (TaskWaitBegin: one task awaits another, TraceSynchronousWork: a thread
 * continues one, or completes it) lead from the thread on which the request began to those that
 * continue it. A task belongs to the request on whose thread it was first seen to await, or to be
 * awaited; one that was seen elsewhere before belongs to none, also if a request awaits it.
 *
 * So a request is on a thread from where the thread takes up one of its tasks until it has left the
 * last of them. The first request of a connection begins on a thread that works on no task: it is
 * there until its methods have suspended, of which each awaits the one before. If several threads
 * work for it at the same time, its time is that of the first. A request inside of another one on
 * the same thread, as two sources report it, goes with that one.
 */
#include <stdlib.h>

#include "analyze/timeline_impl.h"

#define CONTINUES 2 /* TraceSynchronousWorkBegin's Work */
#define AWAITED	  2 /* TaskWaitBegin's Behavior: no thread waits */

static struct tapir_interval *request_of(const struct tapir_timeline *tl, uint64_t map_key)
{
	const uint64_t *slot = map_key ? tapir_map__get(&tl->shared, map_key) : NULL;
	struct tapir_interval *i = slot ? (void *)(uintptr_t)*slot : NULL;

	return i && i->work ? i : NULL;
}

/* The innermost work on a task from that interval outwards; NULL: none. */
static struct tapir_interval *work_from(struct tapir_interval *i)
{
	while (i && !i->is_work)
		i = i->outer;
	return i;
}

static bool serves(const struct tapir_tl_thread *t, uint64_t map_key,
		   const struct tapir_interval *but)
{
	if (t->first_of && t->first_of == map_key && !t->suspended_ns)
		return true;
	for (struct tapir_interval *i = work_from(t->open); i; i = work_from(i->outer))
		if (i != but && i->served == map_key)
			return true;
	return false;
}

uint64_t tapir_tl_thread__request(const struct tapir_tl_thread *thread)
{
	const struct tapir_interval *work = work_from(thread->open);

	if (work && work->served)
		return work->served;
	return !thread->suspended_ns || thread->suspended_ns == thread->ran_ns ? thread->first_of
									       : 0;
}

/* ---- threads that work for it ----------------------------------------------------------------- */

/*
 * The thread on which the request began has left it: when its last method suspended there, up to
 * which its time has been counted. If none did, it is not known when.
 */
static void leave_first(struct tapir_timeline *tl, struct tapir_tl_thread *t)
{
	struct tapir_interval *i = request_of(tl, t->first_of);
	struct tapir_interval *rider = i ? request_of(tl, i->work->rider) : NULL;

	if (i) {
		i->work->is_lost |= !t->suspended_ns;
		i->work->worker_cnt -= i->work->worker_cnt > 0;
	}
	if (i && i->thread == t) {
		tapir_interval__leave(i);
		i->is_suspended = true;
	}
	if (rider && rider->thread == t) {
		tapir_interval__leave(rider);
		rider->is_suspended = true;
	}
	t->first_of = t->suspended_ns = 0;
}

static void take_up(struct tapir_timeline *tl, struct tapir_interval *i, struct tapir_tl_thread *t,
		    uint64_t now_ns)
{
	if (i->thread && i->thread->first_of == i->map_key && i->thread->suspended_ns)
		leave_first(tl, i->thread);
	if (!i->thread)
		tapir_interval__work_on(tl, i, t, now_ns);
}

static void put_down(struct tapir_interval *i, const struct tapir_tl_thread *t, uint64_t now_ns)
{
	if (i->thread != t)
		return;
	tapir_interval__take_parts(i, now_ns);
	tapir_interval__leave(i);
	i->is_suspended = true;
}

/* Another thread that works for it; NULL: none. */
static struct tapir_tl_thread *worker_of(const struct tapir_interval *i,
					 const struct tapir_tl_thread *but)
{
	struct tapir_tl_thread *t = but->process ? but->process->threads : NULL;

	while (t && (t == but || !serves(t, i->map_key, NULL)))
		t = t->next;
	return t;
}

static void begin_worker(struct tapir_timeline *tl, struct tapir_interval *i,
			 struct tapir_tl_thread *t, uint64_t now_ns)
{
	struct tapir_interval *rider = request_of(tl, i->work->rider);

	i->work->worker_cnt++;
	take_up(tl, i, t, now_ns);
	if (rider)
		take_up(tl, rider, t, now_ns);
}

static void end_worker(struct tapir_timeline *tl, struct tapir_interval *i,
		       const struct tapir_tl_thread *t, uint64_t now_ns)
{
	struct tapir_interval *rider = request_of(tl, i->work->rider);
	struct tapir_tl_thread *other = NULL;

	i->work->worker_cnt -= i->work->worker_cnt > 0;
	put_down(i, t, now_ns);
	if (rider)
		put_down(rider, t, now_ns);
	if (i->work->worker_cnt)
		other = worker_of(i, t);
	if (other)
		take_up(tl, i, other, now_ns);
	if (other && rider)
		take_up(tl, rider, other, now_ns);
}

/* ---- requests --------------------------------------------------------------------------------- */

void tapir_timeline__begin_request(struct tapir_timeline *tl, struct tapir_interval *i,
				   struct tapir_tl_thread *t)
{
	struct tapir_interval *work = work_from(t->open), *carrier;

	tl->has_requests = true;
	if (!i->map_key || i->activity)
		return;
	carrier = request_of(tl, work ? work->served : t->suspended_ns ? 0 : t->first_of);
	i->work = calloc(1, sizeof(*i->work));
	tl->failed |= !i->work;
	if (!i->work)
		return;
	if (carrier && carrier->kind != i->kind) {
		carrier->work->rider = i->map_key;
		i->carrier = carrier->map_key;
		return;
	}
	if (carrier) /* its end was not seen */
		carrier->work->is_lost = true;
	i->work->worker_cnt = 1;
	if (work) {
		work->served = i->map_key;
		return;
	}
	leave_first(tl, t);
	t->first_of = i->map_key;
}

/*
 * Without an event of tasks it is known that a thread worked for its first request throughout only
 * if it did not sleep: it may have gone away and come back.
 */
static bool has_slept(const struct tapir_interval *i, const struct tapir_tl_thread *t)
{
	uint64_t ns = 0;

	for (unsigned c = 0; c < TAPIR_CAUSE_CNT; c++)
		ns += t->parts.ns[c][TAPIR_THREAD_SLEEPING] - i->at.ns[c][TAPIR_THREAD_SLEEPING];
	return ns;
}

void tapir_timeline__end_request(struct tapir_timeline *tl, struct tapir_interval *i,
				 struct tapir_tl_thread *t, uint64_t now_ns)
{
	struct tapir_interval *rider = request_of(tl, i->work->rider);
	bool is_first = t->first_of == i->map_key;

	if (is_first && !work_from(t->open)) {
		tapir_timeline__advance(t, now_ns);
		i->work->is_lost |= i->thread != t || has_slept(i, t);
	}
	if (i->work->is_lost || !serves(t, i->carrier ? i->carrier : i->map_key, NULL))
		return;
	if (i->thread && i->thread != t)
		put_down(i, i->thread, now_ns);
	i->flags |= TAPIR_INTERVAL_FOLLOWED;
	if (rider)
		rider->work->is_lost = true;
}

void tapir_timeline__free_request(struct tapir_timeline *tl, struct tapir_interval *i)
{
	const uint64_t *task, *slot;

	if (!i->work)
		return;
	tapir_vec_for_each (task, &i->work->tasks) {
		slot = tapir_map__get(&tl->request_tasks, *task);
		if (slot && *slot == i->map_key)
			tapir_map__del(&tl->request_tasks, *task);
	}
	tapir_vec__fini(&i->work->tasks);
	free(i->work);
	i->work = NULL;
}

/* ---- tasks ------------------------------------------------------------------------------------ */

static void own_task(struct tapir_timeline *tl, uint64_t task, struct tapir_interval *request)
{
	uint64_t *slot = tapir_timeline__slot_of_task(tl, &tl->request_tasks, task);

	if (!slot || (request && *slot == request->map_key))
		return;
	*slot = request ? request->map_key : 0;
	if (request)
		tl->failed |= !tapir_vec__push(&request->work->tasks, task);
}

/* Counts the time of the request on the thread where it began, until one of its methods suspends.
 */
static void count_first(struct tapir_timeline *tl, struct tapir_tl_thread *t,
			struct tapir_interval *request)
{
	struct tapir_interval *rider = request_of(tl, request->work->rider);

	if (request->thread != t)
		return;
	t->suspended_ns = t->ran_ns;
	tapir_interval__take_parts(request, t->ran_ns);
	if (rider && rider->thread == t)
		tapir_interval__take_parts(rider, t->ran_ns);
}

/*
 * Methods suspend from the inside out: the thread has not left its first request if one suspends
 * that awaits a task of the request. NULL: it works for something else.
 */
static struct tapir_interval *first_suspends(struct tapir_timeline *tl, struct tapir_tl_thread *t,
					     uint64_t task, uint64_t awaiter)
{
	const uint64_t *owner = tapir_map__get(&tl->request_tasks, task);
	const uint64_t *own = tapir_map__get(&tl->request_tasks, awaiter);
	struct tapir_interval *i = request_of(tl, t->first_of);

	if (!i || work_from(t->open) ||
	    !((owner && *owner == t->first_of) || (own && *own == t->first_of))) {
		leave_first(tl, t);
		return NULL;
	}
	count_first(tl, t, i);
	return i;
}

void tapir_timeline__suspend(struct tapir_timeline *tl, struct tapir_tl_thread *t,
			     const struct tapir_event_fields *f)
{
	struct tapir_interval *request = request_of(tl, tapir_tl_thread__request(t));
	const uint64_t *owner;
	uint64_t awaiter, task;

	if (tapir_event_fields__u64(f, "Behavior") != AWAITED ||
	    !tapir_event_fields__u64(f, "ContinueWithTaskID"))
		return;
	awaiter = tapir_timeline__task_key(f, t->tgid, "ContinueWithTaskID");
	task = tapir_timeline__task_key(f, t->tgid, "TaskID");
	if (!request && t->first_of)
		request = first_suspends(tl, t, task, awaiter);
	else if (request && t->first_of == request->map_key && !work_from(t->open))
		count_first(tl, t, request);
	owner = tapir_map__get(&tl->request_tasks, awaiter);
	if (request || !owner || !request_of(tl, *owner))
		own_task(tl, awaiter, request);
	owner = tapir_map__get(&tl->request_tasks, task);
	if (request && (!owner || (*owner && !request_of(tl, *owner))))
		own_task(tl, task, request);
}

void tapir_timeline__begin_work(struct tapir_timeline *tl, struct tapir_interval *i,
				struct tapir_tl_thread *t, const struct tapir_event_fields *f,
				uint64_t now_ns)
{
	uint64_t task = tapir_timeline__task_key(f, t->tgid, "TaskID");
	const struct tapir_interval *outer;
	struct tapir_interval *request;
	const uint64_t *owner;

	if (tapir_event_fields__u64(f, "Work") != CONTINUES) {
		outer = work_from(i->outer);
		i->served = outer ? outer->served : t->suspended_ns ? 0 : t->first_of;
		i->task = task;
		return;
	}
	if (t->suspended_ns && !work_from(i->outer))
		leave_first(tl, t);
	owner = tapir_map__get(&tl->request_tasks, task);
	request = owner ? request_of(tl, *owner) : NULL;
	if (!owner)
		own_task(tl, task, NULL);
	if (!request)
		return;
	i->served = request->map_key;
	if (!serves(t, i->served, i))
		begin_worker(tl, request, t, now_ns);
}

void tapir_timeline__end_work(struct tapir_timeline *tl, struct tapir_interval *i,
			      struct tapir_tl_thread *t, uint64_t now_ns)
{
	struct tapir_interval *request = request_of(tl, i->served);
	const uint64_t *owner = i->task ? tapir_map__get(&tl->request_tasks, i->task) : NULL;

	if (owner && !*owner)
		tapir_map__del(&tl->request_tasks, i->task);
	if (request && !serves(t, i->served, NULL))
		end_worker(tl, request, t, now_ns);
}
