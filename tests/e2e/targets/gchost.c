/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gchost [--wait] COUNT [PROVIDERS] - a runtime whose collector is in a library of its own
 * (gccollector, next to this program): COUNT collections, each of 100 objects of which a list of 10
 * is alive. With --wait it starts at SIGUSR1; then it waits until that many of its two providers
 * are wanted.
 */
// build: -I. -ldl
#include "gc_example.h"
#include "target.h"

#define RUNTIME	     "Tapir-Test-Runtime"
#define CLR_INSTANCE 9

TAPIR_EVENT(GCStart, RUNTIME, "GCStart", 1, 2, TAPIR_INFORMATIONAL, GC_KEYWORD, (U32, Count),
	    (U32, Depth), (U32, Reason), (U32, Type), (U16, ClrInstanceID),
	    (U64, ClientSequenceNumber));
TAPIR_EVENT(GCEnd, RUNTIME, "GCEnd", 2, 1, TAPIR_INFORMATIONAL, GC_KEYWORD, (U32, Count),
	    (U32, Depth), (U16, ClrInstanceID));
TAPIR_EVENT(GCMarkWithType, RUNTIME, "GCMarkWithType", 202, 0, TAPIR_INFORMATIONAL, GC_KEYWORD,
	    (U32, HeapNum), (U16, ClrInstanceID), (U32, Type), (U64, Bytes));

static struct tapir_event *const events[] = {&GCStart, &GCEnd, &GCMarkWithType};
static struct tapir_gc_host *host;

static void gc_start(const struct tapir_gc_sink *sink, uint32_t count, uint32_t depth,
		     uint32_t reason, uint32_t type)
{
	(void)sink;
	TAPIR_FIRE(GCStart, count, depth, reason, type, CLR_INSTANCE, 77);
}

static void gc_end(const struct tapir_gc_sink *sink, uint32_t count, uint32_t depth)
{
	(void)sink;
	TAPIR_FIRE(GCEnd, count, depth, CLR_INSTANCE);
}

static void gc_mark_with_type(const struct tapir_gc_sink *sink, uint32_t heap, uint32_t type,
			      uint64_t bytes)
{
	(void)sink;
	TAPIR_FIRE(GCMarkWithType, heap, CLR_INSTANCE, type, bytes);
}

static void fire_dynamic_event(const struct tapir_gc_sink *sink, const char *name,
			       const void *payload, uint32_t bytes)
{
	tapir_gc_host__fire_dynamic(sink->runtime, name, payload, bytes);
}

/* The functions that this collector does not call are left out. */
static struct tapir_gc_sink sink = {
	.size = sizeof(sink),
	.version = TAPIR_GC_SINK_VERSION,
	.gc_start = gc_start,
	.gc_end = gc_end,
	.gc_mark_with_type = gc_mark_with_type,
	.fire_dynamic_event = fire_dynamic_event,
};

int main(int argc, char **argv)
{
	const struct tapir_gc_host_opts opts = {.size = sizeof(opts),
						.names = {RUNTIME, RUNTIME "-Private"},
						.events = {events, NULL},
						.event_cnts = {3, 0}};
	struct gc_functions gc;
	long count;

	if (tapir_gc_host__new(&opts, &host))
		return 1;
	sink.runtime = host;
	if (!gc_example__load(argv[0], "gccollector", &sink, &gc))
		target__die("gccollector");
	target__start(&argc, argv);
	count = target__number(argc, argv, 1, 10);
	for (int i = 0; i < 1000 && gc.wanted_cnt() < target__number(argc, argv, 2, 0); i++)
		target__sleep_ns(10000000);
	for (long i = 0; i < count; i++)
		gc_example__collect(&gc, 100);
	printf("{\"collections\":%ld,\"swept\":%lu}\n", count, gc.swept());
	tapir_gc_host__free(host);
	return 0;
}
