/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * event_sources.h - the event sources that a program's files declare: providers, their keywords and
 * events, without fields. Filled by a runtime (runtime/event_ops.h).
 */
#ifndef TAPIR_USER_EVENT_SOURCES_H
#define TAPIR_USER_EVENT_SOURCES_H

#include "base/arena.h"
#include "base/vec.h"
#include "decode/layout.h"

struct tapir_event_sources {
	struct tapir_vec(struct tapir_layout_provider) all; /* events without fields */
	struct tapir_arena arena;			    /* their texts */
};

/* Frees all sources and their names. */
static inline void tapir_event_sources__fini(struct tapir_event_sources *sources)
{
	tapir_vec__fini(&sources->all);
	tapir_arena__fini(&sources->arena);
}

#endif
