/* SPDX-License-Identifier: GPL-2.0-or-later */
/* timeline_fixture.h - a timeline that is fed by hand, and the intervals that it closed. */
#ifndef TAPIR_TEST_TIMELINE_FIXTURE_H
#define TAPIR_TEST_TIMELINE_FIXTURE_H

#include "timeline_feeder.h"

/* What the probes are called by. */
enum { REQ_BEGIN = 1, REQ_END, GC_BEGIN, GC_END, LOCK_BEGIN, LOCK_END };
enum { HTTP_BEGIN = LOCK_END + 1, HTTP_END, POOL_BEGIN, POOL_END, ORDER_BEGIN, ORDER_END };

struct closed {
	uint32_t flags, tid, end_tid;
	uint64_t from_ns, until_ns;
	struct tapir_time_breakdown parts;
	char kind[32], label[64];
};

static struct feeder feeder;
static struct closed closed[64];
static unsigned closed_cnt, wait_cnt, sample_cnt;
static struct tapir_wait last_wait;
static uint64_t waited_ns; /* of all */
static enum tapir_cause sample_cause;

static inline uint64_t sum_of(const struct tapir_time_breakdown *parts)
{
	uint64_t sum = 0;

	for (unsigned c = 0; c < TAPIR_CAUSE_CNT; c++)
		sum += tapir_time_breakdown__sum(parts, c);
	return sum;
}

static inline void on_close(void *ctx, struct tapir_interval *i)
{
	struct closed *c = &closed[closed_cnt < 63 ? closed_cnt : 63];

	assert_ptr_equal(ctx, &feeder);
	assert_true(i->until_ns >= i->from_ns);
	assert_int_equal(sum_of(&i->parts), i->until_ns - i->from_ns);
	*c = (struct closed){i->flags,	  i->tid,   i->end_tid, i->from_ns,
			     i->until_ns, i->parts, "",		""};
	snprintf(c->kind, sizeof(c->kind), "%s", feeder.pairs.kinds.data[i->kind].name);
	snprintf(c->label, sizeof(c->label), "%s", i->label ? i->label : "");
	closed_cnt++;
}

static inline void on_wait(void *ctx, const struct tapir_wait *w)
{
	(void)ctx;
	last_wait = *w;
	waited_ns += w->until_ns - w->from_ns;
	wait_cnt++;
}

static inline void on_sample(void *ctx, struct tapir_tl_thread *t,
			     const struct tapir_rec_sample *sample)
{
	(void)ctx;
	(void)sample;
	sample_cause = tapir_tl_thread__cause(t);
	sample_cnt++;
}

static const struct tapir_timeline_fns fns = {
	.close = on_close, .wait = on_wait, .sample = on_sample};

static inline void describe(void)
{
	feeder_probe(&feeder, REQ_BEGIN, "shop", "request__start", "id", NULL);
	feeder_probe(&feeder, REQ_END, "shop", "request__done", "id", NULL);
	feeder_probe(&feeder, GC_BEGIN, "hotspot", "gc__begin", "is_full", NULL);
	feeder_probe(&feeder, GC_END, "hotspot", "gc__end", NULL, NULL);
	feeder_probe(&feeder, LOCK_BEGIN, "hotspot", "monitor__contended__enter", "monitor",
		     "class");
	feeder_probe(&feeder, LOCK_END, "hotspot", "monitor__contended__entered", "monitor",
		     "class");
	feeder_probe(&feeder, HTTP_BEGIN, "System.Net.Http", "RequestStart", NULL, "host");
	feeder_probe(&feeder, HTTP_END, "System.Net.Http", "RequestStop", NULL, NULL);
	feeder_probe(&feeder, POOL_BEGIN, "System.Diagnostics.Eventing.FrameworkEventSource",
		     "ThreadPoolEnqueueWork", "workID", NULL);
	feeder_probe(&feeder, POOL_END, "System.Diagnostics.Eventing.FrameworkEventSource",
		     "ThreadPoolDequeueWork", "workID", NULL);
	feeder_probe(&feeder, ORDER_BEGIN, "Shop-Orders", "OrderStart", NULL, NULL);
	feeder_probe(&feeder, ORDER_END, "Shop-Orders", "OrderStop", NULL, NULL);
}

static inline int setup_with(const struct tapir_timeline_opts *opts)
{
	closed_cnt = wait_cnt = sample_cnt = 0;
	waited_ns = 0;
	if (feeder_init(&feeder, opts))
		return -1;
	describe();
	return tapir_timeline__listen(feeder.tl, &fns, &feeder);
}

static inline int setup(void **state)
{
	(void)state;
	return setup_with(NULL);
}

static inline int teardown(void **state)
{
	(void)state;
	feeder_fini(&feeder);
	return 0;
}

static inline void fire(uint32_t probe, uint32_t tid, uint64_t time_ns)
{
	assert_int_equal(feeder_event(&feeder, (struct feeder_event){.probe_id = probe,
								     .tgid = 100,
								     .tid = tid,
								     .time_ns = time_ns}),
			 0);
}

static inline void fire_number(uint32_t probe, uint32_t tid, uint64_t time_ns, uint64_t number)
{
	assert_int_equal(feeder_event(&feeder, (struct feeder_event){.probe_id = probe,
								     .tgid = 100,
								     .tid = tid,
								     .time_ns = time_ns,
								     .number = number,
								     .has_number = true}),
			 0);
}

static inline void finish(void)
{
	assert_int_equal(tapir_timeline__finish(feeder.tl), 0);
}

static inline const struct tapir_timeline_stats *stats(void)
{
	return tapir_timeline__stats(feeder.tl);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
