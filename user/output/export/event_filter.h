/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * event_filter.h - which events of a file a GLOB names: "gc__*", "hotspot:gc__*", or "hotspot". One
 * thread.
 */
#ifndef TAPIR_USER_EVENT_FILTER_H
#define TAPIR_USER_EVENT_FILTER_H

#include "base/map.h"
#include "trace/catalog.h"

struct tapir_event_filter {
	const char *glob;	  /* NULL: every event */
	struct tapir_map verdict; /* probe id -> time of its description << 1 | is it chosen */
};

/* False also for an event whose probe is not described, unless every event is chosen. */
bool tapir_event_filter__has(struct tapir_event_filter *choice, const struct tapir_catalog *catalog,
			     const struct tapir_rec_event *ev);
void tapir_event_filter__fini(struct tapir_event_filter *choice);

#endif
