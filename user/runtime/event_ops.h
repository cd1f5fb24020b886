/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * event_ops.h - the events that a runtime sends by itself, without probes: what SPECs mean to it,
 * and how they reach a recording (event_lanes.h). A runtime that has such events fills a table of
 * these (runtime/runtime_ops.h). What calls it knows no runtime by name.
 */
#ifndef TAPIR_USER_EVENT_OPS_H
#define TAPIR_USER_EVENT_OPS_H

#include "base/str.h"
#include "decode/event_sources.h"
#include "spec/spec.h"

struct tapir_event_lane_ops;

struct tapir_event_ops {
	/* Returns true if a SPEC asks anything of such a process. Pure, as the next four. */
	bool (*is_for)(const struct tapir_spec *spec);
	/* Returns true if it names what is known to exist: that nothing came is no mistake. */
	bool (*is_known)(const struct tapir_spec *spec);
	/* The same, or what one of the sources declares. */
	bool (*is_defined)(const struct tapir_spec *spec, const struct tapir_event_sources *of);
	/* Adds the nearest name, "provider" or "provider:event"; nothing if none is near. */
	void (*add_nearest)(const struct tapir_spec *spec, const struct tapir_event_sources *of,
			    struct tapir_str *out);
	/* Returns true if a SPEC has a process list its heap. */
	bool (*lists_heap)(const struct tapir_spec *spec);

	/* Adds what the files of a process declare. -errno with a line: it cannot be inspected. */
	int (*add_sources)(struct tapir_event_sources *out, uint32_t tgid);
	/*
	 * Replaces names in SPECs by what they mean, adds SPECs for globs, and fills out with what
	 * the processes declare, where that is needed. Warns of what cannot arrive; waits: of names
	 * that nothing declares yet, too. -EINVAL with a line, -ENOMEM.
	 */
	int (*resolve)(struct tapir_spec_list *specs, const struct tapir_pids *pids, bool waits,
		       struct tapir_event_sources *out);
	const struct tapir_event_lane_ops *lanes; /* event_lanes.h */
};

/*
 * These ask each runtime that has such events; true if one says so. of: NULL is what none declares.
 */
bool tapir_event_specs__are_for(const struct tapir_spec *spec);
bool tapir_event_specs__are_known(const struct tapir_spec *spec);
bool tapir_event_specs__are_defined(const struct tapir_spec *spec,
				    const struct tapir_event_sources *of);
bool tapir_event_specs__list_heap(const struct tapir_spec *spec);
void tapir_event_specs__add_nearest(const struct tapir_spec *spec,
				    const struct tapir_event_sources *of, struct tapir_str *out);
void tapir_event_specs__add_sources(struct tapir_event_sources *out, uint32_t tgid);
int tapir_event_specs__resolve(struct tapir_spec_list *specs, const struct tapir_pids *pids,
			       bool waits, struct tapir_event_sources *out);

#endif
