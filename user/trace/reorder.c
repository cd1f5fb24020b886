// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Records that arrive in order, which are most, are in a queue, the others in a heap; the older of
 * the two heads is next. Most copies have one or two cache lines: these are used again and again,
 * so that a record costs no call of malloc.
 */
#include "trace/reorder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

#define LINE_BYTES     64u
#define SIZES	       2u /* of copies that are used again: one line, two */
#define SLAB_BYTES     65536u
#define FIRST_CAPACITY 1024u

struct spare {
	struct spare *next;
};

struct waiting {
	uint64_t time_ns;
	uint64_t seq; /* the earlier of two at the same time goes first */
	uint64_t hint;
	struct tapir_rec *rec;
};

struct tapir_reorder {
	void (*out)(void *ctx, const struct tapir_rec *rec);
	void (*coming)(void *ctx, const struct tapir_rec *rec, enum tapir_reorder_step step);
	void *ctx;
	struct waiting *queue; /* a ring of places places, a power of two */
	size_t capacity, head, cnt;
	struct tapir_vec(struct waiting) heap; /* the earliest is [0] */
	uint64_t seq, bytes, newest_ns, last_out_ns, late;
	uint64_t hint; /* of the record that is out, or coming */
	struct spare *spares[SIZES];
	struct tapir_vec(char *) slabs;
};

/* The i-th that waits in the ring, or the first free place behind them. */
static struct waiting *waiting_at(const struct tapir_reorder *r, size_t i)
{
	return &r->queue[(r->head + i) & (r->capacity - 1)];
}

/* ---- copies ----------------------------------------------------------------------------- */

static size_t lines_of(size_t bytes)
{
	return (bytes + LINE_BYTES - 1) / LINE_BYTES;
}

/* Cuts a new slab into copies of so many lines. */
static void add_spares(struct tapir_reorder *r, size_t lines)
{
	char **slab = tapir_vec__add(&r->slabs), *at;

	if (!slab)
		return;
	*slab = malloc(SLAB_BYTES);
	if (!*slab) {
		r->slabs.cnt--;
		return;
	}
	at = (char *)(((uintptr_t)*slab + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES);
	for (; at + lines * LINE_BYTES <= *slab + SLAB_BYTES; at += lines * LINE_BYTES) {
		struct spare *spare = (void *)at;

		spare->next = r->spares[lines - 1];
		r->spares[lines - 1] = spare;
	}
}

/* NULL: out of memory. */
static struct tapir_rec *copy_of(struct tapir_reorder *r, const struct tapir_rec *rec)
{
	size_t lines = lines_of(rec->size);
	struct spare *spare;

	if (lines > SIZES) {
		void *copy = malloc(rec->size);

		return copy ? memcpy(copy, rec, rec->size) : NULL;
	}
	if (!r->spares[lines - 1])
		add_spares(r, lines);
	spare = r->spares[lines - 1];
	if (!spare)
		return NULL;
	r->spares[lines - 1] = spare->next;
	return memcpy(spare, rec, rec->size);
}

static void release_record(struct tapir_reorder *r, struct tapir_rec *rec)
{
	size_t lines = lines_of(rec->size);
	struct spare *spare = (void *)rec;

	if (lines > SIZES) {
		free(rec);
		return;
	}
	spare->next = r->spares[lines - 1];
	r->spares[lines - 1] = spare;
}

/* ---- the reorderer ---------------------------------------------------------------------- */

struct tapir_reorder *tapir_reorder__new(void (*out)(void *ctx, const struct tapir_rec *rec),
					 void *ctx)
{
	struct tapir_reorder *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->out = out;
	r->ctx = ctx;
	r->capacity = FIRST_CAPACITY;
	r->queue = calloc(r->capacity, sizeof(*r->queue));
	if (r->queue)
		return r;
	free(r);
	return NULL;
}

void tapir_reorder__free(struct tapir_reorder *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->cnt; i++)
		release_record(r, waiting_at(r, i)->rec);
	for (size_t i = 0; i < r->heap.cnt; i++)
		release_record(r, r->heap.data[i].rec);
	for (size_t i = 0; i < r->slabs.cnt; i++)
		free(r->slabs.data[i]);
	tapir_vec__fini(&r->slabs);
	tapir_vec__fini(&r->heap);
	free(r->queue);
	free(r);
}

/* A ring that is no larger than what waits in it stays in a CPU's cache. False: it is full. */
static bool has_capacity(struct tapir_reorder *r)
{
	struct waiting *more;

	if (r->cnt < r->capacity)
		return true;
	if (r->capacity >= TAPIR_REORDER_MAX_CNT)
		return false;
	more = calloc(r->capacity * 2, sizeof(*more));
	if (!more)
		return false;
	for (size_t i = 0; i < r->cnt; i++)
		more[i] = *waiting_at(r, i);
	free(r->queue);
	r->queue = more;
	r->capacity *= 2;
	r->head = 0;
	return true;
}

/* ---- the heap --------------------------------------------------------------------------- */

static bool is_before(const struct waiting *a, const struct waiting *b)
{
	return a->time_ns != b->time_ns ? a->time_ns < b->time_ns : a->seq < b->seq;
}

static void swap(struct waiting *a, struct waiting *b)
{
	struct waiting c = *a;

	*a = *b;
	*b = c;
}

static void sift_up(struct waiting *heap, size_t i)
{
	for (size_t up; i && is_before(&heap[i], &heap[up = (i - 1) / 2]); i = up)
		swap(&heap[up], &heap[i]);
}

static void sift_down(struct waiting *heap, size_t cnt)
{
	for (size_t i = 0, least;; i = least) {
		least = i;
		for (size_t child = 2 * i + 1; child < cnt && child <= 2 * i + 2; child++)
			if (is_before(&heap[child], &heap[least]))
				least = child;
		if (least == i)
			return;
		swap(&heap[least], &heap[i]);
	}
}

/* ---- in and out ------------------------------------------------------------------------- */

/* The next to go; NULL: nothing waits. */
static const struct waiting *first(const struct tapir_reorder *r)
{
	const struct waiting *queued = r->cnt ? &r->queue[r->head] : NULL;
	const struct waiting *heaped = r->heap.cnt ? &r->heap.data[0] : NULL;

	if (!queued || !heaped)
		return queued ? queued : heaped;
	return is_before(heaped, queued) ? heaped : queued;
}

void tapir_reorder__announce(struct tapir_reorder *r,
			     void (*coming)(void *ctx, const struct tapir_rec *rec,
					    enum tapir_reorder_step step))
{
	r->coming = coming;
}

const uint8_t tapir_reorder_ahead[] = {
	[TAPIR_REORDER_FAR] = 12, [TAPIR_REORDER_NEAR] = 8, [TAPIR_REORDER_NEXT] = 4};

/* The records themselves were copied half a second ago: they come back from memory first. */
static void expect_records(struct tapir_reorder *r)
{
	const size_t record_ahead = 16;

	if (!r->coming || r->cnt <= record_ahead)
		return;
	__builtin_prefetch(waiting_at(r, record_ahead)->rec);
	for (unsigned step = 0; step < TAPIR_REORDER_STEP_CNT; step++) {
		const struct waiting *soon = waiting_at(r, tapir_reorder_ahead[step]);

		r->hint = soon->hint;
		r->coming(r->ctx, soon->rec, (enum tapir_reorder_step)step);
	}
}

static void pass_first(struct tapir_reorder *r)
{
	const struct waiting *next = first(r);
	struct tapir_rec *rec = next->rec;
	uint64_t hint = next->hint;

	expect_records(r);
	if (r->heap.cnt && next == &r->heap.data[0]) {
		r->heap.data[0] = r->heap.data[--r->heap.cnt];
		sift_down(r->heap.data, r->heap.cnt);
	} else {
		r->head = (r->head + 1) & (r->capacity - 1);
		r->cnt--;
	}
	r->bytes -= rec->size;
	r->late += rec->time_ns < r->last_out_ns;
	if (rec->time_ns > r->last_out_ns)
		r->last_out_ns = rec->time_ns;
	r->hint = hint;
	r->out(r->ctx, rec);
	release_record(r, rec);
}

static bool is_due(const struct tapir_reorder *r)
{
	const struct waiting *next = first(r);

	if (!next)
		return false;
	if (r->cnt + r->heap.cnt > TAPIR_REORDER_MAX_CNT || r->bytes > TAPIR_REORDER_MAX_BYTES)
		return true;
	return r->newest_ns > next->time_ns &&
	       r->newest_ns - next->time_ns > TAPIR_REORDER_WINDOW_NS;
}

static int keep_waiting(struct tapir_reorder *r, struct waiting w, bool is_ahead)
{
	if (!is_ahead && (!r->cnt || waiting_at(r, r->cnt - 1)->time_ns <= w.time_ns) &&
	    has_capacity(r)) {
		*waiting_at(r, r->cnt++) = w;
		return 0;
	}
	if (!tapir_vec__push(&r->heap, w))
		return -ENOMEM;
	sift_up(r->heap.data, r->heap.cnt - 1);
	return 0;
}

int tapir_reorder__add(struct tapir_reorder *r, const struct tapir_rec *rec, bool is_ahead)
{
	return tapir_reorder__add_hinted(r, rec, is_ahead, 0);
}

uint64_t tapir_reorder__hint(const struct tapir_reorder *r)
{
	return r->hint;
}

int tapir_reorder__add_hinted(struct tapir_reorder *r, const struct tapir_rec *rec, bool is_ahead,
			      uint64_t hint)
{
	struct waiting w = {
		.time_ns = rec->time_ns, .seq = r->seq++, .hint = hint, .rec = copy_of(r, rec)};

	if (!w.rec)
		return -ENOMEM;
	if (keep_waiting(r, w, is_ahead)) {
		release_record(r, w.rec);
		return -ENOMEM;
	}
	r->bytes += rec->size;
	if (!is_ahead && rec->time_ns > r->newest_ns)
		r->newest_ns = rec->time_ns;
	while (is_due(r))
		pass_first(r);
	return 0;
}

void tapir_reorder__finish(struct tapir_reorder *r)
{
	while (first(r))
		pass_first(r);
}

uint64_t tapir_reorder__late(const struct tapir_reorder *r)
{
	return r->late;
}
