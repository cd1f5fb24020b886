/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * counter_maker.h - COUNTER records of the events that carry measured values: those of .NET's
 * EventCounters and of System.Diagnostics.Metrics (decode/dotnet_counters.h). They are stored in
 * the file with their events, so that a reader need not know their source.
 *
 * Errors that the process reports become warnings, one per process and text. One thread, the
 * session's.
 */
#ifndef TAPIR_USER_COUNTER_MAKER_H
#define TAPIR_USER_COUNTER_MAKER_H

#include "record/counter_choice.h"
#include "trace/catalog.h"

struct tapir_counter_maker;

typedef void (*tapir_counter_fn)(void *ctx, const struct tapir_rec *counter);

/* choice is borrowed; NULL: all values of all sessions. 0 or -ENOMEM. */
int tapir_counter_maker__new(const struct tapir_counter_choice *choice, tapir_counter_fn fn,
			     void *ctx, struct tapir_counter_maker **out);
/* Reports the parts of the choice without values. */
void tapir_counter_maker__finish(const struct tapir_counter_maker *m);
void tapir_counter_maker__free(struct tapir_counter_maker *m);

/* Takes a PROBE record, which says whether its events can hold values. */
void tapir_counter_maker__learn(struct tapir_counter_maker *m, const struct tapir_rec *rec);
/* Takes an event, after the catalog has it: fn is called for each value in it. */
void tapir_counter_maker__add(struct tapir_counter_maker *m, const struct tapir_catalog *catalog,
			      const struct tapir_rec_event *ev);

#endif
