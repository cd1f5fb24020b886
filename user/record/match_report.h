/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * match_report.h - the report when nothing matches the SPECs: what was there, and which name was
 * nearly meant. Main thread, before and after the recording.
 */
#ifndef TAPIR_USER_MATCH_REPORT_H
#define TAPIR_USER_MATCH_REPORT_H

#include "runtime/event_lanes.h"
#include "record/images/images.h"
#include "attach/rings/ring_reader.h"
#include "decode/event_sources.h"

/* The SPECs that were requested, and where they were searched; all borrowed. */
struct tapir_match_report {
	const struct tapir_spec_list *specs;
	bool specs_are_defaults;
	const struct tapir_images *images; /* NULL: no search for probes */
	struct tapir_ring_reader *rings;   /* NULL: no ring lanes were */
	const struct tapir_event_lanes
		*events; /* of runtimes that send them without probes; NULL: not asked */
	bool has_streams;
	/*
	 * The event sources that .NET's assemblies define; NULL, or empty: they were not read, or
	 * there is no .NET.
	 */
	const struct tapir_event_sources *sources;
	bool may_be_silent;    /* .NET's providers show only when they fire */
	bool is_waiting;       /* for a .NET process that does not answer */
	size_t undeclared_cnt; /* .NET processes that declare no event source of a SPEC */
	bool are_named;	       /* the processes */
	bool is_unprivileged;  /* no search for probes */
};

/*
 * Adds a line a SPEC with the nearest event that was seen, if one is near, and returns -ENOENT.
 * -EPERM: what there may be needs privileges.
 */
int tapir_match_report__fail(const struct tapir_match_report *m);

/*
 * Warns, at the end, of each SPEC without events. -ENOENT with lines instead: no SPEC had any,
 * although the processes have other probes, or none is defined in the named processes, or none of
 * these answered.
 */
int tapir_match_report__check(const struct tapir_match_report *m);

#endif
