/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lane_coverage.h - which events of which processes arrive by a ring, and since when: the same
 * event of the same process is not also recorded by its probe (--lane auto).
 *
 * Any thread. Bounded: what does not fit is not covered, and comes twice.
 */
#ifndef TAPIR_USER_LANE_COVERAGE_H
#define TAPIR_USER_LANE_COVERAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/record.h"

struct tapir_lane_coverage;

struct tapir_lane_coverage *tapir_lane_coverage__new(void); /* NULL: out of memory */
void tapir_lane_coverage__free(struct tapir_lane_coverage *c);

/* Returns the key of an event's name, without the version at its end. Never 0. */
uint64_t tapir_lane_coverage__key(struct tapir_sv provider, struct tapir_sv event);

/*
 * __on: the process's ring has what it fires under this name from now on; __off: it had that until
 * now. c NULL: nothing happens.
 */
void tapir_lane_coverage__on(struct tapir_lane_coverage *c, uint32_t tgid, uint64_t key);
void tapir_lane_coverage__off(struct tapir_lane_coverage *c, uint32_t tgid, uint64_t key);

/* Probes of this name are attached, in any process: they miss nothing before there is a ring, and
   leave out what a ring has (TAPIR_PROBE_TELLS_TAKEN). */
void tapir_lane_coverage__set_probed(struct tapir_lane_coverage *c, uint64_t key);
bool tapir_lane_coverage__is_probed(struct tapir_lane_coverage *c, uint64_t key);

/*
 * Returns true if the ring had it at time_ns. TAPIR_LANE_COVERAGE_NOW: if it has it now. c NULL:
 * false.
 */
#define TAPIR_LANE_COVERAGE_NOW (UINT64_MAX - 1)
/*
 * Returns true if the ring had it at time_ns. TAPIR_LANE_COVERAGE_NOW: if it has it now. c NULL:
 * false.
 */
bool tapir_lane_coverage__has(struct tapir_lane_coverage *c, uint32_t tgid, uint64_t key,
			      uint64_t time_ns);

/* Returns true if the ring began to have it at since_ns or later, whether it still does or not. */
bool tapir_lane_coverage__began_since(struct tapir_lane_coverage *c, uint32_t tgid, uint64_t key,
				      uint64_t since_ns);

#endif
