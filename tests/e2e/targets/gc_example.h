/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gc_example.h - what gchost and gccollector.so agree on besides tapir/gc_event_sink.h. */
#ifndef TAPIR_GC_EXAMPLE_H
#define TAPIR_GC_EXAMPLE_H

#include <stddef.h>

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

#endif
