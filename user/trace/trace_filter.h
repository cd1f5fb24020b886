/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trace_filter.h - which records belong to a trace (--trace-id): those that carry its id (struct
 * tapir_trace_ids), and events that have it as text among their arguments, as DiagnosticSource's
 * and many logs do. Pure; any thread.
 */
#ifndef TAPIR_USER_TRACE_FILTER_H
#define TAPIR_USER_TRACE_FILTER_H

#include <stdbool.h>
#include <stdint.h>

struct tapir_rec;

#define TAPIR_TRACE_ID_DIGITS 32

struct tapir_trace_filter {
	bool is_set; /* else every record is chosen */
	uint8_t id[16];
	char text[TAPIR_TRACE_ID_DIGITS], utf16[2 * TAPIR_TRACE_ID_DIGITS];
};

/* text: 32 hex digits, as W3C writes them; NULL: every record is chosen. false: it is not one. */
bool tapir_trace_filter__parse(const char *text, struct tapir_trace_filter *out);

struct tapir_trace_ids;
/* Returns true if the ids are of that trace, or every record is chosen. ids: NULL: none. */
bool tapir_trace_filter__is(const struct tapir_trace_filter *choice,
			    const struct tapir_trace_ids *ids);

/*
 * Returns true if a well-formed record is of some trace: it carries ids, or is an event with an
 * argument TraceId or a text that has a traceparent.
 */
bool tapir_trace__is_named(const struct tapir_rec *rec);

/*
 * Finds the ids of a well-formed record: those that it carries, or of an event those that are its
 * arguments TraceId and SpanId (without that, the span's are 0), as DiagnosticSource has them, or
 * those of a traceparent in a text: "00-4bf9...-00f0...-01".
 * Returns false if there are none; out is then unchanged.
 */
bool tapir_trace__find_ids(const struct tapir_rec *rec, struct tapir_trace_ids *out);

/* Returns true if a well-formed record is of that trace. A record that only describes never is. */
bool tapir_trace_filter__has(const struct tapir_trace_filter *choice, const struct tapir_rec *rec);

#endif
