// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Buffers of a thread are put into the order of their times and replayed: what it continues at a
 * time is the innermost run that was begun and not ended by then. A thread's state is unknown
 * before its first RESET_THREAD, after which the runtime lists all runs that the thread is in.
 */
#include "record/async_stacks/await_runs.h"

#include "base/clock.h"
#include "base/order.h"

/* The runtime sends what is older than a quarter of a second, once a second. */
#define MAX_LAG_NS (3 * TAPIR_NS_PER_SEC)
#define HASH_SEED  19

static uint64_t thread_key(uint32_t tgid, uint64_t tid)
{
	return (uint64_t)tgid << 32 | (uint32_t)tid;
}

/* ---- buffers ------------------------------------------------------------------------------- */

static struct tapir_await_process *process_of(struct tapir_await_runs *r, uint32_t tgid)
{
	size_t before = r->processes.cnt;
	struct tapir_await_process *process =
		tapir_keyed__add(&r->processes, tgid, UINT32_MAX,
				 ((struct tapir_await_process){.least_lag_ns = UINT64_MAX}));

	if (r->processes.cnt > before)
		tapir_async_layout__init(&process->layout);
	return process;
}

bool tapir_await_runs__add(struct tapir_await_runs *r, uint32_t tgid, uint64_t time_ns,
			   const uint8_t *bytes, size_t len)
{
	struct tapir_await_process *process = process_of(r, tgid);
	struct tapir_await_buffer buffer = {.len = (uint32_t)len};
	struct tapir_async_header header;
	enum tapir_async_fault fault;

	if (!process)
		return false;
	fault = tapir_async_buffer__read(&process->layout, bytes, len, &header, NULL, NULL);
	if (fault) {
		r->refused[fault]++;
		return true;
	}
	/*
	 * A buffer's last event cannot be later than its arrival: the clocks of process and
	 * recording differ. The least lag of all buffers bounds by how much.
	 */
	process->is_ahead |= header.last > time_ns;
	if (time_ns - header.last < process->least_lag_ns)
		process->least_lag_ns = time_ns - header.last;
	r->arena.max_bytes = TAPIR_AWAIT_RUNS_MAX_BYTES;
	buffer.thread = thread_key(tgid, header.tid);
	buffer.first_ns = header.first;
	buffer.bytes = tapir_arena__copy(&r->arena, bytes, len, 1);
	r->buffers++;
	if (!buffer.bytes) {
		r->no_room++;
		return r->arena.bytes + len > r->arena.max_bytes;
	}
	return tapir_vec__push(&r->all, buffer);
}

static bool is_of_this_clock(const struct tapir_await_process *process)
{
	const struct tapir_async_layout *layout = &process->layout;

	return !process->is_ahead && process->least_lag_ns <= MAX_LAG_NS &&
	       (!layout->ticks_per_s || layout->ticks_per_s == TAPIR_NS_PER_SEC);
}

/* ---- replay -------------------------------------------------------------------------------- */

struct nested {
	uint32_t run; /* idx + 1; 0: it had no room */
	uint32_t done_cnt;
};

struct replay {
	struct tapir_await_runs *r;
	struct tapir_await_timeline *timeline;
	struct nested nest[TAPIR_AWAIT_RUNS_NESTED];
	unsigned depth, beyond_cnt;
	bool is_armed;
};

/* Notes the run that the thread is in from ns on. */
static void note_time(struct replay *p, uint64_t ns)
{
	const struct nested *top = p->depth && !p->beyond_cnt ? &p->nest[p->depth - 1] : NULL;
	struct tapir_await_moment moment = {ns, top ? top->run : 0, top ? top->done_cnt : 0};
	struct tapir_await_moment *last =
		p->timeline->moments.cnt ? &p->timeline->moments.data[p->timeline->moments.cnt - 1]
					 : NULL;

	if (last && last->from_ns == ns) {
		*last = moment;
	} else if (p->r->moment_cnt >= TAPIR_AWAIT_RUNS_MAX) {
		p->r->no_room++;
		if (last)
			last->run = 0; /* it is not known until when that holds */
	} else if (tapir_vec__push(&p->timeline->moments, moment)) {
		p->r->moment_cnt++;
	} else {
		p->r->failed = true;
	}
}

/* Sets *at to the index of these frames in .frames, which has equal ones once. */
static bool add_async_frames(struct tapir_await_runs *r, const struct tapir_async_event *event,
			     uint32_t *at)
{
	size_t bytes = event->frame_cnt * sizeof(*event->frames);
	uint64_t hash = tapir_hash__bytes(HASH_SEED + event->frame_cnt, event->frames, bytes);
	bool is_new = false;
	uint64_t *known;

	*at = 0;
	if (!event->frame_cnt)
		return true;
	known = tapir_map__put(&r->frames_by_hash, hash, &is_new);
	if (!known)
		return false;
	if (!is_new && *known - 1 + event->frame_cnt <= r->frames.cnt &&
	    !memcmp(r->frames.data + *known - 1, event->frames, bytes)) {
		*at = (uint32_t)(*known - 1);
		return true;
	}
	*at = (uint32_t)r->frames.cnt;
	*known = r->frames.cnt + 1;
	for (unsigned i = 0; i < event->frame_cnt; i++)
		if (!tapir_vec__push(&r->frames, event->frames[i]))
			return false;
	return true;
}

/* idx + 1; 0: no room. */
static uint32_t add_run(struct tapir_await_runs *r, const struct tapir_async_event *event,
			bool is_machine)
{
	struct tapir_await_run run = {.begin_ns = event->ticks,
				      .task = event->dispatcher,
				      .frame_cnt = event->frame_cnt,
				      .is_machine = is_machine};

	if (r->runs.cnt >= TAPIR_AWAIT_RUNS_MAX || r->frames.cnt >= 4 * TAPIR_AWAIT_RUNS_MAX) {
		r->no_room++;
		return 0;
	}
	if (add_async_frames(r, event, &run.frames_at) && tapir_vec__push(&r->runs, run))
		return (uint32_t)r->runs.cnt;
	r->failed = true;
	return 0;
}

static void begin_run(struct replay *p, const struct tapir_async_event *event, bool is_machine)
{
	if (p->depth == TAPIR_AWAIT_RUNS_NESTED) {
		p->beyond_cnt++;
		return;
	}
	p->nest[p->depth++] = (struct nested){.run = add_run(p->r, event, is_machine)};
}

static void end_run(struct replay *p)
{
	if (p->beyond_cnt)
		p->beyond_cnt--;
	else if (p->depth)
		p->depth--;
}

static void skip(struct replay *p, uint64_t cnt)
{
	if (p->depth && !p->beyond_cnt)
		p->nest[p->depth - 1].done_cnt +=
			cnt < TAPIR_ASYNC_MAX_FRAMES ? (uint32_t)cnt : TAPIR_ASYNC_MAX_FRAMES;
}

static void replay_event(void *ctx, const struct tapir_async_header *header,
			 const struct tapir_async_event *event)
{
	struct replay *p = ctx;

	(void)header;
	if (event->id == TAPIR_ASYNC_RESET_THREAD) {
		p->depth = p->beyond_cnt = 0;
		p->is_armed = true;
	}
	/*
	 * A thread's state is known from a reset on: a buffer from the middle of a run has ends
	 * without beginnings.
	 */
	if (!p->is_armed)
		return;
	switch (event->id) {
	case TAPIR_ASYNC_RUNTIME_RESUME_STACK:
	case TAPIR_ASYNC_MACHINE_RESUME_STACK:
		begin_run(p, event, event->id == TAPIR_ASYNC_MACHINE_RESUME_STACK);
		break;
	case TAPIR_ASYNC_RUNTIME_SUSPEND:
	case TAPIR_ASYNC_RUNTIME_COMPLETE:
	case TAPIR_ASYNC_MACHINE_SUSPEND:
	case TAPIR_ASYNC_MACHINE_COMPLETE:
		end_run(p);
		break;
	case TAPIR_ASYNC_RUNTIME_COMPLETE_METHOD:
	case TAPIR_ASYNC_MACHINE_COMPLETE_METHOD:
		skip(p, 1);
		break;
	case TAPIR_ASYNC_RUNTIME_UNWIND:
	case TAPIR_ASYNC_MACHINE_UNWIND:
		skip(p, event->unwound);
		break;
	case TAPIR_ASYNC_RESET_THREAD:
		break;
	default:
		return;
	}
	note_time(p, event->ticks);
}

/* ---- all of it ----------------------------------------------------------------------------- */

static int by_thread_and_time(const void *a, const void *b)
{
	const struct tapir_await_buffer *x = a, *y = b;

	return tapir_order__by(tapir_order__up(x->thread, y->thread),
			       tapir_order__up(x->first_ns, y->first_ns),
			       tapir_order__up(x->bytes, y->bytes));
}

static struct tapir_await_timeline *add_timeline(struct tapir_await_runs *r, uint64_t thread)
{
	return tapir_keyed__add(&r->timelines, thread, UINT32_MAX, (struct tapir_await_timeline){});
}

/* Replays the events of one thread, from the i-th on; returns where the next thread's begin. */
static size_t replay(struct tapir_await_runs *r, size_t i)
{
	uint64_t thread = r->all.data[i].thread;
	struct tapir_await_process *process = process_of(r, (uint32_t)(thread >> 32));
	bool is_used = process && is_of_this_clock(process);
	struct replay p = {.r = r, .timeline = add_timeline(r, thread)};

	r->failed |= !process || !p.timeline;
	for (; i < r->all.cnt && r->all.data[i].thread == thread; i++) {
		const struct tapir_await_buffer *buffer = &r->all.data[i];

		r->other_clock += !is_used;
		if (is_used && !r->failed)
			(void)tapir_async_buffer__read(&process->layout, buffer->bytes, buffer->len,
						       NULL, replay_event, &p);
	}
	return i;
}

bool tapir_await_runs__seal(struct tapir_await_runs *r)
{
	if (r->all.cnt)
		qsort(r->all.data, r->all.cnt, sizeof(*r->all.data), by_thread_and_time);
	for (size_t i = 0; i < r->all.cnt && !r->failed;)
		i = replay(r, i);
	tapir_vec__fini(&r->all);
	tapir_arena__fini(&r->arena);
	tapir_map__fini(&r->frames_by_hash);
	return !r->failed;
}

bool tapir_await_runs__at(const struct tapir_await_runs *r, uint32_t tgid, uint32_t ns_tid,
			  uint64_t time_ns, struct tapir_await_now *out)
{
	const struct tapir_await_timeline *timeline =
		tapir_keyed__get(&r->timelines, thread_key(tgid, ns_tid));
	size_t at = timeline ? tapir_sorted__upper_bound(timeline->moments.data,
							 timeline->moments.cnt, from_ns, time_ns)
			     : 0;
	const struct tapir_await_moment *moment = at ? &timeline->moments.data[at - 1] : NULL;
	const struct tapir_await_run *run;

	if (!moment || !moment->run)
		return false;
	run = &r->runs.data[moment->run - 1];
	*out = (struct tapir_await_now){.begin_ns = run->begin_ns, .task = run->task};
	if (run->is_machine || moment->done_cnt >= run->frame_cnt)
		return true;
	out->frames = r->frames.data + run->frames_at + moment->done_cnt;
	out->frame_cnt = run->frame_cnt - moment->done_cnt;
	return true;
}

void tapir_await_runs__fini(struct tapir_await_runs *r)
{
	struct tapir_await_timeline *timeline;

	tapir_vec_for_each (timeline, &r->timelines)
		tapir_vec__fini(&timeline->moments);
	tapir_keyed__fini(&r->timelines);
	tapir_keyed__fini(&r->processes);
	tapir_vec__fini(&r->all);
	tapir_vec__fini(&r->runs);
	tapir_vec__fini(&r->frames);
	tapir_map__fini(&r->frames_by_hash);
	tapir_arena__fini(&r->arena);
}
