// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * .NET's events of tasks. A task is a number in its process; that of an async method is made when
 * the method first suspends.
 *
 * TaskWaitBegin: one task (ContinueWithTaskID) awaits another (TaskID); its stack has the awaiting
 * method. TraceSynchronousWorkBegin with Work 2: a thread continues a task; with Work 0: a task is
 * complete, and what awaits it is about to continue; the functions below it on the stack have
 * completed it, which says what it was: a semaphore, a timer, a socket.
 *
 * A method that awaits a ValueTask of another kind than a task's (channels, sockets) fires no
 * TaskWaitBegin. If its task is awaited and is continued, it awaited something in between; which
 * method it is, is known when it is complete.
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/awaits_impl.h"
#include "analyze/app_code.h"
#include "base/keyed.h"

#define ASYNCHRONOUS 2 /* TaskWaitBegin's Behavior: no thread is blocked */
#define COMPLETES    0 /* TraceSynchronousWorkBegin's Work */
#define CONTINUES    2
#define MAX_CHAIN    64u /* methods that await each other */
#define MAX_NESTED   64u /* of one thread */
#define MAX_THREADS  (1u << 16)
#define MAX_CACHED   (1u << 20)
#define NO_TASK	     UINT32_MAX

enum await_event { EVENT_NONE, EVENT_WAITS, EVENT_BEGINS, EVENT_ENDS };

struct tapir_await_thread {
	uint32_t cnt; /* of works; those past the bound are counted only */
	struct {
		uint64_t task;
		bool is_run;
	} works[MAX_NESTED];
};

/* ---- tasks ------------------------------------------------------------------------------------ */

static struct tapir_await_task *find_task(struct tapir_awaits *a, uint64_t id)
{
	const uint64_t *idx = id ? tapir_map__get(&a->task_by_id, id) : NULL;

	return idx ? &a->tasks.data[*idx] : NULL;
}

/* Returns its index, made if it is new, or NO_TASK: other tasks move when one is made. */
static uint32_t task_of(struct tapir_awaits *a, uint64_t id)
{
	uint64_t *slot = tapir_map__get(&a->task_by_id, id);
	uint32_t idx = (uint32_t)a->tasks.cnt;

	if (slot)
		return (uint32_t)*slot;
	if (a->task_by_id.cnt >= TAPIR_AWAITS_MAX_TASKS) {
		a->dropped_cnt++;
		return NO_TASK;
	}
	if (a->free_tasks.cnt)
		idx = a->free_tasks.data[--a->free_tasks.cnt];
	else if (!tapir_vec__add(&a->tasks))
		idx = NO_TASK;
	slot = idx == NO_TASK ? NULL : tapir_map__put(&a->task_by_id, id, NULL);
	if (!slot) {
		a->failed = true;
		return NO_TASK;
	}
	*slot = idx;
	a->tasks.data[idx] = (struct tapir_await_task){.id = id};
	return idx;
}

static void forget_task(struct tapir_awaits *a, struct tapir_await_task *t)
{
	uint32_t idx = (uint32_t)(t - a->tasks.data);

	tapir_map__del(&a->task_by_id, t->id);
	t->id = 0;
	a->failed |= !tapir_vec__push(&a->free_tasks, idx);
}

/* The methods that await t, up to the outermost, do not count while it does. */
static void cover_awaiters(struct tapir_awaits *a, const struct tapir_await_task *t)
{
	uint64_t below = t->id;
	struct tapir_await_task *up = find_task(a, t->awaiter);

	for (unsigned i = 0; up && i < MAX_CHAIN && up->awaits == below; i++) {
		up->is_covered |= up->from_ns != 0;
		below = up->id;
		up = find_task(a, up->awaiter);
	}
}

/* Does a method of the program await inside of what t awaits? */
static bool has_own_inside(struct tapir_awaits *a, const struct tapir_await_task *t)
{
	const struct tapir_await_task *down = find_task(a, t->awaits);

	for (unsigned i = 0; down && i < MAX_CHAIN && down->from_ns; i++) {
		if (tapir_await_task__is_own(down))
			return true;
		down = find_task(a, down->awaits);
	}
	return false;
}

/* ---- what stacks say ---------------------------------------------------------------------------- */

static bool is_async(const char *name)
{
	size_t len = strlen(name);

	return len > 8 && !strcmp(name + len - 8, " (async)");
}

/* The innermost async method: its name + 1, or TAPIR_AWAIT_LIBRARY; 0: there is none. */
static uint32_t method_on_stack(const struct tapir_stack_tree *tree, uint32_t node)
{
	for (; node && node < tree->nodes.cnt; node = tree->nodes.data[node].parent) {
		const struct tapir_tree_node *n = &tree->nodes.data[node];
		const char *name = tree->names.data[n->name];

		if (is_async(name))
			return tapir_app_code__is_app(n, name) ? n->name + 1 : TAPIR_AWAIT_LIBRARY;
	}
	return 0;
}

static uint8_t classify_awaited(const char *name)
{
	const struct tapir_lore_awaited *found = tapir_lore__awaited(name);
	uint8_t idx = 1;

	if (!found)
		return 0;
	tapir_lore_for_each (lore)
		for (const struct tapir_lore_awaited *w = lore->awaited; w && w->prefix; w++, idx++)
			if (w == found)
				return idx < TAPIR_AWAITED_KINDS ? idx : 0;
	return 0;
}

/* A task that the program's own method completes has no other kind: the search ends there. */
static uint32_t kind_on_stack(struct tapir_awaits *a, uint32_t node)
{
	const struct tapir_stack_tree *tree = tapir_timeline__stacks(a->tl);

	for (; node && node < tree->nodes.cnt; node = tree->nodes.data[node].parent) {
		const struct tapir_tree_node *n = &tree->nodes.data[node];
		const char *name = tree->names.data[n->name];
		uint8_t kind = tapir_name_traits__of(&a->traits, tree, n->name, classify_awaited);

		if (kind || (is_async(name) && tapir_app_code__is_app(n, name)))
			return kind;
	}
	return 0;
}

static uint32_t method_of(struct tapir_awaits *a, uint32_t node)
{
	uint64_t *known = tapir_map__get(&a->method_by_node, node);

	if (known)
		return (uint32_t)*known;
	if (a->method_by_node.cnt < MAX_CACHED)
		known = tapir_map__put(&a->method_by_node, node, NULL);
	if (known)
		*known = method_on_stack(tapir_timeline__stacks(a->tl), node);
	return known ? (uint32_t)*known : method_on_stack(tapir_timeline__stacks(a->tl), node);
}

static uint8_t await_node_kind(struct tapir_awaits *a, uint32_t node)
{
	uint64_t *known = tapir_map__get(&a->kind_by_node, node);

	if (known)
		return (uint8_t)*known;
	if (a->kind_by_node.cnt < MAX_CACHED)
		known = tapir_map__put(&a->kind_by_node, node, NULL);
	if (known)
		*known = kind_on_stack(a, node);
	return known ? (uint8_t)*known : (uint8_t)kind_on_stack(a, node);
}

/* Returns the address at which the method of that name is on the stack of an event; 0: none. */
static uint64_t location_on_stack(const struct tapir_awaits *a, const struct tapir_rec_event *rec,
				  const char *name, uint64_t *offset)
{
	const struct tapir_catalog *catalog = tapir_timeline__catalog(a->tl);
	const struct tapir_rec_stack *stack = tapir_catalog__stack(catalog, rec->stack_id);
	struct tapir_stack_view view;
	struct tapir_str buf = {};
	uint64_t va = 0;

	if (!stack)
		return 0;
	tapir_stack_view__of(&stack->h, &view);
	for (unsigned i = 0; i < stack->frame_cnt && !va; i++) {
		struct tapir_frame frame =
			tapir_frame__of(catalog, rec->tgid, rec->h.time_ns, &view, i);

		buf.len = 0;
		if (!tapir_sv__is(tapir_frame__shown_name(&frame, &buf, NULL), name))
			continue;
		va = frame.va;
		*offset = frame.offset;
	}
	tapir_str__fini(&buf);
	return va;
}

/*
 * Notes at which code of its method a task awaits. Stacks repeat, so that each is searched once;
 * when there are more than MAX_CACHED, further ones have no place.
 */
static void find_await_location(struct tapir_awaits *a, struct tapir_await_task *t,
				const struct tapir_rec_event *rec)
{
	const char *name;
	uint64_t *known, va;

	t->offset = t->code_va = 0;
	if (!rec->stack_id || !tapir_await_task__is_own(t))
		return;
	known = tapir_map__get(&a->location_by_stack, rec->stack_id);
	if (!known && a->location_by_stack.cnt < MAX_CACHED) {
		struct tapir_await_location location = {};

		name = tapir_timeline__stacks(a->tl)->names.data[t->method - 1];
		va = location_on_stack(a, rec, name, &location.offset);
		location.code_va = va - location.offset;
		known = tapir_map__put(&a->location_by_stack, rec->stack_id, NULL);
		if (!known || !tapir_vec__push(&a->locations, location)) {
			a->failed = true;
			return;
		}
		*known = a->locations.cnt - 1;
	}
	if (known) {
		t->offset = a->locations.data[*known].offset;
		t->code_va = a->locations.data[*known].code_va;
	}
}

/* ---- counting ----------------------------------------------------------------------------------- */

/* Returns the task, or the first above it that is of a method of the program; NULL: none. */
static struct tapir_await_task *own_from(struct tapir_awaits *a, struct tapir_await_task *t)
{
	for (unsigned i = 0; t && i < MAX_CHAIN && !tapir_await_task__is_own(t); i++)
		t = find_task(a, t->awaiter);
	return t && tapir_await_task__is_own(t) ? t : NULL;
}

/* The task and those that await it have it from now on. */
static void note_got(struct tapir_awaits *a, struct tapir_await_task *t)
{
	uint32_t method = t->method;

	for (unsigned i = 0; t && i < MAX_CHAIN; i++) {
		t->got = method;
		t = find_task(a, t->awaiter);
	}
}

static void count(struct tapir_awaits *a, struct tapir_await_task *t, uint64_t from_ns,
		  uint64_t until_ns, uint8_t kind)
{
	if (tapir_awaits__count(a, t, from_ns, until_ns, kind))
		note_got(a, t);
}

/* A library's wait for a connection is a part of what the program's method awaits. */
static void count_connection(struct tapir_awaits *a, const struct tapir_await_task *t,
			     uint64_t until_ns)
{
	struct tapir_await_span span = {
		.from_ns = t->from_ns, .until_ns = until_ns, .is_in_queue = true};
	struct tapir_await_task *up = own_from(a, find_task(a, t->awaiter));
	struct tapir_await_site *site;

	site = up && up->from_ns && !up->is_covered ? tapir_awaits__site_of(a, up) : NULL;
	if (!site)
		return;
	site->connection_ns += until_ns - t->from_ns;
	span.site = (uint32_t)(site - a->sites.data);
	if (a->ended)
		a->ended(a->ended_ctx, up->request ? up->request : t->request, &span);
}

static void end_await(struct tapir_awaits *a, struct tapir_await_task *t, uint64_t now_ns)
{
	if (t->from_ns && tapir_await_task__is_own(t) && !t->is_covered)
		count(a, t, t->from_ns, now_ns, t->kind);
	else if (t->from_ns && t->method == TAPIR_AWAIT_LIBRARY && t->is_in_queue)
		count_connection(a, t, now_ns);
	t->from_ns = t->done_ns = t->awaits = 0;
	t->kind = 0;
	t->is_covered = false;
}

/* ---- events ------------------------------------------------------------------------------------- */

static uint64_t id_of(const struct tapir_tl_thread *thread, const struct tapir_event_fields *f,
		      const char *field)
{
	uint64_t task = tapir_event_fields__u64(f, field);

	return task ? (uint64_t)thread->tgid << 32 | (uint32_t)task : 0;
}

static void awaits_on_wait(struct tapir_awaits *a, const struct tapir_tl_thread *thread,
			   const struct tapir_event_fields *f, const struct tapir_rec_event *rec,
			   uint32_t node)
{
	uint64_t id = id_of(thread, f, "ContinueWithTaskID"), awaited = id_of(thread, f, "TaskID");
	uint32_t idx, below;
	struct tapir_await_task *t;
	bool has_own_below;

	if (!id || !awaited || tapir_event_fields__u64(f, "Behavior") != ASYNCHRONOUS)
		return;
	below = task_of(a, awaited);
	idx = task_of(a, id);
	if (idx == NO_TASK || below == NO_TASK)
		return;
	t = &a->tasks.data[idx];
	if (t->from_ns && t->done_ns) /* .NET 11: nothing said that it continued */
		end_await(a, t, t->done_ns);
	t->method = method_of(a, node);
	find_await_location(a, t, rec);
	t->from_ns = rec->h.time_ns;
	t->request = a->request;
	t->awaits = awaited;
	t->done_ns = 0;
	t->kind = 0;
	t->is_in_queue = t->is_passed = false;
	if (t->method == TAPIR_AWAIT_LIBRARY) {
		uint8_t kind = await_node_kind(a, node);

		t->is_in_queue = kind && a->kinds.data[kind]->queue;
	}
	has_own_below = has_own_inside(a, t);
	t->is_covered = tapir_await_task__is_own(t) && has_own_below;
	if (!a->tasks.data[below].awaiter)
		a->tasks.data[below].awaiter = id;
	if (!a->tasks.data[below].idle_ns)
		a->tasks.data[below].idle_ns = rec->h.time_ns;
	if (tapir_await_task__is_own(t) || has_own_below)
		cover_awaiters(a, t);
}

/* A method without a name that is complete: now it has one. */
static void count_pending(struct tapir_awaits *a, struct tapir_await_task *t, uint32_t node)
{
	if (!t->method)
		t->method = method_of(a, node);
	if (tapir_await_task__is_own(t) && t->pending_cnt)
		cover_awaiters(a, t);
	t->offset = t->code_va = 0; /* not those of an await that came later */
	for (unsigned i = 0; i < t->pending_cnt && tapir_await_task__is_own(t); i++)
		count(a, t, t->pending[i].from_ns, t->pending[i].until_ns, t->pending[i].kind);
	t->pending_cnt = 0;
}

/* Returns true if the thread runs a task that had what it completes: a lock that it releases. */
static bool passes_on(struct tapir_awaits *a, const struct tapir_await_thread *by,
		      struct tapir_await_task *awaiter)
{
	const struct tapir_await_task *own = own_from(a, awaiter), *runs;

	for (uint32_t i = 0; own && by && i < by->cnt && i < MAX_NESTED; i++) {
		runs = by->works[i].is_run ? find_task(a, by->works[i].task) : NULL;
		if (runs && runs->got == own->method)
			return true;
	}
	return false;
}

static void on_complete(struct tapir_awaits *a, const struct tapir_await_thread *by, uint64_t id,
			uint32_t node, uint64_t now_ns)
{
	struct tapir_await_task *t = find_task(a, id), *up;

	if (!t)
		return;
	if (t->from_ns)
		end_await(a, t, t->done_ns ? t->done_ns : now_ns);
	count_pending(a, t, node);
	up = find_task(a, t->awaiter);
	if (up && up->awaits == id && up->from_ns) {
		up->done_ns = now_ns;
		up->kind = await_node_kind(a, node);
		up->is_passed = t->is_passed || passes_on(a, by, up);
	}
	forget_task(a, t);
}

/* The task awaited something that has no task. */
static void on_unknown_wait(struct tapir_awaits *a, struct tapir_await_task *t, uint32_t node,
			    uint64_t now_ns)
{
	struct tapir_await_pending wait = {
		.from_ns = t->idle_ns, .until_ns = now_ns, .kind = await_node_kind(a, node)};

	if (!t->idle_ns || t->method == TAPIR_AWAIT_LIBRARY)
		return;
	if (tapir_await_task__is_own(t)) {
		t->offset = t->code_va = 0;
		cover_awaiters(a, t);
		count(a, t, wait.from_ns, wait.until_ns, wait.kind);
	} else if (t->pending_cnt < TAPIR_AWAIT_MAX_PENDING) {
		t->pending[t->pending_cnt++] = wait;
	}
}

static void on_continue(struct tapir_awaits *a, uint64_t id, uint32_t node, uint64_t now_ns)
{
	struct tapir_await_task *t = find_task(a, id);

	if (!t)
		return;
	if (t->from_ns)
		end_await(a, t, now_ns);
	else
		on_unknown_wait(a, t, node, now_ns);
	t->idle_ns = 0;
}

static struct tapir_await_thread *await_thread_of(struct tapir_awaits *a, uint32_t tid)
{
	const struct tapir_await_thread made = {};

	return tapir_keyed__add(&a->threads, tid, MAX_THREADS, made);
}

static void on_begin(struct tapir_awaits *a, const struct tapir_tl_thread *thread,
		     const struct tapir_event_fields *f, uint32_t node, uint64_t now_ns)
{
	struct tapir_await_thread *t = await_thread_of(a, thread->tid);
	uint64_t id = id_of(thread, f, "TaskID"), work = tapir_event_fields__u64(f, "Work");

	if (t && t->cnt < MAX_NESTED) {
		t->works[t->cnt].task = id;
		t->works[t->cnt].is_run = work == CONTINUES;
	}
	if (t)
		t->cnt++;
	if (work == COMPLETES)
		on_complete(a, t, id, node, now_ns);
	else if (work == CONTINUES)
		on_continue(a, id, node, now_ns);
}

/* No thread runs the task any longer that this one continued. */
static void on_end(struct tapir_awaits *a, const struct tapir_tl_thread *thread, uint64_t now_ns)
{
	struct tapir_await_thread *t = await_thread_of(a, thread->tid);
	struct tapir_await_task *task;

	if (!t || !t->cnt || --t->cnt >= MAX_NESTED || !t->works[t->cnt].is_run)
		return;
	task = find_task(a, t->works[t->cnt].task);
	if (task && !task->from_ns)
		task->idle_ns = now_ns;
}

static enum await_event classify_event(const struct tapir_probe_view *probe)
{
	if (!tapir_sv__is(probe->provider, TAPIR_LORE_TASK_EVENTS))
		return EVENT_NONE;
	if (tapir_sv__is(probe->event, "TaskWaitBegin"))
		return EVENT_WAITS;
	if (tapir_sv__is(probe->event, "TraceSynchronousWorkBegin"))
		return EVENT_BEGINS;
	return tapir_sv__is(probe->event, "TraceSynchronousWorkEnd") ? EVENT_ENDS : EVENT_NONE;
}

static enum await_event event_of(struct tapir_awaits *a, const struct tapir_probe_view *probe)
{
	uint64_t *known = tapir_map__get(&a->event_by_probe, probe->rec->probe_id);

	if (known)
		return (enum await_event) * known;
	if (a->event_by_probe.cnt < MAX_CACHED)
		known = tapir_map__put(&a->event_by_probe, probe->rec->probe_id, NULL);
	if (known)
		*known = classify_event(probe);
	return known ? (enum await_event) * known : EVENT_NONE;
}

static bool list_kinds(struct tapir_awaits *a)
{
	if (a->kinds.cnt)
		return true;
	if (!tapir_vec__push(&a->kinds, NULL))
		return false;
	tapir_lore_for_each (lore)
		for (const struct tapir_lore_awaited *w = lore->awaited; w && w->prefix; w++)
			if (!tapir_vec__push(&a->kinds, w))
				return false;
	return true;
}

static void note_first(struct tapir_awaits *a, const struct tapir_tl_thread *thread,
		       uint64_t now_ns)
{
	bool is_new = false;
	uint64_t *first_ns = tapir_map__put(&a->first_ns, thread->tgid, &is_new);

	if (is_new && first_ns)
		*first_ns = now_ns;
}

void tapir_awaits__event(struct tapir_awaits *a, const struct tapir_tl_thread *thread,
			 const struct tapir_probe_view *probe, const struct tapir_event_view *event)
{
	enum await_event await_event = event_of(a, probe);
	const struct tapir_rec_event *rec = event->rec;
	uint32_t node = rec->stack_id ? thread->last_node : 0;

	if (await_event == EVENT_NONE)
		return;
	a->has_events = true;
	if (!list_kinds(a)) {
		a->failed = true;
		return;
	}
	note_first(a, thread, rec->h.time_ns);
	a->request = tapir_tl_thread__request(thread);
	if (await_event == EVENT_WAITS)
		awaits_on_wait(a, thread, tapir_timeline__fields(a->tl, probe, event), rec, node);
	else if (await_event == EVENT_BEGINS)
		on_begin(a, thread, tapir_timeline__fields(a->tl, probe, event), node,
			 rec->h.time_ns);
	else
		on_end(a, thread, rec->h.time_ns);
}

void tapir_awaits__fini(struct tapir_awaits *a)
{
	struct tapir_await_site *site;

	tapir_vec_for_each (site, &a->sites)
		free(site->took);
	tapir_keyed__fini(&a->sites);
	tapir_vec__fini(&a->sites_now);
	tapir_vec__fini(&a->tasks);
	tapir_vec__fini(&a->free_tasks);
	tapir_vec__fini(&a->spans);
	tapir_keyed__fini(&a->threads);
	tapir_vec__fini(&a->kinds);
	tapir_vec__fini(&a->locations);
	tapir_map__fini(&a->task_by_id);
	tapir_map__fini(&a->event_by_probe);
	tapir_map__fini(&a->method_by_node);
	tapir_map__fini(&a->kind_by_node);
	tapir_map__fini(&a->location_by_stack);
	tapir_map__fini(&a->first_ns);
	tapir_name_traits__fini(&a->traits);
}
