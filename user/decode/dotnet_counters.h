/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dotnet_counters.h - measured values out of .NET's events: the EventCounters event of any
 * EventSource, and what the EventSource System.Diagnostics.Metrics publishes of meters.
 *
 * Values are as dotnet-counters has them: of an EventCounter its mean over the interval, of an
 * incrementing one what was added in it; of a Counter what was added and the sum so far, of a
 * histogram count, sum and percentiles of the interval. A meter's version is a tag,
 * `meter.version`, because two of one name may be in a process; an instrument's session and
 * descriptions are left out.
 *
 * Events are the traced process's: fields are found by name, a missing or strange one leaves the
 * value out, texts are cut at fixed lengths. Nothing is allocated. Pure; thread-safe.
 */
#ifndef TAPIR_USER_DOTNET_COUNTERS_H
#define TAPIR_USER_DOTNET_COUNTERS_H

#include <stdbool.h>

#include "decode/fields.h"

#define TAPIR_DOTNET_METRICS	   "System.Diagnostics.Metrics"
#define TAPIR_DOTNET_EVENTCOUNTERS "EventCounters"
/* Event 0 of each EventSource: its error messages. */
#define TAPIR_DOTNET_SOURCE_ERROR  "EventSourceMessage"

struct tapir_dotnet_counter {
	struct tapir_sv provider, name, unit, tags; /* UTF-8 */
	enum tapir_counter_kind kind;
	double value;
	uint64_t interval_ns; /* 0: not known */
	/* The process's number of the instrument: others of this name and version may exist; 0:
	 * none. */
	uint64_t instrument;
};

struct tapir_dotnet_counters {
	/*
	 * The interval of a metrics session's collections; set by its CollectionStart. 0: not
	 * known.
	 */
	uint64_t interval_ns;
	/* Only this session's values; NULL: those of every tool's session. */
	const char *session;
	/* Borrowed for the call. */
	void (*on_value)(void *ctx, const struct tapir_dotnet_counter *value);
	/* Called with a problem that the process reports, in its words. */
	void (*on_problem)(void *ctx, struct tapir_sv provider, const char *problem);
	void *ctx;
};

/* Returns true if events of the probe can hold values or problems. */
bool tapir_dotnet_counters__are_in(const struct tapir_probe_view *probe);

/*
 * Takes the decoded fields of one such event (tapir_event_layout__decode), and calls on_value or
 * on_problem for what they hold.
 */
void tapir_dotnet_counters__read(struct tapir_dotnet_counters *c,
				 const struct tapir_probe_view *probe,
				 const struct tapir_value *values, unsigned cnt);

#endif
