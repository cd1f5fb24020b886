// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Events of tasks come through another lane than samples: records are brought into the order of
 * their times first. A stack that is made here is described to the catalog like any other, under
 * the hash of its frames.
 */
#include "record/async_stacks/await_stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "record/async_stacks/await_frames.h"
#include "record/async_stacks/await_links.h"
#include "record/async_stacks/await_scan.h"
#include "base/str.h"
#include "spec/runtime_db/lore.h"
#include "tapir/stack_walk.h"
#include "trace/family.h"
#include "trace/schema.h"
#include "trace/recbuf.h"
#include "trace/reorder.h"

#define ID_SALT	       0x6177616974ull
#define ASYNCHRONOUSLY 2u /* how a task is awaited, in the event's payload */

/* An event, and what this wants of it; 0: another event. */
enum kind { KIND_OTHER, KIND_BEGIN, KIND_END, KIND_WAIT, KIND_CNT };

struct tapir_await_stacks {
	struct tapir_reader *reader; /* borrowed */
	const struct tapir_catalog *catalog;
	struct tapir_reorder *reorder;
	struct tapir_await_links links;
	struct tapir_await_runs runs;
	bool has_runs;
	uint64_t segments; /* when it was last looked for buffers of what threads continue */
	struct tapir_await_frames frames;
	struct tapir_map kinds; /* by probe id */
	struct tapir_recbuf recbuf;
	struct tapir_str ready; /* records in order, each at a multiple of 8 */
	size_t ready_at;
	bool is_ended, failed;
	struct tapir_await_counts counts;
};

/* ---- events of tasks ----------------------------------------------------------------------- */

static enum kind kind_named(const struct tapir_probe_view *probe)
{
	static const char *const names[KIND_CNT] = {
		[KIND_BEGIN] = "TraceSynchronousWorkBegin",
		[KIND_END] = "TraceSynchronousWorkEnd",
		[KIND_WAIT] = "TaskWaitBegin",
	};

	for (unsigned k = KIND_BEGIN;
	     tapir_sv__is(probe->provider, TAPIR_LORE_TASK_EVENTS) && k < KIND_CNT; k++)
		if (tapir_sv__is(probe->event, names[k]))
			return k;
	return KIND_OTHER;
}

static enum kind await_probe_kind(struct tapir_await_stacks *a, uint32_t probe_id)
{
	bool is_new = false;
	uint64_t *kind = tapir_map__put(&a->kinds, probe_id, &is_new);
	const struct tapir_rec_probe *rec;
	struct tapir_probe_view probe;

	if (!kind || !is_new)
		return kind ? (enum kind) * kind : KIND_OTHER;
	rec = tapir_catalog__probe(a->catalog, probe_id);
	if (!rec)
		return KIND_OTHER;
	tapir_probe_view__of(&rec->h, &probe);
	*kind = kind_named(&probe);
	return (enum kind) * kind;
}

/* The idx-th number of a payload; false: it is shorter. */
static bool number_at(const struct tapir_event_view *view, unsigned idx, uint32_t *out)
{
	if (view->payload_bytes < (idx + 1) * sizeof(*out))
		return false;
	memcpy(out, view->payload + idx * sizeof(*out), sizeof(*out));
	return true;
}

/* NULL: none, or not described. */
static const struct tapir_rec_stack *stack_of(const struct tapir_await_stacks *a, uint64_t id,
					      struct tapir_stack_view *view)
{
	const struct tapir_rec_stack *stack = id ? tapir_catalog__stack(a->catalog, id) : NULL;

	if (stack)
		tapir_stack_view__of(&stack->h, view);
	return stack;
}

static bool take_wait(struct tapir_await_stacks *a, const struct tapir_event_view *view)
{
	const struct tapir_rec_event *ev = view->rec;
	struct tapir_stack_ref ref = {
		.tgid = ev->tgid, .time_ns = ev->h.time_ns, .stack_id = ev->stack_id};
	uint32_t task = 0, how = 0, awaiter = 0;
	struct tapir_await_location location = {};
	struct tapir_stack_view stack;
	uint64_t va = 0;

	if (!number_at(view, 2, &task) || !number_at(view, 3, &how) ||
	    !number_at(view, 4, &awaiter))
		return false;
	if (how != ASYNCHRONOUSLY || !task || !awaiter)
		return true;
	a->counts.awaits++;
	if (stack_of(a, ev->stack_id, &stack) &&
	    tapir_await_frames__awaiting(&a->frames, a->catalog, &ref, &stack, &location))
		va = stack.frames_va[location.idx];
	a->failed |=
		!tapir_await_links__wait(&a->links, ev->tgid, task, awaiter, va, location.function);
	return true;
}

/* False: it is an event of another kind. */
static bool take_event(struct tapir_await_stacks *a, const struct tapir_rec *rec)
{
	const struct tapir_rec_event *ev = (const void *)rec;
	enum kind kind = await_probe_kind(a, ev->probe_id);
	struct tapir_event_view view;
	uint32_t task = 0, work = 0;
	bool is_complete = true;

	if (kind == KIND_OTHER)
		return false;
	tapir_event_view__of(rec, &view);
	if (kind == KIND_WAIT) {
		is_complete = take_wait(a, &view);
	} else if (kind == KIND_BEGIN) {
		is_complete = number_at(&view, 0, &task) && number_at(&view, 1, &work);
		if (is_complete)
			a->failed |= !tapir_await_links__begin(&a->links, ev->tgid, ev->tid, task,
							       work, rec->time_ns);
	} else {
		is_complete = number_at(&view, 0, &work);
		if (is_complete)
			tapir_await_links__end(&a->links, ev->tid, work);
	}
	a->counts.malformed += !is_complete;
	return true;
}

/* ---- stacks ------------------------------------------------------------------------------- */

struct frames {
	uint64_t va[TAPIR_MAX_FRAMES];
	unsigned cnt;
};

/* Adds the methods that await the task, each awaited by the next. */
static void add_awaiters(struct tapir_await_stacks *a, uint64_t task, struct frames *out)
{
	const struct tapir_await_link *link;

	while ((link = tapir_await_links__awaiter(&a->links, task))) {
		if (out->cnt == TAPIR_MAX_FRAMES) {
			a->counts.no_room++;
			return;
		}
		if (link->va)
			out->va[out->cnt++] = link->va | TAPIR_VA_AWAITS;
		task = link->awaiter;
	}
}

static void append_record(struct tapir_await_stacks *a, const struct tapir_rec *rec)
{
	static const char zeros[8];

	tapir_str__add(&a->ready, (const char *)rec, rec->size);
	tapir_str__add(&a->ready, zeros, -rec->size & 7);
}

/* The id of the stack, which it describes; 0: out of memory, or no room in the catalog. */
static uint64_t describe_stack(struct tapir_await_stacks *a, const struct tapir_stack_view *from,
			       const struct frames *frames, uint64_t time_ns)
{
	struct tapir_rec_stack fixed = {.h.time_ns = time_ns,
					.stack_id = ID_SALT,
					.end = TAPIR_STACK_END_WHOLE,
					.flags = from->rec->flags & (uint16_t)~TAPIR_STACK_MORE};
	const struct tapir_rec *rec;

	for (unsigned i = 0; i < frames->cnt; i++)
		fixed.stack_id = tapir_walk__hash(fixed.stack_id, frames->va[i]);
	fixed.stack_id += !fixed.stack_id;
	if (tapir_catalog__stack(a->catalog, fixed.stack_id))
		return fixed.stack_id;
	rec = tapir_recbuf__stack(&a->recbuf, &fixed, frames->va, frames->cnt);
	if (!rec || tapir_reader__describe(a->reader, rec) < 0) {
		a->counts.no_room++;
		return 0;
	}
	append_record(a, rec);
	return fixed.stack_id;
}

/* Does the stack belong to what the thread works for, by its events? */
static bool is_clear(const struct tapir_await_work *work, size_t run_cnt,
		     const struct tapir_await_location *location,
		     const struct tapir_stack_view *stack)
{
	if (work->function)
		return work->function == location->function;
	return location->cnt == run_cnt ||
	       (location->cnt < run_cnt && stack->rec->flags & TAPIR_STACK_MORE);
}

/* One stack, and what becomes of it. */
struct joining {
	struct tapir_stack_ref ref;
	uint32_t tid;
	struct tapir_stack_view stack;
	struct frames frames;
};

/* The innermost cnt frames of the stack. */
static void take_own(struct joining *j, unsigned cnt)
{
	j->frames.cnt = cnt;
	memcpy(j->frames.va, j->stack.frames_va, cnt * sizeof(*j->frames.va));
}

/* own_cnt: of the stack's own frames. The stack it became. */
static uint64_t finish_joined_stack(struct tapir_await_stacks *a, struct joining *j,
				    unsigned own_cnt)
{
	uint64_t id;

	if (j->frames.cnt > own_cnt)
		a->counts.chained++;
	else
		a->counts.unawaited++;
	id = describe_stack(a, &j->stack, &j->frames, j->ref.time_ns);
	return id ? id : j->ref.stack_id;
}

/* The async stack as the events of tasks have it. */
static uint64_t stack_of_task(struct tapir_await_stacks *a, struct joining *j,
			      const struct tapir_await_work *work, size_t run_cnt)
{
	struct tapir_await_location location;

	if (!tapir_await_frames__find(&a->frames, a->catalog, &j->ref, &j->stack, &location))
		return j->ref.stack_id;
	a->counts.inside++;
	if (!is_clear(work, run_cnt, &location, &j->stack)) {
		a->counts.unclear++;
		return j->ref.stack_id;
	}
	take_own(j, location.idx + 1);
	add_awaiters(a, tapir_await_task(j->ref.tgid, work->task), &j->frames);
	return finish_joined_stack(a, j, location.idx + 1);
}

/*
 * The async stack as the runtime reports what the thread continues; the method that runs must be in
 * the stack.
 */
static uint64_t stack_of_run(struct tapir_await_stacks *a, struct joining *j,
			     const struct tapir_await_now *now)
{
	bool is_continued = false;
	unsigned own = 0;

	if (!now->frame_cnt)
		return j->ref.stack_id;
	if (!tapir_await_frames__find_continued(&a->frames, a->catalog, &j->ref, &j->stack,
						now->frames[0], &is_continued, &own)) {
		a->counts.inside += is_continued;
		a->counts.unclear += is_continued;
		return j->ref.stack_id;
	}
	a->counts.inside++;
	take_own(j, own + 1);
	for (unsigned i = 1; i < now->frame_cnt && j->frames.cnt < TAPIR_MAX_FRAMES; i++)
		j->frames.va[j->frames.cnt++] = now->frames[i] | TAPIR_VA_AWAITS;
	add_awaiters(a, tapir_await_task(j->ref.tgid, (uint32_t)now->task), &j->frames);
	return finish_joined_stack(a, j, own + 1);
}

/* Finds the run by the thread's number in its own namespace. */
static bool now_of(const struct tapir_await_stacks *a, const struct joining *j,
		   struct tapir_await_now *out)
{
	const struct tapir_rec_thread *thread =
		a->has_runs ? tapir_catalog__thread(a->catalog, j->tid, j->ref.time_ns) : NULL;
	uint32_t tid = thread && thread->ns_tid ? thread->ns_tid : j->tid;

	return a->has_runs && tapir_await_runs__at(&a->runs, j->ref.tgid, tid, j->ref.time_ns, out);
}

/* The id of the stack that replaces this one; the same id: it stays. */
static uint64_t async_stack(struct tapir_await_stacks *a, uint32_t tgid, uint32_t tid,
			    uint64_t time_ns, uint64_t stack_id)
{
	struct joining j = {.ref = {.tgid = tgid, .time_ns = time_ns, .stack_id = stack_id},
			    .tid = tid};
	size_t run_cnt;
	const struct tapir_await_work *work = tapir_await_links__current(&a->links, tid, &run_cnt);
	struct tapir_await_now now;
	bool has_run = now_of(a, &j, &now);

	if ((!work && !has_run) || !stack_of(a, stack_id, &j.stack))
		return stack_id;
	if (has_run && (!work || now.begin_ns >= work->begin_ns)) /* the inner one of both */
		return stack_of_run(a, &j, &now);
	return stack_of_task(a, &j, work, run_cnt);
}

/*
 * A thread that sleeps where nothing works for a task has lost the end of its work. A thread that
 * sleeps in code that continues a task may have fired the begin, and calls the task's code later.
 */
static void forget_if_idle(struct tapir_await_stacks *a, const struct tapir_rec_switch *rec)
{
	struct tapir_stack_ref ref = {
		.tgid = rec->out_tgid, .time_ns = rec->h.time_ns, .stack_id = rec->out_stack_id};
	struct tapir_stack_view stack;

	if (rec->out_state && stack_of(a, rec->out_stack_id, &stack) &&
	    stack.rec->end == TAPIR_STACK_END_WHOLE && !(stack.rec->flags & TAPIR_STACK_MORE) &&
	    !tapir_await_frames__is_between(&a->frames, a->catalog, &ref, &stack))
		tapir_await_links__forget(&a->links, rec->out_tid);
}

/* ---- records ------------------------------------------------------------------------------- */

/* Puts a record of a family with a stack, with the async stack in place of its own. */
static void append_with_async_stack(struct tapir_await_stacks *a, const struct tapir_rec *rec,
				    int family)
{
	uint64_t stack_id = tapir_rec__stack_id(rec);
	size_t at;

	if (family == TAPIR_FAMILY_SWITCH)
		forget_if_idle(a, (const struct tapir_rec_switch *)rec);
	if (!(family == TAPIR_FAMILY_EVENT && take_event(a, rec)) && stack_id)
		stack_id = async_stack(a, tapir_rec__tgid(rec, 0), tapir_rec__tid(rec, 0),
				       rec->time_ns, stack_id);
	at = a->ready.len;
	append_record(a, rec);
	if (!a->ready.failed)
		memcpy(a->ready.data + at + tapir_schema__of(rec->type)->ids[0].stack_id_off,
		       &stack_id, sizeof(stack_id));
}

static void take_record(void *ctx, const struct tapir_rec *rec)
{
	int family = tapir_family__of(rec->type);

	if (family >= 0)
		append_with_async_stack(ctx, rec, family);
	else
		append_record(ctx, rec);
}

/* NULL: none is ready. */
static const struct tapir_rec *next_ready(struct tapir_await_stacks *a)
{
	const struct tapir_rec *rec;

	if (a->ready_at == a->ready.len) {
		tapir_str__clear(&a->ready);
		a->ready_at = 0;
		return NULL;
	}
	rec = (const void *)(a->ready.data + a->ready_at);
	a->ready_at += (rec->size + 7u) & ~7u;
	return rec;
}

/* Buffers of a .NET 11 are read first, all of them: they come later than what they report. */
static int collect_buffers(struct tapir_await_stacks *a)
{
	uint64_t segments = tapir_reader__stats(a->reader)->segments;

	if (a->has_runs || a->segments == segments)
		return 0;
	a->segments = segments;
	if (!tapir_catalog__has_provider(a->catalog, TAPIR_LORE_ASYNC_BUFFERS))
		return 0;
	a->has_runs = true;
	return tapir_await_scan__run(&a->runs, a->reader);
}

/*
 * Returns descriptions at once and all other records in order of time, with the stacks that buffers
 * of the runtime add: these arrive after the events that they belong to.
 */
static int next(void *ctx, const struct tapir_rec **rec)
{
	struct tapir_await_stacks *a = ctx;
	int got;

	for (;;) {
		if (a->failed || a->ready.failed)
			return -ENOMEM;
		*rec = next_ready(a);
		if (*rec || a->is_ended)
			return *rec != NULL;
		got = tapir_reader__take(a->reader, rec);
		if (got < 0)
			return got;
		if (got && collect_buffers(a))
			return -ENOMEM;
		if (got && tapir_rec_type__describes((*rec)->type))
			return 1;
		if (got && tapir_reorder__add(a->reorder, *rec, false))
			return -ENOMEM;
		if (!got)
			tapir_reorder__finish(a->reorder);
		a->is_ended = !got && !a->ready.len;
	}
}

/* ---- the stage ----------------------------------------------------------------------------- */

struct tapir_await_stacks *tapir_await_stacks__new(struct tapir_reader *reader)
{
	struct tapir_await_stacks *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->reader = reader;
	a->catalog = tapir_reader__catalog(reader);
	a->reorder = tapir_reorder__new(take_record, a);
	if (!a->reorder) {
		free(a);
		return NULL;
	}
	tapir_reader__use_stage(reader, &(struct tapir_reader_stage){.next = next, .ctx = a});
	return a;
}

const struct tapir_await_counts *tapir_await_stacks__counts(struct tapir_await_stacks *a)
{
	a->counts.buffers = a->runs.buffers;
	a->counts.other_clock = a->runs.other_clock;
	a->counts.runs_no_room = a->runs.no_room;
	memcpy(a->counts.refused, a->runs.refused, sizeof(a->counts.refused));
	return &a->counts;
}

void tapir_await_stacks__free(struct tapir_await_stacks *a)
{
	if (!a)
		return;
	tapir_reader__use_stage(a->reader, &(struct tapir_reader_stage){});
	tapir_reorder__free(a->reorder);
	tapir_await_links__fini(&a->links);
	tapir_await_runs__fini(&a->runs);
	tapir_await_frames__fini(&a->frames);
	tapir_map__fini(&a->kinds);
	tapir_recbuf__fini(&a->recbuf);
	tapir_str__fini(&a->ready);
	free(a);
}
