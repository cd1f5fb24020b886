// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The format (speedscope's file-format.ts) wants each sample's frames written out, outermost first,
 * per thread: so all samples are held until the end, as numbers of stacks.
 */
#include "output/export/speedscope.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "output/export/speedscope_stacks.h"
#include "trace/thread_names.h"

#define PART_BYTES  (1u << 20)
#define THREADS_MAX (1u << 20)
#define NO_STACK    TAPIR_SPEEDSCOPE_NO_STACK

/* A sample: when it was taken, or what it counts where that is no time. */
struct point {
	uint32_t value[2]; /* lower half, upper half: 12 bytes, not 16 */
	uint32_t stack;
};

/* The samples of a thread under one of its names. */
struct thread {
	uint32_t tgid, tid;
	size_t name_idx; /* its row of names */
	struct tapir_vec(struct point) points;
	uint64_t weight;
};

/* Neighbours with one stack, or a time without samples: NO_STACK. */
struct run {
	uint32_t stack;
	uint64_t weight;
};

/* The position up to which a thread is written. */
struct cursor {
	size_t point_idx;
	uint64_t until; /* since the recording began */
};

/* The profiles made of one type of records. */
struct tapir_speedscope {
	const struct tapir_catalog *catalog;
	bool of_samples, has_time; /* points have a time */
	bool failed;
	uint64_t start_ns, period_ns; /* period_ns: of the last sample */
	uint64_t end;		      /* of the last record, since the recording began */
	struct tapir_speedscope_stacks stacks;
	struct tapir_thread_names names;
	struct tapir_vec(struct thread) threads; /* a row of names each, until they are written */
	uint64_t point_cnt, skipped_cnt;
	/* writing */
	bool has_started, has_ended;
	size_t thread_idx;
	struct cursor cursor;
	enum { PART_SAMPLES, PART_WEIGHTS } part;
};

struct tapir_speedscope *tapir_speedscope__new(const struct tapir_catalog *catalog,
					       uint64_t start_ns)
{
	struct tapir_speedscope *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->catalog = s->stacks.catalog = catalog;
	s->start_ns = start_ns;
	return s;
}

static void forget_threads(struct tapir_speedscope *s)
{
	struct thread *thread;

	tapir_vec_for_each (thread, &s->threads)
		tapir_vec__fini(&thread->points);
	tapir_vec__fini(&s->threads);
	tapir_thread_names__fini(&s->names);
	s->names = (struct tapir_thread_names){};
	s->point_cnt = s->skipped_cnt = 0;
}

void tapir_speedscope__free(struct tapir_speedscope *s)
{
	if (!s)
		return;
	forget_threads(s);
	tapir_speedscope_stacks__fini(&s->stacks);
	free(s);
}

uint64_t tapir_speedscope__skipped_cnt(const struct tapir_speedscope *s)
{
	return s->skipped_cnt;
}

/* ---- samples -------------------------------------------------------------------------------- */

static struct thread *speedscope_thread_of(struct tapir_speedscope *s, uint32_t tgid, uint32_t tid,
					   uint64_t time_ns)
{
	size_t idx = tapir_thread_names__row(&s->names, (uint64_t)tgid << 32 | tid,
					     tapir_catalog__thread(s->catalog, tid, time_ns), true,
					     THREADS_MAX);
	const struct thread made = {.tgid = tgid, .tid = tid, .name_idx = idx};

	return tapir_thread_names__slot(&s->threads, idx, made);
}

static uint64_t point_value(const struct point *point)
{
	return (uint64_t)point->value[1] << 32 | point->value[0];
}

static bool is_full(const struct tapir_speedscope *s)
{
	return s->point_cnt * sizeof(struct point) + tapir_speedscope_stacks__bytes(&s->stacks) >=
	       TAPIR_SPEEDSCOPE_MAX_BYTES;
}

/* value: of the point. */
static void add_point(struct tapir_speedscope *s, const struct tapir_stack_ref *ref, uint32_t tid,
		      uint64_t value, uint64_t weight)
{
	struct point point = {.value = {(uint32_t)value, (uint32_t)(value >> 32)}};
	struct thread *thread;

	if (is_full(s)) {
		s->skipped_cnt += ref->stack_id || ref->kstack_id;
		return;
	}
	point.stack = tapir_speedscope_stacks__number(&s->stacks, ref);
	if (point.stack == NO_STACK)
		return;
	thread = speedscope_thread_of(s, ref->tgid, tid, ref->time_ns);
	if (!thread) {
		s->failed |= s->threads.cnt < THREADS_MAX;
		s->skipped_cnt++;
		return;
	}
	thread->weight += weight;
	s->failed |= !tapir_vec__push(&thread->points, point);
	s->point_cnt++;
}

static uint64_t since_start(const struct tapir_speedscope *s, uint64_t time_ns)
{
	return time_ns > s->start_ns ? time_ns - s->start_ns : 0;
}

static void add_sample(struct tapir_speedscope *s, const struct tapir_rec_sample *sample)
{
	struct tapir_stack_ref ref = {.tgid = sample->tgid,
				      .time_ns = sample->h.time_ns,
				      .stack_id = sample->stack_id,
				      .kstack_id = sample->kstack_id};
	uint64_t period = sample->period ? sample->period : 1;

	if (!s->of_samples) {
		forget_threads(s); /* events are for files without samples */
		s->of_samples = true;
		s->has_time = tapir_sample_event__is_clock(
			tapir_catalog__meta_value(s->catalog, "sample_event"));
	}
	s->period_ns = period;
	add_point(s, &ref, sample->tid, s->has_time ? since_start(s, ref.time_ns) : period, period);
}

static void add_speedscope_event(struct tapir_speedscope *s, const struct tapir_rec_event *ev)
{
	struct tapir_event_view view;

	if (s->of_samples)
		return;
	tapir_event_view__of(&ev->h, &view);
	add_point(s,
		  &(struct tapir_stack_ref){.tgid = ev->tgid,
					    .time_ns = ev->h.time_ns,
					    .stack_id = ev->stack_id,
					    .kstack_id = view.kstack_id},
		  ev->tid, 1, 1);
}

int tapir_speedscope__add(struct tapir_speedscope *s, const struct tapir_rec *rec)
{
	uint64_t at = since_start(s, rec->time_ns);

	if (!tapir_rec_type__describes(rec->type) && at > s->end)
		s->end = at;
	if (rec->type == TAPIR_REC_SAMPLE)
		add_sample(s, (const struct tapir_rec_sample *)rec);
	else if (rec->type == TAPIR_REC_EVENT)
		add_speedscope_event(s, (const struct tapir_rec_event *)rec);
	return s->failed || s->stacks.failed ? -ENOMEM : 0;
}

/* ---- runs ----------------------------------------------------------------------------------- */

/* The time from which a sample counts. Timers are not exact: a short gap is the sample's, too. */
static uint64_t from_of(const struct tapir_speedscope *s, uint64_t at, uint64_t until)
{
	uint64_t from = at > s->period_ns ? at - s->period_ns : 0;

	return from > until + s->period_ns / 2 ? from : until;
}

/* The next neighbours of one stack, or the gap before them. */
static struct run next_timed(const struct tapir_speedscope *s, const struct thread *thread,
			     struct cursor *c)
{
	uint64_t begin = c->until, from = s->end;
	struct run run = {NO_STACK, 0};

	if (c->point_idx < thread->points.cnt)
		from = from_of(s, point_value(&thread->points.data[c->point_idx]), begin);
	if (from > begin) {
		c->until = from;
	} else {
		run.stack = thread->points.data[c->point_idx].stack;
		for (; c->point_idx < thread->points.cnt; c->point_idx++) {
			const struct point *point = &thread->points.data[c->point_idx];
			uint64_t at = point_value(point);

			if (point->stack != run.stack || from_of(s, at, c->until) > c->until)
				break;
			c->until = at > c->until ? at : c->until + 1; /* none vanishes */
		}
	}
	run.weight = c->until - begin;
	return run;
}

static struct run next_counted(const struct thread *thread, struct cursor *c)
{
	struct run run = {thread->points.data[c->point_idx].stack, 0};

	for (; c->point_idx < thread->points.cnt &&
	       thread->points.data[c->point_idx].stack == run.stack;
	     c->point_idx++)
		run.weight += point_value(&thread->points.data[c->point_idx]);
	c->until += run.weight;
	return run;
}

static bool has_more(const struct tapir_speedscope *s, const struct thread *thread,
		     const struct cursor *c)
{
	return c->point_idx < thread->points.cnt || (s->has_time && c->until < s->end);
}

static struct run next_run(const struct tapir_speedscope *s, const struct thread *thread,
			   struct cursor *c)
{
	return s->has_time ? next_timed(s, thread, c) : next_counted(thread, c);
}

static int points_by_time(const void *a, const void *b)
{
	uint64_t x = point_value(a), y = point_value(b);

	return x < y ? -1 : x > y;
}

/* Records of several CPUs are not in order; all threads end with the last of them. */
static void order_points(struct tapir_speedscope *s)
{
	struct thread *thread;

	tapir_vec_for_each (thread, &s->threads) {
		struct cursor c = {};

		qsort(thread->points.data, thread->points.cnt, sizeof(*thread->points.data),
		      points_by_time);
		while (c.point_idx < thread->points.cnt)
			(void)next_timed(s, thread, &c);
		s->end = c.until > s->end ? c.until : s->end;
	}
}

/* ---- writing -------------------------------------------------------------------------------- */

static int by_weight(const void *a, const void *b)
{
	const struct thread *x = a, *y = b;

	return x->weight < y->weight ? 1 : x->weight > y->weight ? -1 : 0;
}

static void write_head(struct tapir_speedscope *s, const char *title, struct tapir_str *out)
{
	struct tapir_json json = tapir_json__to(out);

	if (s->has_time)
		order_points(s);
	if (s->threads.cnt)
		qsort(s->threads.data, s->threads.cnt, sizeof(*s->threads.data), by_weight);
	tapir_json__open(&json, NULL, '{');
	tapir_json__str(&json, "$schema", "https://www.speedscope.app/file-format-schema.json");
	tapir_json__str(&json, "exporter", "tapir");
	tapir_json__str(&json, "name", title);
	tapir_json__u64(&json, "activeProfileIndex", 0);
	tapir_str__adds(out, ",\"shared\":{\"frames\":[");
	tapir_str__add(out, s->stacks.frames_json.data, s->stacks.frames_json.len);
	tapir_str__adds(out, "]},\"profiles\":[");
}

static void write_profile_head(const struct tapir_speedscope *s, const struct thread *thread,
			       struct tapir_str *out)
{
	const char *comm = s->names.rows.data[thread->name_idx].comm;
	struct tapir_json json = tapir_json__to(out);
	char name[TAPIR_COMM_BYTES + 32];
	int len = snprintf(name, sizeof(name), "%s%s%" PRIu32 "/%" PRIu32, comm, *comm ? " " : "",
			   thread->tgid, thread->tid);

	if (s->thread_idx)
		tapir_str__addc(out, ',');
	tapir_json__open(&json, NULL, '{');
	tapir_json__str(&json, "type", "sampled");
	tapir_json__strn(&json, "name", name, (size_t)len);
	tapir_json__str(&json, "unit", s->has_time ? "nanoseconds" : "none");
	tapir_json__u64(&json, "startValue", 0);
	tapir_json__u64(&json, "endValue", s->has_time ? s->end : thread->weight);
	tapir_str__adds(out, ",\"samples\":[");
}

static void write_run(const struct tapir_speedscope *s, const struct run *run,
		      struct tapir_str *out)
{
	const struct tapir_speedscope_stack *stack =
		run->stack == NO_STACK ? NULL : &s->stacks.stacks.data[run->stack];

	if (s->part == PART_WEIGHTS) {
		tapir_str__addu(out, run->weight);
		return;
	}
	tapir_str__addc(out, '[');
	for (uint32_t i = stack ? stack->cnt : 0; i--;) {
		tapir_str__addu(out, s->stacks.frames.data[stack->first + i]);
		if (i)
			tapir_str__addc(out, ',');
	}
	tapir_str__addc(out, ']');
}

static bool is_begun(const struct cursor *c)
{
	return c->point_idx || c->until;
}

/* Some of the thread's runs; true: all of them, in both parts, are written. */
static bool write_runs(struct tapir_speedscope *s, const struct thread *thread,
		       struct tapir_str *out)
{
	size_t end = out->len + PART_BYTES;

	while (has_more(s, thread, &s->cursor)) {
		struct run run;

		if (out->len > end)
			return false;
		if (is_begun(&s->cursor))
			tapir_str__addc(out, ',');
		run = next_run(s, thread, &s->cursor);
		write_run(s, &run, out);
	}
	s->cursor = (struct cursor){};
	tapir_str__adds(out, s->part == PART_SAMPLES ? "],\"weights\":[" : "]}");
	s->part = s->part == PART_SAMPLES ? PART_WEIGHTS : PART_SAMPLES;
	return s->part == PART_SAMPLES;
}

bool tapir_speedscope__next_part(struct tapir_speedscope *s, const char *title,
				 struct tapir_str *out)
{
	size_t end = out->len + PART_BYTES;

	if (s->has_ended)
		return false;
	if (!s->has_started)
		write_head(s, title, out);
	s->has_started = true;
	while (s->thread_idx < s->threads.cnt && out->len < end) {
		const struct thread *thread = &s->threads.data[s->thread_idx];

		if (!is_begun(&s->cursor) && s->part == PART_SAMPLES)
			write_profile_head(s, thread, out);
		s->thread_idx += write_runs(s, thread, out);
	}
	if (s->thread_idx == s->threads.cnt) {
		tapir_str__adds(out, "]}\n");
		s->has_ended = true;
	}
	return true;
}
