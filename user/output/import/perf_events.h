/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf_events.h - samples of perf.data that are no CPU samples, as events: a tracepoint's with its
 * fields, those of other events with their period. One thread.
 */
#ifndef TAPIR_USER_PERF_EVENTS_H
#define TAPIR_USER_PERF_EVENTS_H

#include "decode/perf_record.h"
#include "output/import/import_sink.h"

struct tapir_perf_events {
	const struct tapir_perf_data *data; /* borrowed, as the sink */
	struct tapir_import_sink *sink;
	struct tapir_map described; /* index of an attribute */
	struct tapir_str payload;
};

/* Frees what it knows; zeroed but for data and sink it is ready to use. */
void tapir_perf_events__fini(struct tapir_perf_events *e);

/* A sample with its attribute; stack ids: 0 none. */
void tapir_perf_events__put(struct tapir_perf_events *e, const struct tapir_perf_record *record,
			    uint64_t stack_id, uint64_t kstack_id);

/*
 * The number in a field of a tracepoint's record. False: it has no such field, or that is no
 * number.
 */
bool tapir_perf_events__number(const struct tapir_perf_format *format,
			       const struct tapir_perf_record *record, const char *field,
			       uint64_t *out);

#endif
