/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf_switches.h - context switches of a perf.data: of the tracepoint sched:sched_switch, else of
 * the records that --switch-events adds; who woke a thread, of sched_wakeup and sched_waking. One
 * thread.
 */
#ifndef TAPIR_USER_PERF_SWITCHES_H
#define TAPIR_USER_PERF_SWITCHES_H

#include "decode/perf_record.h"
#include "output/import/import_tasks.h"

struct tapir_perf_switches {
	const struct tapir_perf_data *data; /* borrowed, as all here */
	struct tapir_import_sink *sink;
	struct tapir_import_tasks *tasks;
	struct tapir_keyed(struct tapir_perf_wake {
		uint64_t time_ns;
		uint32_t waker_tid;
	}) wakes;			      /* by tid */
	const struct tapir_perf_attr *source; /* sched_switch; NULL: not recorded */
	bool has_records;		      /* of --switch-events */
	/* The last that came to each CPU; how often that one was the next to leave it, and not. */
	struct tapir_map on_cpu;
	uint64_t chained_cnt, unchained_cnt;
};

/* cnts: how many samples each attribute has. */
void tapir_perf_switches__start(struct tapir_perf_switches *s, const uint64_t *cnts,
				bool has_records);
void tapir_perf_switches__fini(struct tapir_perf_switches *s);

/* Returns true if the attribute is that of sched_switch, whose samples are switches. */
bool tapir_perf_switches__is_source(const struct tapir_perf_switches *s,
				    const struct tapir_perf_attr *attr);
/* A sample. False: it is no switch. The stacks are those of the thread that leaves. */
bool tapir_perf_switches__take(struct tapir_perf_switches *s,
			       const struct tapir_perf_record *record, uint64_t stack_id,
			       uint64_t kstack_id);
/* A SWITCH or SWITCH_ANY record. */
void tapir_perf_switches__record(struct tapir_perf_switches *s,
				 const struct tapir_perf_record *record);
/* Sentences about what is not known of waits. */
void tapir_perf_switches__add_limits(const struct tapir_perf_switches *s,
				     struct tapir_import_sink *sink);

#endif
