/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gc_example.h - what gchost and gccollector.so agree on besides tapir/gc_event_sink.h. */
#ifndef TAPIR_GC_EXAMPLE_H
#define TAPIR_GC_EXAMPLE_H

#include <dlfcn.h>
#include <libgen.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tapir/gc_event_sink.h"

#define GC_KEYWORD  0x1
#define OWN_KEYWORD 0x100

struct object {
	struct object *next, *refs[2];
	unsigned is_marked;
	unsigned bytes;
};

struct gc_functions {
	struct object *(*allocate)(struct object *first, struct object *second);
	void (*collect)(struct object *const *roots, size_t root_cnt);
	unsigned long (*swept)(void); /* objects so far */
	int (*wanted_cnt)(void);      /* of its two providers */
};

typedef const struct tapir_gc_collector *(*gc_initialize_fn)(const struct tapir_gc_sink *sink,
							     struct gc_functions *out);
#define GC_INITIALIZE "gc_initialize"

/*
 * The runtime's half: the collector in `file`, relative to the directory of the program `self`.
 * sink->runtime: its host. 0: not there, or refused.
 */
static inline __attribute__((unused)) int gc_example__load(const char *self, const char *file,
							   const struct tapir_gc_sink *sink,
							   struct gc_functions *out)
{
	const struct tapir_gc_collector *collector;
	char path[4096], *copy = strdup(self);
	gc_initialize_fn initialize;
	void *library, *at;

	snprintf(path, sizeof(path), "%s/%s", copy ? dirname(copy) : ".", file);
	free(copy);
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	at = library ? dlsym(library, GC_INITIALIZE) : NULL;
	if (!at)
		return 0;
	memcpy(&initialize, &at, sizeof(at));
	collector = initialize(sink, out);
	return collector && !tapir_gc_host__attach(sink->runtime, collector);
}

/* cnt objects of which a list of 10 is alive, and a collection. */
static inline void gc_example__collect(const struct gc_functions *gc, unsigned cnt)
{
	struct object *alive = NULL;

	for (unsigned i = 0; i < cnt; i++) {
		struct object *made = gc->allocate(NULL, i < 10 ? alive : NULL);

		alive = i < 10 ? made : alive;
	}
	gc->collect(&alive, 1);
}

#endif
