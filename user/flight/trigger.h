/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trigger.h - when a flight recorder writes what it keeps: judged record by record.
 *
 *  TRIGGER := event=SPEC [if FIELD OP VALUE]   an event of SPEC, whose field compares so
 *           | counter=NAME OP NUMBER           a value of [PROVIDER/]COUNTER, a glob
 *           | slow=EVENT>TIME                  an interval (report --view slow) lasts longer
 *           | exit | exit=failed               a traced process ends; with a status or by a signal
 *           | finding | finding>=SEVERITY      a report of the last part has such a finding
 *  OP      := = | != | > | >= | < | <=         = and != compare texts as globs
 *
 * One thread; __add and __specs before the first record.
 */
#ifndef TAPIR_USER_TRIGGER_H
#define TAPIR_USER_TRIGGER_H

#include "base/str.h"
#include "base/vec.h"
#include "trace/catalog.h"

#define TAPIR_TRIGGERS_MAX 32

struct tapir_triggers;

/* NULL: out of memory. */
struct tapir_triggers *tapir_triggers__new(void);
void tapir_triggers__free(struct tapir_triggers *t);

/* Adds a trigger as the user writes it. -EINVAL with a line, -ENOMEM. */
int tapir_triggers__add(struct tapir_triggers *t, const char *text);
/* Adds the SPECs whose events have to be recorded, borrowed. False: out of memory. */
bool tapir_triggers__add_specs(const struct tapir_triggers *t, struct tapir_words *out);

/*
 * Returns true if this record fires one; why, one line, is replaced then. The catalog has what the
 * record refers to.
 */
bool tapir_triggers__match(struct tapir_triggers *t, const struct tapir_catalog *catalog,
			   const struct tapir_rec *rec, struct tapir_str *why);

/* Judges intervals that have not ended and already last longer; call it once a second or so. */
bool tapir_triggers__match_open(struct tapir_triggers *t, uint64_t now_ns, struct tapir_str *why);

/*
 * Returns the least severity of a finding that fires a trigger; 0: none does. The owner of a file
 * of the last part evaluates it.
 */
double tapir_triggers__severity(const struct tapir_triggers *t);

/*
 * Returns the number of intervals that were not followed, for lack of memory or because there were
 * too many.
 */
uint64_t tapir_triggers__missed(const struct tapir_triggers *t);

#endif
