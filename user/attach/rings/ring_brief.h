/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ring_brief.h - events that are recorded as long as there are few of them: awaits, each of which
 * costs the program 0.7 us. A process that has more ends them itself once it is no longer asked.
 *
 * Pure.
 */
#ifndef TAPIR_USER_RING_BRIEF_H
#define TAPIR_USER_RING_BRIEF_H

#include <stdbool.h>
#include <stdint.h>

/*
 * META records of a recording, by process: that this is so, "awaits.4711"; and once they are over,
 * the time in ns until which they were recorded, "awaits_until.4711".
 */
#define TAPIR_BRIEF_META       "awaits."
#define TAPIR_BRIEF_META_UNTIL "awaits_until."

/* Some three for each await: a thousandth of a CPU at most, and 10 ms once. */
#define TAPIR_BRIEF_RATE       4000u
#define TAPIR_BRIEF_AT_ONCE    40000u

struct tapir_ring_brief { /* zeroed at first */
	uint64_t cnt;	  /* so far; the caller counts */
	uint64_t from_ns;
	bool is_over;
};

/* true, once: there were too many until now. */
bool tapir_ring_brief__is_enough(struct tapir_ring_brief *b, uint64_t now_ns);

#endif
