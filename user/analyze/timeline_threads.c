// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Threads and their states. A thread's time is counted when something happens to it; what its
 * process stood still meanwhile is found by the difference of two sums, so that a pause of a
 * process with a hundred thousand threads costs nothing for those that sleep.
 */
#include <stdlib.h>

#include "analyze/timeline_impl.h"
#include "analyze/wait_reason.h"

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

void tapir_pauses__begin(struct pauses *p, uint64_t now_ns)
{
	if (!p->depth++)
		p->open_ns = now_ns;
}

void tapir_pauses__end(struct pauses *p, uint64_t now_ns)
{
	if (!p->depth || --p->depth || now_ns <= p->open_ns)
		return;
	p->total_ns += now_ns - p->open_ns;
	p->recent[p->next].from_ns = p->open_ns;
	p->recent[p->next].until_ns = now_ns;
	p->next = (p->next + 1) % PAUSES_KEPT;
}

/* ---- who there is ------------------------------------------------------------------------- */

static struct tapir_tl_process *process_of(struct tapir_timeline *tl, uint32_t tgid)
{
	uint64_t *place = tapir_map__get(&tl->processes, tgid);
	struct tapir_tl_process *p;

	if (place)
		return (void *)(uintptr_t)*place;
	if (tl->processes.cnt == TAPIR_TIMELINE_MAX_PROCESSES)
		return NULL;
	p = calloc(1, sizeof(*p));
	place = p ? tapir_map__put(&tl->processes, tgid, NULL) : NULL;
	if (!place) {
		free(p);
		tl->failed = true;
		return NULL;
	}
	p->tgid = tgid;
	*place = (uintptr_t)p;
	return p;
}

static void leave_process(struct tapir_tl_thread *t)
{
	if (t->prev)
		t->prev->next = t->next;
	else if (t->process)
		t->process->threads = t->next;
	if (t->next)
		t->next->prev = t->prev;
	t->next = t->prev = NULL;
	t->process = NULL;
}

static void count_time(struct tapir_timeline *tl, const struct tapir_tl_thread *t)
{
	for (unsigned c = 0; c < TAPIR_CAUSE_CNT; c++) {
		tl->stats.cpu_ns += t->parts.ns[c][TAPIR_THREAD_RUNNING];
		tl->stats.runnable_ns += t->parts.ns[c][TAPIR_THREAD_RUNNABLE];
		tl->stats.sleeping_ns += t->parts.ns[c][TAPIR_THREAD_SLEEPING];
	}
}

static void drop_thread(struct tapir_timeline *tl, struct tapir_tl_thread *t, uint64_t now_ns)
{
	tapir_tl__advance(t, now_ns);
	tapir_tl__close_thread(tl, t, now_ns);
	count_time(tl, t);
	leave_process(t);
	tapir_map__del(&tl->threads, t->tid);
	free(t);
}

static struct tapir_tl_thread *new_thread(struct tapir_timeline *tl, uint32_t tgid, uint32_t tid,
					  uint64_t now_ns)
{
	struct tapir_tl_process *p = process_of(tl, tgid);
	struct tapir_tl_thread *t = NULL;
	uint64_t *place = NULL;

	if (!p || tl->threads.cnt == TAPIR_TIMELINE_MAX_THREADS) {
		tl->stats.no_room++;
		return NULL;
	}
	t = calloc(1, sizeof(*t));
	place = t ? tapir_map__put(&tl->threads, tid, NULL) : NULL;
	if (!place) {
		free(t);
		tl->failed = true;
		return NULL;
	}
	*place = (uintptr_t)t;
	*t = (struct tapir_tl_thread){.tgid = tgid,
				      .tid = tid,
				      .since_ns = now_ns,
				      .gc_ns = tapir_pauses__at(&p->gc, now_ns),
				      .any_ns = tapir_pauses__at(&p->any, now_ns),
				      .out_node = TAPIR_NO_NODE,
				      .last_node = TAPIR_NO_NODE,
				      .whole_node = TAPIR_NO_NODE,
				      .process = p,
				      .next = p->threads};
	if (t->next)
		t->next->prev = t;
	p->threads = t;
	return t;
}

struct tapir_tl_thread *tapir_tl__thread(struct tapir_timeline *tl, uint32_t tgid, uint32_t tid,
					 uint64_t now_ns)
{
	const uint64_t *place = tapir_map__get(&tl->threads, tid);
	struct tapir_tl_thread *t = place ? (void *)(uintptr_t)*place : NULL;

	if (t && t->tgid == tgid)
		return t;
	if (t) /* the id is another thread's now */
		drop_thread(tl, t, now_ns);
	return new_thread(tl, tgid, tid, now_ns);
}

struct tapir_tl_thread *tapir_timeline__thread(const struct tapir_timeline *tl, uint32_t tid)
{
	const uint64_t *place = tapir_map__get(&tl->threads, tid);

	return place ? (void *)(uintptr_t)*place : NULL;
}

void tapir_tl__end_process(struct tapir_timeline *tl, uint32_t tgid, uint64_t now_ns)
{
	const uint64_t *place = tapir_map__get(&tl->processes, tgid);
	struct tapir_tl_process *p = place ? (void *)(uintptr_t)*place : NULL;

	if (!p)
		return;
	while (p->threads)
		drop_thread(tl, p->threads, now_ns);
	tapir_tl__close_process(tl, p, now_ns);
	tapir_map__del(&tl->processes, tgid);
	free(p);
}

/* Ending one moves the others in the map: their ids are taken down first. */
void tapir_tl__end_all(struct tapir_timeline *tl, uint64_t now_ns)
{
	struct tapir_vec(uint32_t) tgids = {};
	const uint32_t *tgid;

	for (size_t i = 0; i < tl->processes.cap; i++)
		if (tl->processes.slots[i].used)
			tl->failed |=
				!tapir_vec__push(&tgids, (uint32_t)tl->processes.slots[i].key);
	tapir_vec_for_each (tgid, &tgids)
		tapir_tl__end_process(tl, *tgid, now_ns);
	tapir_vec__fini(&tgids);
}

/* ---- time --------------------------------------------------------------------------------- */

enum tapir_cause tapir_tl_thread__cause(const struct tapir_tl_thread *t)
{
	if (t->process->gc.depth)
		return TAPIR_CAUSE_GC;
	return t->process->any.depth ? TAPIR_CAUSE_STOP : t->own_cause;
}

void tapir_tl__advance(struct tapir_tl_thread *t, uint64_t now_ns)
{
	uint64_t gc_ns, any_ns, took_ns, gc_part, stop_part;

	if (now_ns <= t->since_ns)
		return;
	gc_ns = tapir_pauses__at(&t->process->gc, now_ns);
	any_ns = tapir_pauses__at(&t->process->any, now_ns);
	took_ns = now_ns - t->since_ns;
	gc_part = gc_ns > t->gc_ns ? gc_ns - t->gc_ns : 0;
	gc_part = gc_part < took_ns ? gc_part : took_ns;
	stop_part = any_ns > t->any_ns ? any_ns - t->any_ns : 0;
	stop_part = stop_part > gc_part ? stop_part - gc_part : 0;
	stop_part = stop_part < took_ns - gc_part ? stop_part : took_ns - gc_part;
	t->parts.ns[TAPIR_CAUSE_GC][t->state] += gc_part;
	t->parts.ns[TAPIR_CAUSE_STOP][t->state] += stop_part;
	t->parts.ns[t->own_cause][t->state] += took_ns - gc_part - stop_part;
	t->since_ns = now_ns;
	t->gc_ns = gc_ns;
	t->any_ns = any_ns;
}

/* ---- where it was ------------------------------------------------------------------------- */

void tapir_tl__was_at(struct tapir_timeline *tl, struct tapir_tl_thread *t, uint32_t node,
		      uint64_t now_ns)
{
	t->last_node = node;
	t->last_node_ns = node == TAPIR_NO_NODE ? 0 : now_ns;
	if (!tapir_stack__is_whole(&tl->tree, node))
		return;
	t->whole_node = node;
	t->whole_node_ns = now_ns;
}

uint32_t tapir_tl_thread__doing(const struct tapir_tl_thread *t, uint64_t since_ns)
{
	if (t->whole_node_ns && t->whole_node_ns >= since_ns)
		return t->whole_node;
	return t->last_node_ns && t->last_node_ns >= since_ns ? t->last_node : TAPIR_NO_NODE;
}

/* ---- switches ----------------------------------------------------------------------------- */

/* It did something, so it runs: a switch that brought it back is not in the file. */
void tapir_tl__ran(struct tapir_timeline *tl, struct tapir_tl_thread *t, uint64_t now_ns)
{
	if (t->state == TAPIR_THREAD_RUNNING || now_ns < t->since_ns)
		return;
	tapir_tl__advance(t, now_ns);
	tl->stats.unpaired += t->state != TAPIR_THREAD_UNKNOWN;
	t->state = TAPIR_THREAD_RUNNING;
}

static void go_out(struct tapir_timeline *tl, const struct tapir_rec_switch *rec)
{
	struct tapir_tl_thread *t =
		tapir_tl__thread(tl, rec->out_tgid, rec->out_tid, rec->h.time_ns);
	struct tapir_stack_ref ref = {.tgid = rec->out_tgid,
				      .time_ns = rec->h.time_ns,
				      .stack_id = rec->out_stack_id,
				      .kstack_id = rec->out_kstack_id};

	if (!t)
		return;
	if (rec->h.time_ns < t->since_ns) {
		tl->stats.unpaired++;
		return;
	}
	tl->stats.unpaired += t->state > TAPIR_THREAD_RUNNING;
	/* Who leaves has run; for how long, nobody has seen if this is the first of it. */
	tapir_tl__advance(t, rec->h.time_ns);
	if (rec->out_state & TAPIR_STATE_DEAD) {
		drop_thread(tl, t, rec->h.time_ns);
		return;
	}
	t->state = rec->out_state ? TAPIR_THREAD_SLEEPING : TAPIR_THREAD_RUNNABLE;
	t->out_ns = rec->h.time_ns;
	t->out_state = rec->out_state;
	t->out_flags = rec->flags;
	t->out_node = tl->opts.wants_stacks ? tapir_timeline__node(tl, &ref) : TAPIR_NO_NODE;
}

static void tell_wait(struct tapir_timeline *tl, struct tapir_tl_thread *t,
		      const struct tapir_rec_switch *rec, uint64_t wake_ns,
		      const struct tapir_parts *before)
{
	struct tapir_wait wait = {.thread = t,
				  .from_ns = t->out_ns,
				  .wake_ns = wake_ns,
				  .until_ns = rec->h.time_ns,
				  .node = t->out_node,
				  .state = t->out_state,
				  .flags = t->out_flags};

	if (t->out_state)
		wait.waker_tid = rec->flags & TAPIR_SWITCH_WOKEN_BY_IRQ ? 0 : rec->in_waker_tid;
	tapir_parts__add_difference(&wait.parts, &t->parts, before);
	tapir_tl__was_at(tl, t, t->out_node, rec->h.time_ns);
	if (tapir_tl__in_range(tl, rec->h.time_ns) && tapir_tl__is_told(tl, t->tgid, t->tid))
		TELL(tl, wait, &wait);
}

static void come_in(struct tapir_timeline *tl, const struct tapir_rec_switch *rec)
{
	uint64_t now_ns = rec->h.time_ns, wake_ns = now_ns;
	struct tapir_tl_thread *t = tapir_tl__thread(tl, rec->in_tgid, rec->in_tid, now_ns);
	struct tapir_parts before;

	if (!t)
		return;
	if (now_ns < t->since_ns || t->state <= TAPIR_THREAD_RUNNING) {
		tl->stats.unpaired += t->state != TAPIR_THREAD_UNKNOWN;
		if (t->state == TAPIR_THREAD_UNKNOWN)
			tapir_tl__ran(tl, t, now_ns);
		return;
	}
	before = t->parts;
	if (t->state == TAPIR_THREAD_RUNNABLE)
		wake_ns = t->out_ns;
	else if (rec->in_wake_ns && rec->in_wake_ns < now_ns)
		wake_ns = rec->in_wake_ns > t->out_ns ? rec->in_wake_ns : t->out_ns;
	tapir_tl__advance(t, wake_ns);
	t->state = TAPIR_THREAD_RUNNABLE;
	tapir_tl__advance(t, now_ns);
	t->state = TAPIR_THREAD_RUNNING;
	tell_wait(tl, t, rec, wake_ns, &before);
}

void tapir_tl__switch(struct tapir_timeline *tl, const struct tapir_rec_switch *rec)
{
	tl->stats.switches++;
	if (rec->out_tid)
		go_out(tl, rec);
	if (rec->in_tid)
		come_in(tl, rec);
}
