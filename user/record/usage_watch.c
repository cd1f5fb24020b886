// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The series of a long recording are thinned: when one is full, every second value goes and the
 * interval doubles. They are posted now and then as well, for a recording that is killed.
 */
#include "record/usage_watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attach/cpu_quota.h"
#include "attach/proc.h"
#include "attach/proc_usage.h"
#include "base/clock.h"
#include "base/map.h"
#include "record/meta.h"
#include "decode/usage_text.h"

#define FIRST_INTERVAL_NS TAPIR_NS_PER_SEC
#define POST_NS		  (5 * TAPIR_NS_PER_SEC)
#define MAX_OTHERS	  65536u

struct tapir_usage_watch {
	const struct tapir_targets *targets;
	struct tapir_queue *queue;
	uint64_t start_ns, next_ns, interval_ns, post_ns;
	unsigned series_cnt;
	struct tapir_memory_series series[TAPIR_MEMORY_PROCESSES];
	struct tapir_cpu_quota quota; /* of the first target; dir "": it has none */
	uint64_t machine_ns, own_ns;  /* CPU time at the beginning; machine: 0, not known */
	struct tapir_map cpu_by_tgid; /* ns at the beginning */
	struct tapir_pids live;
};

/* ---- the CPU of others ----------------------------------------------------------------------- */

static int note_cpu(uint32_t tgid, void *ctx)
{
	struct tapir_usage_watch *w = ctx;
	struct tapir_proc_usage usage;
	uint64_t *cpu_ns;

	if (w->cpu_by_tgid.cnt >= MAX_OTHERS || tapir_proc_usage__read(tgid, &usage))
		return 0;
	cpu_ns = tapir_map__put(&w->cpu_by_tgid, tgid, NULL);
	if (cpu_ns)
		*cpu_ns = usage.cpu_ns;
	return 0;
}

struct others {
	struct tapir_usage_watch *w;
	struct tapir_neighbours found;
	struct tapir_map targets;
};

static void keep_busiest(struct tapir_neighbours *n, const struct tapir_neighbour *one)
{
	unsigned at = n->cnt;

	while (at && n->rows[at - 1].cpu_ns < one->cpu_ns)
		at--;
	if (at == TAPIR_NEIGHBOURS_MAX)
		return;
	n->cnt += n->cnt < TAPIR_NEIGHBOURS_MAX;
	memmove(&n->rows[at + 1], &n->rows[at], (n->cnt - 1 - at) * sizeof(*one));
	n->rows[at] = *one;
}

/* A process that is new since the beginning has used all of its time since then. */
static int compare_cpu(uint32_t tgid, void *ctx)
{
	struct others *o = ctx;
	const uint64_t *before = tapir_map__get(&o->w->cpu_by_tgid, tgid);
	struct tapir_proc_usage usage;
	struct tapir_neighbour one = {.tgid = tgid};

	if (tgid == (uint32_t)getpid() || tapir_map__get(&o->targets, tgid) ||
	    tapir_proc_usage__read(tgid, &usage) || (before && usage.cpu_ns < *before))
		return 0;
	one.cpu_ns = usage.cpu_ns - (before ? *before : 0);
	memcpy(one.comm, usage.comm, sizeof(one.comm));
	o->found.all_ns += one.cpu_ns;
	if (one.cpu_ns)
		keep_busiest(&o->found, &one);
	return 0;
}

static void post_series(struct tapir_usage_watch *w, const char *key, struct tapir_str *text)
{
	if (text->data && !text->failed)
		(void)tapir_meta__post_one(w->queue, key, text->data);
	tapir_str__fini(text);
}

static void list_all_targets(struct others *o)
{
	struct tapir_pids live = {};
	const uint32_t *tgid;

	(void)tapir_targets__list_live(o->w->targets, MAX_OTHERS, &live);
	tapir_vec_for_each (tgid, &live)
		(void)tapir_map__put(&o->targets, *tgid, NULL);
	tapir_vec__fini(&live);
}

/* The CPU time of all processes but tapir, since the beginning. */
static uint64_t machine_since(const struct tapir_usage_watch *w)
{
	uint64_t now_ns, own_ns = tapir_clock__ns(CLOCK_PROCESS_CPUTIME_ID) - w->own_ns;

	if (!w->machine_ns || tapir_proc_usage__read_machine(&now_ns) ||
	    now_ns < w->machine_ns + own_ns)
		return 0;
	return now_ns - w->machine_ns - own_ns;
}

static void post_neighbours(struct tapir_usage_watch *w, uint64_t now_ns)
{
	struct others o = {.w = w,
			   .found = {.wall_ns = now_ns - w->start_ns,
				     .cpu_cnt = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN)}};
	struct tapir_str text = {};

	list_all_targets(&o);
	o.found.machine_ns = machine_since(w);
	(void)tapir_proc__each(compare_cpu, &o);
	tapir_map__fini(&o.targets);
	tapir_usage_text__add_neighbours(&o.found, &text);
	post_series(w, TAPIR_USAGE_NEIGHBOURS, &text);
}

/* ---- quota, memory --------------------------------------------------------------------------- */

static void post_quota(struct tapir_usage_watch *w, uint64_t now_ns)
{
	struct tapir_cpu_quota now = w->quota;
	struct tapir_quota_use use;
	struct tapir_str text = {};

	if (!*now.dir || tapir_cpu_quota__read(&now) || now.throttled_ns < w->quota.throttled_ns)
		return;
	use = (struct tapir_quota_use){
		.quota_us = now.quota_us,
		.period_us = now.period_us,
		.throttled_ns = now.throttled_ns - w->quota.throttled_ns,
		.period_cnt = now.period_cnt - w->quota.period_cnt,
		.throttled_cnt = now.throttled_cnt - w->quota.throttled_cnt,
		.wall_ns = now_ns - w->start_ns,
		.dir = tapir_sv__of(now.dir),
	};
	tapir_usage_text__add_quota(&use, &text);
	post_series(w, TAPIR_USAGE_QUOTA, &text);
}

static struct tapir_memory_series *series_of(struct tapir_usage_watch *w, uint32_t tgid)
{
	for (unsigned i = 0; i < w->series_cnt; i++)
		if (w->series[i].tgid == tgid)
			return &w->series[i];
	if (w->series_cnt == TAPIR_MEMORY_PROCESSES)
		return NULL;
	w->series[w->series_cnt] = (struct tapir_memory_series){.tgid = tgid};
	return &w->series[w->series_cnt++];
}

static void thin(struct tapir_usage_watch *w)
{
	w->interval_ns *= 2;
	for (unsigned i = 0; i < w->series_cnt; i++) {
		struct tapir_memory_series *s = &w->series[i];

		for (unsigned at = 0; 2 * at < s->cnt; at++)
			s->points[at] = s->points[2 * at];
		s->cnt = (s->cnt + 1) / 2;
	}
}

static void measure_usage(struct tapir_usage_watch *w, uint64_t now_ns)
{
	const uint32_t *tgid;

	tapir_vec_for_each (tgid, &w->live) {
		struct tapir_memory_series *s = series_of(w, *tgid);
		struct tapir_proc_usage usage;

		if (!s || tapir_proc_usage__read(*tgid, &usage))
			continue;
		if (s->cnt == TAPIR_MEMORY_POINTS)
			thin(w);
		s->points[s->cnt++] =
			(struct tapir_memory_point){now_ns, usage.resident_bytes, usage.file_bytes};
	}
}

static void post_memory(struct tapir_usage_watch *w)
{
	struct tapir_str text = {};

	for (unsigned i = 0; i < w->series_cnt; i++)
		tapir_usage_text__add_memory(&w->series[i], &text);
	post_series(w, TAPIR_USAGE_MEMORY, &text);
}

static void list_targets(struct tapir_usage_watch *w)
{
	w->live.cnt = 0;
	(void)tapir_targets__list_live(w->targets, TAPIR_MEMORY_PROCESSES, &w->live);
	if (!*w->quota.dir && w->live.cnt)
		(void)tapir_cpu_quota__find(w->live.data[0], &w->quota);
}

int tapir_usage_watch__new(const struct tapir_targets *targets, struct tapir_queue *queue,
			   struct tapir_usage_watch **out)
{
	struct tapir_usage_watch *w = calloc(1, sizeof(*w));

	if (!w)
		return -ENOMEM;
	w->targets = targets;
	w->queue = queue;
	w->start_ns = tapir_clock__now_ns();
	w->interval_ns = FIRST_INTERVAL_NS;
	w->post_ns = w->start_ns + POST_NS;
	if (tapir_proc_usage__read_machine(&w->machine_ns))
		w->machine_ns = 0;
	w->own_ns = tapir_clock__ns(CLOCK_PROCESS_CPUTIME_ID);
	(void)tapir_proc__each(note_cpu, w);
	tapir_usage_watch__poll(w, w->start_ns);
	*out = w;
	return 0;
}

void tapir_usage_watch__poll(struct tapir_usage_watch *w, uint64_t now_ns)
{
	if (!w || now_ns < w->next_ns)
		return;
	list_targets(w);
	measure_usage(w, now_ns);
	w->next_ns = now_ns + w->interval_ns;
	if (now_ns < w->post_ns)
		return;
	post_memory(w);
	post_quota(w, now_ns);
	w->post_ns = now_ns + POST_NS;
}

void tapir_usage_watch__finish(struct tapir_usage_watch *w, uint64_t now_ns)
{
	if (!w)
		return;
	list_targets(w);
	measure_usage(w, now_ns);
	post_memory(w);
	post_quota(w, now_ns);
	post_neighbours(w, now_ns);
}

void tapir_usage_watch__free(struct tapir_usage_watch *w)
{
	if (!w)
		return;
	tapir_map__fini(&w->cpu_by_tgid);
	tapir_vec__fini(&w->live);
	free(w);
}
