// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Pairs the moment at which a thread leaves its CPU with that of its return. The two are reported
 * by different CPUs, whose records may come in the wrong order: a heap by time holds them back for
 * a while, in front of one slot for each thread.
 */
#include "analyze/offcpu.h"

#include <errno.h>
#include <stdlib.h>

#include "base/keyed.h"
#include "base/vec.h"
#include "trace/record.h"

struct thread {
	uint32_t tgid;
	bool is_out;
	bool is_runnable; /* it left and could have continued */
	uint64_t out_ns;
	uint64_t token;
};

struct waiting {
	struct tapir_rec_switch rec;
	uint64_t out_ns; /* when the thread left that it says has left */
	struct tapir_trace_ids ids;
	bool has_ids;
};

struct tapir_offcpu {
	struct tapir_offcpu_fns fns;
	void *ctx;
	struct tapir_offcpu_stats stats;
	struct tapir_vec(struct waiting) waiting; /* a heap: the earliest is [0] */
	uint64_t newest_ns;
	struct tapir_keyed(struct thread) threads; /* by tid */
};

struct tapir_offcpu *tapir_offcpu__new(const struct tapir_offcpu_fns *fns, void *ctx)
{
	struct tapir_offcpu *o = calloc(1, sizeof(*o));

	if (o) {
		o->fns = *fns;
		o->ctx = ctx;
	}
	return o;
}

void tapir_offcpu__free(struct tapir_offcpu *o)
{
	if (!o)
		return;
	tapir_vec__fini(&o->waiting);
	tapir_keyed__fini(&o->threads);
	free(o);
}

/* ---- pairing ---------------------------------------------------------------------------- */

/* More threads than the limit: all of them are dropped, including those that are off-CPU. */
static void forget_threads(struct tapir_offcpu *o)
{
	const struct thread *t;

	tapir_vec_for_each (t, &o->threads)
		o->stats.unpaired += t->is_out;
	tapir_keyed__clear(&o->threads);
}

static struct thread *offcpu_thread_of(struct tapir_offcpu *o, uint32_t tid)
{
	if (o->threads.cnt == TAPIR_OFFCPU_MAX_THREADS && !tapir_keyed__get(&o->threads, tid))
		forget_threads(o);
	return tapir_keyed__add(&o->threads, tid, TAPIR_OFFCPU_MAX_THREADS, (struct thread){});
}

static int on_switch_out(struct tapir_offcpu *o, const struct waiting *w)
{
	const struct tapir_rec_switch *rec = &w->rec;
	struct thread *t = offcpu_thread_of(o, rec->out_tid);

	if (!t)
		return -ENOMEM;
	o->stats.unpaired += t->is_out;
	t->is_out = !(rec->out_state & TAPIR_STATE_DEAD); /* a dead thread stays off-CPU */
	if (!t->is_out)
		return 0;
	t->tgid = rec->out_tgid;
	t->out_ns = w->out_ns;
	t->is_runnable = !rec->out_state;
	t->token = o->fns.on_out ? o->fns.on_out(o->ctx, rec, w->has_ids ? &w->ids : NULL) : 0;
	return 0;
}

/* The record of the wake-up may be a moment older than that of the leaving it ended. */
static uint64_t wake_ns(const struct thread *t, const struct tapir_rec_switch *rec)
{
	if (t->is_runnable)
		return t->out_ns;
	if (!rec->in_wake_ns || rec->in_wake_ns > rec->h.time_ns)
		return 0;
	return rec->in_wake_ns > t->out_ns ? rec->in_wake_ns : t->out_ns;
}

/*
 * A thread whose id now is another process's, or that was not seen to leave a CPU, has no span: it
 * is counted as unpaired.
 */
static int on_switch_in(struct tapir_offcpu *o, const struct tapir_rec_switch *rec)
{
	struct thread *t = offcpu_thread_of(o, rec->in_tid);
	struct tapir_offcpu_span span;
	bool is_same;

	if (!t)
		return -ENOMEM;
	is_same = t->is_out && t->tgid == rec->in_tgid && t->out_ns <= rec->h.time_ns;
	t->is_out = false;
	if (!is_same) {
		o->stats.unpaired++;
		return 0;
	}
	span = (struct tapir_offcpu_span){
		.tgid = t->tgid,
		.tid = rec->in_tid,
		.from_ns = t->out_ns,
		.until_ns = rec->h.time_ns,
		.wake_ns = wake_ns(t, rec),
		.waker_tid = t->is_runnable ? 0 : rec->in_waker_tid,
		.token = t->token,
	};
	o->stats.spans++;
	o->fns.on_span(o->ctx, &span);
	return 0;
}

static int pair(struct tapir_offcpu *o, const struct waiting *w)
{
	int err = w->rec.out_tid ? on_switch_out(o, w) : 0;

	return !err && w->rec.in_tid ? on_switch_in(o, &w->rec) : err;
}

/* ---- the window ------------------------------------------------------------------------- */

static void swap(struct waiting *a, struct waiting *b)
{
	struct waiting c = *a;

	*a = *b;
	*b = c;
}

static void sift_up(struct waiting *heap, size_t i)
{
	for (size_t up; i && heap[up = (i - 1) / 2].rec.h.time_ns > heap[i].rec.h.time_ns; i = up)
		swap(&heap[up], &heap[i]);
}

static void sift_down(struct waiting *heap, size_t cnt)
{
	for (size_t i = 0, least;; i = least) {
		least = i;
		for (size_t child = 2 * i + 1; child < cnt && child <= 2 * i + 2; child++)
			if (heap[child].rec.h.time_ns < heap[least].rec.h.time_ns)
				least = child;
		if (least == i)
			return;
		swap(&heap[least], &heap[i]);
	}
}

static int pair_earliest(struct tapir_offcpu *o)
{
	struct waiting earliest = o->waiting.data[0];

	o->waiting.data[0] = o->waiting.data[--o->waiting.cnt];
	sift_down(o->waiting.data, o->waiting.cnt);
	return pair(o, &earliest);
}

/* A jump ahead in time releases all; a record from the past is released at once. */
static bool is_due(const struct tapir_offcpu *o)
{
	uint64_t waited;

	if (!o->waiting.cnt)
		return false;
	waited = o->newest_ns - o->waiting.data[0].rec.h.time_ns;
	return waited > TAPIR_OFFCPU_WINDOW_NS || o->waiting.cnt == TAPIR_OFFCPU_WINDOW_CNT;
}

/* A side that is not wanted is treated as one without a thread. */
int tapir_offcpu__add(struct tapir_offcpu *o, const struct tapir_rec *rec,
		      bool (*is_wanted)(void *ctx, uint32_t tgid), void *ctx)
{
	const struct tapir_trace_ids *ids = tapir_rec__trace_ids(rec);
	struct waiting *w;
	int err = 0;

	if (rec->type != TAPIR_REC_SWITCH)
		return 0;
	w = tapir_vec__add(&o->waiting);
	if (!w)
		return -ENOMEM;
	w->rec = *(const struct tapir_rec_switch *)rec;
	w->out_ns = tapir_switch__since_ns((const void *)rec);
	if (!w->out_ns)
		w->out_ns = rec->time_ns;
	w->has_ids = ids;
	if (ids)
		w->ids = *ids;
	if (is_wanted && !is_wanted(ctx, w->rec.out_tgid))
		w->rec.out_tid = 0;
	if (is_wanted && !is_wanted(ctx, w->rec.in_tgid))
		w->rec.in_tid = 0;
	sift_up(o->waiting.data, o->waiting.cnt - 1);
	if (rec->time_ns > o->newest_ns)
		o->newest_ns = rec->time_ns;
	while (!err && is_due(o))
		err = pair_earliest(o);
	return err;
}

int tapir_offcpu__finish(struct tapir_offcpu *o)
{
	const struct thread *t;
	int err = 0;

	while (!err && o->waiting.cnt)
		err = pair_earliest(o);
	o->stats.open = 0;
	tapir_vec_for_each (t, &o->threads)
		o->stats.open += t->is_out;
	return err;
}

const struct tapir_offcpu_stats *tapir_offcpu__stats(const struct tapir_offcpu *o)
{
	return &o->stats;
}
