// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Records in the order of time (perf_order.h). Those that wait for the end of their round are
 * copied, since they lie far apart in the file, and sorted when it comes.
 */
#include "output/import/perf_order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/little_endian.h"
#include "base/order.h"
#include "base/str.h"

#define WINDOW_BYTES (1u << 20)
#define HEADER_BYTES 8u
#define ALIGNMENT    8u
#define WAITING_MAX  (128u << 20) /* bytes of records that wait */
#define CHECK_EVERY  4096u

/* ---- in the order of the file ---------------------------------------------------------------- */

struct window {
	const struct tapir_perf_data *d;
	uint8_t *data;
	uint64_t off; /* in the file */
	size_t len;
};

/* len bytes at off, at most TAPIR_PERF_RECORD_MAX. 1, 0: the file ends before; or -errno. */
static int window_at_off(struct window *w, uint64_t off, size_t len, const uint8_t **out)
{
	uint64_t left = w->d->records_end - off;
	int64_t got;

	if (len > left)
		return 0;
	if (off < w->off || off - w->off + len > w->len) {
		got = w->d->input.read(w->d->input.ctx, w->data,
				       left < WINDOW_BYTES ? left : WINDOW_BYTES, off);
		if (got < 0)
			return (int)got;
		w->off = off;
		w->len = (size_t)got;
		if (len > w->len)
			return 0;
	}
	*out = w->data + (off - w->off);
	return 1;
}

/* Some of perf's own records say how much follows them. */
static uint64_t bytes_after(const uint8_t *rec, size_t len)
{
	uint64_t bytes = 0;

	switch (tapir_le__u32(rec)) {
	case TAPIR_PERF_REC_FORMATS:
		bytes = len >= 12 ? tapir_le__u32(rec + 8) : 0;
		break;
	case TAPIR_PERF_REC_AUXTRACE:
		bytes = len >= 16 ? tapir_le__u64(rec + 8) : 0;
		break;
	default:
		break;
	}
	return bytes > UINT64_MAX - ALIGNMENT ? bytes : (bytes + ALIGNMENT - 1) & -ALIGNMENT;
}

/* 1: the next record is in *out, and *off is behind it; 0: there is none. */
static int take_next(struct window *w, uint64_t *off, struct tapir_perf_bytes *out)
{
	const uint8_t *rec;
	int got = window_at_off(w, *off, HEADER_BYTES, &rec);
	uint64_t after;

	if (got <= 0)
		return got;
	out->len = tapir_le__u16(rec + 6);
	if (out->len < HEADER_BYTES)
		return 0; /* where the next one begins is not known */
	got = window_at_off(w, *off, out->len, &rec);
	if (got <= 0)
		return got;
	after = bytes_after(rec, out->len);
	if (after > w->d->records_end - *off - out->len)
		return 0;
	out->data = rec;
	out->more_off = *off + out->len;
	out->more_bytes = after;
	*off += out->len + after;
	return 1;
}

int tapir_perf_order__walk(const struct tapir_perf_data *d,
			   int (*each)(void *ctx, const struct tapir_perf_bytes *bytes), void *ctx,
			   uint64_t *rest)
{
	struct window w = {.d = d, .data = malloc(WINDOW_BYTES)};
	uint64_t off = d->records_off;
	struct tapir_perf_bytes bytes;
	int err = w.data ? 1 : -ENOMEM;

	while (err > 0) {
		err = take_next(&w, &off, &bytes);
		if (err > 0) {
			err = each(ctx, &bytes);
			err = err ? err : 1;
		}
	}
	*rest = d->records_end - off;
	free(w.data);
	return err;
}

/* ---- in the order of time -------------------------------------------------------------------- */

struct waiting {
	uint64_t time_ns, nr; /* nr: in the file */
	size_t off, len;      /* in bytes */
};

struct order {
	const struct tapir_perf_data *d;
	const struct tapir_perf_ordered *out;
	struct tapir_vec(struct waiting) waiting;
	struct tapir_str bytes;
	uint64_t newest_ns, round_ns; /* round: the newest of the rounds before */
	uint64_t nr, bad_cnt;
};

static int perf_records_by_time(const void *a, const void *b)
{
	const struct waiting *x = a, *y = b;

	return tapir_order__up(x->time_ns, y->time_ns) ?: tapir_order__up(x->nr, y->nr);
}

static int deliver_record(struct order *o, const struct waiting *waiting)
{
	struct tapir_perf_record record;

	if (waiting->nr % CHECK_EVERY == 0) {
		int err = o->out->check(o->out->ctx);

		if (err)
			return err;
	}
	if (!tapir_perf_record__parse(o->d, (const uint8_t *)o->bytes.data + waiting->off,
				      waiting->len, &record))
		return 0;
	return o->out->each(o->out->ctx, &record);
}

/* Keeps the records from index first on. */
static int keep_pending(struct order *o, size_t first)
{
	struct tapir_str bytes = {};

	for (size_t i = first; i < o->waiting.cnt; i++) {
		struct waiting *waiting = &o->waiting.data[i];
		size_t off = bytes.len;

		tapir_str__add(&bytes, o->bytes.data + waiting->off, waiting->len);
		waiting->off = off;
	}
	if (bytes.failed) {
		tapir_str__fini(&bytes);
		return -ENOMEM;
	}
	memmove(o->waiting.data, o->waiting.data + first,
		(o->waiting.cnt - first) * sizeof(*o->waiting.data));
	o->waiting.cnt -= first;
	tapir_str__fini(&o->bytes);
	o->bytes = bytes;
	return 0;
}

static int deliver_until(struct order *o, uint64_t until_ns)
{
	size_t i = 0;
	int err = 0;

	if (!o->waiting.cnt)
		return 0;
	qsort(o->waiting.data, o->waiting.cnt, sizeof(*o->waiting.data), perf_records_by_time);
	while (i < o->waiting.cnt && o->waiting.data[i].time_ns <= until_ns && !err)
		err = deliver_record(o, &o->waiting.data[i++]);
	return err ? err : keep_pending(o, i);
}

static int end_round(struct order *o)
{
	int err = deliver_until(o, o->round_ns);

	o->round_ns = o->newest_ns;
	return err;
}

static int wait(struct order *o, const struct tapir_perf_bytes *bytes, uint64_t time_ns)
{
	const struct waiting waiting = {time_ns, o->nr++, o->bytes.len, bytes->len};

	tapir_str__add(&o->bytes, (const char *)bytes->data, bytes->len);
	if (o->bytes.failed || !tapir_vec__push(&o->waiting, waiting))
		return -ENOMEM;
	if (time_ns > o->newest_ns)
		o->newest_ns = time_ns;
	if (o->bytes.len < WAITING_MAX)
		return 0;
	return deliver_until(o, UINT64_MAX);
}

static int see_record(void *ctx, const struct tapir_perf_bytes *bytes)
{
	struct order *o = ctx;
	uint32_t type = tapir_le__u32(bytes->data);
	struct tapir_perf_record record;

	if (type == TAPIR_PERF_REC_ROUND)
		return end_round(o);
	if (type > TAPIR_PERF_REC_KERNEL_MAX)
		return 0;
	if (tapir_perf_record__parse(o->d, bytes->data, bytes->len, &record))
		return wait(o, bytes, record.time_ns);
	o->bad_cnt++;
	return 0;
}

int tapir_perf_order__by_time(const struct tapir_perf_data *d, const struct tapir_perf_ordered *out,
			      uint64_t *bad_cnt)
{
	struct order o = {.d = d, .out = out};
	uint64_t rest;
	int err = tapir_perf_order__walk(d, see_record, &o, &rest);

	if (!err)
		err = deliver_until(&o, UINT64_MAX);
	*bad_cnt = o.bad_cnt;
	tapir_vec__fini(&o.waiting);
	tapir_str__fini(&o.bytes);
	return err;
}
