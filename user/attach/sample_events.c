// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The events of `record --event EVENT`, in the order in which help lists them: names of
 * perf(1), numbers of perf_event_open(2). Hardware events do not exist in most virtual machines.
 */
#include "attach/sample_events.h"

#include <linux/perf_event.h>
#include <stddef.h>
#include <string.h>

#define SOFTWARE(name, id)                                                                         \
	{                                                                                          \
		name, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_##id, false                                \
	}
#define HARDWARE(name, id)                                                                         \
	{                                                                                          \
		name, PERF_TYPE_HARDWARE, PERF_COUNT_HW_##id, true                                 \
	}

const struct tapir_sample_event tapir_sample_events[] = {
	SOFTWARE("cpu-clock", CPU_CLOCK),
	SOFTWARE("task-clock", TASK_CLOCK),
	SOFTWARE("page-faults", PAGE_FAULTS),
	SOFTWARE("minor-faults", PAGE_FAULTS_MIN),
	SOFTWARE("major-faults", PAGE_FAULTS_MAJ),
	SOFTWARE("context-switches", CONTEXT_SWITCHES),
	SOFTWARE("cpu-migrations", CPU_MIGRATIONS),
	SOFTWARE("alignment-faults", ALIGNMENT_FAULTS),
	SOFTWARE("emulation-faults", EMULATION_FAULTS),
	HARDWARE("cycles", CPU_CYCLES),
	HARDWARE("ref-cycles", REF_CPU_CYCLES),
	HARDWARE("instructions", INSTRUCTIONS),
	HARDWARE("cache-references", CACHE_REFERENCES),
	HARDWARE("cache-misses", CACHE_MISSES),
	HARDWARE("branches", BRANCH_INSTRUCTIONS),
	HARDWARE("branch-misses", BRANCH_MISSES),
	HARDWARE("stalled-cycles-frontend", STALLED_CYCLES_FRONTEND),
	HARDWARE("stalled-cycles-backend", STALLED_CYCLES_BACKEND),
	{},
};

const char *tapir_sample_event__name(size_t i)
{
	return i < sizeof(tapir_sample_events) / sizeof(tapir_sample_events[0])
		       ? tapir_sample_events[i].name
		       : NULL;
}

const struct tapir_sample_event *tapir_sample_event__find(const char *name)
{
	for (const struct tapir_sample_event *e = tapir_sample_events; e->name; e++)
		if (!strcmp(e->name, name))
			return e;
	return NULL;
}
