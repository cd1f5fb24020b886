/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lane_cover.h - which events of which processes come by a ring, and since when: the same event
 * of the same process is not taken by its probe as well (--lane auto).
 *
 * Any thread. Bounded: what does not fit is not covered, and comes twice.
 */
#ifndef TAPIR_USER_LANE_COVER_H
#define TAPIR_USER_LANE_COVER_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/record.h"

struct tapir_lane_cover;

struct tapir_lane_cover *tapir_lane_cover__new(void); /* NULL: out of memory */
void tapir_lane_cover__free(struct tapir_lane_cover *c);

/* An event's name, without the version at its end. Never 0. */
uint64_t tapir_lane_cover__key(struct tapir_sv provider, struct tapir_sv event);

/* From now on the process's ring has what it fires; until now. c NULL: nothing happens. */
void tapir_lane_cover__on(struct tapir_lane_cover *c, uint32_t tgid, uint64_t key);
void tapir_lane_cover__off(struct tapir_lane_cover *c, uint32_t tgid, uint64_t key);

/* Did it then? TAPIR_LANE_COVER_NOW: does it now? c NULL: no. */
#define TAPIR_LANE_COVER_NOW (UINT64_MAX - 1)
bool tapir_lane_cover__has(struct tapir_lane_cover *c, uint32_t tgid, uint64_t key,
			   uint64_t time_ns);

#endif
