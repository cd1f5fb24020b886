// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Events of a heap, whatever is in them, up to retained bytes and paths: for each a byte for its
 * kind, two for the length of its payload, the payload. The same events for objects that are
 * followed, and the same bytes as a JVM's histogram.
 */
#include <stdlib.h>

#include "heap/heap_async.h"
#include "heap/heap_dominators.h"
#include "heap/heap_events.h"
#include "heap/heap_follow.h"
#include "heap/heap_paths.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len);

static void analyze(struct tapir_heap_graph *g)
{
	struct tapir_heap_retained retained;
	struct tapir_heap_paths paths;
	struct tapir_heap_async async;
	uint64_t bytes = 0;

	if (tapir_heap_graph__seal(g) || tapir_heap_retained__init(&retained, g))
		abort();
	if (retained.reachable_cnt > g->va.cnt)
		abort();
	for (size_t i = 0; i < g->va.cnt; i++) {
		if (i && g->va.data[i] <= g->va.data[i - 1])
			abort();
		bytes += g->bytes.data[i];
	}
	for (uint64_t e = 0; e < g->first_edge[g->va.cnt]; e++)
		if (g->edges[e] >= g->va.cnt)
			abort();
	if (tapir_heap_paths__init(&paths, g) || tapir_heap_async__init(&async, g))
		abort();
	if (async.methods.cnt > g->va.cnt || async.stuck_cnt > async.methods.cnt)
		abort();
	tapir_heap_async__fini(&async);
	if (paths.unreachable_cnt + retained.reachable_cnt != g->va.cnt ||
	    paths.unreachable_bytes + retained.reachable_bytes != bytes)
		abort();
	tapir_heap_paths__fini(&paths);
	tapir_heap_retained__fini(&retained);
}

/* An object at each eighth byte's address. */
static void allocate(struct tapir_heap_follow *f, const uint8_t *at, size_t bytes)
{
	struct tapir_heap_sample sample = {.bytes = 1};

	for (size_t i = 0; i + 8 <= bytes; i += 8) {
		memcpy(&sample.va, at + i, 8);
		sample.is_small = sample.va & 1;
		tapir_heap_follow__add(f, &sample);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
	static const uint16_t ids[] = {
		TAPIR_HEAP_GC_START, TAPIR_HEAP_GC_END,	    TAPIR_HEAP_TYPES,
		TAPIR_HEAP_ROOTS,    TAPIR_HEAP_OBJECTS,    TAPIR_HEAP_EDGES,
		TAPIR_HEAP_STATICS,  TAPIR_HEAP_DEPENDENTS, TAPIR_HEAP_SURVIVED,
		TAPIR_HEAP_MOVED,    TAPIR_HEAP_GENERATION, 0};
	static const uint8_t start[26];
	struct tapir_heap_follow f = {};
	struct tapir_heap_events e = {};

	tapir_heap_events__add(&e, TAPIR_HEAP_GC_START, 1, start, sizeof(start));
	while (len >= 3) {
		size_t bytes = (size_t)(input[1] | input[2] << 8);
		uint8_t *payload;

		bytes = bytes < len - 3 ? bytes : len - 3;
		payload = malloc(bytes + 1);
		if (!payload)
			abort();
		memcpy(payload, input + 3, bytes);
		tapir_heap_events__add(&e, ids[input[0] % 12], 2, payload, bytes);
		tapir_heap_follow__event(&f, ids[input[0] % 12], payload, bytes);
		if (!ids[input[0] % 12])
			allocate(&f, payload, bytes);
		free(payload);
		input += 3 + bytes;
		len -= 3 + bytes;
	}
	analyze(&e.graph);
	tapir_heap_events__fini(&e);
	if (f.samples.cnt > f.taken_cnt)
		abort();
	tapir_heap_follow__fini(&f);
	return 0;
}
