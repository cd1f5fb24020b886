/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench_gc_sink - what a collector pays for events through tapir/gc_event_sink.h: the query when
 * they are off, and an event through the table beside the same event fired directly, in rounds
 * taken in turn: the least and the median of each, as JSON. lib.py runs it:
 *
 *	tapir record Bench-Runtime --lane ring -f -o /tmp/x.tapir -- build/tests/bench/bench_gc_sink
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "tapir/gc_event_sink.h"

#define RUNTIME	  "Bench-Runtime"
#define ROUND_CNT 40
#define FIRE_CNT  2000
#define QUERY_CNT 100000

TAPIR_EVENT(GCEnd, RUNTIME, "GCEnd", 2, 1, TAPIR_INFORMATIONAL, 0x1, (U32, Count), (U32, Depth),
	    (U16, ClrInstanceID));

#define SWEPT(X) X(U64, Bytes) X(U32, Objects) X(UTF8, Phase)
TAPIR_GC_EVENT(Swept, TAPIR_GC_DEFAULT, TAPIR_INFORMATIONAL, 0x1, SWEPT);
TAPIR_EVENT(SweptDirectly, RUNTIME, "SweptDirectly", 3, 0, TAPIR_INFORMATIONAL, 0x1, (U64, Bytes),
	    (U32, Objects), (UTF8, Phase));

static struct tapir_gc_host *host;
static struct tapir_gc_status status;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

static void control(void *ctx, uint64_t keywords, int level)
{
	tapir_gc_status__set(ctx, TAPIR_GC_DEFAULT, keywords, level);
}

static void gc_end(const struct tapir_gc_sink *sink, uint32_t count, uint32_t depth)
{
	(void)sink;
	TAPIR_FIRE(GCEnd, count, depth, 9);
}

static void fire_dynamic_event(const struct tapir_gc_sink *sink, const char *name,
			       const void *payload, uint32_t bytes)
{
	tapir_gc_host__fire_dynamic(sink->runtime, name, payload, bytes);
}

static const struct tapir_gc_sink *volatile given;

static __attribute__((noipa)) void by_sink(uint32_t n)
{
	if (tapir_gc_status__is_on(&status, TAPIR_GC_DEFAULT, 0x1, TAPIR_INFORMATIONAL))
		given->gc_end(given, n, 1);
}

static __attribute__((noipa)) void directly(uint32_t n)
{
	TAPIR_FIRE(GCEnd, n, 1, 9);
}

static __attribute__((noipa)) void own_by_sink(uint32_t n)
{
	Swept_fire(given, n, n, "sweep");
}

static __attribute__((noipa)) void own_directly(uint32_t n)
{
	TAPIR_FIRE(SweptDirectly, n, n, "sweep");
}

static double ns_each(void (*fire)(uint32_t))
{
	uint64_t begin = now_ns();

	for (uint32_t i = 0; i < FIRE_CNT; i++)
		fire(i);
	return (double)(now_ns() - begin) / FIRE_CNT;
}

/* is_asked 0: the loop alone. */
static __attribute__((noipa)) double query_ns(const struct tapir_gc_status *off, int is_asked)
{
	uint64_t begin = now_ns();
	unsigned hits = 0;

	for (unsigned i = 0; i < QUERY_CNT; i++) {
		__asm__ volatile("" : "+r"(hits) : : "memory");
		if (is_asked &&
		    tapir_gc_status__is_on(off, TAPIR_GC_DEFAULT, 0x1, TAPIR_INFORMATIONAL))
			hits++;
	}
	return (double)(now_ns() - begin) / QUERY_CNT + hits;
}

static int by_value(const void *left, const void *right)
{
	double l = *(const double *)left, r = *(const double *)right;

	return (l > r) - (l < r);
}

static void report(const char *what, double *ns)
{
	qsort(ns, ROUND_CNT, sizeof(*ns), by_value);
	printf("{\"what\": \"%s\", \"ns_min\": %.2f, \"ns_median\": %.2f}\n", what, ns[0],
	       ns[ROUND_CNT / 2]);
}

int main(void)
{
	static struct tapir_event *const events[] = {&GCEnd, &SweptDirectly};
	static const struct tapir_gc_event *const own[] = {&Swept_event};
	static const struct tapir_gc_status off;
	static const struct tapir_gc_collector collector = {.size = sizeof(collector),
							    .version = TAPIR_GC_SINK_VERSION,
							    .ctx = &status,
							    .control_events = control,
							    .control_private_events = control,
							    .events = own,
							    .event_cnt = 1};
	const struct tapir_gc_host_opts opts = {.size = sizeof(opts),
						.names = {RUNTIME, RUNTIME "-Private"},
						.events = {events, NULL},
						.event_cnts = {2, 0}};
	static void (*const fires[])(uint32_t) = {directly, by_sink, own_directly, own_by_sink};
	static struct tapir_gc_sink sink = {.gc_end = gc_end,
					    .fire_dynamic_event = fire_dynamic_event};
	static const char *const whats[] = {
		"collector's event, directly", "collector's event, by the sink",
		"own event, directly",	       "own event, by the sink",
		"query, the loop alone",       "query, off"};
	static double ns[6][ROUND_CNT];

	if (tapir_gc_host__new(&opts, &host) || tapir_gc_host__attach(host, &collector))
		return 1;
	sink.runtime = host;
	given = &sink;
	usleep(500000); /* a tracer finds the events */
	for (int i = 0; i < ROUND_CNT; i++) {
		for (int k = 0; k < 4; k++) {
			ns[k][i] = ns_each(fires[k]);
			usleep(12000); /* the ring is drained */
		}
		for (int k = 0; k < 2; k++)
			ns[4 + k][i] = query_ns(&off, k);
	}
	printf("{\"is_on\": %d}\n", TAPIR_EVENT_ENABLED(GCEnd) != 0);
	for (int k = 0; k < 6; k++)
		report(whats[k], ns[k]);
	tapir_gc_host__free(host);
	return 0;
}
