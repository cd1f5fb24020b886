/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jfr_events.h - the events of a flight recording with their fields, as slots (abi.h): numbers as
 * they are, lengths of time in nanoseconds ("_ms" in the name of those in milliseconds), texts for
 * constants, members of structures as NAME_MEMBER. Left out are arrays, and what an event of the
 * recording has anyway: its time, thread and stack.
 *
 * An event that has a length, and whose begin and end are hotspot's probes in a live recording,
 * becomes those two events, so that all that knows the probes knows it. One thread.
 */
#ifndef TAPIR_USER_JFR_EVENTS_H
#define TAPIR_USER_JFR_EVENTS_H

#include "decode/jfr.h"
#include "output/import/import_sink.h"

struct tapir_jfr_events {
	struct tapir_import_sink *sink; /* borrowed */
	struct tapir_map described;	/* hash of a layout -> the probe's number */
	struct tapir_map ids;		/* class of this chunk -> the probe's number */
	struct tapir_str slots, texts;	/* of the event being written */
};

/* The two probes that an event becomes. */
struct tapir_jfr_pair {
	const char *type, *begin, *end;
};

/* Frees; zeroed but for sink it is ready to use. */
void tapir_jfr_events__fini(struct tapir_jfr_events *e);
/* Classes have other numbers in the next chunk. */
void tapir_jfr_events__next_chunk(struct tapir_jfr_events *e);

/* NULL: it is one event. */
const struct tapir_jfr_pair *tapir_jfr_pair__of(const struct tapir_jfr_class *cls);

/*
 * Puts the event, or the begin or end of its pair (an end has no fields), which is described
 * before. fixed has the thread, the stack and the time. False: it could not be read.
 */
enum tapir_jfr_part { TAPIR_JFR_WHOLE, TAPIR_JFR_BEGIN, TAPIR_JFR_END };
bool tapir_jfr_events__put(struct tapir_jfr_events *e, struct tapir_jfr *j,
			   struct tapir_jfr_value event, enum tapir_jfr_part part,
			   const struct tapir_rec_event *fixed);

/*
 * Adds what a constant or text is to people: a class's name with dots, a method's as the JVM's perf
 * map has it, a thread's, else the first text within. Nothing where there is none.
 */
void tapir_jfr__add_text(struct tapir_jfr *j, struct tapir_jfr_value v, struct tapir_str *out);
/* A length of time in ticks, as nanoseconds. */
uint64_t tapir_jfr__ns(const struct tapir_jfr *j, uint64_t ticks);

#endif
