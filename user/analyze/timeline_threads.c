// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Threads and their states. A process's exit is reported before the last records of its threads, so
 * a thread that is gone is kept for a while; ids are used again, so at most as long as until
 * another thread has its id.
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/app_code.h"
#include "analyze/thread_of_tapir.h"
#include "analyze/timeline_impl.h"
#include "analyze/wait_reason.h"
#include "trace/rehost.h"

/* ---- names and stacks ---------------------------------------------------------------------- */

const struct tapir_timeline_stats *tapir_timeline__stats(const struct tapir_timeline *tl)
{
	return &tl->stats;
}

struct tapir_stack_tree *tapir_timeline__stacks(struct tapir_timeline *tl)
{
	return &tl->tree;
}

uint32_t tapir_timeline__node(struct tapir_timeline *tl, const struct tapir_stack_ref *ref)
{
	return ref->stack_id || ref->kstack_id ? tapir_stack_tree__node(&tl->tree, tl->catalog, ref)
					       : TAPIR_NO_NODE;
}

struct tapir_sv tapir_timeline__comm(const struct tapir_timeline *tl, uint32_t tid,
				     uint64_t time_ns)
{
	const struct tapir_rec_thread *rec = tapir_catalog__thread(tl->catalog, tid, time_ns);
	struct tapir_thread_view view;

	if (!rec)
		return (struct tapir_sv){};
	tapir_thread_view__of(&rec->h, &view);
	return view.comm;
}

/* ---- processes and threads ----------------------------------------------------------------- */

static struct tapir_tl_process *process_of(struct tapir_timeline *tl, uint32_t tgid)
{
	uint64_t *slot = tapir_map__get(&tl->processes, tgid);
	struct tapir_tl_process *p;

	if (slot)
		return (void *)(uintptr_t)*slot;
	if (tl->processes.cnt == TAPIR_TIMELINE_MAX_PROCESSES)
		return NULL;
	p = calloc(1, sizeof(*p));
	slot = p ? tapir_map__put(&tl->processes, tgid, NULL) : NULL;
	if (!slot) {
		free(p);
		tl->failed = true;
		return NULL;
	}
	p->tgid = tgid;
	*slot = (uintptr_t)p;
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
	tl->stats.cpu_ns += t->run_ns;
	tl->stats.runnable_ns += t->short_runnable_ns;
	tl->stats.sleeping_ns += t->short_asleep_ns;
	for (unsigned c = 0; c < TAPIR_CAUSE_CNT; c++) {
		tl->stats.cpu_ns += tl->stats.has_sums ? 0 : t->parts.ns[c][TAPIR_THREAD_RUNNING];
		tl->stats.runnable_ns += t->parts.ns[c][TAPIR_THREAD_RUNNABLE];
		tl->stats.sleeping_ns += t->parts.ns[c][TAPIR_THREAD_SLEEPING];
	}
}

static void free_thread(struct tapir_timeline *tl, struct tapir_tl_thread *t)
{
	tapir_map__del(&tl->threads, t->tid);
	free(t->last_label);
	free(t);
}

/* Room for one more dead thread: the one that has been dead the longest is forgotten. */
static void retire_thread(struct tapir_timeline *tl, const struct tapir_tl_thread *t)
{
	size_t at = tl->exited_next++ % TAPIR_TIMELINE_MAX_DEAD;
	struct tapir_tl_thread *old = tapir_timeline__thread(tl, tl->dead[at].tid);

	if (old && old == tl->dead[at].thread && old->has_exited && old != t)
		free_thread(tl, old);
	tl->dead[at].tid = t->tid;
	tl->dead[at].thread = t;
}

static void emit_open_ended_wait(struct tapir_timeline *tl, struct tapir_tl_thread *t,
				 uint64_t from_ns, uint64_t until_ns)
{
	struct tapir_wait wait = {.thread = t,
				  .from_ns = from_ns,
				  .wake_ns = until_ns,
				  .until_ns = until_ns,
				  .node = TAPIR_NO_NODE,
				  .state = TAPIR_STATE_SLEEPING};

	if (t->state == TAPIR_THREAD_SLEEPING) {
		wait.node = t->offcpu_node;
		wait.state = t->out_state;
		wait.flags = t->out_flags;
		wait.futex_va = t->out_futex_va;
	}
	if (from_ns < tl->opts.from_ns)
		wait.from_ns = tl->opts.from_ns;
	if (!t->is_of_tapir && wait.from_ns < until_ns && tapir_timeline__in_range(tl, until_ns) &&
	    tapir_timeline__reports(tl, t->tgid, t->tid) &&
	    (!tapir_timeline__chooses(tl) || t->had_filtered_wait))
		NOTIFY(tl, open_ended_wait, &wait);
}

void tapir_timeline__end_range(struct tapir_timeline *tl)
{
	uint64_t end_ns = tl->opts.until_ns;

	for (size_t i = 0; i < tl->processes.cap; i++) {
		const struct tapir_map_slot *slot = &tl->processes.slots[i];
		struct tapir_tl_process *p =
			slot->used ? (void *)(uintptr_t)slot->value : NULL; // NOLINT

		for (struct tapir_tl_thread *t = p ? p->threads : NULL; t; t = t->next)
			if (t->state == TAPIR_THREAD_SLEEPING)
				emit_open_ended_wait(tl, t, t->out_ns, end_ns);
	}
}

/* In a merged recording, what a thread does is known until the end of its host's own. */
static uint64_t known_until_ns(const struct tapir_timeline *tl, uint32_t tgid, uint64_t now_ns)
{
	const struct tapir_rec_host *host = tapir_catalog__host(tl->catalog, tapir_host__of(tgid));
	uint64_t end_ns = host ? host->last_ns + host->shift_ns : now_ns;

	return end_ns < now_ns ? end_ns : now_ns;
}

static void drop_thread(struct tapir_timeline *tl, struct tapir_tl_thread *t, uint64_t now_ns)
{
	now_ns = known_until_ns(tl, t->tgid, now_ns);
	tapir_timeline__advance(t, now_ns);
	if (t->state == TAPIR_THREAD_SLEEPING)
		emit_open_ended_wait(tl, t, t->out_ns, now_ns);
	tapir_timeline__close_thread(tl, t, now_ns);
	count_time(tl, t);
	if (!tl->opts.from_ns && !tl->opts.until_ns && tapir_timeline__reports(tl, t->tgid, t->tid))
		NOTIFY(tl, ended, t);
	leave_process(t);
	t->has_exited = true;
	retire_thread(tl, t);
}

void tapir_timeline__free_exited(struct tapir_timeline *tl)
{
	for (size_t i = 0; i < TAPIR_TIMELINE_MAX_DEAD; i++) {
		struct tapir_tl_thread *t = tapir_timeline__thread(tl, tl->dead[i].tid);

		if (t && t == tl->dead[i].thread && t->has_exited)
			free_thread(tl, t);
	}
}

static struct tapir_tl_thread *new_thread(struct tapir_timeline *tl, uint32_t tgid, uint32_t tid,
					  uint64_t now_ns)
{
	struct tapir_tl_process *p = process_of(tl, tgid);
	struct tapir_tl_thread *t = NULL;
	uint64_t *slot = NULL;

	if (!p || tl->threads.cnt == TAPIR_TIMELINE_MAX_THREADS) {
		tl->stats.no_room++;
		return NULL;
	}
	t = calloc(1, sizeof(*t));
	slot = t ? tapir_map__put(&tl->threads, tid, NULL) : NULL;
	if (!slot) {
		free(t);
		tl->failed = true;
		return NULL;
	}
	*slot = (uintptr_t)t;
	/* Sums of pauses start at their present value: earlier ones are not of this thread. */
	*t = (struct tapir_tl_thread){.tgid = tgid,
				      .tid = tid,
				      .since_ns = now_ns,
				      .gc_ns = tapir_pauses__at(&p->gc, now_ns),
				      .any_ns = tapir_pauses__at(&p->any, now_ns),
				      .offcpu_node = TAPIR_NO_NODE,
				      .last_node = TAPIR_NO_NODE,
				      .complete_node = TAPIR_NO_NODE,
				      .process = p,
				      .next = p->threads};
	if (t->next)
		t->next->prev = t;
	p->threads = t;
	return t;
}

/*
 * A process's exit is reported before the last records of its threads: they are still the same
 * threads.
 */
static struct tapir_tl_thread *renew_thread(struct tapir_timeline *tl, struct tapir_tl_thread *dead,
					    uint64_t now_ns)
{
	struct tapir_tl_thread old = *dead, *t;

	dead->last_label = NULL;
	free_thread(tl, dead);
	t = new_thread(tl, old.tgid, old.tid, now_ns);
	if (!t) {
		free(old.last_label);
		return NULL;
	}
	t->last_label = old.last_label;
	t->last_kind = old.last_kind;
	t->last_from_ns = old.last_from_ns;
	t->last_until_ns = old.last_until_ns;
	t->locked_ns = old.locked_ns;
	memcpy(t->waits, old.waits, sizeof(t->waits));
	t->wait_cnt = old.wait_cnt;
	return t;
}

struct tapir_tl_thread *tapir_timeline__get_thread(struct tapir_timeline *tl, uint32_t tgid,
						   uint32_t tid, uint64_t now_ns)
{
	struct tapir_tl_thread *t = tapir_timeline__thread(tl, tid);

	if (t && t->tgid == tgid && !t->is_gone)
		return t->has_exited ? renew_thread(tl, t, now_ns) : t;
	if (t && !t->has_exited) /* the id is another thread's now */
		drop_thread(tl, t, now_ns);
	if (t)
		free_thread(tl, t);
	return new_thread(tl, tgid, tid, now_ns);
}

void tapir_timeline__forget_exited(struct tapir_timeline *tl, uint32_t tid)
{
	struct tapir_tl_thread *t = tapir_timeline__thread(tl, tid);

	if (t && t->has_exited)
		free_thread(tl, t);
}

void tapir_timeline__end_process(struct tapir_timeline *tl, uint32_t tgid, uint64_t now_ns)
{
	const uint64_t *slot = tapir_map__get(&tl->processes, tgid);
	struct tapir_tl_process *p = slot ? (void *)(uintptr_t)*slot : NULL;

	if (!p)
		return;
	while (p->threads)
		drop_thread(tl, p->threads, now_ns);
	tapir_timeline__close_process(tl, p, now_ns);
	tapir_map__del(&tl->processes, tgid);
	free(p);
}

/* Ending one moves the others in the map: their ids are copied first. */
void tapir_timeline__end_all(struct tapir_timeline *tl, uint64_t now_ns)
{
	struct tapir_vec(uint32_t) tgids = {};
	const uint32_t *tgid;

	for (size_t i = 0; i < tl->processes.cap; i++)
		if (tl->processes.slots[i].used)
			tl->failed |=
				!tapir_vec__push(&tgids, (uint32_t)tl->processes.slots[i].key);
	tapir_vec_for_each (tgid, &tgids)
		tapir_timeline__end_process(tl, *tgid, now_ns);
	tapir_vec__fini(&tgids);
}

/* ---- time --------------------------------------------------------------------------------- */

enum tapir_cause tapir_tl_thread__cause(const struct tapir_tl_thread *t)
{
	if (t->process->gc.depth)
		return TAPIR_CAUSE_GC;
	return t->process->any.depth ? TAPIR_CAUSE_SAFEPOINT : t->own_cause;
}

/* ---- where it was ------------------------------------------------------------------------- */

void tapir_timeline__set_last_stack(struct tapir_timeline *tl, struct tapir_tl_thread *t,
				    uint32_t node, uint64_t now_ns)
{
	t->last_node = node;
	t->last_node_ns = node == TAPIR_NO_NODE ? 0 : now_ns;
	if (!tapir_stack__is_complete(&tl->tree, node))
		return;
	t->complete_node = node;
	t->whole_node_ns = now_ns;
}

/* An event fired right before a wait, and none after it, shows where the wait began, if the wait's
 * stack does not. */
#define OWN_LOOKS                                                                                  \
	8 /* stacks of a thread that are checked: tapir's own always sleeps at the same place */
#define RIGHT_BEFORE_NS 1000000u

/*
 * Makes room for a wait that ends now. Of any time up to now, an earlier and shorter one takes no
 * larger part than this one does: it is dropped.
 */
static struct tapir_tl_wait *room_for_wait(struct tapir_tl_thread *t, uint64_t took_ns)
{
	while (t->wait_cnt &&
	       t->waits[t->wait_cnt - 1].until_ns - t->waits[t->wait_cnt - 1].from_ns <= took_ns)
		t->wait_cnt--;
	if (t->wait_cnt == TAPIR_TL_WAITS)
		memmove(t->waits, t->waits + 1, --t->wait_cnt * sizeof(t->waits[0]));
	return &t->waits[t->wait_cnt++];
}

static void has_waited(struct tapir_timeline *tl, struct tapir_tl_thread *t,
		       const struct tapir_wait *wait)
{
	uint64_t now_ns = wait->until_ns;
	struct tapir_tl_wait *w = room_for_wait(t, now_ns - t->out_ns);

	*w = (struct tapir_tl_wait){.from_ns = t->out_ns,
				    .wake_ns = wait->wake_ns,
				    .until_ns = now_ns,
				    .node = t->offcpu_node,
				    .offcpu_node = t->offcpu_node,
				    .waker_tid = wait->waker_tid,
				    .state = wait->state,
				    .flags = wait->flags};
	/* A thread that waits for a lock of its runtime does something once it has that. */
	if (t->own_cause == TAPIR_CAUSE_LOCK)
		return;
	if (!tapir_stack__is_complete(&tl->tree, t->offcpu_node) &&
	    !tapir_app_code__origin(&tl->tree, t->offcpu_node) &&
	    t->whole_node_ns == t->last_node_ns && t->whole_node_ns &&
	    t->whole_node_ns + RIGHT_BEFORE_NS >= t->out_ns)
		w->node = t->complete_node;
	tapir_timeline__set_last_stack(tl, t, t->offcpu_node, now_ns);
}

const struct tapir_tl_wait *tapir_tl_thread__longest_wait(const struct tapir_tl_thread *t,
							  uint64_t since_ns, uint64_t now_ns)
{
	for (unsigned i = t->wait_cnt; i-- > 0;) {
		const struct tapir_tl_wait *w = &t->waits[i];
		uint64_t from_ns = w->from_ns > since_ns ? w->from_ns : since_ns;
		uint64_t until_ns = w->until_ns < now_ns ? w->until_ns : now_ns;

		if (until_ns > from_ns && (until_ns - from_ns) * 2 >= now_ns - since_ns)
			return w;
	}
	return NULL;
}

uint32_t tapir_tl_thread__dominant_stack(const struct tapir_tl_thread *t, uint64_t since_ns,
					 uint64_t now_ns)
{
	const struct tapir_tl_wait *w;

	if (t->locked_ns > since_ns && t->locked_ns < now_ns)
		since_ns = t->locked_ns; /* before that it waited itself */
	w = tapir_tl_thread__longest_wait(t, since_ns, now_ns);
	if (w)
		return w->node;
	if (t->whole_node_ns && t->whole_node_ns >= since_ns)
		return t->complete_node;
	return t->last_node_ns && t->last_node_ns >= since_ns ? t->last_node : TAPIR_NO_NODE;
}

const char *tapir_tl_thread__label(const struct tapir_tl_thread *t, uint64_t at_ns, uint32_t *kind)
{
	const struct tapir_interval *i = t->open;

	if (t->last_label && t->last_from_ns <= at_ns && t->last_until_ns >= at_ns) {
		*kind = t->last_kind;
		return t->last_label;
	}
	while (i && (i->map_key || !i->label || i->from_ns > at_ns))
		i = i->outer;
	if (i)
		*kind = i->kind;
	return i ? i->label : NULL;
}

/* ---- switches ----------------------------------------------------------------------------- */

static uint64_t later_of(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Reports the part of the wait that lies in the requested range; parts are of all of it. */
static void emit_wait(struct tapir_timeline *tl, struct tapir_tl_thread *t,
		      const struct tapir_wait *ends, const struct tapir_time_breakdown *before)
{
	struct tapir_wait wait = *ends;

	wait.thread = t;
	wait.from_ns = later_of(t->out_ns, tl->opts.from_ns);
	wait.wake_ns = later_of(ends->wake_ns, wait.from_ns);
	wait.node = t->offcpu_node;
	wait.state = t->out_state;
	wait.flags = (t->out_flags & ~TAPIR_SWITCH_WOKEN_BY_IRQ) | ends->flags;
	wait.futex_va = t->out_futex_va;
	tapir_time_breakdown__add_difference(&wait.parts, &t->parts, before);
	has_waited(tl, t, &wait);
	if (!t->is_of_tapir && tapir_timeline__in_range(tl, wait.until_ns) &&
	    tapir_timeline__reports(tl, t->tgid, t->tid) &&
	    (!tapir_timeline__chooses(tl) || t->had_filtered_wait))
		NOTIFY(tl, wait, &wait);
}

/*
 * The thread did something, so it runs. Where the switch that brought it back is not in the file
 * (some kernels do not trace every one), its wait has lasted until now at the most, and is reported
 * so.
 */
void tapir_timeline__ran(struct tapir_timeline *tl, struct tapir_tl_thread *t, uint64_t now_ns)
{
	struct tapir_time_breakdown before;

	t->ran_ns = now_ns;
	if (t->state == TAPIR_THREAD_RUNNING || now_ns < t->since_ns)
		return;
	before = t->parts;
	tapir_timeline__advance(t, now_ns);
	if (t->state != TAPIR_THREAD_UNKNOWN) {
		tl->stats.unpaired++;
		emit_wait(tl, t, &(struct tapir_wait){.wake_ns = now_ns, .until_ns = now_ns},
			  &before);
	}
	t->state = TAPIR_THREAD_RUNNING;
}

/* A thread that leaves has run; for how long is unknown if this is its first record. */
static void leave_cpu(struct tapir_timeline *tl, struct tapir_tl_thread *t, uint16_t out_state,
		      uint64_t time_ns)
{
	if (t->state != TAPIR_THREAD_UNKNOWN)
		tapir_timeline__ran(tl, t, time_ns);
	tapir_timeline__advance(t, time_ns);
	if (out_state)
		tapir_timeline__sleeps(t, time_ns);
	t->state = out_state ? TAPIR_THREAD_SLEEPING : TAPIR_THREAD_RUNNABLE;
	t->out_ns = time_ns;
	t->out_state = out_state;
}

/* Notes with what stack, and why, a thread has left its CPU. */
static void note_leaving(struct tapir_timeline *tl, struct tapir_tl_thread *t,
			 const struct tapir_rec_switch *rec)
{
	struct tapir_stack_ref ref = {.tgid = rec->out_tgid,
				      .time_ns = rec->h.time_ns,
				      .stack_id = rec->out_stack_id,
				      .kstack_id = rec->out_kstack_id};

	t->had_filtered_wait =
		tapir_timeline__chooses(tl) && tapir_timeline__is_chosen(tl, t, &rec->h);
	t->out_flags = rec->flags;
	t->out_futex_va = tapir_switch__futex_va(rec);
	t->offcpu_node = tl->opts.wants_stacks ? tapir_timeline__node(tl, &ref) : TAPIR_NO_NODE;
	if (!t->is_of_tapir && t->look_cnt < OWN_LOOKS) {
		t->look_cnt++;
		t->is_of_tapir = tapir_thread_of_tapir__has_stack(tl->catalog, ref.tgid,
								  ref.time_ns, ref.stack_id);
	}
}

static void on_switch_out(struct tapir_timeline *tl, const struct tapir_rec_switch *rec)
{
	uint64_t now_ns = rec->h.time_ns;
	struct tapir_tl_thread *t =
		tapir_timeline__get_thread(tl, rec->out_tgid, rec->out_tid, now_ns);

	if (!t)
		return;
	if (now_ns < t->since_ns) {
		tl->stats.unpaired++;
		return;
	}
	t->has_switched |= !(rec->flags & TAPIR_SWITCH_SNAPSHOT);
	if (rec->out_state & TAPIR_STATE_DEAD) {
		if (t->state != TAPIR_THREAD_UNKNOWN)
			tapir_timeline__ran(tl, t, now_ns);
		drop_thread(tl, t, now_ns);
		t->is_gone = true;
		return;
	}
	leave_cpu(tl, t, rec->out_state, now_ns);
	note_leaving(tl, t, rec);
}

/*
 * Another thread has its CPU, or it came to one again: it has left, and that switch is not in the
 * file. What it did since it was seen last is not known.
 */
static void has_left_unseen(struct tapir_timeline *tl, struct tapir_tl_thread *t)
{
	tl->stats.unpaired++;
	tapir_timeline__advance(t, t->ran_ns);
	t->state = TAPIR_THREAD_UNKNOWN;
}

/*
 * Notes which thread has the CPU from now on. The one that came last, if it is not the one that
 * leaves, has left before.
 */
static void take_cpu(struct tapir_timeline *tl, const struct tapir_rec_switch *rec)
{
	struct tapir_tl_thread *t;
	uint32_t *has, last;

	if (rec->h.cpu == TAPIR_CPU_UNKNOWN)
		return;
	while (tl->on_cpus.cnt <= rec->h.cpu)
		if (!tapir_vec__push(&tl->on_cpus, 0)) {
			tl->failed = true;
			return;
		}
	has = &tl->on_cpus.data[rec->h.cpu];
	last = *has;
	*has = rec->in_tid;
	t = last && last != rec->out_tid ? tapir_timeline__thread(tl, last) : NULL;
	if (t && !t->has_exited && t->state == TAPIR_THREAD_RUNNING && t->cpu == rec->h.cpu)
		has_left_unseen(tl, t);
}

/* The thread slept since before the recording, unless it was created later. */
static void emit_first_wait(struct tapir_timeline *tl, struct tapir_tl_thread *t,
			    const struct tapir_rec_switch *rec)
{
	const struct tapir_rec_thread *known =
		tapir_catalog__thread(tl->catalog, t->tid, rec->h.time_ns);

	if (known && known->start_ns && known->start_ns < tl->stats.first_ns && rec->in_wake_ns &&
	    rec->in_wake_ns <= rec->h.time_ns)
		emit_open_ended_wait(tl, t, tl->stats.first_ns, rec->in_wake_ns);
}

static void on_switch_in(struct tapir_timeline *tl, const struct tapir_rec_switch *rec)
{
	uint64_t now_ns = rec->h.time_ns, wake_ns = now_ns;
	struct tapir_tl_thread *t =
		tapir_timeline__get_thread(tl, rec->in_tgid, rec->in_tid, now_ns);
	struct tapir_time_breakdown before;
	uint32_t waker_tid = 0;
	bool is_first;

	if (!t)
		return;
	is_first = !t->has_switched;
	t->has_switched = true;
	t->cpu = rec->h.cpu;
	/* Time up to since_ns is accounted: each nanosecond of a thread counts once. */
	if (now_ns < t->since_ns) {
		tl->stats.unpaired++;
		return;
	}
	if (t->state == TAPIR_THREAD_RUNNING)
		has_left_unseen(tl, t);
	if (t->state == TAPIR_THREAD_UNKNOWN) {
		if (is_first && tl->opts.where)
			t->had_filtered_wait = tapir_where__has(tl->opts.where, &rec->h, 1);
		if (is_first)
			emit_first_wait(tl, t, rec);
		tapir_timeline__ran(tl, t, now_ns);
		return;
	}
	before = t->parts;
	/*
	 * A preempted thread wanted a CPU all the time. One that slept did from its wake-up on,
	 * which the kernel may have noted before it had left its CPU.
	 */
	if (t->state == TAPIR_THREAD_RUNNABLE)
		wake_ns = t->out_ns;
	else if (rec->in_wake_ns && rec->in_wake_ns < now_ns)
		wake_ns = rec->in_wake_ns > t->out_ns ? rec->in_wake_ns : t->out_ns;
	tapir_timeline__advance(t, wake_ns);
	t->state = TAPIR_THREAD_RUNNABLE;
	tapir_timeline__advance(t, now_ns);
	t->state = TAPIR_THREAD_RUNNING;
	/* An interrupt wakes in the name of the thread that it interrupted, which is no waker. */
	if (t->out_state && !(rec->flags & TAPIR_SWITCH_WOKEN_BY_IRQ))
		waker_tid = rec->in_waker_tid;
	emit_wait(tl, t,
		  &(struct tapir_wait){
			  .wake_ns = wake_ns,
			  .until_ns = now_ns,
			  .waker_tid = waker_tid,
			  .flags = t->out_state ? rec->flags & TAPIR_SWITCH_WOKEN_BY_IRQ : 0},
		  &before);
}

/*
 * Switches that were seen of the thread say more: since when it has been where it is. That it runs
 * is otherwise known by an event or a sample, and events come before switches do: it may have gone
 * to sleep since.
 */
static bool is_new_state(const struct tapir_tl_thread *t)
{
	return t->state == TAPIR_THREAD_UNKNOWN ||
	       (t->state == TAPIR_THREAD_RUNNING && !t->has_switched);
}

static void add_snapshot(struct tapir_timeline *tl, const struct tapir_rec_switch *rec)
{
	bool is_out = rec->out_tid;
	uint32_t tgid = is_out ? rec->out_tgid : rec->in_tgid;
	uint32_t tid = is_out ? rec->out_tid : rec->in_tid, node = TAPIR_NO_NODE;
	struct tapir_tl_thread *t = tapir_timeline__get_thread(tl, tgid, tid, rec->h.time_ns);
	struct tapir_stack_ref ref = {.tgid = tgid,
				      .time_ns = rec->h.time_ns,
				      .stack_id = rec->out_stack_id,
				      .kstack_id = rec->out_kstack_id};

	if (!t)
		return;
	if (is_out && is_new_state(t))
		on_switch_out(tl, rec);
	else if (t->state == TAPIR_THREAD_UNKNOWN)
		tapir_timeline__ran(tl, t, rec->h.time_ns);
	if (is_out && tl->opts.wants_stacks)
		node = tapir_timeline__node(tl, &ref);
	if (tapir_timeline__in_range(tl, rec->h.time_ns) && tapir_timeline__reports(tl, tgid, tid))
		NOTIFY(tl, snapshot, rec, node);
}

/*
 * A whole wait is recorded when it has ended. The thread did nothing in it, but what others did may
 * have counted some of its time: that stays.
 */
static void add_whole_wait(struct tapir_timeline *tl, const struct tapir_rec_switch *rec,
			   uint64_t since_ns)
{
	struct tapir_tl_thread *t =
		tapir_timeline__get_thread(tl, rec->out_tgid, rec->out_tid, since_ns);
	bool is_suspended;

	tl->stats.has_sums = true;
	if (!t)
		return;
	is_suspended = (t->state == TAPIR_THREAD_SLEEPING || t->state == TAPIR_THREAD_RUNNABLE) &&
		       t->out_ns >= since_ns;
	if (!is_suspended)
		leave_cpu(tl, t, rec->out_state, later_of(since_ns, t->since_ns));
	t->has_switched = true;
	note_leaving(tl, t, rec);
	on_switch_in(tl, rec);
}

void tapir_timeline__waits(struct tapir_timeline *tl, const struct tapir_rec_waits *rec)
{
	bool is_suspended = rec->left_ns && rec->left_ns < rec->h.time_ns;
	struct tapir_tl_thread *t = tapir_timeline__get_thread(
		tl, rec->tgid, rec->tid, is_suspended ? rec->left_ns : rec->h.time_ns);

	if (!tl->stats.switched_ns)
		tl->stats.switched_ns = rec->since_ns;
	tl->stats.has_sums = true;
	if (!t)
		return;
	t->has_switched = true;
	t->run_ns += rec->run_ns;
	t->short_runnable_ns += tapir_waits__runnable_ns(rec);
	t->short_asleep_ns += tapir_waits__asleep_ns(rec);
	if (rec->out_state & TAPIR_STATE_DEAD) {
		drop_thread(tl, t, rec->h.time_ns);
		t->is_gone = true;
		return;
	}
	if (is_suspended &&
	    (t->state == TAPIR_THREAD_RUNNING || t->state == TAPIR_THREAD_UNKNOWN)) {
		leave_cpu(tl, t, rec->out_state, later_of(rec->left_ns, t->since_ns));
		t->out_flags = 0;
		t->out_futex_va = 0;
		t->offcpu_node = TAPIR_NO_NODE;
		t->had_filtered_wait = false;
	}
}

void tapir_timeline__switch(struct tapir_timeline *tl, const struct tapir_rec_switch *rec)
{
	uint64_t since_ns = tapir_switch__since_ns(rec);

	if (!tl->stats.switched_ns)
		tl->stats.switched_ns = since_ns ? since_ns : rec->h.time_ns;
	if (rec->flags & TAPIR_SWITCH_SNAPSHOT) {
		tl->stats.has_ended |= (rec->flags & TAPIR_SWITCH_AT_END) != 0;
		add_snapshot(tl, rec);
		return;
	}
	tl->stats.switches++;
	if (tapir_timeline__in_range(tl, rec->h.time_ns))
		NOTIFY(tl, switched, rec);
	if (since_ns) {
		add_whole_wait(tl, rec, since_ns);
		return;
	}
	take_cpu(tl, rec);
	if (rec->out_tid)
		on_switch_out(tl, rec);
	if (rec->in_tid)
		on_switch_in(tl, rec);
}
