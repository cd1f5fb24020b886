/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * event_budget.h - events that are recorded as long as there are few of them: awaits, each of which
 * costs the program 0.7 us. A process that has more ends them itself once it is no longer asked.
 *
 * Pure.
 */
#ifndef TAPIR_USER_EVENT_BUDGET_H
#define TAPIR_USER_EVENT_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

/*
 * META records of a recording, by process: that this is so, "awaits.4711"; and once they are over,
 * the time in ns until which they were recorded, "awaits_until.4711".
 */
#define TAPIR_BUDGET_META	"awaits."
#define TAPIR_BUDGET_META_UNTIL "awaits_until."

/* Some three for each await: a thousandth of a CPU at most, and 10 ms once. */
#define TAPIR_BUDGET_RATE	4000u
#define TAPIR_BUDGET_BURST	40000u

struct tapir_event_budget { /* zeroed at first */
	uint64_t cnt;	    /* so far; the caller counts */
	uint64_t from_ns;
	bool has_ended;
};

/* true, once: there were too many until now. */
bool tapir_event_budget__is_exceeded(struct tapir_event_budget *b, uint64_t now_ns);

#endif
