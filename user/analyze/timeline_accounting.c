// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Counts time for threads, intervals and activities. A thread's time is counted when something
 * happens to it; the time its process was stopped in the meantime is the difference of two sums, so
 * that a pause of a process with a hundred thousand threads costs nothing for those that sleep.
 *
 * Activities: intervals that go from thread to thread by their id. A thread's time is an activity's
 * only while the thread works for it: until it takes other work, or an event of another activity
 * shows that it did. While an activity waits for one that it began (the related id of its begin),
 * its time is "inside" that one, whichever threads run. Where the events of tasks were recorded, it
 * is known which task it awaits, and for how long its work was in the pool's queue. So each part is
 * counted once.
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/timeline_impl.h"

/* ---- what is reported ------------------------------------------------------------------- */

bool tapir_timeline__reports(const struct tapir_timeline *tl, uint32_t tgid, uint32_t tid)
{
	const struct tapir_timeline_opts *o = &tl->opts;
	bool is_tgid = !o->tgid_cnt, is_tid = !o->tid_cnt;

	for (size_t i = 0; i < o->tgid_cnt; i++)
		is_tgid |= o->tgids[i] == tgid;
	for (size_t i = 0; i < o->tid_cnt; i++)
		is_tid |= o->tids[i] == tid;
	return is_tgid && is_tid;
}

static bool is_inside(const struct tapir_tl_thread *t)
{
	for (const struct tapir_interval *i = t->open; i; i = i->outer)
		if (i->matches_filter && i->thread == t)
			return true;
	return false;
}

bool tapir_timeline__is_chosen(struct tapir_timeline *tl, const struct tapir_tl_thread *t,
			       const struct tapir_rec *rec)
{
	const struct tapir_trace_filter *trace = tl->opts.trace;

	if (!tapir_where__has(tl->opts.where, rec, 0))
		return false;
	if (!trace || !trace->is_set)
		return true;
	if (tapir_trace_filter__has(trace, rec)) {
		tl->stats.chosen++;
		return true;
	}
	return !tapir_rec__trace_ids(rec) && is_inside(t);
}

bool tapir_timeline__has_trace(const struct tapir_timeline *tl, const struct tapir_rec *rec)
{
	return !tl->opts.trace || !tl->opts.trace->is_set ||
	       tapir_trace_filter__has(tl->opts.trace, rec);
}

const struct tapir_event_fields *tapir_timeline__fields(struct tapir_timeline *tl,
							const struct tapir_probe_view *probe,
							const struct tapir_event_view *event)
{
	tapir_event_fields__decode(&tl->fields, tl->catalog, probe, event);
	return &tl->fields;
}

/* ---- pauses of a process ------------------------------------------------------------------ */

uint64_t tapir_pauses__at(const struct pauses *p, uint64_t time_ns)
{
	uint64_t sum = p->total_ns;

	for (unsigned i = 0; i < PAUSES_KEPT; i++) {
		uint64_t from_ns = p->recent[i].from_ns, until_ns = p->recent[i].until_ns;

		if (until_ns > time_ns)
			sum -= until_ns - (from_ns > time_ns ? from_ns : time_ns);
	}
	return p->depth && time_ns > p->open_ns ? sum + (time_ns - p->open_ns) : sum;
}

/* ---- time of a thread --------------------------------------------------------------------- */

static uint64_t less_of(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/*
 * took_ns of a state, during which the process was stopped for gc_ns by GC, and for any_ns in all.
 */
static void add_parts(struct tapir_time_breakdown *parts, unsigned state, unsigned own_cause,
		      uint64_t took_ns, uint64_t gc_ns, uint64_t any_ns)
{
	uint64_t gc_part = less_of(gc_ns, took_ns);
	uint64_t stop_part = less_of(any_ns > gc_part ? any_ns - gc_part : 0, took_ns - gc_part);

	parts->ns[TAPIR_CAUSE_GC][state] += gc_part;
	parts->ns[TAPIR_CAUSE_SAFEPOINT][state] += stop_part;
	parts->ns[own_cause][state] += took_ns - gc_part - stop_part;
}

void tapir_timeline__advance(struct tapir_tl_thread *t, uint64_t now_ns)
{
	uint64_t gc_ns, any_ns;

	if (now_ns <= t->since_ns)
		return;
	gc_ns = tapir_pauses__at(&t->process->gc, now_ns);
	any_ns = tapir_pauses__at(&t->process->any, now_ns);
	add_parts(&t->parts, t->state, t->own_cause, now_ns - t->since_ns,
		  gc_ns > t->gc_ns ? gc_ns - t->gc_ns : 0,
		  any_ns > t->any_ns ? any_ns - t->any_ns : 0);
	t->since_ns = now_ns;
	t->gc_ns = gc_ns;
	t->any_ns = any_ns;
}

/* ---- intervals of a thread ---------------------------------------------------------------- */

static void find_own_cause(struct tapir_tl_thread *t)
{
	const struct tapir_interval *i = t->open;

	while (i && (!i->cause || i->scope == TAPIR_PAIR_PROCESS))
		i = i->outer;
	t->own_cause = i ? i->cause : TAPIR_CAUSE_NONE;
}

const struct tapir_interval *tapir_tl_thread__causing(const struct tapir_tl_thread *t)
{
	const struct tapir_interval *i = t->open;

	while (i && (!i->cause || i->scope == TAPIR_PAIR_PROCESS))
		i = i->outer;
	return i;
}

/* t->parts are up to date: what comes is counted from here. */
static void note_time(struct tapir_interval *i, const struct tapir_tl_thread *t, uint64_t now_ns)
{
	i->at = t->parts;
	i->last_ns = now_ns;
	i->gc_ns = t->gc_ns;
	i->any_ns = t->any_ns;
}

void tapir_interval__enter(struct tapir_interval *i, struct tapir_tl_thread *t, uint64_t now_ns)
{
	i->thread = t;
	note_time(i, t, now_ns);
	i->inner = NULL;
	i->outer = t->open;
	if (t->open)
		t->open->inner = i;
	else
		t->outermost = i;
	t->open = i;
	t->open_cnt++;
	find_own_cause(t);
}

void tapir_interval__take_parts(struct tapir_interval *i, uint64_t now_ns)
{
	tapir_timeline__advance(i->thread, now_ns);
	tapir_time_breakdown__add_difference(&i->parts, &i->thread->parts, &i->at);
	note_time(i, i->thread, now_ns);
}

void tapir_interval__leave(struct tapir_interval *i)
{
	struct tapir_tl_thread *t = i->thread;

	if (i->inner)
		i->inner->outer = i->outer;
	else
		t->open = i->outer;
	if (i->outer)
		i->outer->inner = i->inner;
	else
		t->outermost = i->inner;
	t->open_cnt--;
	i->inner = i->outer = NULL;
	i->thread = NULL;
	find_own_cause(t);
}

/* ---- activities --------------------------------------------------------------------------- */

uint64_t tapir_timeline__activity_key(uint32_t tgid, const uint8_t *id)
{
	uint64_t hash;

	if (!id)
		return 0;
	hash = tapir_hash__bytes(tapir_hash__mix(3, tgid), id, 16);
	return hash ? hash : 1;
}

static struct tapir_interval *of_key(const struct tapir_timeline *tl, uint64_t activity)
{
	const uint64_t *slot = activity ? tapir_map__get(&tl->activities, activity) : NULL;

	return slot ? (void *)(uintptr_t)*slot : NULL;
}

/* Since it was last counted no thread's time was its own. */
static void account_suspended(struct tapir_interval *i, const struct tapir_tl_process *p,
			      unsigned state, uint64_t now_ns)
{
	uint64_t gc_ns = tapir_pauses__at(&p->gc, now_ns);
	uint64_t any_ns = tapir_pauses__at(&p->any, now_ns);

	if (now_ns <= i->last_ns)
		return;
	add_parts(&i->parts, state, TAPIR_CAUSE_NONE, now_ns - i->last_ns,
		  gc_ns > i->gc_ns ? gc_ns - i->gc_ns : 0,
		  any_ns > i->any_ns ? any_ns - i->any_ns : 0);
	i->last_ns = now_ns;
	i->gc_ns = gc_ns;
	i->any_ns = any_ns;
}

void tapir_interval__forget_await(struct tapir_timeline *tl, struct tapir_interval *i)
{
	if (!i->awaits)
		return;
	tapir_map__del(&tl->awaited, i->awaits);
	free(i->await_label);
	i->await_label = NULL;
	i->awaits = 0;
}

/*
 * Counts the part of the awaited time in which the work that t took was in the queue; then it, or
 * what it completes, continued.
 */
static void add_queued(struct tapir_interval *i, const struct tapir_tl_thread *t, uint64_t now_ns)
{
	uint64_t from_ns = t->queued_ns > i->last_ns ? t->queued_ns : i->last_ns;
	uint64_t until_ns = t->taken_ns < now_ns ? t->taken_ns : now_ns;

	if (!(i->activity || i->work) || !t->queued_ns || until_ns <= from_ns)
		return;
	add_parts(&i->parts, TAPIR_THREAD_QUEUED, TAPIR_CAUSE_NONE, until_ns - from_ns, 0, 0);
	i->last_ns += until_ns - from_ns;
}

/* t continues with it. */
static void add_awaited(struct tapir_timeline *tl, struct tapir_interval *i,
			const struct tapir_tl_thread *t, uint64_t now_ns)
{
	uint64_t ns;

	add_queued(i, t, now_ns);
	ns = now_ns > i->last_ns ? now_ns - i->last_ns : 0;
	account_suspended(i, t->process, TAPIR_THREAD_AWAITING, now_ns);
	if ((i->awaits || i->work) && ns)
		NOTIFY(tl, awaited, i, ns);
	tapir_interval__forget_await(tl, i);
}

/*
 * The time until now belongs to the thread that the interval is on, if that is t; else no thread
 * worked for it.
 */
static void settle(struct tapir_timeline *tl, struct tapir_interval *i,
		   const struct tapir_tl_thread *t, uint64_t now_ns)
{
	if (i->thread && i->thread == t)
		tapir_interval__take_parts(i, now_ns);
	else if (i->thread || i->is_suspended)
		add_awaited(tl, i, t, now_ns);
}

void tapir_interval__work_on(struct tapir_timeline *tl, struct tapir_interval *i,
			     struct tapir_tl_thread *t, uint64_t now_ns)
{
	if (i->child_cnt)
		return;
	tapir_timeline__advance(t, now_ns);
	settle(tl, i, t, now_ns);
	i->has_slept = false;
	if (i->thread == t)
		return;
	if (i->thread)
		tapir_interval__leave(i);
	tapir_interval__enter(i, t, now_ns);
	i->is_suspended = false;
	if (t->tid != i->tid)
		i->flags |= TAPIR_INTERVAL_MIGRATED;
}

/*
 * Counts what the thread did since its last event for its activity; from now on it may be awaited.
 */
void tapir_timeline__sleeps(struct tapir_tl_thread *t, uint64_t now_ns)
{
	struct tapir_interval *i, *outer;

	for (i = t->open; i; i = outer) {
		outer = i->outer;
		if (!i->activity || i->has_slept)
			continue;
		if (i->awaits) { /* since its last event the thread was on its way to other work */
			tapir_interval__leave(i);
			i->is_suspended = true;
			continue;
		}
		tapir_interval__take_parts(i, now_ns);
		i->has_slept = true;
	}
}

/* ---- tasks and the pool's queue --------------------------------------------------------------- */

#define MAX_TASKS 65536u

enum task_event {
	TASK_NOTHING,
	TASK_AWAIT,	 /* an await suspends: its activity continues when the task is complete */
	TASK_RESUMED,	 /* what awaited the task continues */
	TASK_NAMED,	 /* what the task is */
	TASK_FORGOTTEN,	 /* it is complete */
	TASK_QUEUED,	 /* work of the pool */
	TASK_TAKEN,	 /* a thread's earlier work has ended */
	TASK_WORK_ENDED, /* and there is none */
};

static enum task_event classify_task_event(const struct tapir_probe_view *probe)
{
	static const struct {
		const char *event;
		enum task_event task_event;
	} known[] = {
		{"TaskWaitBegin", TASK_AWAIT},
		{"TaskWaitEnd", TASK_RESUMED},
		{"TraceOperationBegin", TASK_NAMED},
		{"TraceOperationEnd", TASK_FORGOTTEN},
		{"ThreadPoolEnqueueWork", TASK_QUEUED},
		{"ThreadPoolEnqueue", TASK_QUEUED},
		{"ThreadPoolDequeueWork", TASK_TAKEN},
		{"ThreadPoolDequeue", TASK_TAKEN},
		{"ThreadPoolWorkerThreadWait", TASK_WORK_ENDED},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (tapir_sv__is(probe->event, known[i].event))
			return known[i].task_event;
	return TASK_NOTHING;
}

static enum task_event task_event_of(struct tapir_timeline *tl,
				     const struct tapir_probe_view *probe)
{
	uint64_t *known = tapir_map__get(&tl->task_probes, probe->rec->probe_id);
	enum task_event task_event;

	if (known)
		return (enum task_event) * known;
	task_event = classify_task_event(probe);
	if (tl->task_probes.cnt < MAX_TASKS)
		known = tapir_map__put(&tl->task_probes, probe->rec->probe_id, NULL);
	if (known)
		*known = task_event;
	return task_event;
}

uint64_t tapir_timeline__task_key(const struct tapir_event_fields *f, uint32_t tgid,
				  const char *field)
{
	return tapir_hash__mix(tapir_hash__mix(17, tgid), tapir_event_fields__u64(f, field)) | 1;
}

/* "Async: <Serve>d__35" is "Serve (async)". */
static char *pretty_name(const char *name)
{
	static const char mark[] = "Async: <";
	const char *method = name + sizeof(mark) - 1;
	struct tapir_str out = {};

	if (strncmp(name, mark, sizeof(mark) - 1) || !strchr(method, '>'))
		return strdup(name);
	tapir_str__addf(&out, "%.*s (async)", (int)strcspn(method, ">"), method);
	return out.data;
}

uint64_t *tapir_timeline__slot_of_task(struct tapir_timeline *tl, struct tapir_map *tasks,
				       uint64_t key)
{
	uint64_t *slot = tapir_map__get(tasks, key);

	if (!slot && tasks->cnt >= MAX_TASKS)
		tl->stats.no_room++;
	else if (!slot)
		slot = tapir_map__put(tasks, key, NULL);
	tl->failed |= !slot && tasks->cnt < MAX_TASKS;
	return slot;
}

static void name_task(struct tapir_timeline *tl, const struct tapir_event_fields *f, uint64_t key)
{
	struct tapir_str name = {};
	uint64_t *slot;

	tapir_event_fields__add_text(f, "OperationName", 200, &name);
	if (name.data) {
		slot = tapir_timeline__slot_of_task(tl, &tl->task_names, key);
		if (slot) {
			free((void *)(uintptr_t)*slot);
			*slot = (uintptr_t)pretty_name(name.data);
		}
	}
	tapir_str__fini(&name);
}

static void forget_task(struct tapir_timeline *tl, uint64_t key)
{
	uint64_t *slot = tapir_map__get(&tl->task_names, key);

	if (!slot)
		return;
	free((void *)(uintptr_t)*slot);
	tapir_map__del(&tl->task_names, key);
}

static void take_work(struct tapir_timeline *tl, struct tapir_tl_thread *t, uint64_t key,
		      uint64_t now_ns)
{
	const uint64_t *since = tapir_map__get(&tl->queued, key);

	t->queued_ns = since ? *since : 0;
	t->taken_ns = now_ns;
	if (since)
		tapir_map__del(&tl->queued, key);
}

/* Notes the first of several tasks that are awaited: the innermost await. */
static void await(struct tapir_timeline *tl, struct tapir_interval *i, uint64_t key, uint32_t node)
{
	const uint64_t *name = tapir_map__get(&tl->task_names, key);
	uint64_t *slot = i->awaits ? NULL : tapir_timeline__slot_of_task(tl, &tl->awaited, key);

	if (!slot)
		return;
	*slot = (uintptr_t)i;
	i->awaits = key;
	i->await_node = node;
	i->await_label = name && *name ? strdup((const char *)(uintptr_t)*name) : NULL;
}

/* Wherever its thread was since the await: it was on its way to other work, or had it. */
static void resume(struct tapir_timeline *tl, struct tapir_tl_thread *t, uint64_t key,
		   uint64_t now_ns)
{
	const uint64_t *slot = tapir_map__get(&tl->awaited, key);
	struct tapir_interval *i = slot ? (void *)(uintptr_t)*slot : NULL;

	if (!i)
		return;
	if (i->child_cnt) {
		tapir_interval__forget_await(tl, i);
		return;
	}
	if (i->thread)
		tapir_interval__leave(i);
	i->is_suspended = true;
	tapir_interval__work_on(tl, i, t, now_ns);
}

static void on_task(struct tapir_timeline *tl, struct tapir_tl_thread *t,
		    enum task_event task_event, const struct tapir_event_fields *f, uint64_t now_ns)
{
	bool is_work = task_event == TASK_QUEUED || task_event == TASK_TAKEN;
	uint64_t key = tapir_timeline__task_key(f, t->tgid, is_work ? "workID" : "TaskID"), *slot;

	/*
	 * The Tpl provider writes workID, the runtime's own ThreadPoolEnqueue and Dequeue WorkID.
	 */
	if (is_work && !tapir_event_fields__find(f, "workID", 6))
		key = tapir_timeline__task_key(f, t->tgid, "WorkID");
	switch (task_event) {
	case TASK_NAMED:
		name_task(tl, f, key);
		break;
	case TASK_FORGOTTEN:
		forget_task(tl, key);
		break;
	case TASK_QUEUED:
		slot = tapir_timeline__slot_of_task(tl, &tl->queued, key);
		if (slot)
			*slot = now_ns;
		break;
	case TASK_TAKEN:
		take_work(tl, t, key, now_ns);
		break;
	case TASK_RESUMED:
		resume(tl, t, key, now_ns);
		break;
	default:
		break;
	}
}

void tapir_timeline__free_tasks(struct tapir_timeline *tl)
{
	for (size_t i = 0; i < tl->task_names.cap; i++)
		if (tl->task_names.slots[i].used)
			free((void *)(uintptr_t)tl->task_names.slots[i].value);
	tapir_map__fini(&tl->task_names);
	tapir_map__fini(&tl->task_probes);
	tapir_map__fini(&tl->awaited);
	tapir_map__fini(&tl->queued);
	tapir_map__fini(&tl->request_tasks);
}

/* ---- activities ------------------------------------------------------------------------------- */

/* If a thread slept since, it is not known when it began to work for another activity. */
static void detach_other_threads(struct tapir_tl_thread *t, uint64_t activity, uint64_t related,
				 bool has_ended, uint64_t now_ns)
{
	struct tapir_interval *i, *outer;

	for (i = t->open; i; i = outer) {
		outer = i->outer;
		if (!i->activity ||
		    (!has_ended && (i->activity == activity || i->activity == related)))
			continue;
		if (!i->awaits && (has_ended || !i->has_slept))
			tapir_interval__take_parts(i, now_ns);
		tapir_interval__leave(i);
		i->is_suspended = true;
	}
}

#define AWAITED 2 /* the event's Behavior: not a thread that waits */

static void follow_activity(struct tapir_timeline *tl, struct tapir_tl_thread *t,
			    const struct tapir_event_view *event, bool has_ended)
{
	uint64_t now_ns = event->rec->h.time_ns;
	uint64_t activity = tapir_timeline__activity_key(t->tgid, event->activity_id);
	struct tapir_interval *i;

	if (!activity && !has_ended)
		return;
	detach_other_threads(t, activity, tapir_timeline__activity_key(t->tgid, event->related_id),
			     has_ended, now_ns);
	i = has_ended ? NULL : of_key(tl, activity);
	if (i)
		tapir_interval__work_on(tl, i, t, now_ns);
}

static bool is_left(const struct tapir_interval *i, uint32_t kind)
{
	return i->is_request && i->map_key && !i->activity &&
	       (kind == TAPIR_NO_KIND || i->kind == kind);
}

/*
 * Parts are not taken: the time is counted as between threads when it ends. Of a request whose
 * tasks are followed it is known when a thread leaves it.
 */
void tapir_timeline__leave_requests(struct tapir_tl_thread *t, uint32_t kind,
				    const struct tapir_interval *except)
{
	struct tapir_interval *i, *outer;

	for (i = t->open; i; i = outer) {
		outer = i->outer;
		if (i == except || !is_left(i, kind) ||
		    (i->work && !i->work->is_lost && i->map_key != t->first_of))
			continue;
		tapir_interval__leave(i);
		i->is_suspended = true;
	}
}

static bool has_request(const struct tapir_tl_thread *t)
{
	const struct tapir_interval *i = t->open;

	while (i && !is_left(i, TAPIR_NO_KIND))
		i = i->outer;
	return i;
}

/* The request that began while the thread worked on no task; NULL: it has left it, or none did. */
static const struct tapir_interval *first_on(const struct tapir_tl_thread *t)
{
	const struct tapir_interval *i = t->first_of ? t->open : NULL;

	while (i && i->map_key != t->first_of)
		i = i->outer;
	return i;
}

bool tapir_timeline__follow(struct tapir_timeline *tl, struct tapir_tl_thread *t, uint32_t node,
			    const struct tapir_probe_view *probe,
			    const struct tapir_event_view *event)
{
	enum task_event task_event = task_event_of(tl, probe);
	const struct tapir_event_fields *f = NULL;
	struct tapir_interval *i = NULL;

	if (tl->activities.cnt)
		follow_activity(
			tl, t, event,
			t->open && (task_event == TASK_TAKEN || task_event == TASK_WORK_ENDED));
	if (task_event != TASK_NOTHING && has_request(t) &&
	    (task_event == TASK_TAKEN || task_event == TASK_WORK_ENDED ||
	     (task_event == TASK_AWAIT &&
	      tapir_event_fields__u64(tapir_timeline__fields(tl, probe, event), "Behavior") ==
		      AWAITED)))
		tapir_timeline__leave_requests(t, TAPIR_NO_KIND,
					       task_event == TASK_AWAIT ? first_on(t) : NULL);
	if (task_event == TASK_AWAIT)
		i = of_key(tl, tapir_timeline__activity_key(t->tgid, event->activity_id));
	if (task_event == TASK_NOTHING || task_event == TASK_WORK_ENDED ||
	    (task_event == TASK_AWAIT && !i))
		return task_event == TASK_AWAIT;
	f = tapir_timeline__fields(tl, probe, event);
	if (i && tapir_event_fields__u64(f, "Behavior") == AWAITED)
		await(tl, i, tapir_timeline__task_key(f, t->tgid, "TaskID"), node);
	else
		on_task(tl, t, task_event, f, event->rec->h.time_ns);
	return task_event == TASK_AWAIT;
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
	uint64_t key = tapir_timeline__activity_key(t->tgid, related_id);
	struct tapir_interval *parent = of_key(tl, key);

	if (!parent || parent == child || !child->activity || key == child->activity)
		return;
	child->parent = key;
	if (parent->child_cnt++)
		return;
	settle(tl, parent, t, child->from_ns);
	if (parent->thread)
		tapir_interval__leave(parent);
	parent->is_suspended = true;
}

void tapir_interval__end_child(struct tapir_timeline *tl, const struct tapir_interval *child,
			       struct tapir_tl_thread *t)
{
	struct tapir_interval *parent = tapir_timeline__parent(tl, child);

	if (!parent || --parent->child_cnt)
		return;
	if (!t) /* its thread is gone, and with it perhaps the process */
		return;
	account_suspended(parent, t->process, TAPIR_THREAD_IN_CHILD_ACTIVITY, child->until_ns);
	tapir_interval__work_on(tl, parent, t, child->until_ns);
}

void tapir_interval__end_away(struct tapir_interval *i, const struct tapir_tl_process *p)
{
	if (i->child_cnt)
		account_suspended(i, p, TAPIR_THREAD_IN_CHILD_ACTIVITY, i->until_ns);
	else if (i->is_suspended)
		account_suspended(i, p, TAPIR_THREAD_AWAITING, i->until_ns);
}
