/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sample_events.h - what a CPU can be sampled at, by the names perf(1) uses: its clock, the
 * kernel's own counters, and the hardware's where there are any. Constant; any thread.
 */
#ifndef TAPIR_USER_SAMPLE_EVENTS_H
#define TAPIR_USER_SAMPLE_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tapir_sample_event {
	const char *name; /* NULL ends the table */
	uint32_t type;	  /* perf_event_attr.type and .config */
	uint64_t config;
	bool is_hardware; /* not every machine has it */
};

/* The first one is the default: cpu-clock works everywhere. */
extern const struct tapir_sample_event tapir_sample_events[];

/* Returns the i-th name, NULL after the last: for cli/options.h. */
const char *tapir_sample_event__name(size_t i);

/* Returns the event of that name, static; NULL: there is none. */
const struct tapir_sample_event *tapir_sample_event__find(const char *name);

#endif
