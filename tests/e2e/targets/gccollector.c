/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gccollector - a mark-sweep collector as a shared object of its own, which links nothing of
 * tapir's: it fires the events of a sink, and two that no runtime knows, one of them without having
 * listed it.
 */
// build: -shared -fPIC -Wl,--no-undefined
#include <stdlib.h>

#include "gc_example.h"

#define SWEPT(X)   X(U64, Bytes) X(U32, Objects) X(UTF8, Phase)
#define PRIVATE(X) X(U32, Depth)
TAPIR_GC_EVENT(Swept, TAPIR_GC_DEFAULT, TAPIR_INFORMATIONAL, OWN_KEYWORD, SWEPT);
TAPIR_GC_EVENT(MarkDepth, TAPIR_GC_PRIVATE, TAPIR_VERBOSE, OWN_KEYWORD, PRIVATE);
TAPIR_GC_EVENT(Unlisted, TAPIR_GC_DEFAULT, TAPIR_INFORMATIONAL, OWN_KEYWORD, PRIVATE);

static const struct tapir_gc_event *const own_events[] = {&Swept_event, &MarkDepth_event};
static const struct tapir_gc_sink *sink;
static struct tapir_gc_status status;
static struct object *all;
static unsigned long swept_cnt;
static unsigned collection_cnt, deepest;

static void control(void *ctx, uint64_t keywords, int level)
{
	tapir_gc_status__set(ctx, TAPIR_GC_DEFAULT, keywords, level);
}

static void control_private(void *ctx, uint64_t keywords, int level)
{
	tapir_gc_status__set(ctx, TAPIR_GC_PRIVATE, keywords, level);
}

static struct object *allocate(struct object *first, struct object *second)
{
	struct object *made = calloc(1, sizeof(*made));

	if (!made)
		abort();
	made->refs[0] = first;
	made->refs[1] = second;
	made->bytes = sizeof(*made);
	made->next = all;
	all = made;
	return made;
}

static uint64_t mark(struct object *object, unsigned depth)
{
	uint64_t bytes = 0;

	for (; object && !object->is_marked; object = object->refs[1]) {
		object->is_marked = 1;
		bytes += object->bytes + mark(object->refs[0], depth + 1);
		deepest = depth > deepest ? depth : deepest;
	}
	return bytes;
}

static void sweep(void)
{
	struct object **link = &all;
	uint64_t bytes = 0;
	uint32_t cnt = 0;

	while (*link) {
		struct object *object = *link;

		if (object->is_marked) {
			object->is_marked = 0;
			link = &object->next;
			continue;
		}
		*link = object->next;
		bytes += object->bytes;
		cnt++;
		free(object);
	}
	swept_cnt += cnt;
	if (!tapir_gc_status__is_on(&status, TAPIR_GC_DEFAULT, OWN_KEYWORD, TAPIR_INFORMATIONAL))
		return;
	Swept_fire(sink, bytes, cnt, "sweep");
	Unlisted_fire(sink, cnt);
}

static int wanted_cnt(void)
{
	int cnt = 0;

	for (int i = 0; i < TAPIR_GC_PROVIDER_CNT; i++)
		cnt += tapir_gc_status__is_on(&status, i, GC_KEYWORD | OWN_KEYWORD,
					      TAPIR_INFORMATIONAL);
	return cnt;
}

static void collect(struct object *const *roots, size_t root_cnt)
{
	int is_on =
		tapir_gc_status__is_on(&status, TAPIR_GC_DEFAULT, GC_KEYWORD, TAPIR_INFORMATIONAL);
	uint64_t bytes = 0;

	deepest = 0;
	if (is_on)
		sink->gc_start(sink, ++collection_cnt, 0, 1, 2);
	for (size_t i = 0; i < root_cnt; i++)
		bytes += mark(roots[i], 0);
	if (is_on)
		sink->gc_mark_with_type(sink, 0, 1, bytes);
	if (tapir_gc_status__is_on(&status, TAPIR_GC_PRIVATE, OWN_KEYWORD, TAPIR_VERBOSE))
		MarkDepth_fire(sink, deepest);
	sweep();
	if (is_on)
		sink->gc_end(sink, collection_cnt, 0);
}

static unsigned long swept(void)
{
	return swept_cnt;
}

const struct tapir_gc_collector *gc_initialize(const struct tapir_gc_sink *given,
					       struct gc_functions *out);
const struct tapir_gc_collector *gc_initialize(const struct tapir_gc_sink *given,
					       struct gc_functions *out)
{
	static const struct tapir_gc_collector collector = {
		.size = sizeof(collector),
		.version = TAPIR_GC_SINK_VERSION,
		.ctx = &status,
		.control_events = control,
		.control_private_events = control_private,
		.events = own_events,
		.event_cnt = 2,
	};

	if (given->size < sizeof(*given) || given->version != TAPIR_GC_SINK_VERSION)
		return NULL;
	sink = given;
	*out = (struct gc_functions){allocate, collect, swept, wanted_cnt};
	return &collector;
}
